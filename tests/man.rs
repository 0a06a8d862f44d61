//! `rl.h(3)` has what the header says, and is a manual page that man, groff and mandoc read
//! without a word.

#![allow(clippy::unwrap_used)]

mod made;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use made::{build, make, output, root};

#[test]
fn mandoc_and_groff_have_nothing_to_say() {
    let page = page();
    let mandoc = Command::new("mandoc")
        .args(["-T", "lint", "-W", "warning"])
        .arg(page)
        .output()
        .unwrap();
    let told = String::from_utf8(mandoc.stdout).unwrap();
    // The page has the version of the library, and no date.
    let faults: Vec<_> = told
        .lines()
        .filter(|line| !line.contains("missing date"))
        .collect();
    assert!(faults.is_empty(), "{faults:#?}");
    let groff = Command::new("groff")
        .args(["-man", "-Tutf8", "-ww", "-z"])
        .arg(page)
        .output()
        .unwrap();
    let told = String::from_utf8(groff.stderr).unwrap();
    assert!(groff.status.success() && told.is_empty(), "{told}");
}

/// Word for word, in the same order: comments and declarations, less their conditions, and the
/// program on the first page as it can be copied.
#[test]
fn it_has_every_sentence_and_declaration_of_the_header() {
    let shown = words(&shown());
    let header = fs::read_to_string(root().join("include/rl.h")).unwrap();
    let (_, text) = header.split_once("HOW IT IS USED").unwrap();
    let (manual, code) = text.split_once("\n */\n#ifndef LIBRL_RL_H").unwrap();
    let paragraphs = manual.split("\n *\n").map(bare);
    let (_, code) = code.split_once("extern \"C\" {\n#endif\n").unwrap();
    let (code, _) = code.split_once("#ifdef __cplusplus").unwrap();
    let comments = code
        .split("/**")
        .skip(1)
        .map(|part| part.split_once("*/").unwrap().0)
        .flat_map(|comment| comment.split("\n *\n"))
        .map(bare);
    let declarations = code
        .lines()
        .filter(|line| !line.trim_start().starts_with(['/', '*']))
        .filter(|line| !line.starts_with("#if") && !line.starts_with("#endif"))
        .map(words);
    let mut looked = 0;
    for text in paragraphs.chain(comments).chain(declarations) {
        assert!(shown.contains(&text), "missing: {text}");
        looked += usize::from(!text.is_empty());
    }
    assert!(looked > 300, "only {looked} were looked at");
}

#[test]
fn each_function_leads_to_it() {
    let names = fs::read_to_string(root().join("src/capi/exports.txt")).unwrap();
    let place = page().parent().unwrap();
    let shown = shown();
    for name in names.lines() {
        let target = fs::read_link(place.join(format!("{name}.3"))).unwrap();
        assert_eq!(target.to_str(), Some("rl.h.3"), "{name}");
        assert!(shown.contains(&format!("\n   {name}\n")), "{name}");
    }
}

fn page() -> &'static Path {
    static PAGE: OnceLock<PathBuf> = OnceLock::new();
    PAGE.get_or_init(|| {
        make(&["man"]);
        build().join("man/rl.h.3")
    })
}

/// The page as it is read, in lines so long that no word is broken.
fn shown() -> String {
    let mut man = Command::new("man");
    man.args(["--warnings", "--no-hyphenation", "--no-justification", "-l"])
        .env("MANWIDTH", "1000")
        .env("LC_ALL", "C.UTF-8")
        .arg(page());
    output(&mut man)
}

/// A comment without its asterisks.
fn bare(comment: &str) -> String {
    let lines = comment.lines().map(|line| {
        let line = line.trim_start();
        line.strip_prefix('*').unwrap_or(line)
    });
    words(&lines.collect::<Vec<_>>().join("\n").replace("*/", ""))
}

fn words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
