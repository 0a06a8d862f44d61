//! docs/ffi.md is true: its tables are those of the header, and its programs, run as they
//! stand there, print what it says. So do those in bindings/ffi, to which it links.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

mod made;
mod running;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{self, Command};
use std::sync::OnceLock;

use made::{build, make, output, root};
use running::{own_directory, run};

#[test]
fn the_program_for_node_prints_what_the_page_says() {
    assert_eq!(printed_by("node", "js"), block("text"));
}

#[test]
fn the_program_for_ruby_prints_what_the_page_says() {
    assert_eq!(printed_by("ruby", "ruby"), block("text"));
}

#[test]
fn the_program_for_luajit_prints_what_the_page_says() {
    assert_eq!(printed_by("luajit", "lua"), block("text"));
}

/// What the page says must itself be right: five pass, and the times are to the millisecond.
#[test]
fn the_page_says_what_a_limit_of_five_gives() {
    let expected = "\
line 2, column 11: unknown algorithm
allowed, 4 left
allowed, 3 left
allowed, 2 left
allowed, 1 left
allowed, 0 left
refused, try again in 2000 ms
allowed, 4 left
refused, try again in 1 ms
allowed, 0 left
";
    assert_eq!(block("text"), expected);
}

#[test]
fn a_batch_is_answered_one_by_one_in_each_language() {
    let expected = "\
daily: 4 left
daily: 3 left
daily: 2 left
daily: 1 left
daily: 0 left
daily: refused
daily: 4 left
daily: refused for ever
6 allowed, 2 refused, 2 counters, 1048576 bytes, 104 bytes filled
";
    for name in ["batch.js", "batch.rb", "batch.lua"] {
        assert_eq!(run(&mut binding(name), b"").succeeded(), expected, "{name}");
    }
}

#[test]
fn a_wait_in_node_lets_the_event_loop_go_on() {
    let expected = "\
the first passes: true
the second passes within no time: false
the second passes within an hour: true
the loop has gone on: true
";
    assert_eq!(run(&mut binding("wait.js"), b"").succeeded(), expected);
}

#[test]
fn a_wait_in_ruby_lets_other_threads_go_on() {
    let expected = "\
the first passes: true
the second waits: true
a thousand days later it passes: true
";
    assert_eq!(run(&mut binding("wait.rb"), b"").succeeded(), expected);
}

#[test]
fn forked_children_in_ruby_share_a_limit() {
    let zone = Zone(format!("librl-ffi-{}", process::id()));
    let ran = run(binding("fork.rb").arg(format!("/{}", zone.0)), b"");
    assert_eq!(ran.succeeded(), "passed: 25\n");
    assert!(!zone.path().exists(), "the zone is left behind");
}

#[test]
fn luajit_can_be_the_clock() {
    let printed = run(&mut binding("clock.lua"), b"").succeeded();
    assert_eq!(
        printed,
        "500 of 1000 passed, and the clock was asked 1000 times\n"
    );
}

#[test]
fn the_page_links_to_every_program() {
    let files = fs::read_dir(root().join("bindings/ffi")).unwrap();
    let names = files.map(|file| file.unwrap().file_name().into_string().unwrap());
    let programs: Vec<_> = names.filter(|name| !name.ends_with(".json")).collect();
    assert!(!programs.is_empty());
    for name in programs {
        let link = format!("[{name}](../bindings/ffi/{name})");
        assert!(page().contains(&link), "{link}");
    }
}

/// Rows that follow each other without a gap, up to the size of the struct, leave no field out.
#[test]
fn the_structs_are_those_of_the_header() {
    let mut assertions = String::new();
    for name in ["rl_decision", "rl_error", "rl_request", "rl_stats"] {
        let (size, alignment, rows) = layout(name);
        assertions += &same(&format!("sizeof({name})"), size);
        assertions += &same(&format!("_Alignof({name})"), alignment);
        let mut end = 0;
        for [field, c_type, offset, field_size] in rows {
            let [offset, field_size] = [offset, field_size].map(|n| n.parse::<u64>().unwrap());
            assert_eq!(offset, end, "{name}.{field} leaves a gap");
            end = offset + field_size;
            let member = format!("(({name} *)0)->{field}");
            assertions += &same(&format!("offsetof({name}, {field})"), offset);
            assertions += &same(&format!("sizeof({member})"), field_size);
            let right = format!("__builtin_types_compatible_p(__typeof__({member}), {c_type})");
            assertions += &same(&right, 1);
        }
        assert_eq!(end, size, "{name} has fields that the page has not");
    }
    holds(&assertions);
}

/// All of them but RL_STATS_INIT, which is for C alone.
#[test]
fn the_constants_are_those_of_the_header() {
    let page = page();
    let (_, rest) = page.split_once("\n## Constants\n").unwrap();
    let constants = table::<2>(rest);
    let assertions = constants.iter().map(|[name, value]| {
        let suffix = if value.len() > 19 { "u" } else { "" };
        format!("_Static_assert({name} == {value}{suffix}, \"{name} is not {value}\");\n")
    });
    holds(&assertions.collect::<String>());

    let listed = constants.iter().map(|[name, _]| name.as_str());
    let listed: BTreeSet<_> = listed.chain(["RL_STATS_INIT"]).collect();
    let header = header();
    let defined = header
        .lines()
        .filter_map(|line| line.strip_prefix("#define "));
    let names = defined.filter_map(|definition| definition.split(' ').next());
    let ours: BTreeSet<_> = names.filter(|name| name.starts_with("RL_")).collect();
    assert_eq!(listed, ours);
}

