//! Strangers build against an installed librl that was moved after the installation: with
//! CMake and with pkg-config, shared and static, the servers' README as pasted. CMake finds
//! the versions that will do, and `make uninstall` leaves nothing of it.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

mod made;
#[allow(dead_code, reason = "programs only")]
mod running;

use std::env::consts::ARCH;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use made::{build, make, output, root};
use running::{own_directory, run};

/// Ends with 0 where the header and the library are of one version.
const PROGRAM: &str = r#"#include <rl.h>
#include <stdio.h>
#include <string.h>
int main(void) {
    printf("librl %s\n", rl_version());
    return strcmp(rl_version(), LIBRL_VERSION) != 0;
}
"#;

const SAID: &str = concat!("librl ", env!("CARGO_PKG_VERSION"), "\n");

/// What a project's CMakeLists.txt begins with, and what uses both libraries.
const BEGINNING: &str = "cmake_minimum_required(VERSION 3.13)\nproject(consumer C)\n";
const BOTH: &str = "find_package(librl REQUIRED)\n\
    add_executable(shared program.c)\n\
    target_link_libraries(shared librl::librl)\n\
    add_executable(static program.c)\n\
    target_link_libraries(static librl::static)\n";

#[test]
fn a_project_in_cmake_finds_the_moved_tree() {
    let place = Place::install("/usr/local", "/usr/local/lib", "/usr/local/include");
    // Twice, as the parts of a larger project do.
    place.project(&format!("{BEGINNING}find_package(librl REQUIRED)\n{BOTH}"));
    place.cmake(&place.tree.join("usr/local")).unwrap();
    place.runs(&place.project.join("build"), None);
}

/// Debian keeps libraries one directory deeper, and headers may have one of their own.
#[test]
fn directories_may_lie_deeper() {
    let libdir = format!("/usr/lib/{ARCH}-linux-gnu");
    let place = Place::install("/usr", &libdir, "/usr/include/limits");
    place.project(&format!("{BEGINNING}{BOTH}"));
    place.cmake(&place.tree.join("usr")).unwrap();
    place.runs(&place.project.join("build"), None);
}

/// As /lib is a link to /usr/lib on many systems.
#[test]
fn the_library_directory_may_be_found_by_a_link() {
    let place = Place::install("/usr", "/usr/lib", "/usr/include");
    symlink("usr/lib", place.tree.join("lib")).unwrap();
    place.project(&format!("{BEGINNING}{BOTH}"));
    place.cmake(&place.tree.join("lib/cmake/librl")).unwrap();
    place.runs(&place.project.join("build"), None);
}

#[test]
fn pkg_config_finds_the_moved_tree() {
    let place = Place::install("/usr/local", "/usr/local/lib", "/usr/local/include");
    place.shell("cc -o shared program.c $(pkg-config --cflags --libs librl)");
    let link = "cc -o static program.c $(pkg-config --static --cflags --libs librl \
                | sed 's/-lrl /-l:librl.a /')";
    place.shell(link);
    place.runs(&place.project, Some(&place.libdir()));
}

#[test]
fn a_version_will_do_that_has_what_was_asked_for() {
    let place = Place::install("/usr/local", "/usr/local/lib", "/usr/local/include");
    let version = env!("CARGO_PKG_VERSION");
    let [major, minor] = [
        env!("CARGO_PKG_VERSION_MAJOR"),
        env!("CARGO_PKG_VERSION_MINOR"),
    ];
    let next = minor.parse::<u32>().unwrap() + 1;
    let later = major.parse::<u32>().unwrap() + 1;
    for (asked, words, will_do) in [
        (String::new(), "", true),
        (format!("{major}.{minor}"), "", true),
        (version.to_owned(), "", true),
        (version.to_owned(), "EXACT", true),
        (format!("{version}.1"), "", false),
        (format!("{major}.{next}"), "", false),
        (format!("{later}"), "", false),
    ] {
        let found = place.finds("8", &format!("{asked} {words}"));
        assert_eq!(found.is_ok(), will_do, "{asked} {words}: {found:?}");
        let told = found.map_or_else(|said| said.contains(version), |said| said.contains(SAID));
        assert!(told, "{asked} {words} of {version}");
    }
    let narrow = place.finds("4", "").unwrap_err();
    assert!(narrow.contains("(64 bits)"), "{narrow}");
}

