//! How speed and memory change as keys and threads become more: for librl, and for
//! governor where the machine has memory for that. For each number of keys there is a
//! process of its own, which leaves nothing to the next.

use std::fs;
use std::process::Command;

use super::limiters::{Governor, Librl, Limiter, fill};
use super::memory;
use super::names::{Name, Random, name};
use super::record::{self, Record};
use super::team::{self, Task};
use super::work::{each, hot};

/// How the process is told apart that measures one number of keys.
pub const PROCESS: &str = "growth-of";

const KEYS: [usize; 6] = [1_000, 10_000, 100_000, 1_000_000, 10_000_000, 50_000_000];

/// With so many keys the hot key is measured as well: it makes no difference to that.
const HOT_AMONG: usize = 1_000_000;

const MOST_THREADS: usize = 4;
const SLICES: usize = 25;
const CALLS: usize = 40_000;

/// What governor may take for a key, while its map grows.
const GOVERNOR_BYTES: usize = 250;

/// Up to so many keys.
pub fn measure(most: usize) {
    record::machine();
    let mut bytes = Record::new("growth-memory.csv", "contender,keys,bytes");
    let mut speed = Record::new("growth.csv", "figure,contender,keys,threads,slice,ns");
    for keys in KEYS.into_iter().filter(|&keys| keys <= most) {
        eprintln!("growth: {keys} keys");
        bytes.row(&[&"librl", &keys, &memory::librl_just_large_enough(keys)]);
        if governor_fits(keys) {
            bytes.row(&[&"governor", &keys, &memory::governor_alone(keys)]);
        }
        for line in in_a_process(keys).lines() {
            let values: Vec<&str> = line.split('\t').collect();
            let [figure, contender, threads, slice, ns] = values[..] else {
                panic!("{line}")
            };
            speed.row(&[&figure, &contender, &keys, &threads, &slice, &ns]);
        }
    }
}

fn in_a_process(keys: usize) -> String {
    let mut command = Command::new(std::env::current_exe().unwrap());
    let output = command.args([PROCESS, &keys.to_string()]).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// What such a process does: it prints each time that it measures.
pub fn of(keys: usize) {
    team::pin(0);
    let librl = Librl::with(keys * 42 + (32 << 10));
    fill(&librl, keys);
    let governor = governor_fits(keys).then(|| {
        let governor = Governor::new();
        fill(&governor, keys);
        governor
    });
    let mut random = Random(5);
    for (threads, slice) in (1..=MOST_THREADS).flat_map(slices) {
        let draw = |_| name(random.below(keys));
        let names: Vec<Name> = (0..threads * CALLS).map(draw).collect();
        let own = || print("librl", slice, threads, figures(&librl, keys, &names));
        let other = |governor| print("governor", slice, threads, figures(governor, keys, &names));
        if slice % 2 == 0 {
            own();
        }
        governor.iter().for_each(other);
        if slice % 2 == 1 {
            own();
        }
    }
    assert_eq!(librl.evicted_live(), 0, "a key was forgotten");
}

fn slices(threads: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..SLICES).map(move |slice| (threads, slice))
}

fn print(contender: &str, slice: usize, threads: usize, times: Vec<(&str, f64)>) {
    for (figure, ns) in times {
        println!("{figure}\t{contender}\t{threads}\t{slice}\t{ns}");
    }
}

/// The nanoseconds of each figure, by as many threads as there are names for: of all
/// together, for each call of one.
fn figures(limiter: &impl Limiter, keys: usize, names: &[Name]) -> Vec<(&'static str, f64)> {
    let task = Task {
        workers: names.len() / CALLS,
        calls: CALLS,
        allowed: CALLS,
    };
    let none = Task { allowed: 0, ..task };
    let own = |thread| &names[thread * CALLS..][..CALLS];
    let open = |user: &Name| limiter.open(user);
    let single = |user: &Name| limiter.single(user);
    let closed = |user: &Name| limiter.closed(user);
    let random = team::time_of_all(task, |thread| each(own(thread), open));
    let mut times = vec![("random keys", random)];
    if keys == HOT_AMONG {
        times.push((
            "hot key, allowed",
            team::time_of_all(task, |_| hot(CALLS, single)),
        ));
        times.push((
            "hot key, refused",
            team::time_of_all(none, |_| hot(CALLS, closed)),
        ));
    }
    times
}

/// Whether the machine has memory for governor beside librl.
fn governor_fits(keys: usize) -> bool {
    let memory = fs::read_to_string("/proc/meminfo").unwrap();
    let line = memory
        .lines()
        .find(|line| line.starts_with("MemAvailable:"));
    let kilobytes: usize = line
        .and_then(|line| line.split_whitespace().nth(1))
        .and_then(|number| number.parse().ok())
        .unwrap();
    keys * GOVERNOR_BYTES < kilobytes * 1024
}
