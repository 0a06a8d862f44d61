//! Runs programs: each in a directory of the test's own, and with a limit of time.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus};
use std::thread;
use std::time::{Duration, Instant};

/// No program of the tests takes nearly as long, unless it hangs.
const TIME_LIMIT: Duration = Duration::from_secs(600);

/// What a program that has ended said.
pub struct Ran {
    pub code: Option<i32>,
    /// Standard output and standard error.
    pub output: String,
}

impl Ran {
    /// Its output, after it has ended well.
    pub fn succeeded(self) -> String {
        assert_eq!(self.code, Some(0), "{}", self.output);
        self.output
    }
}

/// Runs a program in the test's own directory.
pub fn run(command: &mut Command, input: &[u8]) -> Ran {
    let place = own_directory();
    let [stdin, stdout] = ["stdin", "stdout"].map(|name| place.join(name));
    fs::write(&stdin, input).unwrap();
    let output = File::create(&stdout).unwrap();
    command
        .current_dir(&place)
        .stdin(File::open(&stdin).unwrap())
        .stdout(output.try_clone().unwrap())
        .stderr(output);
    let mut child = command
        .spawn()
        .unwrap_or_else(|e| panic!("{command:?}: {e}"));
    let code = wait(&mut child).and_then(|status| status.code());
    let output = String::from_utf8_lossy(&fs::read(&stdout).unwrap()).into_owned();
    Ran { code, output }
}

/// How the program ended; nothing when it had to be killed.
fn wait(child: &mut Child) -> Option<ExitStatus> {
    let begun = Instant::now();
    while begun.elapsed() < TIME_LIMIT {
        if let Some(status) = child.try_wait().unwrap() {
            return Some(status);
        }
        thread::sleep(Duration::from_millis(10));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    None
}

/// The directory of the test that runs on this thread. (With --test-threads=1 that is the
/// main thread, and its tests, one after the other, share one.)
pub fn own_directory() -> PathBuf {
    let test = thread::current().name().unwrap().replace("::", "-");
    directory(&test)
}

/// A directory for this test binary, empty of nothing that matters.
pub fn directory(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR"))
        .join(env!("CARGO_CRATE_NAME"))
        .join(name);
    fs::create_dir_all(&path).unwrap();
    path
}
