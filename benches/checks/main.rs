//! What a check costs, beside the clock and the hash that it cannot do without: with
//! its counters in private memory, in a zone, and by two processes; and how much memory
//! a key takes. `make bench` prints one table.
//!
//! Checks go through the C interface, with the real clock. Every figure is measured in
//! each round, and each way of it in turn, forth and back, so that what disturbs the
//! machine disturbs all of them. What is printed is the median of the rounds with their
//! spread, and the median of the rounds' ratios.

#![allow(
    unsafe_code,
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::undocumented_unsafe_blocks
)]

// The other benchmark calls more of it.
#[allow(dead_code)]
mod interface;
mod names;
#[allow(dead_code)]
mod table;
mod team;
mod work;

use std::time::{Duration, Instant};

use interface::Zone;
use table::{Row, Series};
use team::Processes;
use work::{Part, Services, Tools, Work};

/// So many, or on a busy machine as many as begin in so much time, but three at least.
const ROUNDS: usize = 9;
const ENOUGH: Duration = Duration::from_secs(120);

/// In how many parts a round measures each figure, alternately forth and back.
const PARTS: usize = 5;

const OPEN: Work = Work::Allowed(b"/v1/orders");
const CLOSED: Work = Work::Refused(b"/v1/closed");
const THREE: Work = Work::Allowed(b"/v1/three");

/// Something to measure, by one worker or by two at once.
struct Figure(&'static str, Work, usize);

const FIGURES: &[Figure] = &[
    Figure("clock read", Work::Clock, 1),
    Figure("two names hashed", Work::Hashes, 1),
    Figure("hot key, allowed", OPEN, 1),
    Figure("hot key, refused", CLOSED, 1),
    Figure("hot key, one of 10,000 rules", Work::ManyRules, 1),
    Figure("hot key, both words change", Work::Allowed(b"/v1/noted"), 1),
    Figure("three limits, allowed", THREE, 1),
    Figure(
        "three limits, refused",
        Work::Refused(b"/v1/three-closed"),
        1,
    ),
    Figure("1,000,000 keys", Work::Keys, 1),
    Figure("hot key, allowed, by 2", OPEN, 2),
    Figure("hot key, refused, by 2", CLOSED, 2),
    Figure("three limits, allowed, by 2", THREE, 2),
    Figure("1,000,000 keys, by 2", Work::Keys, 2),
];

/// Where the counters stand, and who asks.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    Private,
    Zone,
    Processes,
}

impl Figure {
    fn ways(&self) -> &'static [Way] {
        let &Figure(_, work, workers) = self;
        match (work.needs_a_service(), workers) {
            (false, _) => &[Way::Private],
            (true, 1) => &[Way::Private, Way::Zone],
            (true, _) => &[Way::Private, Way::Zone, Way::Processes],
        }
    }
}

/// All that is measured with.
struct Bench {
    tools: Tools,
    private: Services,
    zone: Services,
    processes: Processes,
}

impl Bench {
    fn new() -> Bench {
        let (tools, name) = (Tools::new(), Zone::new("checks"));
        let join = || {
            let (zone, tools) = (Services::new(Some(&name)), &tools);
            move |worker, [figure, index]: [u8; 2]| {
                let Figure(_, work, workers) = FIGURES[usize::from(figure)];
                tools.run(work, &zone, part(index, worker, workers));
            }
        };
        let processes = Processes::start(2, join);
        let (private, zone) = (Services::new(None), Services::new(Some(&name)));
        // All have joined the zone, so its name can go: nothing stays, come what may.
        Bench {
            private,
            zone,
            processes,
            tools,
        }
    }

    /// Nanoseconds for each call of each worker, by the wall clock.
    fn time(&mut self, figure: u8, way: Way, index: u8) -> f64 {
        let Figure(_, work, workers) = FIGURES[usize::from(figure)];
        let (tools, part) = (&self.tools, |worker| part(index, worker, workers));
        let services = match way {
            Way::Private => &self.private,
            Way::Zone | Way::Processes => &self.zone,
        };
        let run = |worker| tools.run(work, services, part(worker));
        let elapsed = match (way, workers) {
            (Way::Processes, _) => self.processes.time([figure, index]),
            (_, 1) => {
                let began = Instant::now();
                run(0);
                began.elapsed()
            }
            _ => team::threads(workers, run),
        };
        elapsed.as_nanos() as f64 / work.calls(part(0)) as f64
    }

