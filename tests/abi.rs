//! Programs built with the last release run with this library: what abidiff finds between
//! the description in `abi/` and what is built now is an addition, or an error. The
//! description is made by packaging/abi.sh.

#![allow(clippy::unwrap_used)]

mod made;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use made::{build, output, root};

#[test]
fn nothing_is_taken_from_the_last_release() {
    let told = broken(&committed(), &described("now", &library(), &include()));
    assert!(told.is_none(), "{}", told.unwrap());
}

/// A library without a function, beside one that has it: which is older makes the difference.
#[test]
fn a_function_may_come_but_not_go() {
    let whole = described("whole", &library(), &include());
    let less = described("less", &library_without("rl_reset"), &include());
    assert!(broken(&less, &whole).is_none());
    assert!(broken(&whole, &less).unwrap().contains("rl_reset"));
}

#[test]
fn the_statistics_may_grow_at_their_end_only() {
    let last = "    uint64_t log_capacity;\n";
    let more = "    uint64_t more;\n";
    let changes = [
        ("grown", format!("{last}{more}"), None),
        ("moved", format!("{more}{last}"), Some("log_capacity")),
        ("shrunk", String::new(), Some("log_capacity")),
    ];
    for (name, new, expected) in changes {
        let told = broken(&committed(), &with_header(name, last, &new));
        assert_eq!(told.is_some(), expected.is_some(), "{name}: {told:?}");
        assert!(told.unwrap_or_default().contains(expected.unwrap_or("")));
    }
}

#[test]
fn a_struct_or_an_argument_of_another_type_is_told() {
    let changes = [
        (
            "field",
            "uint64_t remaining;",
            "uint32_t remaining;",
            "remaining",
        ),
        (
            "argument",
            "rl_zone_unlink(const char *",
            "rl_zone_unlink(const void *",
            "rl_zone_unlink",
        ),
    ];
    for (name, old, new, expected) in changes {
        let told = broken(&committed(), &with_header(name, old, new));
        assert!(told.unwrap().contains(expected), "{name}");
    }
}

#[test]
fn another_name_of_the_library_is_told() {
    let renamed = place("soname").join("renamed.abi");
    let text = fs::read_to_string(committed()).unwrap();
    fs::write(&renamed, text.replace("'librl.so.0'", "'librl.so.1'")).unwrap();
    assert!(broken(&committed(), &renamed).unwrap().contains("SONAME"));
}

/// What abidiff says about two descriptions, where programs built with the old one could
/// no longer run.
fn broken(old: &Path, new: &Path) -> Option<String> {
    let ran = Command::new("abidiff")
        .arg("--no-added-syms")
        .arg("--suppressions")
        .arg(root().join("abi/growing.suppr"))
        .args([old, new])
        .output()
        .unwrap();
    let told = [ran.stdout, ran.stderr].map(|text| String::from_utf8(text).unwrap());
    (!ran.status.success()).then(|| told.concat())
}

/// The description of a library with a header.
fn described(name: &str, library: &Path, include: &Path) -> PathBuf {
    let path = place(name).join("made.abi");
    let script = root().join("packaging/abi.sh");
    let text = output(Command::new(script).args([library, include]));
    fs::write(&path, text).unwrap();
    path
}

/// The description of the library with another header.
fn with_header(name: &str, old: &str, new: &str) -> PathBuf {
    let header = fs::read_to_string(include().join("rl.h")).unwrap();
    let changed = header.replace(old, new);
    assert_ne!(header, changed, "{name}");
    fs::write(place(name).join("rl.h"), changed).unwrap();
    described(name, &library(), &place(name))
}

fn library_without(function: &str) -> PathBuf {
    let names = fs::read_to_string(root().join("src/capi/exports.txt")).unwrap();
    let kept: String = names
        .lines()
        .filter(|name| *name != function)
        .map(|name| format!("{name};"))
        .collect();
    let [script, library] = ["exports.map", "librl.so"].map(|name| place("without").join(name));
    fs::write(&script, format!("{{ global: {kept} local: *; }};")).unwrap();
    output(
        Command::new("cc")
            .args(["-shared", "-o"])
            .arg(&library)
            .arg("-Wl,--whole-archive")
            .arg(build().join("librl.a"))
            .args(["-Wl,--no-whole-archive", "-Wl,-soname,librl.so.0"])
            .arg(format!("-Wl,--version-script={}", script.display())),
    );
    library
}

fn committed() -> PathBuf {
    root().join("abi/librl.so.0.abi")
}

fn library() -> PathBuf {
    build().join("librl.so")
}

fn include() -> PathBuf {
    root().join("include")
}

/// A directory of its own for each thing that is described.
fn place(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR"))
        .join("abi")
        .join(name);
    fs::create_dir_all(&path).unwrap();
    path
}
