//! C on a page compiles: whole programs as they are, pieces of one within a function that has
//! what they speak of, and the declarations of the reference all together.

use std::fs;
use std::process::Command;

use crate::made::root;
use crate::page::{Block, Page, documentation};
use crate::running::{own_directory, run};

const REFERENCE: &str = "docs/reference.md";

/// What a piece may take for granted.
const AROUND: [&str; 2] = [
    "#include <rl.h>\n#include <stdio.h>\n\
     void piece(rl_config *config, rl_service *service);\n\
     void piece(rl_config *config, rl_service *service) {\n\
     rl_decision answer;\nrl_error error;\n\
     (void)config, (void)service, (void)answer, (void)error;\n{\n",
    "\n}\n}\n",
];

#[test]
fn programs_and_pieces_compile() {
    let pages = documentation();
    let pages = pages.iter().filter(|page| page.name() != REFERENCE);
    let mut seen = 0;
    for page in pages {
        for block in page.in_language("c") {
            compiles(&page.place(block), &whole(block));
            seen += 1;
        }
    }
    assert!(seen >= 5, "only {seen} blocks of C");
}

fn whole(block: &Block) -> String {
    match block.text.contains("int main(") {
        true => block.text.clone(),
        false => AROUND.join(&block.text),
    }
}

#[test]
fn declarations_of_the_reference_compile_together() {
    let page = Page::read(&root().join(REFERENCE));
    let blocks: String = page.in_language("c").map(|block| &*block.text).collect();
    assert!(blocks.contains("rl_check_batch"));
    let needed = "#include <stdbool.h>\n#include <stddef.h>\n#include <stdint.h>\n";
    compiles(REFERENCE, &format!("{needed}{blocks}"));
}

/// Unused variables aside, which a piece may leave to what would follow it.
fn compiles(place: &str, source: &str) {
    let file = own_directory().join("page.c");
    fs::write(&file, source).unwrap();
    let mut compiler = Command::new("cc");
    compiler
        .args(["-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Werror"])
        .args([
            "-Wno-unused-variable",
            "-Wno-unused-function",
            "-fsyntax-only",
        ])
        .arg("-I")
        .arg(root().join("include"))
        .arg(&file);
    let ran = run(&mut compiler, b"");
    assert_eq!(ran.code, Some(0), "{place}\n{}", ran.output);
}