    /// The times of one figure in one round, one for each way.
    fn round(&mut self, figure: u8, round: usize) -> Vec<f64> {
        let ways = FIGURES[usize::from(figure)].ways();
        let mut times = vec![0.0; ways.len()];
        for index in 0..PARTS {
            let mut order: Vec<usize> = (0..ways.len()).collect();
            if (round + index) % 2 == 1 {
                order.reverse();
            }
            for way in order {
                times[way] += self.time(figure, ways[way], index as u8) / PARTS as f64;
            }
        }
        times
    }
}

fn part(index: u8, worker: usize, workers: usize) -> Part {
    Part {
        index: index.into(),
        of: PARTS,
        worker,
        workers,
    }
}

fn measure() -> Vec<Row> {
    let mut bench = Bench::new();
    let row = |&Figure(what, ..): &Figure| Row {
        what,
        ways: Vec::new(),
    };
    let mut rows: Vec<Row> = FIGURES.iter().map(row).collect();
    let began = Instant::now();
    for round in 0..=ROUNDS {
        if round > 3 && began.elapsed() > ENOUGH {
            break;
        }
        for (figure, row) in rows.iter_mut().enumerate() {
            let times = bench.round(figure as u8, round);
            row.ways.resize_with(times.len(), Series::default);
            // The first round only warms up.
            let kept = row.ways.iter_mut().zip(times).filter(|_| round > 0);
            kept.for_each(|(series, time)| series.push(time));
        }
    }
    rows
}

fn print_table(rows: &[Row]) {
    let rounds = rows
        .iter()
        .flat_map(|row| &row.ways)
        .map(Series::rounds)
        .max();
    let rounds = rounds.unwrap_or(0);
    println!("ns for a check of each worker, median of {rounds} rounds (least to most)");
    println!();
    let ways = ["private memory", "shared zone", "ratio", "2 processes"];
    let [private, zone, ratio, processes] = ways;
    println!("{:28} {private:>14} {zone:>24} {ratio:>19}", "by 1 thread");
    let (by_1, by_2) = rows.split_at(FIGURES.partition_point(|&Figure(.., workers)| workers == 1));
    by_1.iter().for_each(Row::print);
    println!();
    println!(
        "{:28} {private:>14} {zone:>24} {ratio:>19} {processes:>17} {ratio:>19}",
        "by 2 threads"
    );
    by_2.iter().for_each(Row::print);
    println!();
}

fn print_comparisons(rows: &[Row]) {
    let row = |what| rows.iter().find(|row| row.what == what).unwrap();
    let series = |what| &row(what).ways[0];
    let above = |what| {
        let bare = series("clock read").median() + series("two names hashed").median();
        series(what).median() - bare
    };
    let (allowed, refused) = ("hot key, allowed", "hot key, refused");
    let (allowed_by_2, refused_by_2) = ("hot key, allowed, by 2", "hot key, refused, by 2");
    let (keys, keys_by_2) = ("1,000,000 keys", "1,000,000 keys, by 2");
    let above_allowed = above(allowed);
    println!("a hot check, allowed: {above_allowed:.1} ns above the clock and the hash");
    let above_refused = above(refused);
    println!("a hot check, refused: {above_refused:.1} ns above the clock and the hash");
    println!(
        "refusals by 2 threads: {:.2} times as many as by 1",
        2.0 * series(refused).over(series(refused_by_2))
    );
    println!(
        "three limits, allowed: {:.2} times the time of one",
        series("three limits, allowed").over(series(allowed))
    );
    println!(
        "shared over private: hot key allowed {}, refused {}, 1,000,000 keys {}",
        row(allowed).more(1),
        row(refused).more(1),
        row(keys).more(1)
    );
    println!(
        "2 processes over 2 threads: hot key allowed {}, refused {}, 1,000,000 keys {}",
        row(allowed_by_2).more(2),
        row(refused_by_2).more(2),
        row(keys_by_2).more(2)
    );
}

fn main() {
    let rows = measure();
    print_table(&rows);
    print_comparisons(&rows);
    for (kind, zone) in [("private", None), ("shared", Some(Zone::new("memory")))] {
        let (bytes, keys) = work::memory_per_key(zone.as_ref());
        println!(
            "{kind} memory: {bytes:.1} bytes a key at the first live eviction, with {keys} keys"
        );
    }
}
