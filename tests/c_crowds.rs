//! Tests in C of many processes and of floods, built and run as in `c_programs.rs`. Each
//! keeps all processors busy and looks at how long something takes, so they run one after
//! the other.

#![allow(clippy::unwrap_used, clippy::panic)]

mod c_build;
mod made;
mod running;

use std::process::Command;
use std::sync::{Mutex, PoisonError};

use c_build::{c_program, c_test, passes, sanitized, under_valgrind};

fn alone(command: &mut Command) {
    static TURN: Mutex<()> = Mutex::new(());
    // One that failed hinders no other.
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    passes(command);
}

#[test]
fn processes() {
    alone(&mut c_test("processes"));
}

#[test]
fn sharing() {
    alone(&mut c_test("sharing"));
}

#[test]
fn forks() {
    alone(&mut c_test("forks"));
}

/// Not under valgrind, where the time that a check takes says nothing.
#[test]
fn kills() {
    alone(&mut c_test("kills"));
}

#[test]
fn garbage() {
    alone(&mut c_test("garbage"));
}

/// With its own side watched; what the library does outside of the memory that it was given
/// meets pages that nobody may touch. How long somebody is waited for is seen without that.
#[test]
fn garbage_sanitized() {
    alone(Command::new(sanitized("c_tests/garbage.c")).args(["200", "0", "1000", "0"]));
}

#[test]
fn full() {
    alone(&mut c_test("full"));
}

mod valgrind {
    use super::{Command, alone, c_program, under_valgrind};

    fn passes_with(name: &str, arguments: &[&str]) {
        alone(under_valgrind(&c_program(name)).args(arguments));
    }

    /// Without a look for leaks: a child ends with what it has from its parent.
    fn passes_without_leaks(name: &str, argument: &str) {
        let mut command = Command::new("valgrind");
        command.args(["--quiet", "--error-exitcode=9", "--fair-sched=yes"]);
        alone(command.arg(c_program(name)).arg(argument));
    }

    #[test]
    fn processes() {
        passes_with("processes", &["10"]);
    }

    #[test]
    fn sharing() {
        passes_without_leaks("sharing", "5");
    }

    #[test]
    fn forks() {
        passes_without_leaks("forks", "7");
    }

    #[test]
    fn garbage() {
        passes_with("garbage", &["50", "0", "5000", "0"]);
    }

    #[test]
    fn full() {
        passes_with("full", &["60000"]);
    }
}
