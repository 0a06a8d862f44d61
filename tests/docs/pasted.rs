//! Programs of the README and of docs/start.md compile as pasted, with the command given
//! there, and print what it says there.
//!
//! After a block of C comes a `console` block: a line that begins with `$ ` is a command, and
//! what follows it is its output.

use std::fs;
use std::process::Command;

use crate::made::{build, root};
use crate::page::{Block, Page};
use crate::running::{own_directory, run};

#[test]
fn the_program_in_the_readme_does_what_is_said_there() {
    does_what_is_said("README.md", &[]);
}

#[test]
fn the_program_to_start_with_does_what_is_said_there() {
    does_what_is_said("docs/start.md", &[("rules", "shop.rules")]);
}

/// The files are the first blocks in their languages.
fn does_what_is_said(page: &str, files: &[(&str, &str)]) {
    let page = Page::read(&root().join(page));
    let first = |language| -> &Block { page.in_language(language).next().expect(language) };
    let steps = steps(&first("console").text);
    let name = source_name(&steps).expect("a command that compiles a .c file");
    fs::write(own_directory().join(name), &first("c").text).unwrap();
    for (language, name) in files {
        fs::write(own_directory().join(name), &first(language).text).unwrap();
    }
    for (command, expected) in steps {
        let printed = run(&mut shell(command), b"").succeeded();
        assert_eq!(printed.replace("\r\n", "\n"), expected, "$ {command}");
    }
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
    let mut words = steps.iter().flat_map(|(command, _)| command.split(' '));
    words.find(|word| word.ends_with(".c"))
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
