//! What `make docs` makes is what stands in docs/: the reference is that of the header, the
//! charts and tables are what the library answers today.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::made::{build, root};
use crate::running::{own_directory, run};

#[test]
fn the_reference_and_the_charts_are_current() {
    build();
    let docs = root().join("docs");
    let place = own_directory();
    fs::copy(docs.join("choosing.md"), place.join("choosing.md")).unwrap();
    let mut python = Command::new("python3");
    python.arg("-B").arg(docs.join("tools")).arg(&place);
    run(&mut python, b"").succeeded();
    for name in [
        "reference.md",
        "choosing.md",
        "charts/steady.svg",
        "charts/border.svg",
        "charts/silence.svg",
    ] {
        same(&docs.join(name), &place.join(name));
    }
}

fn same(committed: &Path, made: &Path) {
    let [committed_text, made] = [committed, made].map(|path| fs::read_to_string(path).unwrap());
    let lines = committed_text.lines().zip(made.lines());
    let first = lines.enumerate().find(|(_, (old, new))| old != new);
    let name = committed.display();
    assert!(
        committed_text == made,
        "{name} is out of date; `make docs` updates it\n{first:?}"
    );
}

#[test]
fn charts_can_be_read_by_a_browser() {
    for name in ["steady", "border", "silence"] {
        let parse = "import sys, xml.dom.minidom as m; m.parse(sys.argv[1])";
        let file = root().join("docs/charts").join(name).with_extension("svg");
        run(Command::new("python3").args(["-c", parse]).arg(&file), b"").succeeded();
        let text = fs::read_to_string(file).unwrap();
        assert!(text.contains("prefers-color-scheme: dark") && text.contains("aria-label="));
    }
}
