//! The first program in the README compiles as pasted, with the command given there,
//! and prints what it says there.
//!
//! After the first block of C comes a `console` block: a line that begins with `$ ` is
//! a command, and what follows it is its output.

#![allow(clippy::unwrap_used, clippy::panic)]

mod made;
mod running;

use std::fs;
use std::process::Command;

use made::{build, root};
use running::{own_directory, run};

#[test]
fn the_first_program_does_what_the_readme_says() {
    let readme = fs::read_to_string(root().join("README.md")).unwrap();
    let (program, rest) = block(&readme, "c").expect("a block of C in README.md");
    let (console, _) = block(rest, "console").expect("a console block after the program");
    let steps = steps(console);
    let name = source_name(&steps).expect("a command that compiles a .c file");

    fs::write(own_directory().join(name), program).unwrap();
    for (command, expected) in steps {
        let printed = run(&mut shell(command), b"").succeeded();
        assert_eq!(printed, expected, "$ {command}");
    }
}

/// The text of the first fenced block in that language, and what comes after it.
fn block<'a>(text: &'a str, language: &str) -> Option<(&'a str, &'a str)> {
    let (_, block) = text.split_once(&format!("\n```{language}\n"))?;
    let (block, rest) = block.split_once("\n```\n")?;
    Some((block, rest))
}

/// The commands, each with the output that stands below it.
fn steps(console: &str) -> Vec<(&str, String)> {
    let mut steps = Vec::new();
    for line in console.lines() {
        match (line.strip_prefix("$ "), steps.last_mut()) {
            (Some(command), _) => steps.push((command, String::new())),
            (None, Some((_, output))) => *output += &format!("{line}\n"),
            (None, None) => panic!("`{line}` stands before the first command"),
        }
    }
    steps
}

fn source_name<'a>(steps: &[(&'a str, String)]) -> Option<&'a str> {
    let words = steps.iter().flat_map(|(command, _)| command.split(' '));
    words.into_iter().find(|word| word.ends_with(".c"))
}

/// A command in a shell for which the library is as good as installed.
fn shell(command: &str) -> Command {
    let mut shell = Command::new("sh");
    shell
        .args(["-ec", command])
        .env("CPATH", root().join("include"))
        .env("LIBRARY_PATH", build())
        .env("LD_LIBRARY_PATH", build());
    shell
}
