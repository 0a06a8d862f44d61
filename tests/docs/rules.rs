//! Rules that a page shows are rules, and are answered as the page says.
//!
//! A block `answers` is about the block `rules` before it. Its lines are those of
//! `c_tests/cases.c`, which runs them.

use std::fs;

use rl::config::Config;

use crate::c_build::{c_test, passes};
use crate::made::root;
use crate::page::{Page, documentation};
use crate::running::own_directory;

#[test]
fn rules_that_are_shown_are_rules() {
    let mut seen = 0;
    for page in documentation() {
        for block in page.in_language("rules") {
            let mut config = Config::new();
            let parsed = config.parse(block.text.as_bytes());
            parsed.unwrap_or_else(|e| panic!("{}: {e}", page.place(block)));
            if block.text.contains("default") {
                let valid = config.validate();
                valid.unwrap_or_else(|e| panic!("{}: {e}", page.place(block)));
            }
            seen += 1;
        }
    }
    assert!(seen >= 10, "only {seen} blocks of rules");
}

/// Or they would not be looked at.
#[test]
fn no_rules_stand_in_other_blocks() {
    for page in documentation() {
        for block in page.blocks.iter().filter(|block| block.language != "rules") {
            let is_rule = |line: &str| line.starts_with("default ") && line.contains('=');
            let hidden = block.text.lines().any(is_rule);
            assert!(!hidden, "{}: mark this block `rules`", page.place(block));
        }
    }
}

#[test]
fn requests_are_answered_as_the_page_says() {
    let cases: String = documentation().iter().map(cases).collect();
    assert!(cases.matches("case ").count() >= 8, "{cases}");
    let file = own_directory().join("pages.cases");
    fs::write(&file, cases).unwrap();
    passes(c_test("cases").arg(file));
}

fn cases(page: &Page) -> String {
    let mut cases = String::new();
    let mut rules = None;
    for block in &page.blocks {
        match &*block.language {
            "rules" => rules = Some(&block.text),
            "answers" => {
                let rules = rules.take().expect("rules before the answers");
                let (place, answers) = (page.place(block), &block.text);
                cases += &format!("case {place}\nconfig\n{rules}end\n{answers}\n");
            }
            _ => (),
        }
    }
    cases
}

/// Rows of a wrong line, and what is said of it: `COLUMN: MESSAGE`.
#[test]
fn mistakes_are_told_as_the_page_says() {
    let page = Page::read(&root().join("docs/rules.md"));
    let rows: Vec<_> = page.rows().filter(|row| is_mistake(row)).collect();
    assert!(rows.len() >= 5, "{rows:?}");
    for row in rows {
        let error = Config::new().parse(row[0].trim_matches('`').as_bytes());
        let error = error.expect_err(row[0]);
        assert_eq!(format!("{}: {}", error.column, error.message), row[1]);
    }
}

fn is_mistake(row: &[&str]) -> bool {
    let told = row.last().and_then(|last| last.split_once(": "));
    row.len() == 2 && told.is_some_and(|(column, _)| column.parse::<u32>().is_ok())
}
