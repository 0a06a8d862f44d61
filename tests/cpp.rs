//! The header for C++: its programs in `bindings/cpp/tests` pass as C++17 and C++20, with
//! and without exceptions, under sanitizers and valgrind; a call takes as many instructions
//! as the C call; and the README's program does what is said there.

#![allow(clippy::unwrap_used, clippy::panic)]

mod c_build;
mod made;
mod running;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use c_build::{passes, under_valgrind};
use made::{build, output, root};
use running::{own_directory, run};

/// All that is in `bindings/cpp/tests`, without the headers.
const PROGRAMS: [&str; 9] = [
    "asking",
    "checks_wrong",
    "configs",
    "decisions",
    "handles",
    "instructions",
    "reports",
    "results",
    "threads",
];

const WARNINGS: [&str; 6] = [
    "-Wall",
    "-Wextra",
    "-Wpedantic",
    "-Werror",
    "-Wshadow",
    "-Wconversion",
];
const NATIVE: &[&str] = &["-std=c++17", "-O1", "-g"];
const SANITIZED: &[&str] = &[
    "-std=c++20",
    "-g1",
    "-fsanitize=address,undefined",
    "-fno-sanitize-recover=all",
];

#[test]
fn asking() {
    holds("asking", &[]);
}

#[test]
fn decisions() {
    holds("decisions", &[]);
}

#[test]
fn configs() {
    let zone = Zone::of_this_process();
    holds("configs", &[&zone.name]);
}

#[test]
fn handles() {
    holds("handles", &[]);
}

#[test]
fn reports() {
    holds("reports", &[]);
}

#[test]
fn threads() {
    holds("threads", &["2000"]);
}

#[test]
fn results() {
    holds("results", &[]);
}

#[test]
fn results_without_exceptions_and_rtti() {
    let flags = ["-std=c++17", "-O2", "-fno-exceptions", "-fno-rtti"];
    passes(&mut Command::new(compile("results", &flags)));
}

#[test]
fn handles_under_valgrind() {
    passes(&mut under_valgrind(&compile("handles", NATIVE)));
}

#[test]
fn no_program_is_left_out() {
    let files = fs::read_dir(tests()).unwrap();
    let names = files.map(|file| file.unwrap().path());
    let programs = names.filter(|path| path.extension().unwrap() == "cpp");
    let stems = programs.map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned());
    assert_eq!(
        stems.collect::<BTreeSet<_>>(),
        PROGRAMS.map(str::to_owned).into()
    );
}

/// The harness itself: a check that fails prints both values, and fails the program.
#[test]
fn wrong_checks_fail() {
    let program = compile("checks_wrong", NATIVE);
    let ran = run(&mut Command::new(program), b"");
    assert_eq!(ran.code, Some(1), "{}", ran.output);
    for expected in [
        "1 + 1 == 3: got false, wanted true\n",
        ": got \"left\", wanted \"right\"\n",
        ": got 0.002000 s, wanted 0.003000 s\n",
        ": got 0.002000 s, wanted nothing\n",
        ": got \"alice\", wanted something with \"bob\" in it\n",
        ": got no error, wanted an rl::error\n",
        "1 + 1 == 4: got false, wanted true, to go on\n1 passed, 8 failed\n",
    ] {
        assert!(ran.output.contains(expected), "{expected}{}", ran.output);
    }
}

#[test]
fn the_header_stands_alone_and_may_come_twice() {
    let twice = "#include <rl.hpp>\n#include <rl.hpp>\n#include <rl.h>\n";
    check("c++17", twice);
    check("gnu++20", twice);
}

#[test]
fn it_gets_along_with_readline() {
    let readline = "#include <stdio.h>\n#include <readline/readline.h>\n";
    let ours = "#include <rl.hpp>\n";
    let used = "void use(rl::service &, void *);\n\
                void use(rl::service &service, void *undo) {\n    \
                if (service.allow(\"alice\")) ::rl_free(undo);\n}\n";
    check("gnu++17", &[readline, ours, used].concat());
    check("gnu++17", &[ours, readline, used].concat());
}

/// What the documentation promises not to compile.
#[test]
fn a_result_is_not_taken_for_an_answer() {
    let program = |condition: &str| {
        format!(
            "#include <rl.hpp>\nint use(rl::service &);\n\
             int use(rl::service &service) {{ if ({condition}) return 1; return 0; }}\n"
        )
    };
    check(
        "c++17",
        &program("service.try_check(\"a\", \"b\")->allowed()"),
    );
    let wrong = syntax("c++17", &program("service.try_check(\"a\", \"b\")"));
    assert!(wrong.contains("could not convert"), "{wrong}");
    let unused = syntax("c++17", &program("(service.check(\"a\", \"b\"), true)"));
    assert!(unused.contains("nodiscard"), "{unused}");
}