/// There has been no version before 0 to ask for: the installed file is made to say another.
#[test]
fn a_version_of_another_first_number_will_not_do() {
    let place = Place::install("/usr/local", "/usr/local/lib", "/usr/local/include");
    let file = place.libdir().join("cmake/librl/librlConfigVersion.cmake");
    let text = fs::read_to_string(&file).unwrap();
    fs::write(&file, text.replace(env!("CARGO_PKG_VERSION"), "2.1.0")).unwrap();
    for (asked, will_do) in [
        ("1.9", false),
        ("2.0", true),
        ("2.1.1", false),
        ("3", false),
    ] {
        let found = place.finds("8", asked);
        assert_eq!(found.is_ok(), will_do, "{asked}: {found:?}");
    }
}

#[test]
fn the_archive_brings_the_libraries_that_pkg_config_names() {
    let place = Place::install("/usr/local", "/usr/local/lib", "/usr/local/include");
    let names = fs::read_to_string(place.libdir().join("pkgconfig/librl.pc")).unwrap();
    let private = names
        .lines()
        .find_map(|line| line.strip_prefix("Libs.private: "));
    let expected = private.unwrap().replace(' ', ";");
    place.project(
        "cmake_minimum_required(VERSION 3.13)\nproject(asks NONE)\nfind_package(librl REQUIRED)\n\
         get_target_property(brings librl::static INTERFACE_LINK_LIBRARIES)\n\
         message(NOTICE \"brings ${brings}\")\n",
    );
    let said = place.cmake(&place.tree.join("usr/local")).unwrap();
    assert!(said.contains(&format!("brings {expected}\n")), "{said}");
}

/// The commands and the CMakeLists.txt of the servers' README.
#[test]
fn the_servers_are_built_as_their_readme_says() {
    make(&["server-tools"]);
    let place = Place::install("/usr/local", "/usr/local/lib", "/usr/local/include");
    let servers = root().join("examples/servers");
    for file in ["epoll.c", "evhttp.c", "microhttpd.c", "limits.conf"] {
        fs::copy(servers.join(file), place.project.join(file)).unwrap();
    }
    let readme = fs::read_to_string(servers.join("README.md")).unwrap();
    let commands = block(&readme, "sh");
    assert_eq!(commands.lines().count(), 3);
    place.shell(commands);
    fs::write(
        place.project.join("CMakeLists.txt"),
        block(&readme, "cmake"),
    )
    .unwrap();
    place.cmake(&place.tree.join("usr/local")).unwrap();
    for server in ["./epoll", "./evhttp", "./microhttpd", "build/epoll"] {
        let start = format!("rm -f out; timeout 20 {server} 0 limits.conf > out & pid=$!");
        let wait = "until grep -s listening out; do kill -0 $pid; sleep 0.05; done";
        place.shell(&format!("{start}; {wait}; kill $pid; wait $pid"));
    }
}

#[test]
fn uninstall_leaves_nothing_for_cmake() {
    let place = Place::install("/usr/local", "/usr/local/lib", "/usr/local/include");
    let directory = place.tree.join("usr/local/lib/cmake/librl");
    assert!(directory.join("librlConfig.cmake").exists());
    place.make("uninstall", &place.tree);
    assert!(!directory.exists());
    place.make("uninstall", &place.tree); // and once more is no error
    place.make("install", &place.tree);
    fs::write(directory.join("another.cmake"), "").unwrap();
    place.make("uninstall", &place.tree);
    let left: Vec<_> = fs::read_dir(&directory).unwrap().collect();
    assert_eq!(left.len(), 1, "{left:?}");
}

/// An installed tree, where it was moved to, and a directory with a project.
struct Place {
    tree: PathBuf,
    project: PathBuf,
    variables: [String; 3],
}

