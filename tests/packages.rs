//! `make deb` makes packages that lintian finds no error in, and that hold what they should.
//! What becomes of them in a system that has nothing else is for `make test-deb`.

#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

mod made;

use std::collections::BTreeSet;
use std::env::consts::ARCH;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use made::{build, make, output, root};

/// What lintian may warn of: the packages are no upload to Debian, so that no bug of
/// Debian's asks for them.
const WARNINGS: [&str; 1] = ["initial-upload-closes-no-bugs"];

#[test]
fn lintian_finds_no_error() {
    let changes = &files_ending_in(".changes")[0];
    // Its status tells of errors in packages, and of its own.
    let told = output(Command::new("lintian").arg("--allow-root").arg(changes));
    let unknown: Vec<_> = told
        .lines()
        .filter(|line| !WARNINGS.iter().any(|known| line.contains(known)))
        .collect();
    assert!(unknown.is_empty(), "{unknown:#?}");
}

#[test]
fn the_library_is_a_package_of_its_own() {
    let package = Package::named("librl0");
    let version = concat!("librl.so.", env!("CARGO_PKG_VERSION"));
    package.has(&[
        &format!("{LIBDIR}/{version}"),
        &format!("{LIBDIR}/librl.so.0"),
        "usr/share/doc/librl0/copyright",
    ]);
    assert!(!package.files().iter().any(|name| name.ends_with(".so")));
    assert!(package.field("Depends").contains("libc6 (>= "));
    assert!(
        package
            .field("Version")
            .starts_with(concat!(env!("CARGO_PKG_VERSION"), "-"))
    );
}

/// By these, programs that link with the library get their dependency on it.
#[test]
fn the_symbols_are_the_exported_functions() {
    let package = Package::named("librl0");
    let symbols = package.control("symbols");
    let mut lines = symbols.lines();
    assert_eq!(lines.next(), Some("librl.so.0 librl0 #MINVER#"));
    let names: Vec<_> = lines
        .filter_map(|line| line.strip_prefix(' ')?.split_once("@Base "))
        .map(|(name, _)| name)
        .collect();
    let exports = fs::read_to_string(root().join("src/capi/exports.txt")).unwrap();
    assert_eq!(names, exports.lines().collect::<Vec<_>>());
    assert!(package.control("shlibs").starts_with("librl 0 librl0 (>= "));
}

#[test]
fn who_develops_gets_header_libraries_and_manual() {
    let package = Package::named("librl-dev");
    package.has(&[
        "usr/include/rl.h",
        &format!("{LIBDIR}/librl.so"),
        &format!("{LIBDIR}/librl.a"),
        &format!("{LIBDIR}/pkgconfig/librl.pc"),
        "usr/share/man/man3/rl.h.3.gz",
        "usr/share/man/man3/rl_check.3.gz",
        "usr/share/doc/librl-dev/README.md.gz",
    ]);
    let version = Package::named("librl0").field("Version");
    let same = format!("librl0 (= {})", version.trim());
    assert!(package.field("Depends").contains(&same));
}

#[test]
fn the_module_is_loaded_by_the_nginx_that_it_was_built_for() {
    let package = Package::named("libnginx-mod-http-rl");
    let snippet = "usr/share/nginx/modules-available/mod-http-rl.conf";
    package.has(&["usr/lib/nginx/modules/ngx_http_rl_module.so", snippet]);
    let line = package.content(snippet);
    assert_eq!(line, "load_module modules/ngx_http_rl_module.so;\n");
    let abi = fs::read_to_string("/usr/share/nginx/src/debian/libnginx-mod.abisubstvars").unwrap();
    let abi = abi
        .lines()
        .find_map(|line| line.strip_prefix("nginx:abi="))
        .unwrap();
    let depends = package.field("Depends");
    assert!(
        depends.split(", ").any(|name| name.trim() == abi),
        "{depends}"
    );
    assert!(
        package
            .control("postinst")
            .contains("mod-http-rl.conf:50-mod-http-rl.conf")
    );
}

/// The wheel, where the system's Python looks.
#[test]
fn python_gets_the_package_with_the_library_in_it() {
    let package = Package::named("python3-librl");
    let place = "usr/lib/python3/dist-packages";
    package.has(&[
        &format!("{place}/librl/__init__.py"),
        &format!("{place}/librl/_native.abi3.so"),
        &format!("{place}/librl/py.typed"),
        "usr/share/doc/python3-librl/README.md.gz",
    ]);
    let depends = package.field("Depends");
    assert!(depends.contains("python3-cffi") && !depends.contains("librl0"));
}

#[test]
fn no_package_names_the_place_where_it_was_built() {
    for path in files_ending_in(".deb") {
        let archive = output_bytes(Command::new("dpkg-deb").arg("--fsys-tarfile").arg(&path));
        for place in [root().to_str().unwrap(), env!("CARGO_TARGET_TMPDIR")] {
            let found = archive
                .windows(place.len())
                .any(|window| window == place.as_bytes());
            assert!(!found, "{} has {place} in it", path.display());
        }
    }
}

/// As Debian calls the directory with the libraries of this kind of machine.
const LIBDIR: &str = "usr/lib/x86_64-linux-gnu";

/// A package that `make deb` has made.
struct Package(PathBuf);

impl Package {
    fn named(name: &str) -> Package {
        let start = format!("{name}_");
        let mut packages = files_ending_in(".deb");
        packages.retain(|path| file_name(path).starts_with(&start));
        assert_eq!(packages.len(), 1, "{name}");
        assert_eq!(ARCH, "x86_64", "LIBDIR is of another machine");
        Package(packages.remove(0))
    }

    /// Names of files and links, without the slash at the root.
    fn files(&self) -> BTreeSet<String> {
        let tar = "dpkg-deb --fsys-tarfile \"$0\" | tar t";
        let listed = output(Command::new("sh").args(["-ec", tar]).arg(&self.0));
        let names = listed.lines().filter(|name| !name.ends_with('/'));
        names.map(|name| name[2..].to_owned()).collect()
    }

    fn has(&self, names: &[&str]) {
        let files = self.files();
        for name in names {
            assert!(files.contains(*name), "no {name} in {files:#?}");
        }
    }

    fn content(&self, name: &str) -> String {
        let tar = "dpkg-deb --fsys-tarfile \"$0\" | tar xO \"./$1\"";
        output(Command::new("sh").args(["-ec", tar]).arg(&self.0).arg(name))
    }

    fn field(&self, name: &str) -> String {
        output(
            Command::new("dpkg-deb")
                .arg("--field")
                .arg(&self.0)
                .arg(name),
        )
    }

    /// A file that tells dpkg what to do.
    fn control(&self, name: &str) -> String {
        output(
            Command::new("dpkg-deb")
                .arg("--info")
                .arg(&self.0)
                .arg(name),
        )
    }
}

fn files_ending_in(end: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(packages()).unwrap();
    let mut paths: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| file_name(path).ends_with(end));
    paths
}

fn file_name(path: &Path) -> &str {
    path.file_name().unwrap().to_str().unwrap()
}

/// The directory with the packages, which are made first.
fn packages() -> &'static Path {
    static PACKAGES: OnceLock<PathBuf> = OnceLock::new();
    PACKAGES.get_or_init(|| {
        make(&["deb"]);
        build().join("deb")
    })
}

fn output_bytes(command: &mut Command) -> Vec<u8> {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{command:?}");
    output.stdout
}
