//! Memory for each key, of each limiter in a process of its own that does nothing else.
//!
//! For librl and governor it is by how much the resident set grows. For Java and Go it
//! is by how much the heap grows after a collection: what their collectors need beside
//! that depends on their settings, and is left out.

use std::fs;
use std::process::Command;

use super::interface::Service;
use super::limiters::Governor;
use super::names;
use super::programs::Program;
use super::work;

/// How the process is told apart that fills one limiter.
pub const ARGUMENT: &str = "memory-of";

pub const KEYS: [usize; 2] = [1_000_000, 10_000_000];

/// In the order of the table.
pub fn bytes_per_key(keys: usize) -> [f64; 4] {
    let question = format!("W7 {keys}");
    [
        in_a_process("librl", keys),
        in_a_process("governor", keys),
        Program::java().ask(&question),
        Program::go().ask(&question),
    ]
}

fn in_a_process(limiter: &str, keys: usize) -> f64 {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args([ARGUMENT, limiter, &keys.to_string()]);
    let output = command.output().unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap().parse().unwrap()
}

/// What such a process does; the arguments are those after [`ARGUMENT`].
pub fn fill(arguments: &[String]) {
    let [limiter, keys] = arguments else {
        panic!("a limiter and a number of keys")
    };
    let keys = keys.parse().unwrap();
    let before = resident();
    let after = match limiter.as_str() {
        "librl" => librl(keys),
        _ => governor(keys),
    };
    print!("{}", (after - before) / keys as f64);
}

/// In 32 MiB a million, and so on; none may be forgotten.
fn librl(keys: usize) -> f64 {
    let memory = keys / 1_000_000 * 32;
    let rules = format!("memory = {memory}m\ndefault = token-bucket,1,36500d\n");
    let service = Service::new(&rules, None);
    for n in 0..keys {
        assert!(service.check(&names::name(n), b"/v1/orders"));
    }
    let (evicted_live, _) = service.evicted_live_and_memory();
    assert_eq!(evicted_live, 0);
    resident()
}

fn governor(keys: usize) -> f64 {
    let limiter = Governor::new();
    work::fill(&limiter, keys);
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
