//! Processes as /proc tells of them.

use std::fs;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

/// Nothing that a test waits for takes nearly as long.
pub const TIME_LIMIT: Duration = Duration::from_secs(20);

/// Waits until there is something; nothing when it takes too long.
pub fn wait_for<T>(mut look: impl FnMut() -> Option<T>) -> Option<T> {
    let begun = Instant::now();
    while begun.elapsed() < TIME_LIMIT {
        if let Some(found) = look() {
            return Some(found);
        }
        thread::sleep(Duration::from_millis(5));
    }
    None
}

/// One that has ended by now is no error.
pub fn signal(pid: u32, signal: Signal) {
    let pid = Pid::from_raw(pid.try_into().unwrap()).unwrap();
    let _ = kill_process(pid, signal);
}

/// What a process calls itself; nothing when it has ended.
pub fn title(pid: u32) -> Option<String> {
    let title = fs::read(format!("/proc/{pid}/cmdline")).ok()?;
    let title = String::from_utf8_lossy(&title).replace('\0', " ");
    Some(title.trim_end().to_owned()).filter(|title| !title.is_empty())
}

/// The workers of a master that take connections: not those that are shutting down.
pub fn workers(master: u32) -> Vec<u32> {
    children(master)
        .into_iter()
        .filter(|&pid| title(pid).as_deref() == Some("nginx: worker process"))
        .collect()
}

fn children(parent: u32) -> Vec<u32> {
    all()
        .filter(|&pid| parent_of(pid) == Some(parent))
        .collect()
}

fn parent_of(pid: u32) -> Option<u32> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let parent = status.lines().find_map(|line| line.strip_prefix("PPid:"))?;
    parent.trim().parse().ok()
}

/// All processes that have a file open.
pub fn holders(file: &Path) -> Vec<u32> {
    let holds = |pid: &u32| {
        let open = fs::read_dir(format!("/proc/{pid}/fd"))
            .into_iter()
            .flatten();
        open.flatten()
            .any(|fd| fs::read_link(fd.path()).is_ok_and(|target| target == file))
    };
    all().filter(holds).collect()
}

fn all() -> impl Iterator<Item = u32> {
    let entries = fs::read_dir("/proc").unwrap().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}
