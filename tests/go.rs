//! The Go binding: its own tests, by the tools of Go, against the library as `make install`
//! puts it down; the program in its README as pasted; and its benchmarks, once.
//!
//! Nothing comes from the network. The tools take turns: each uses all processors, and what
//! one has compiled the next one need not.

#![allow(clippy::unwrap_used, clippy::panic)]

mod made;
mod running;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, OnceLock};

use made::{build, make, output, root};
use running::{directory, own_directory, run};

#[test]
fn it_is_formatted_and_vet_finds_nothing() {
    assert_eq!(go("gofmt -l ."), "");
    go("go vet ./...");
    go("cd benchmarks && go vet .");
}

/// With all that Go has to find out whether C is handed what it must not keep.
#[test]
fn its_tests_pass() {
    let printed = go("GODEBUG=cgocheck=2 go test -count=1 -timeout=120s ./...");
    assert_eq!(printed.matches("ok  \tlibrl").count(), 2, "{printed}");
}

/// The middleware has no state of its own, and its server would take long to compile so.
#[test]
fn its_tests_pass_under_the_race_detector() {
    let printed = go("go test -race -count=1 -timeout=240s .");
    assert_eq!(printed.matches("ok  \tlibrl").count(), 1, "{printed}");
}

#[test]
fn its_benchmarks_run() {
    let report = "cd benchmarks && go test -bench=. -benchtime=64x . | python3 -B report.py";
    let printed = go(report);
    assert_eq!(printed.lines().count(), 12, "{printed}");
}

#[test]
fn the_program_of_the_readme_does_what_it_says() {
    let readme = fs::read_to_string(module().join("README.md")).unwrap();
    let place = own_directory();
    let _ = fs::remove_file(place.join("go.mod"));
    fs::write(place.join("main.go"), block(&readme, "go")).unwrap();
    for step in block(&readme, "console").split("$ ").skip(1) {
        let (command, expected) = step.split_once('\n').unwrap_or((step, ""));
        let command = format!("cd '{}' && {command} 2>&1", place.display());
        let printed = go(&command);
        let printed = printed.trim_start_matches("go: creating new go.mod: module hello\n");
        let printed =
            printed.trim_start_matches("go: to add module requirements and sums:\n\tgo mod tidy\n");
        assert_eq!(printed.trim_end(), expected.trim_end(), "$ {command}");
    }
}

/// The first fenced block in that language.
fn block<'a>(text: &'a str, language: &str) -> &'a str {
    let (_, block) = text.split_once(&format!("\n```{language}\n")).unwrap();
    block.split_once("\n```\n").unwrap().0
}

fn module() -> PathBuf {
    root().join("bindings/go")
}

/// What a command prints that must succeed, in the directory of the module.
fn go(command: &str) -> String {
    static TURN: Mutex<()> = Mutex::new(());
    let tree = installed();
    let turn = TURN.lock();
    let line = format!("cd '{}' && {command}", module().display());
    let ran = run(&mut shell(&line, tree), b"");
    drop(turn);
    ran.succeeded()
}

/// A shell for which the library is as good as installed.
fn shell(line: &str, tree: &Path) -> Command {
    let library = tree.join("usr/lib");
    let mut shell = Command::new("bash");
    shell
        .args(["-euo", "pipefail", "-c", line])
        .env("PKG_CONFIG_PATH", library.join("pkgconfig"))
        .env("LD_LIBRARY_PATH", library)
        .env("LIBRL", root())
        .env("GOCACHE", directory("cache"))
        .env("GOPATH", directory("path"))
        .env("GOENV", "off")
        .env("GOFLAGS", "")
        .env("GOPROXY", "off")
        .env("GOWORK", "off")
        .env_remove("GO111MODULE");
    shell
}

/// The tree below which `make install` has put the library.
fn installed() -> &'static Path {
    static TREE: OnceLock<PathBuf> = OnceLock::new();
    TREE.get_or_init(|| {
        build();
        output(Command::new(root().join(".ci/tools")).arg("go"));
        let tree = directory("tree");
        make(&[
            "install",
            &format!("DESTDIR={}", tree.display()),
            "PREFIX=/usr",
        ]);
        tree
    })
}
