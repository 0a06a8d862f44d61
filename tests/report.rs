//! What the benchmark prints and draws is what its files say.

#![allow(clippy::unwrap_used, clippy::panic)]

mod running;

use std::fs;
use std::path::Path;
use std::process::Command;

use running::{own_directory, run};

/// Times of two repetitions of two slices, of which one was disturbed.
const PEERS: &str = "\
    figure,contender,repetition,slice,ns\n\
    W1,librl,1,0,50\nW1,librl,1,1,50\nW1,librl,2,0,500\nW1,librl,2,1,52\n\
    W1,governor,1,0,90\nW1,governor,1,1,90\nW1,governor,2,0,900\nW1,governor,2,1,91\n\
    W1,floor,1,0,25\nW1,floor,1,1,25\nW1,floor,2,0,250\nW1,floor,2,1,26\n\
    W10,librl,1,0,120\nW10,librl,1,1,120\nW10,librl,2,0,120\nW10,librl,2,1,120\n";

const INNER: &str = "\
    figure,contender,repetition,slice,ns\n\
    \"rl_service_new, 32 MiB\",private,1,0,2000000\n\
    \"hot key, allowed\",private,1,0,50\n\"hot key, allowed\",zone,1,0,55\n";

const GROWTH: &str = "\
    figure,contender,keys,threads,slice,ns\n\
    random keys,librl,1000,1,0,50\nrandom keys,librl,1000000,1,0,100\n\
    \"hot key, allowed\",librl,1000000,1,0,50\n\"hot key, allowed\",librl,1000000,2,0,50\n\
    \"hot key, refused\",librl,1000000,1,0,50\n";

#[test]
fn ratios_are_those_of_times_side_by_side_and_goals_are_told() {
    let table = report("table", &[]);
    let w1 = line(&table, "W1 ");
    assert_eq!(
        w1,
        [
            "W1 hot key, allowed",
            "163.0 (50.0-276.0)",
            "292.8 (90.0-495.5)",
            "1.80x",
            "1.8x reached",
            "81.5 (25.0-138.0)",
            "2.00x",
            "1.4x missed",
            "",
            ""
        ]
    );
    assert_eq!(line(&table, "W7 ")[4], "36 bytes missed");
    assert_eq!(line(&table, "hot key, allowed")[2], "55.0, 1.10x");
    assert!(table.contains("W10 takes 2.35 times as long as W1; goal: 2.5 at most, reached."));
    assert!(table.contains("takes 2.000 ms; goal: under 1 ms, missed."));
}

#[test]
fn charts_are_drawings_that_can_be_read() {
    let place = own_directory();
    report("charts", &[&place]);
    for chart in ["peers.svg", "growth.svg", "threads.svg"] {
        let parse = "import sys, xml.dom.minidom as m; m.parse(sys.argv[1])";
        let file = place.join(chart);
        run(Command::new("python3").args(["-c", parse]).arg(&file), b"").succeeded();
        assert!(
            fs::read_to_string(file)
                .unwrap()
                .contains("A &lt;fast&gt; one")
        );
    }
}

#[test]
fn figures_come_into_the_documentation_where_it_is_marked() {
    let file = own_directory().join("performance.md");
    let marked = "before\n<!-- figures -->\nold\n<!-- end -->\nafter\n";
    fs::write(&file, marked).unwrap();
    report("docs", &[&file]);
    let filled = fs::read_to_string(&file).unwrap();
    assert!(filled.starts_with("before\n<!-- figures -->\n\nA <fast> one, 2 processors"));
    assert!(filled.ends_with("|\n\n<!-- end -->\nafter\n") && !filled.contains("old"));
}

/// What a command says of a run that has left these files.
fn report(command: &str, arguments: &[&Path]) -> String {
    let place = own_directory();
    let write = |name, text: &str| fs::write(place.join(name), text).unwrap();
    write(
        "machine.csv",
        "processor,processors,clocksource,huge pages\nA <fast> one,2,tsc,never\n",
    );
    write(
        "memory.csv",
        "contender,keys,bytes\nlibrl,1000,40\ngovernor,1000,100\nJava,1000,90\nGo,1000,90\n",
    );
    write("growth-memory.csv", "contender,keys,bytes\nlibrl,1000,40\n");
    write("peers.csv", PEERS);
    write("inner.csv", INNER);
    write("growth.csv", GROWTH);
    let mut python = Command::new("python3");
    python.args(["-B", concat!(env!("CARGO_MANIFEST_DIR"), "/benches/report")]);
    run(python.arg(command).arg(&place).args(arguments), b"").succeeded()
}

/// The cells of the first line of a table that begins so.
fn line<'a>(table: &'a str, head: &str) -> Vec<&'a str> {
    let mut lines = table.lines().filter_map(|line| line.strip_prefix("| "));
    let line = lines.find(|line| line.starts_with(head)).unwrap();
    line.trim_end_matches('|')
        .split('|')
        .map(str::trim)
        .collect()
}
