//! Builds and runs the tests in C (`c_tests`), one test here for each program there,
//! and then again, in short forms, under valgrind. Those that keep all processors busy
//! are in `c_crowds.rs`.

#![allow(clippy::unwrap_used, clippy::panic)]

mod c_build;
mod made;
mod running;

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

use c_build::{c_test, passes, program};
use made::root;
use running::run;

/// The files in `c_tests/cases` that hold.
const CASES: [&str; 7] = [
    "charge", "keys", "many", "numbers", "reload", "retry", "sliding",
];

#[test]
fn arguments() {
    passes(&mut c_test("arguments"));
}

#[test]
fn calls() {
    passes(&mut c_test("calls"));
}

#[test]
fn headers() {
    passes(&mut c_test("headers"));
}

#[test]
fn config() {
    passes(&mut c_test("config"));
}

#[test]
fn clock() {
    passes(&mut c_test("clock"));
}

#[test]
fn clocks() {
    passes(&mut c_test("clocks"));
}

#[test]
fn cases() {
    passes(c_test("cases").args(CASES.map(case_file)));
}

#[test]
fn no_case_file_is_left_out() {
    let listed: BTreeSet<_> = CASES.map(case_file).into();
    assert_eq!(files("c_tests/cases"), listed);
}

/// Each file says in its first line how the runner must fail it.
#[test]
fn wrong_cases_fail() {
    let files = files("c_tests/cases_wrong");
    assert!(!files.is_empty());
    for file in files {
        let text = fs::read_to_string(&file).unwrap();
        let first = text.lines().next().unwrap_or_default();
        let expected = first.strip_prefix("# fails with: ").unwrap();
        let ran = run(c_test("cases").arg(&file), b"");
        let name = file.display();
        assert_eq!(ran.code, Some(1), "{name}: {}", ran.output);
        assert!(ran.output.contains(expected), "{name}: {}", ran.output);
    }
}

/// The harness itself: a check that fails prints both values, and fails the program.
#[test]
fn wrong_checks_fail() {
    let source = root().join("c_tests/checks_wrong/checks.c");
    let expected = fs::read_to_string(source.with_extension("expected")).unwrap();
    let ran = run(
        &mut Command::new(program("c_tests/checks_wrong/checks.c")),
        b"",
    );
    let place = format!("{}:", source.display());
    assert_eq!(ran.output.replace(&place, ""), expected);
    assert_eq!(ran.code, Some(1));
}

#[test]
fn threads() {
    passes(&mut c_test("threads"));
}

#[test]
fn joint_threads() {
    passes(&mut c_test("joint_threads"));
}

#[test]
fn together() {
    passes(&mut c_test("together"));
}

#[test]
fn charges() {
    passes(&mut c_test("charges"));
}

#[test]
fn reload() {
    passes(&mut c_test("reload"));
}

/// Other tests run at the same time: the whole may take twice as long as the rate asks.
#[test]
fn acquire() {
    passes(c_test("acquire").arg("100"));
}

#[test]
fn batch() {
    passes(&mut c_test("batch"));
}

#[test]
fn memory() {
    passes(&mut c_test("memory"));
}

#[test]
fn explain() {
    passes(&mut c_test("explain"));
}

#[test]
fn zones() {
    passes(&mut c_test("zones"));
}

mod valgrind {
    use super::{CASES, case_file};
    use crate::c_build::{c_program, passes, under_valgrind};

    fn passes_with(name: &str, arguments: &[&str]) {
        passes(under_valgrind(&c_program(name)).args(arguments));
    }

    #[test]
    fn arguments() {
        passes_with("arguments", &[]);
    }

    #[test]
    fn calls() {
        passes_with("calls", &[]);
    }

    #[test]
    fn headers() {
        passes_with("headers", &[]);
    }

    #[test]
    fn config() {
        passes_with("config", &[]);
    }

    #[test]
    fn clock() {
        passes_with("clock", &[]);
    }

    #[test]
    fn cases() {
        passes(under_valgrind(&c_program("cases")).args(CASES.map(case_file)));
    }

    #[test]
    fn threads() {
        passes_with("threads", &["10"]);
    }

    #[test]
    fn joint_threads() {
        passes_with("joint_threads", &["10"]);
    }

    #[test]
    fn together() {
        passes_with("together", &[]);
    }

    #[test]
    fn charges() {
        passes_with("charges", &[]);
    }

    #[test]
    fn reload() {
        passes_with("reload", &["100"]);
    }

    #[test]
    fn acquire() {
        passes_with("acquire", &["5000"]);
    }

    #[test]
    fn batch() {
        passes_with("batch", &["100"]);
    }

    #[test]
    fn memory() {
        passes_with("memory", &["1"]);
    }

    #[test]
    fn explain() {
        passes_with("explain", &[]);
    }

    #[test]
    fn zones() {
        passes_with("zones", &[]);
    }
}

fn case_file(name: &str) -> PathBuf {
    root()
        .join("c_tests/cases")
        .join(name)
        .with_extension("cases")
}

fn files(directory: &str) -> BTreeSet<PathBuf> {
    let entries = fs::read_dir(root().join(directory)).unwrap();
    entries.map(|entry| entry.unwrap().path()).collect()
}
