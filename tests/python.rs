//! The package for Python: the wheel that `make wheel` builds passes its own tests and
//! mypy, and in an environment that has nothing else, the README's programs run as pasted.

#![allow(clippy::unwrap_used, clippy::panic)]

mod made;
mod running;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use made::{build, make, output, root};
use running::{directory, own_directory, run};

#[test]
fn its_tests_pass() {
    let mut pytest = tool("pytest");
    pytest.arg("--rootdir").arg(package()).arg(package());
    let printed = run(&mut pytest, b"").succeeded();
    let last = printed.lines().last().unwrap();
    assert!(last.contains(" passed"), "{printed}");
    assert!(!last.contains("skipped"), "{printed}");
}

#[test]
fn its_types_are_right() {
    let mut mypy = tool("mypy");
    mypy.arg("--config-file")
        .arg(package().join("pyproject.toml"))
        .args(["src", "tests", "bench.py"].map(|name| package().join(name)));
    run(&mut mypy, b"").succeeded();
}

/// Who uses the package has the types too: they are in the wheel.
#[test]
fn who_uses_it_has_its_types() {
    let uses = "import librl\nreveal_type(librl.Limiter('').check('a').retry_after)\n";
    fs::write(own_directory().join("uses.py"), uses).unwrap();
    let printed = run(tool("mypy").args(["--strict", "uses.py"]), b"").succeeded();
    assert!(printed.contains(r#"is "float""#), "{printed}");
}

#[test]
fn one_wheel_is_for_all_pythons_from_3_9() {
    let name = wheel().file_name().unwrap().to_str().unwrap();
    assert!(name.contains("-cp39-abi3-linux_"), "{name}");
    let listed = output(
        Command::new("python3")
            .args(["-m", "zipfile", "-l"])
            .arg(wheel()),
    );
    assert!(listed.contains("librl/_native.abi3.so"), "{listed}");
    assert!(listed.contains("librl/py.typed"), "{listed}");
}

/// All warnings, in what is written by hand: cffi adds its own to the file.
#[test]
fn its_c_is_clean() {
    let includes = output(Command::new(python()).args([
        "-c",
        "import sysconfig; print(sysconfig.get_path('include'))",
    ]));
    let source = own_directory().join("shim.c");
    let shim = fs::read_to_string(package().join("native/shim.c")).unwrap();
    let uses = "\nint main(void) { return py_allow(0, 0, 0, 0, 0, 1); }\n";
    fs::write(&source, format!("#include <Python.h>\n{shim}{uses}")).unwrap();
    let mut gcc = Command::new("gcc");
    gcc.args(["-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Werror"])
        .args(["-Wno-unused-function", "-fsyntax-only"]) // all but one are for cffi's part
        .arg("-I")
        .arg(root().join("include"))
        .args(["-isystem", includes.trim()]);
    run(gcc.arg(&source), b"").succeeded();
}

#[test]
fn the_readmes_programs_run_as_pasted() {
    let readme = fs::read_to_string(package().join("README.md")).unwrap();
    let programs = blocks(&readme, "python");
    let hello = blocks(&readme, "console")[0];
    let expected = hello.strip_prefix("$ python hello.py\n").unwrap();

    let place = own_directory();
    let alone = alone_in(&place.join("venv"));
    let outputs: Vec<String> = programs
        .iter()
        .map(|program| {
            // The name of its zone is nobody else's, and goes with the test.
            let zone = format!("/librl-python-readme-{}", std::process::id());
            let remove = format!("\nlibrl.remove_zone({zone:?})\n");
            let ours = program.replace("/shop", &zone);
            let end = if ours == *program { "" } else { &remove };
            fs::write(place.join("hello.py"), ours + end).unwrap();
            run(Command::new(&alone).args(["-B", "hello.py"]), b"").succeeded()
        })
        .collect();
    assert_eq!(outputs.len(), 3);
    assert_eq!(outputs[0], format!("{expected}\n"));
    assert!(outputs[1].contains("all about alice all about alice\nretry after 1"));
}

/// The texts of the fenced blocks in that language.
fn blocks<'a>(text: &'a str, language: &str) -> Vec<&'a str> {
    text.split(&format!("\n```{language}\n"))
        .skip(1)
        .map(|rest| rest.split_once("\n```\n").unwrap().0)
        .collect()
}

/// The Python of a new environment, in which the wheel is installed as a user would.
fn alone_in(place: &Path) -> PathBuf {
    output(
        Command::new(python())
            .args(["-m", "venv", "--clear"])
            .arg(place),
    );
    let python = place.join("bin/python");
    output(
        Command::new(&python)
            .args(["-m", "pip", "install", "--quiet", "--no-compile"])
            .arg(wheel()),
    );
    python
}

/// One of the tools in build/python-venv, where the wheel is installed.
fn tool(name: &str) -> Command {
    static INSTALLED: OnceLock<()> = OnceLock::new();
    INSTALLED.get_or_init(|| {
        output(
            Command::new(python())
                .args(["-m", "pip", "install", "--quiet", "--no-deps"])
                .arg("--force-reinstall")
                .arg(wheel()),
        );
    });
    let mut command = Command::new(python());
    command
        .args(["-B", "-m", name])
        .env("MYPY_CACHE_DIR", directory("mypy-cache"));
    command
}

fn python() -> PathBuf {
    wheel();
    build().join("python-venv/bin/python")
}

fn wheel() -> &'static Path {
    static WHEEL: OnceLock<PathBuf> = OnceLock::new();
    WHEEL.get_or_init(|| {
        make(&["wheel"]);
        let place = fs::read_dir(build().join("wheel")).unwrap();
        let mut wheels: Vec<PathBuf> = place.map(|entry| entry.unwrap().path()).collect();
        assert_eq!(wheels.len(), 1, "{wheels:?}");
        wheels.remove(0)
    })
}

fn package() -> PathBuf {
    root().join("bindings/python")
}