impl Place {
    fn install(prefix: &str, libdir: &str, includedir: &str) -> Self {
        build();
        let directory = own_directory();
        let _ = fs::remove_dir_all(&directory);
        let [first, tree, project] = ["first", "moved", "project"].map(|d| directory.join(d));
        fs::create_dir_all(&project).unwrap();
        let place = Self {
            tree,
            project,
            variables: [
                format!("PREFIX={prefix}"),
                format!("LIBDIR={libdir}"),
                format!("INCLUDEDIR={includedir}"),
            ],
        };
        place.make("install", &first);
        fs::rename(&first, &place.tree).unwrap();
        place
    }

    fn make(&self, target: &str, destdir: &Path) {
        let [prefix, libdir, includedir] = &self.variables;
        let destdir = format!("DESTDIR={}", destdir.display());
        make(&[target, &destdir, prefix, libdir, includedir]);
    }

    fn libdir(&self) -> PathBuf {
        let libdir = self.variables[1].strip_prefix("LIBDIR=/").unwrap();
        self.tree.join(libdir)
    }

    fn project(&self, lists: &str) {
        fs::write(self.project.join("CMakeLists.txt"), lists).unwrap();
        fs::write(self.project.join("program.c"), PROGRAM).unwrap();
    }

    /// Configures and builds the project from nothing. Returns what CMake says, or has
    /// against it; that may be no warning.
    fn cmake(&self, prefix: &Path) -> Result<String, String> {
        let build = self.project.join("build");
        let _ = fs::remove_dir_all(&build);
        let mut configure = Command::new("cmake");
        configure.arg("-S").arg(&self.project).arg("-B").arg(&build);
        let mut prefixed = std::ffi::OsString::from("-DCMAKE_PREFIX_PATH=");
        prefixed.push(prefix);
        let said = said(configure.arg("-Werror=dev").arg(prefixed))?;
        assert!(!said.contains("Warning"), "{said}");
        run(Command::new("cmake").arg("--build").arg(&build), b"").succeeded();
        Ok(said)
    }

    /// What a project hears that asks for a version, on a machine with pointers of so many
    /// bytes.
    fn finds(&self, bytes: &str, asked: &str) -> Result<String, String> {
        self.project(&format!(
            "cmake_minimum_required(VERSION 3.13)\nproject(asks NONE)\n\
             set(CMAKE_SIZEOF_VOID_P {bytes})\nfind_package(librl {asked} REQUIRED)\n\
             message(NOTICE \"librl ${{librl_VERSION}}\")\n"
        ));
        self.cmake(&self.tree.join("usr/local"))
    }

    /// Commands in the project, for which the library is as good as installed.
    fn shell(&self, commands: &str) {
        fs::write(self.project.join("program.c"), PROGRAM).unwrap();
        let mut shell = Command::new("sh");
        shell.current_dir(&self.project);
        shell.env("PKG_CONFIG_PATH", self.libdir().join("pkgconfig"));
        shell.env("LD_LIBRARY_PATH", self.libdir());
        output(shell.args(["-ec", commands]));
    }

    /// Runs the programs shared and static: the one needs the library, the other does not.
    /// CMake tells the first where that is; others have to be told.
    fn runs(&self, directory: &Path, libdir: Option<&Path>) {
        for (name, needs) in [("shared", true), ("static", false)] {
            let program = directory.join(name);
            let mut command = Command::new(&program);
            command.envs(libdir.map(|libdir| ("LD_LIBRARY_PATH", libdir)));
            assert_eq!(run(&mut command, b"").succeeded(), SAID, "{name}");
            let dynamic = output(Command::new("readelf").arg("-d").arg(&program));
            assert_eq!(dynamic.contains("[librl.so.0]"), needs, "{dynamic}");
        }
    }
}

/// The output of a command, as an error where it fails.
fn said(command: &mut Command) -> Result<String, String> {
    let ran = run(command, b"");
    match ran.code {
        Some(0) => Ok(ran.output),
        _ => Err(ran.output),
    }
}

/// The first fenced block in a language.
fn block<'a>(text: &'a str, language: &str) -> &'a str {
    let (_, block) = text.split_once(&format!("\n```{language}\n")).unwrap();
    block.split_once("```\n").unwrap().0
}
