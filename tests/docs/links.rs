//! Links between pages lead to files that are there, and to titles that are in them.

use std::path::PathBuf;

use crate::made::root;
use crate::page::{Page, documentation, everything};

#[test]
fn links_lead_to_files_and_titles_that_are_there() {
    let wrong: Vec<String> = everything().iter().flat_map(dead).collect();
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

/// The links of a page that lead nowhere. Other sites are not asked.
fn dead(page: &Page) -> Vec<String> {
    let links = page.links().into_iter();
    let inner = links.filter(|link| !link.contains("://"));
    inner
        .filter_map(|link| {
            Some(format!(
                "{}: {link}: {}",
                page.name(),
                trouble(page, &link)?
            ))
        })
        .collect()
}

fn trouble(page: &Page, link: &str) -> Option<String> {
    let (file, anchor) = link.split_once('#').unwrap_or((link, ""));
    let path = match file {
        "" => page.path.clone(),
        file => page.path.parent().unwrap().join(file),
    };
    let Ok(path) = path.canonicalize() else {
        return Some("no such file".to_owned());
    };
    if !path.starts_with(root().canonicalize().unwrap()) {
        return Some("leads out of the repository".to_owned());
    }
    if anchor.is_empty() || Page::read(&path).anchors().iter().any(|own| own == anchor) {
        return None;
    }
    Some(format!(
        "no such title; there are {}",
        Page::read(&path).anchors().join(", ")
    ))
}

/// Who starts at the README, or at the index, finds all of them. (docs/ffi.md is one of the
/// bindings, and stands among these.)
#[test]
fn each_page_stands_in_both_indexes() {
    for index in ["README.md", "docs/README.md"] {
        let index = Page::read(&root().join(index));
        let listed = files(&index);
        for page in documentation() {
            let name = page.name();
            let aside = ["README.md", "docs/ffi.md"].contains(&&*name) || page.path == index.path;
            assert!(
                aside || listed.contains(&page.path),
                "{name} is not in {}",
                index.name()
            );
        }
    }
}

/// What the links of a page lead to, without the titles in them.
fn files(page: &Page) -> Vec<PathBuf> {
    let place = page.path.parent().unwrap();
    let links = page.links();
    let files = links.iter().map(|link| link.split('#').next().unwrap());
    files
        .filter_map(|file| place.join(file).canonicalize().ok())
        .collect()
}
