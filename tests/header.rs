//! `include/rl.h` is what the source says, and a header as it should be: it stands
//! alone, may come twice, and gets along with strict C99, C++17 and GNU readline.

#![allow(clippy::unwrap_used)]

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use std::{env, fs};

/// The sections of the header, in its order: title and file in src/capi.
const SECTIONS: [(&str, &str); 12] = [
    ("Version", "version"),
    ("Status", "status"),
    ("Error", "error"),
    ("Clock", "clock"),
    ("Configuration", "config"),
    ("Request", "request"),
    ("Decision", "decision"),
    ("Statistics", "stats"),
    ("Service", "service"),
    ("Checks", "check"),
    ("Charges", "charge"),
    ("Zone", "zone"),
];

#[test]
fn it_is_what_the_source_says() {
    let path = root().join("include/rl.h");
    let made = generate();
    if env::var_os("LIBRL_UPDATE").is_some() {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, &made).unwrap();
    }
    let committed = fs::read_to_string(&path).unwrap_or_default();
    if let Some(difference) = first_difference(&committed, &made) {
        panic!("include/rl.h is out of date; `make header` updates it\n{difference}");
    }
}

/// The page on top, a section for each file, and the end.
fn generate() -> String {
    let mut config = cbindgen::Config::from_file(root().join("cbindgen.toml")).unwrap();
    let mut header = config.header.take().unwrap().trim_start().to_owned();
    let trailer = config.trailer.take().unwrap();
    for (title, file) in SECTIONS {
        let rule = "-".repeat(88 - "/* ---  */".len() - title.len());
        header += &format!("\n/* --- {title} {rule} */\n\n");
        header += section(&config, file).trim();
        header += "\n";
    }
    (header + &trailer)
        .replace("@VERSION@", env!("CARGO_PKG_VERSION"))
        .replace("@MAJOR@", env!("CARGO_PKG_VERSION_MAJOR"))
        .replace("@MINOR@", env!("CARGO_PKG_VERSION_MINOR"))
        .replace("@PATCH@", env!("CARGO_PKG_VERSION_PATCH"))
}

fn section(config: &cbindgen::Config, file: &str) -> String {
    let mut text = Vec::new();
    cbindgen::Builder::new()
        .with_config(config.clone())
        .with_src(root().join("src/capi").join(file).with_extension("rs"))
        .generate()
        .unwrap()
        .write(&mut text);
    tidy(&String::from_utf8(text).unwrap())
}

/// What cbindgen has no setting for: `rl_clock *` rather than `struct rl_clock *`, since
/// each type has its typedef, and negative numbers in parentheses.
fn tidy(section: &str) -> String {
    let tidy_line = |line: &str| match line.rsplit_once(" -") {
        Some((name, number)) if name.starts_with("#define") => format!("{name} (-{number})"),
        _ if line.starts_with("typedef") => line.to_owned(),
        _ => line.replace("struct rl_", "rl_"),
    };
    section
        .lines()
        .map(tidy_line)
        .collect::<Vec<_>>()
        .join("\n")
}

fn first_difference(committed: &str, made: &str) -> Option<String> {
    let length = committed.lines().count().max(made.lines().count());
    let line = |text: &str, n| text.lines().nth(n).unwrap_or("(end)").to_owned();
    (0..length)
        .map(|n| (n + 1, line(committed, n), line(made, n)))
        .find(|(_, committed, made)| committed != made)
        .map(|(n, old, new)| format!("line {n}\n  committed: {old}\n  generated: {new}"))
}

const ALONE: &str = "#include <rl.h>\n";
const TWICE: &str = "#include <rl.h>\n#include <rl.h>\n";
const AFTER_READLINE: &str = "
    #include <stdio.h>
    #include <readline/readline.h>
    #include <rl.h>
";
const BEFORE_READLINE: &str = "
    #define RL_NO_RL_FREE
    #include <rl.h>
    #include <stdio.h>
    #include <readline/readline.h>
";

#[test]
fn it_is_strict_c99_and_c17() {
    for standard in ["-std=c99", "-std=c17"] {
        compile("c", standard, ALONE);
        compile("c", standard, TWICE);
    }
}

#[test]
fn it_is_strict_cpp17() {
    compile("c++", "-std=c++17", ALONE);
    compile("c++", "-std=c++17", TWICE);
}

#[test]
fn it_gets_along_with_readline() {
    for (language, standard) in [("c", "-std=gnu99"), ("c++", "-std=gnu++17")] {
        compile(language, standard, AFTER_READLINE);
        compile(language, standard, BEFORE_READLINE);
    }
}

/// The macros are of use in code, in both languages, without a warning: the statistics
/// begin with all of their fields, and a product of times does not overflow.
#[test]
fn its_macros_can_be_used() {
    let program = format!(
        "{ALONE}
        rl_status use(rl_service *service);
        rl_status use(rl_service *service) {{
            rl_stats stats = RL_STATS_INIT;
            uint64_t day = 24 * 3600 * RL_NS_PER_S;
            if (day / 24 != 3600 * 1000 * RL_NS_PER_MS) {{
                return RL_ERR_ARGUMENT;
            }}
            rl_free(service);
            return stats.size == sizeof stats && stats.log_capacity == 0 ? RL_OK : RL_ERR_IO;
        }}\n"
    );
    compile("c", "-std=c99", &program);
    compile("c++", "-std=c++17", &program);
}

/// Every warning is an error, so what the compiler says is why the test fails.
fn compile(language: &str, standard: &str, program: &str) {
    let warnings = [
        "-Wall",
        "-Wextra",
        "-Wpedantic",
        "-Wconversion",
        "-Wundef",
        "-Werror",
    ];
    let mut compiler = Command::new(if language == "c" { "cc" } else { "c++" })
        .args(["-x", language, standard, "-fsyntax-only", "-"])
        .args(warnings)
        .arg(format!("-I{}", root().join("include").display()))
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    compiler
        .stdin
        .take()
        .unwrap()
        .write_all(program.as_bytes())
        .unwrap();
    assert!(compiler.wait().unwrap().success(), "{standard}:\n{program}");
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}
