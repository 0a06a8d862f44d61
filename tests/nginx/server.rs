//! A running nginx with a directory of its own. When it is dropped, all its processes end
//! and the directory goes, also where the test fails.

use std::fs::{self, Permissions};
use std::net::{Ipv4Addr, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::{env, process};

use rustix::process::Signal;

use crate::client::Connection;
use crate::processes::{self, holders, signal, title, wait_for};
use crate::site::{Site, free_port, nginx};

/// A directory that unprivileged workers can read, and that is removed in the end.
pub struct Directory(PathBuf);

impl Directory {
    pub fn new() -> Self {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("librl-nginx-{}-{number}", process::id());
        let path = env::temp_dir().canonicalize().unwrap().join(name);
        fs::create_dir(&path).unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o755)).unwrap();
        Self(path)
    }

    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

pub struct Server {
    child: Child,
    master: u32,
    port: u16,
    site: Site,
    directory: Directory,
}

impl Server {
    /// Returns when all workers are there.
    pub fn start(site: Site) -> Self {
        for _ in 0..5 {
            if let Some(server) = Self::try_start(site.clone()) {
                return server;
            }
        }
        panic!("no port is free for long enough");
    }

    /// Nothing when somebody else has taken the port.
    fn try_start(site: Site) -> Option<Self> {
        let directory = Directory::new();
        let port = free_port();
        site.write(directory.path(), port);
        let mut command = nginx();
        command.arg("-p").arg(directory.path());
        command.args(["-c", "nginx.conf", "-e", "error.log"]);
        let silent = command.stdin(Stdio::null()).stderr(Stdio::null());
        let child = silent.spawn().unwrap();
        let mut server = Self {
            master: child.id(),
            child,
            port,
            site,
            directory,
        };
        let starts = wait_for(|| server.has_started());
        let log = server.error_log();
        match starts {
            Some(true) => Some(server),
            Some(false) if log.contains("Address already in use") => None,
            _ => panic!("nginx does not start: {log}"),
        }
    }

    /// Whether it has; nothing where that is not known yet.
    fn has_started(&mut self) -> Option<bool> {
        match self.child.try_wait().unwrap() {
            None if self.site.daemon => return None,
            Some(status) if self.site.daemon && status.success() => self.follow()?,
            Some(_) => return Some(false),
            None => {}
        }
        let all = self.workers().len() == self.site.workers;
        let listens = all && TcpStream::connect((Ipv4Addr::LOCALHOST, self.port)).is_ok();
        listens.then_some(true)
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    /// A new connection.
    pub fn connect(&self) -> Connection {
        Connection::new(self.port)
    }

    pub fn master(&self) -> u32 {
        self.master
    }

    /// Takes for the master whom nginx.pid names.
    pub fn follow(&mut self) -> Option<()> {
        self.master = self.pid("nginx.pid")?;
        Some(())
    }

    /// Whom a file names.
    pub fn pid(&self, name: &str) -> Option<u32> {
        self.read(name).trim().parse().ok()
    }

    /// The workers that take connections.
    pub fn workers(&self) -> Vec<u32> {
        processes::workers(self.master())
    }

    /// Where nginx.conf, the other files and the logs are.
    pub fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Another configuration, which counts from the next reload on.
    pub fn configure(&mut self, site: Site) {
        site.write(self.directory.path(), self.port);
        self.site = site;
    }

    pub fn write(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).unwrap();
    }

    /// Has nginx read its configuration again. Returns when only new workers take
    /// connections, or with what the error log says against it.
    pub fn reload(&self) -> Result<(), String> {
        let old = self.workers();
        let logged = self.error_log().len();
        signal(self.master(), Signal::HUP);
        wait_for(|| {
            let log = self.error_log();
            let error = log[logged..].lines().find(|line| line.contains("[emerg]"));
            match error {
                Some(error) => Some(Err(error.to_owned())),
                None => self.have_taken_over(&old).then_some(Ok(())),
            }
        })
        .expect("the reload comes to an end")
    }

    fn have_taken_over(&self, old: &[u32]) -> bool {
        let ends = |pid: &u32| title(*pid).is_none_or(|title| title.contains("shutting down"));
        let new = self.workers();
        let all_new = new.iter().all(|pid| !old.contains(pid));
        old.iter().all(ends) && all_new && new.len() == self.site.workers
    }

    /// Has nginx end when it has answered what it was asked; says whether it ended well.
    pub fn quit(&mut self) -> bool {
        signal(self.master, Signal::QUIT);
        let ended = wait_for(|| title(self.master).is_none().then_some(()));
        ended.expect("nginx ends");
        self.child.wait().unwrap().success()
    }

    pub fn error_log(&self) -> String {
        self.read("error.log")
    }

    /// Lines of the access log, at least so many: one is written after the client has its
    /// answer.
    pub fn access_log(&self, lines: usize) -> Vec<String> {
        let read = || self.read("access.log");
        let whole = wait_for(|| Some(read()).filter(|log| log.matches('\n').count() >= lines));
        let log = whole.unwrap_or_else(|| panic!("not {lines} lines: {}", read()));
        log.lines().map(str::to_owned).collect()
    }

    /// A file as it is now.
    pub fn read(&self, name: &str) -> String {
        let bytes = fs::read(self.path(name)).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    }
}

impl Drop for Server {
    /// Whoever has the error log open belongs to this nginx, whatever became of the master.
    fn drop(&mut self) {
        let log = self.path("error.log");
        let ended = |child: &mut Child| child.try_wait().ok().flatten();
        if ended(&mut self.child).is_none() {
            signal(self.master(), Signal::TERM);
            wait_for(|| ended(&mut self.child));
        }
        wait_for(|| {
            let left = holders(&log);
            left.iter().for_each(|&pid| signal(pid, Signal::KILL));
            left.is_empty().then_some(())
        });
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
