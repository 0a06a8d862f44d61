//! librl beside what people would use in its place, on the same work, in one run: the
//! crate governor, a map of token buckets in Java, the limiters of x/time/rate in Go;
//! and beside the floor, the least that any limiter does. `make bench-peers` prints one
//! table and writes every figure to build/peers.csv; docs/performance.md tells what is
//! measured.
//!
//! In each round every limiter is measured for each figure in turn, so that what
//! disturbs the machine disturbs all of them; what counts is the ratios.

#![allow(
    unsafe_code,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::undocumented_unsafe_blocks
)]

// Of what the other benchmark has, this one uses a part.
#[allow(dead_code)]
#[path = "../checks/interface.rs"]
mod interface;
#[path = "../checks/names.rs"]
mod names;
#[allow(dead_code)]
#[path = "../checks/table.rs"]
mod table;

mod limiters;
mod memory;
mod programs;
mod report;
mod work;

use std::time::{Duration, Instant};

use limiters::{Floor, Governor, Librl};
use names::KEYS;
use programs::Program;
use report::{PEERS, Row};
use table::Series;
use work::{FIGURES, Figure, Users};

/// So many, or on a busy machine as many as begin in so much time, but five at least.
const ROUNDS: usize = 9;
const LEAST_ROUNDS: usize = 5;
const ENOUGH: Duration = Duration::from_secs(90);

struct Bench {
    users: Users,
    librl: Librl,
    governor: Governor,
    floor: Floor,
    java: Program,
    go: Program,
}

impl Bench {
    fn new() -> Bench {
        let users = Users::new();
        programs::write_names(&users);
        let (librl, governor) = (Librl::new(), Governor::new());
        work::fill(&librl, KEYS);
        work::fill(&governor, KEYS);
        Bench {
            users,
            librl,
            governor,
            floor: Floor::new(),
            java: Program::java(),
            go: Program::go(),
        }
    }

    /// Nanoseconds for a call, if this is for that limiter to be measured.
    fn time(&mut self, figure: &Figure, peer: usize) -> Option<f64> {
        let users = &self.users;
        match PEERS[peer] {
            "librl" => Some(figure.time(&self.librl, users)),
            "floor" if figure.has_a_floor() => Some(figure.time(&self.floor, users)),
            "floor" => None,
            _ if figure.is_a_batch() => None,
            "governor" => Some(figure.time(&self.governor, users)),
            "Java" => Some(self.java.ask(figure.name)),
            _ => Some(self.go.ask(figure.name)),
        }
    }
}

fn measure() -> Vec<Row> {
    let mut bench = Bench::new();
    let row = |figure: &Figure| Row {
        name: figure.name,
        what: figure.what.to_owned(),
        series: Default::default(),
    };
    let mut rows: Vec<Row> = FIGURES.iter().map(row).collect();
    let began = Instant::now();
    for round in 0..=ROUNDS {
        if round > LEAST_ROUNDS && began.elapsed() > ENOUGH {
            break;
        }
        for (figure, row) in FIGURES.iter().zip(&mut rows) {
            for (peer, series) in row.series.iter_mut().enumerate() {
                let time = bench.time(figure, peer);
                // The first round only warms up.
                time.into_iter()
                    .filter(|_| round > 0)
                    .for_each(|time| series.push(time));
            }
        }
    }
    rows
}

fn measure_memory() -> Vec<Row> {
    let row = |keys| {
        let [librl, governor, java, go] = memory::bytes_per_key(keys).map(|bytes| {
            let mut series = Series::default();
            series.push(bytes);
            series
        });
        Row {
            name: "W7",
            what: format!("bytes a key, {},000,000", keys / 1_000_000),
            series: [librl, governor, Series::default(), java, go],
        }
    };
    memory::KEYS.map(row).into()
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [memory::ARGUMENT, ..] = arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        return memory::fill(&arguments[1..]);
    }
    let mut rows = measure();
    let rounds = rows[0].series[0].rounds();
    let after_w6 = FIGURES.iter().position(|figure| figure.name == "W8");
    let at = after_w6.unwrap_or(rows.len());
    rows.splice(at..at, measure_memory());
    println!(
        "ns for a check, median of {rounds} rounds (least-most); ratio: librl / the one before"
    );
    println!();
    report::print(&rows);
    report::write(&rows, "build/peers.csv");
}