#[test]
fn the_page_tells_of_each_object_who_makes_and_frees_it() {
    let exports = fs::read_to_string(root().join("src/capi/exports.txt")).unwrap();
    let makers = exports
        .lines()
        .filter(|name| name.contains("_new") || name.contains("_free"));
    let makers: Vec<_> = makers.collect();
    assert!(makers.len() >= 7, "{makers:?}");
    for name in makers {
        assert!(page().contains(&format!("`{name}`")), "{name}");
    }
}

/// As the page says of all calls.
#[test]
fn no_struct_goes_by_value_and_no_call_is_variadic() {
    let header = header();
    let (_, declarations) = header.split_once("extern \"C\" {").unwrap();
    assert!(!declarations.contains("..."));
    for name in ["rl_decision ", "rl_error ", "rl_request ", "rl_stats "] {
        let code = declarations
            .lines()
            .filter(|line| !line.trim_start().starts_with('*'));
        let by_value: Vec<_> = code
            .flat_map(|line| line.split(['(', ',']))
            .filter(|part| part.contains(name) && !part.contains('*') && !part.contains('{'))
            .collect();
        assert!(by_value.is_empty(), "{by_value:?}");
    }
}

/// What a program of the page prints, in the language of that block.
fn printed_by(interpreter: &str, language: &str) -> String {
    let file = own_directory().join(format!("program.{language}"));
    fs::write(&file, block(language)).unwrap();
    run(&mut interpreted(interpreter, &file), b"").succeeded()
}

fn binding(name: &str) -> Command {
    let interpreter = match name.rsplit_once('.').unwrap().1 {
        "js" => "node",
        "rb" => "ruby",
        "lua" => "luajit",
        other => panic!("who runs .{other}?"),
    };
    interpreted(interpreter, &root().join("bindings/ffi").join(name))
}

/// A program under its interpreter, as if library and koffi were installed.
fn interpreted(interpreter: &str, file: &Path) -> Command {
    static TOOLS: OnceLock<()> = OnceLock::new();
    TOOLS.get_or_init(|| make(&["ffi-tools"]));
    let mut command = Command::new("timeout");
    command
        .args(["--kill-after=1", "60", interpreter])
        .arg(file)
        .env("LD_LIBRARY_PATH", build())
        .env("NODE_PATH", root().join("build/ffi/node_modules"));
    command
}

/// A name of shared memory that is gone when the test has ended, however it ends.
struct Zone(String);

impl Zone {
    fn path(&self) -> PathBuf {
        Path::new("/dev/shm").join(&self.0)
    }
}

impl Drop for Zone {
    fn drop(&mut self) {
        let _ = fs::remove_file(self.path());
    }
}

fn page() -> String {
    fs::read_to_string(root().join("docs/ffi.md")).unwrap()
}

fn header() -> String {
    fs::read_to_string(root().join("include/rl.h")).unwrap()
}

/// The one block of the page in that language.
fn block(language: &str) -> String {
    let page = page();
    let blocks: Vec<_> = page.split(&format!("\n```{language}\n")).skip(1).collect();
    assert_eq!(blocks.len(), 1, "blocks of {language}");
    blocks[0].split_once("```\n").unwrap().0.to_owned()
}

/// Size and alignment that the page gives a struct, and its fields: name, type, offset, size.
fn layout(name: &str) -> (u64, u64, Vec<[String; 4]>) {
    let page = page();
    let (_, rest) = page.split_once(&format!("\n`{name}`: ")).expect(name);
    let (title, rest) = rest.split_once('\n').unwrap();
    let (size, alignment) = title.split_once(" bytes, aligned to ").expect(title);
    (
        size.parse().unwrap(),
        alignment.parse().unwrap(),
        table(rest),
    )
}

/// The rows of the first table in a text, under its two lines of head.
fn table<const N: usize>(text: &str) -> Vec<[String; N]> {
    let lines = text.lines().skip_while(|line| !line.starts_with('|'));
    let rows = lines.take_while(|line| line.starts_with('|')).skip(2);
    rows.map(|row| {
        let cells = row.trim_matches('|').split('|');
        let cells = cells.map(|cell| cell.trim().trim_matches('`').to_owned());
        cells.collect::<Vec<_>>().try_into().expect(row)
    })
    .collect()
}

fn same(c: &str, page: u64) -> String {
    format!("_Static_assert({c} == {page}, \"{c} is not {page}\");\n")
}

/// The C compiler says which of the assertions are wrong.
fn holds(assertions: &str) {
    assert!(!assertions.is_empty());
    let file = own_directory().join("page.c");
    fs::write(&file, format!("#include <rl.h>\n{assertions}")).unwrap();
    let mut compiler = Command::new("cc");
    compiler.args(["-std=gnu11", "-Wall", "-Wextra", "-Werror", "-fsyntax-only"]);
    output(compiler.arg("-I").arg(root().join("include")).arg(file));
}
