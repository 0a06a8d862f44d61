//! Memory for each key, of each limiter in a process of its own that does nothing else.
//!
//! For librl and governor it is by how much the resident set grows, or what librl says
//! that it has, if that is more. For Java and Go it is by how much the heap grows after a
//! collection: what their collectors need beside that depends on their settings, and is
//! left out.

use std::fs;
use std::process::Command;

use super::library::{Config, Place, Service, Zone};
use super::limiters::{Governor, ORDERS, fill as fill_limiter};
use super::names;
use super::programs::Program;
use super::record::Record;

/// How the process is told apart that fills one limiter.
pub const PROCESS: &str = "memory-of";

const KEYS: [usize; 2] = [1_000_000, 10_000_000];

/// The bytes that librl is given for each key, at first.
const LEAST: usize = 32;

/// Writes the bytes a key of each.
pub fn measure() {
    let mut record = Record::new("memory.csv", "contender,keys,bytes");
    for keys in KEYS {
        eprintln!("memory: {keys} keys");
        let question = format!("W7 {keys} 0");
        record.row(&[&"librl", &keys, &librl_just_large_enough(keys)]);
        record.row(&[&"governor", &keys, &governor_alone(keys)]);
        record.row(&[&"Java", &keys, &Program::java().ask(&question)]);
        record.row(&[&"Go", &keys, &Program::go().ask(&question)]);
    }
}

/// With the least memory, in whole bytes a key, in which no key has to go.
pub fn librl_just_large_enough(keys: usize) -> f64 {
    let mut found = (LEAST..).filter_map(|bytes| in_a_process("librl", keys, keys * bytes));
    found.next().unwrap()
}

pub fn governor_alone(keys: usize) -> f64 {
    in_a_process("governor", keys, 0).unwrap()
}

/// None where a key was forgotten.
fn in_a_process(limiter: &str, keys: usize, bytes: usize) -> Option<f64> {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args([PROCESS, limiter, &keys.to_string(), &bytes.to_string()]);
    let output = command.output().unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap().parse().ok()
}

/// What such a process does: it prints the bytes for each key, or nothing.
pub fn fill(limiter: &str, keys: usize, bytes: usize) {
    // The library is loaded, once, and is no part of it.
    drop(Config::new("", Place::Private));
    let before = resident();
    let bytes = match limiter {
        "librl" => librl(keys, bytes).map(|(own, resident)| own.max(resident - before)),
        _ => Some(governor(keys) - before),
    };
    if let Some(bytes) = bytes {
        print!("{}", bytes / keys as f64);
    }
}

/// What a zone of that size says that it has, and what is resident; if no key went.
fn librl(keys: usize, bytes: usize) -> Option<(f64, f64)> {
    let rules = format!("memory = {bytes}\ndefault = token-bucket,1,36500d\n");
    let zone = Zone::new("memory");
    let service = Service::new(&rules, Place::Zone(&zone));
    for n in 0..keys {
        assert!(service.check(&names::name(n), ORDERS));
    }
    let (evicted_live, memory) = service.evicted_live_and_memory();
    (evicted_live == 0).then(|| (memory as f64, resident()))
}

fn governor(keys: usize) -> f64 {
    let limiter = Governor::new();
    fill_limiter(&limiter, keys);
    resident()
}

/// Bytes of memory that this process has.
fn resident() -> f64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:"));
    let kilobytes: f64 = line
        .and_then(|line| line.split_whitespace().nth(1))
        .and_then(|number| number.parse().ok())
        .unwrap();
    kilobytes * 1024.0
}
