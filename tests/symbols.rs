//! The libraries export the functions of the header and nothing else, and nothing that
//! would meet a name of GNU readline, which has our prefix.

#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

mod made;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

use made::{build, output, root};

type Names = BTreeSet<String>;

#[test]
fn the_shared_library_exports_the_list() {
    assert_eq!(defined(&["-D"], &build().join("librl.so")), exports());
}

#[test]
fn the_static_library_exports_the_list() {
    assert_eq!(defined(&["-g"], &build().join("librl.a")), exports());
}

#[test]
fn the_list_is_what_the_header_declares() {
    let header = fs::read_to_string(root().join("include/rl.h")).unwrap();
    assert_eq!(declared(&header), exports());
}

#[test]
fn readline_has_none_of_them() {
    let library = output(Command::new("cc").arg("-print-file-name=libreadline.so"));
    let readline = defined(&["-D"], Path::new(library.trim()));
    assert!(
        readline.contains("rl_free"),
        "this is not readline: {library}"
    );
    let both: Vec<_> = exports().intersection(&readline).cloned().collect();
    assert!(both.is_empty(), "in readline too: {both:?}");
}

#[test]
fn the_shared_library_has_its_name_and_stays_loaded() {
    let dynamic = output(
        Command::new("readelf")
            .arg("-d")
            .arg(build().join("librl.so")),
    );
    assert!(dynamic.contains("soname: [librl.so.0]"), "{dynamic}");
    assert!(dynamic.contains("NODELETE"), "{dynamic}");
}

#[test]
fn a_debugger_finds_symbols_and_lines() {
    for library in ["librl.so", "librl.a"] {
        let sections = output(
            Command::new("readelf")
                .arg("-SW")
                .arg(build().join(library)),
        );
        for section in [".symtab", ".debug_line"] {
            assert!(sections.contains(section), "{library} lacks {section}");
        }
    }
}

/// The committed list, which must be sorted and free of repetition.
fn exports() -> Names {
    let list = fs::read_to_string(root().join("src/capi/exports.txt")).unwrap();
    assert!(
        list.lines().is_sorted_by(|a, b| a < b),
        "sort src/capi/exports.txt"
    );
    list.lines().map(str::to_owned).collect()
}

/// The symbols that a library defines for others. Absolute ones are version names.
fn defined(which: &[&str], library: &Path) -> Names {
    let nm = &mut Command::new("nm");
    let symbols = output(
        nm.args(which)
            .args(["--defined-only", "--format=posix"])
            .arg(library),
    );
    let fields = symbols
        .lines()
        .map(|line| line.split(' ').collect::<Vec<_>>());
    fields
        .filter(|f| f.len() > 2 && f[1] != "A")
        .map(|f| f[0].to_owned())
        .collect()
}

/// The functions of a header: names before a parenthesis in lines that begin a
/// declaration. `rl_free` begins none of its own.
fn declared(header: &str) -> Names {
    let outside = |line: &&str| line.starts_with(|c: char| c.is_ascii_lowercase());
    let functions = header
        .lines()
        .filter(outside)
        .filter(|line| !line.starts_with("static "));
    functions
        .filter(|line| !line.starts_with("typedef "))
        .filter_map(|line| line.split_once('(')?.0.rsplit([' ', '*']).next())
        .map(str::to_owned)
        .collect()
}
