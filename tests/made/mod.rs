//! What `make` builds, for the tests that look at it.

use std::path::Path;
use std::process::Command;
use std::sync::OnceLock;

/// The root of the repository.
pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The directory with the libraries, which are built first.
pub fn build() -> &'static Path {
    static BUILD: OnceLock<std::path::PathBuf> = OnceLock::new();
    BUILD.get_or_init(|| {
        make(&["all"]);
        root().join("build")
    })
}

/// Runs `make` in the root.
pub fn make(arguments: &[&str]) {
    // These tests may themselves run under make, whose job server is not theirs.
    let make = &mut Command::new("make");
    make.env_remove("MAKEFLAGS")
        .env_remove("MAKELEVEL")
        .current_dir(root());
    output(make.args(arguments));
}

/// Standard output of a command that must succeed.
pub fn output(command: &mut Command) -> String {
    let output = command.output().unwrap();
    let [stdout, stderr] = [&output.stdout, &output.stderr].map(|b| String::from_utf8_lossy(b));
    assert!(output.status.success(), "{command:?}\n{stdout}{stderr}");
    stdout.into_owned()
}