/// Within a loop, per iteration: see `instructions.cpp`.
#[test]
fn a_check_takes_as_many_instructions_as_in_c() {
    let program = compile("instructions", &["-std=c++17", "-O2", "-g"]);
    let c = instructions(&program, "c");
    assert!(c > 100, "nothing was counted: {c}");
    assert_eq!(instructions(&program, "check"), c);
    assert_eq!(instructions(&program, "allow"), c);
    let more = instructions(&program, "try_check") - c;
    assert!((0..=2).contains(&more), "try_check takes {more} more");
    // Of a batch of 8: how the answers are aligned counts for some, too.
    let more = instructions(&program, "check_batch") - instructions(&program, "c_batch");
    assert!(more <= 8, "check_batch takes {more} more");
}

#[test]
fn the_readme_program_does_what_it_says() {
    let readme = fs::read_to_string(root().join("bindings/cpp/README.md")).unwrap();
    let (program, rest) = block(&readme, "cpp");
    let (console, rest) = block(rest, "console");
    fs::write(own_directory().join("hello.cpp"), program).unwrap();
    let (compile, printed) = console.split_once('\n').unwrap();
    let (start, expected) = printed.split_once('\n').unwrap();
    assert_eq!(shell(compile), "");
    assert_eq!(shell(start), format!("{expected}\n"));
    let (fragment, _) = block(rest, "cpp");
    check(
        "c++17",
        &format!(
            "#include <rl.hpp>\nvoid log(const char *);\nvoid serve();\n\
             void use(rl::service &, std::string_view, std::string_view);\n\
             void use(rl::service &service, std::string_view user, std::string_view api) {{\n\
             {fragment}\n}}\n"
        ),
    );
}

/// Passes as C++17, and as C++20 where what it does against the language makes it fail.
fn holds(name: &str, arguments: &[&str]) {
    for flags in [NATIVE, SANITIZED] {
        passes(Command::new(compile(name, flags)).args(arguments));
    }
}

/// The instructions of one iteration of the loop of that form.
fn instructions(program: &Path, form: &str) -> i64 {
    let mut valgrind = Command::new("valgrind");
    valgrind
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(format!("--toggle-collect=hot_{form}"))
        .arg(program)
        .arg(form);
    let printed = run(&mut valgrind, b"").succeeded();
    let (_, collected) = printed.split_once("Collected : ").unwrap();
    let collected = collected.lines().next().unwrap().trim();
    collected.parse::<i64>().unwrap() / 1000
}

/// A program of `bindings/cpp/tests`, in the test's own directory.
fn compile(name: &str, flags: &[&str]) -> PathBuf {
    let program = own_directory().join(name);
    output(
        Command::new("g++")
            .args(WARNINGS)
            .args(flags)
            .arg(include())
            .arg(source(name))
            .arg("-pthread")
            .arg("-o")
            .arg(&program)
            .arg(format!("-L{}", build().display()))
            .arg("-lrl")
            .arg(format!("-Wl,-rpath,{}", build().display())),
    );
    program
}

/// A text that must compile without a warning.
fn check(standard: &str, program: &str) {
    let said = syntax(standard, program);
    assert_eq!(said, "", "-std={standard}:\n{program}");
}

/// What the compiler says to a text.
fn syntax(standard: &str, program: &str) -> String {
    let mut command = Command::new("g++");
    command
        .args(WARNINGS)
        .args(["-x", "c++", "-fsyntax-only", "-"])
        .arg(format!("-std={standard}"))
        .arg(include())
        .arg(format!("-I{}", tests().display()));
    run(&mut command, program.as_bytes()).output
}

fn include() -> String {
    format!("-I{}", root().join("include").display())
}

fn tests() -> PathBuf {
    root().join("bindings/cpp/tests")
}

fn source(name: &str) -> PathBuf {
    tests().join(name).with_extension("cpp")
}

/// The first fenced block in that language, and what comes after it.
fn block<'a>(text: &'a str, language: &str) -> (&'a str, &'a str) {
    let (_, block) = text.split_once(&format!("\n```{language}\n")).unwrap();
    block.split_once("\n```\n").unwrap()
}

/// What a command line of the README prints, where the library is as good as installed.
fn shell(line: &str) -> String {
    let command = line.strip_prefix("$ ").unwrap();
    let mut shell = Command::new("sh");
    shell
        .args(["-ec", command])
        .env("CPATH", root().join("include"))
        .env("LIBRARY_PATH", build())
        .env("LD_LIBRARY_PATH", build());
    run(&mut shell, b"").succeeded()
}

/// The name of a zone, of which nothing stays.
struct Zone {
    name: String,
}

impl Zone {
    fn of_this_process() -> Zone {
        Zone {
            name: format!("/librl-cpp-{}", std::process::id()),
        }
    }
}

impl Drop for Zone {
    fn drop(&mut self) {
        let _ = fs::remove_file(format!("/dev/shm{}", self.name));
    }
}
