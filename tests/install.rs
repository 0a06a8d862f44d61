//! What `make install` puts down works for a stranger: in another directory, with
//! nothing but pkg-config, shared and static; and `make uninstall` takes all of it away.

#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

mod made;

use std::env::consts::ARCH;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use made::{build, make, output, root};

#[test]
fn a_program_finds_the_installed_library() {
    let tree = Tree::install("default", "/usr/local", "/usr/local/lib");
    tree.holds_its_files();
    tree.runs_the_program();
    tree.uninstall();
}

/// Debian keeps libraries one directory deeper, which the relative paths must follow.
#[test]
fn the_library_directory_may_lie_deeper() {
    let tree = Tree::install("deeper", "/usr", &format!("/usr/lib/{ARCH}-linux-gnu"));
    tree.holds_its_files();
    tree.runs_the_program();
    tree.uninstall();
}

/// An installed tree below a directory of its own, and a directory for a program.
struct Tree {
    destdir: PathBuf,
    libdir: PathBuf,
    program: PathBuf,
    arguments: [String; 3],
}

impl Tree {
    fn install(name: &str, prefix: &str, libdir: &str) -> Tree {
        build();
        let place = Path::new(env!("CARGO_TARGET_TMPDIR"))
            .join("install")
            .join(name);
        let _ = fs::remove_dir_all(&place);
        let [destdir, program] = ["tree", "program"].map(|directory| place.join(directory));
        fs::create_dir_all(&program).unwrap();
        let tree = Tree {
            libdir: destdir.join(&libdir[1..]),
            arguments: [
                format!("DESTDIR={}", destdir.display()),
                format!("PREFIX={prefix}"),
                format!("LIBDIR={libdir}"),
            ],
            destdir,
            program,
        };
        tree.make("install");
        tree
    }

    fn make(&self, target: &str) {
        let [destdir, prefix, libdir] = &self.arguments;
        make(&[target, destdir, prefix, libdir]);
    }

    fn holds_its_files(&self) {
        let files = files(&self.destdir);
        let (pages, files): (Vec<_>, Vec<_>) = files
            .iter()
            .partition(|path| path.extension().is_some_and(|kind| kind == "3"));
        let exports = include_str!("../src/capi/exports.txt").lines().count();
        assert_eq!(pages.len(), exports + 2, "rl.h, rl_free: {pages:?}");
        let mut names: Vec<_> = files.iter().map(|path| path.file_name().unwrap()).collect();
        names.sort();
        let version = concat!("librl.so.", env!("CARGO_PKG_VERSION"));
        let expected = [
            "librl.a",
            "librl.pc",
            "librl.so",
            "librl.so.0",
            version,
            "librlConfig.cmake",
            "librlConfigVersion.cmake",
            "rl.h",
            "rl.hpp",
        ];
        assert_eq!(names, expected);
    }

    /// Builds the program of the header's first page as a stranger would, and runs it.
    fn runs_the_program(&self) {
        fs::write(self.program.join("program.c"), example()).unwrap();
        self.shell("cc -o shared program.c $(pkg-config --cflags --libs librl)");
        self.shell("cc -o static -static program.c $(pkg-config --static --cflags --libs librl)");
        self.shell(
            "cc -o archive program.c $(pkg-config --static --cflags --libs librl \
             | sed 's/-lrl /-l:librl.a /')",
        );
        assert_eq!(self.shell("LD_LIBRARY_PATH=$LIBDIR ./shared"), "allowed\n");
        assert_eq!(self.shell("./static"), "allowed\n");
        assert_eq!(self.shell("./archive"), "allowed\n");
        let needed = self.shell("readelf -d shared");
        assert!(needed.contains("Shared library: [librl.so.0]"), "{needed}");
    }

    fn shell(&self, command: &str) -> String {
        let shell = &mut Command::new("sh");
        shell.current_dir(&self.program).env("LIBDIR", &self.libdir);
        shell.env("PKG_CONFIG_PATH", self.libdir.join("pkgconfig"));
        output(shell.args(["-ec", command]))
    }

    fn uninstall(&self) {
        self.make("uninstall");
        let left = files(&self.destdir);
        assert!(left.is_empty(), "left behind: {left:?}");
    }
}

/// The program on the first page of the header.
fn example() -> String {
    let header = fs::read_to_string(root().join("include/rl.h")).unwrap();
    let lines = header
        .lines()
        .filter_map(|line| line.strip_prefix(" *     "));
    let from_include = lines.skip_while(|line| *line != "#include <rl.h>");
    let program: Vec<_> = from_include.take_while(|line| *line != "}").collect();
    program.join("\n") + "\n}\n"
}

/// Everything below a directory that is no directory.
fn files(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap());
    entries
        .flat_map(|entry| match entry.file_type().unwrap().is_dir() {
            true => files(&entry.path()),
            false => vec![entry.path()],
        })
        .collect()
}
