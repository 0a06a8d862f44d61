//! C programs of the tests and examples, compiled against the libraries that `make`
//! builds, and run with a limit of time.

use std::collections::BTreeMap;
use std::env::consts::ARCH;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus};
use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant};

use crate::made::{build, output, root};

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

/// The program made of a C file, such as `c_tests/threads.c`. It is compiled once. Every
/// warning is an error, and asserts are off: no test may lean on one.
pub fn program(source: &str) -> PathBuf {
    static MADE: Mutex<BTreeMap<String, PathBuf>> = Mutex::new(BTreeMap::new());
    let mut made = MADE.lock().unwrap();
    let make = || compile(source);
    made.entry(source.to_owned()).or_insert_with(make).clone()
}

fn compile(source: &str) -> PathBuf {
    let program = directory("programs").join(source.replace(['/', '.'], "_"));
    output(
        compiler()
            .arg(root().join(source))
            .arg("-pthread")
            .arg("-o")
            .arg(&program)
            .arg(format!("-L{}", build().display()))
            .arg("-lrl")
            .arg(format!("-Wl,-rpath,{}", build().display())),
    );
    program
}

fn compiler() -> Command {
    let target = format!("{ARCH}-unknown-linux-gnu");
    cc::Build::new()
        .target(&target)
        .host(&target)
        .opt_level(1)
        .debug(true)
        .std("c99")
        .extra_warnings(true)
        .flag("-Wpedantic")
        .warnings_into_errors(true)
        .define("NDEBUG", None)
        .include(root().join("include"))
        .cargo_metadata(false)
        .get_compiler()
        .to_command()
}

/// Runs a program in a directory of the test's own.
pub fn run(command: &mut Command, input: &[u8]) -> Ran {
    let test = thread::current().name().unwrap().replace("::", "-");
    let place = directory(&test);
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

/// The program under valgrind, where an error or a leak makes it fail. That valgrind is
/// missing is a failure too.
pub fn under_valgrind(program: &Path) -> Command {
    let mut command = Command::new("valgrind");
    command
        .args(["--quiet", "--error-exitcode=9", "--leak-check=full"])
        .args(["--errors-for-leak-kinds=definite,possible"])
        .arg("--fair-sched=yes") // or threads that spin would starve the one they wait for
        .arg(program);
    command
}

/// A directory for this test binary, empty of nothing that matters.
pub fn directory(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR"))
        .join(env!("CARGO_CRATE_NAME"))
        .join(name);
    fs::create_dir_all(&path).unwrap();
    path
}
