//! Measures librl, and what it is compared with, on the machine that this runs on. It
//! writes every single time to build/bench/*.csv; what is printed and drawn of them is
//! `benches/report`'s business. `make bench` runs both, and docs/performance.md tells
//! what is measured.
//!
//! A figure is measured in slices of some milliseconds, and all contenders in each slice,
//! in an order that changes: what disturbs the machine disturbs all of them, and a ratio
//! is one of times that lie side by side. Every answer is counted, and a wrong number of
//! them ends the run.

#![allow(
    unsafe_code,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::undocumented_unsafe_blocks
)]

mod floor;
mod growth;
mod inner;
mod library;
mod limiters;
mod memory;
mod names;
mod parts;
mod peers;
mod programs;
mod record;
mod team;
mod ways;
mod work;

fn main() {
    // Cargo adds a --bench of its own.
    let arguments = std::env::args().skip(1).filter(|word| word != "--bench");
    let arguments: Vec<String> = arguments.collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words[..] {
        ["peers", repetitions] => peers::measure(repetitions.parse().unwrap()),
        ["inner", repetitions] => inner::measure(repetitions.parse().unwrap()),
        ["growth", most_keys] => growth::measure(most_keys.parse().unwrap()),
        [memory::PROCESS, limiter, keys, bytes] => {
            memory::fill(limiter, keys.parse().unwrap(), bytes.parse().unwrap());
        }
        [growth::PROCESS, keys] => growth::of(keys.parse().unwrap()),
        _ => panic!("peers REPETITIONS, inner REPETITIONS or growth MOST_KEYS"),
    }
}
