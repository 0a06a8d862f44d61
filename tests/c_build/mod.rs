//! C programs of the tests and examples, compiled against the libraries that `make` builds.

use std::collections::BTreeMap;
use std::env::consts::ARCH;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;

use crate::made::{build, output, root};
use crate::running::{directory, run};

/// The program made of a C file, such as `c_tests/threads.c`. It is compiled once. Every
/// warning is an error, and asserts are off: no test may lean on one.
pub fn program(source: &str) -> PathBuf {
    static MADE: Mutex<BTreeMap<String, PathBuf>> = Mutex::new(BTreeMap::new());
    let mut made = MADE.lock().unwrap();
    let make = || compile(source, &directory("programs"), &[]);
    made.entry(source.to_owned()).or_insert_with(make).clone()
}

/// One of the programs in `c_tests`.
#[allow(dead_code, reason = "not in all tests")]
pub fn c_program(name: &str) -> PathBuf {
    program(&format!("c_tests/{name}.c"))
}

#[allow(dead_code, reason = "not in all tests")]
pub fn c_test(name: &str) -> Command {
    Command::new(c_program(name))
}

/// Runs a test program, which must end well and say how many checks it has made.
#[allow(dead_code, reason = "not in all tests")]
pub fn passes(command: &mut Command) {
    let output = run(command, b"").succeeded();
    let passed = output
        .lines()
        .last()
        .and_then(|line| line.strip_suffix(" passed, 0 failed"));
    let passed = passed.and_then(|number| number.parse().ok()).unwrap_or(0);
    assert!(passed > 0, "no check was made: {output}");
}

/// A program, where what it does out of bounds or against the language makes it fail.
#[allow(dead_code, reason = "not in all tests")]
pub fn sanitized(source: &str) -> PathBuf {
    let checks = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"];
    compile(source, &directory("sanitized"), &checks)
}

fn compile(source: &str, place: &Path, flags: &[&str]) -> PathBuf {
    let program = place.join(source.replace(['/', '.'], "_"));
    output(
        compiler()
            .args(flags)
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
