//! A region may hold any bits, since another process may have written them. Every
//! call must still come back, without a panic and without a look outside; what it
//! says is of no use.

#![allow(clippy::unwrap_used)]

use std::collections::HashSet;

use proptest::prelude::*;

use super::bucket::Weight;
use super::chunk::RUNS;
use super::peers::Holder;
use super::trial::{Trial, counter};
use super::wait::Vigil;
use super::{Layout, NotStored, Table, Terms};
use crate::algorithm::{Algorithm, Run, State};
use crate::hash::{FINGERPRINT_MARKS, Key};
use crate::sync::Ordering;

const LAYOUT: Layout = Layout {
    buckets: 3,
    chunks: 7,
};

/// Writes over the whole region: who holds its locks and seats, and what is noted there,
/// are any bits, too. Only this process is not named, for which all would wait.
fn scramble(table: &Table, mut word: impl FnMut() -> u64) {
    let own = table.peers.own_id();
    for to in table.region.words() {
        let word = word();
        let names_us = [word as u32, (word >> 32) as u32].contains(&own);
        to.store(if names_us { 0 } else { word }, Ordering::Relaxed);
    }
}

/// Small numbers, which are likely to name a chunk, counters as notes name them, and
/// fingerprints, instants and locks of any magnitude.
fn word() -> impl Strategy<Value = u64> {
    let small = 0..=LAYOUT.chunks as u64 + 1;
    prop_oneof![
        (small.clone(), small).prop_map(|(high, low)| high << 32 | low),
        (any::<u64>(), 0..64u32).prop_map(|(word, shift)| word >> shift),
        (0..8u64).prop_map(|near| 1_000_000 + near),
        (0..=LAYOUT.buckets as u64, 0..8u64).prop_map(|(bucket, slot)| bucket << 3 | slot),
    ]
}

/// A table in which all chunks are one ring, and five logs in each bucket walk round it.
fn rings(layout: Layout) -> Table {
    let table = Table::private(layout).unwrap();
    let chunks = table.region.chunks();
    for (index, chunk) in chunks.iter().enumerate() {
        let next = (index + 1) % chunks.len();
        (0..RUNS as u32).for_each(|tick| assert_eq!(chunk.push(Run { tick, count: 1 }), Some(1)));
        chunk.set_link(0, next as u32 + 1);
    }
    for (number, bucket) in table.region.buckets().iter().enumerate() {
        let mut claimed = bucket.try_look().unwrap().claim(1).unwrap();
        for (index, slot) in bucket.slots().enumerate() {
            // The end is never met.
            let first = 1 + (number * 5 + index) % chunks.len();
            let data = (first as u64) << 32;
            let state = State {
                idle_at: 1 << 62,
                data,
            };
            let fingerprint = (number as u64) << 12 | (index as u64) << 6 | 1;
            claimed.place(slot, fingerprint, Weight::default(), state);
        }
    }
    table
}

/// A counter's key, made of any words.
fn key(fingerprint: u64, home: u64, algorithm: Algorithm) -> Key {
    let marks = u64::from(algorithm.keeps_log());
    let fingerprint = (fingerprint & !FINGERPRINT_MARKS).max(FINGERPRINT_MARKS + 1);
    Key {
        fingerprint: fingerprint | marks,
        home: home.rotate_left(40),
    }
}

/// A counter in a step of several: of which word, its home, its algorithm, its cost,
/// and whether that is given back.
type Part = (usize, u64, usize, u64, bool);

fn part() -> impl Strategy<Value = Part> {
    (0..97usize, word(), 0..4usize, word(), any::<bool>())
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::with_cases(300)
    })]

    #[test]
    fn any_bits_in_the_region_get_an_answer(
        words in prop::collection::vec(word(), 97),
        checks in prop::collection::vec((0..97usize, word(), word(), 1..200u64), 40),
        evict in any::<bool>(),
    ) {
        let table = Table::private(LAYOUT).unwrap();
        let mut cycle = words.iter().cycle();
        scramble(&table, || *cycle.next().unwrap());
        for (fingerprint, home, now, cost) in checks {
            // One that stands somewhere, so that it is found.
            let fingerprint = words[fingerprint];
            let now = now >> 1;
            for algorithm in Algorithm::ALL {
                let key = key(fingerprint, home, algorithm);
                let table = &table;
                let trial = Trial { table, key, now, cost, evict };
                let answer = trial.of(algorithm, 100, 1_000_000);
                // Nobody else is here.
                prop_assert_ne!(answer, Err(NotStored::Changed));
            }
            table.census(now);
        }
    }

    #[test]
    fn any_bits_in_the_region_can_be_changed_as_one_step(
        words in prop::collection::vec(word(), 97),
        steps in prop::collection::vec((prop::collection::vec(part(), 1..12), word()), 30),
        evict in any::<bool>(),
    ) {
        let table = Table::private(LAYOUT).unwrap();
        let mut cycle = words.iter().cycle();
        scramble(&table, || *cycle.next().unwrap());
        for (parts, now) in steps {
            let (now, terms) = (now >> 1, Terms { now: now >> 1, evict });
            let mut keys = HashSet::new();
            let mut changes = Vec::new();
            for (fingerprint, home, algorithm, cost, gives_back) in parts {
                let algorithm = Algorithm::ALL[algorithm];
                let key = key(words[fingerprint], home, algorithm);
                if keys.insert(key.fingerprint) {
                    let (table, cost) = (&table, cost.max(1));
                    let trial = Trial { table, key, now, cost, evict };
                    let counter = counter(algorithm, 100, 1_000_000);
                    changes.push(trial.change(&counter, 100, gives_back).0);
                }
            }
            // Nobody else is here.
            let mut all: Vec<_> = changes.iter_mut().collect();
            prop_assert_ne!(table.store_all(&mut all, terms), Err(NotStored::Changed.into()));
            for change in &changes {
                prop_assert_eq!(table.forget(table.find(change.key)), Ok(()));
            }
            table.census(now);
        }
    }

    #[test]
    fn any_bits_in_the_region_can_be_taken_over(
        words in prop::collection::vec(word(), 97),
        held in prop::collection::vec(any::<bool>(), LAYOUT.buckets),
        seats_first in any::<bool>(),
    ) {
        let table = Table::private(LAYOUT).unwrap();
        let mut cycle = words.iter().cycle();
        scramble(&table, || *cycle.next().unwrap());
        for (bucket, held) in table.region.words().iter().skip(512).step_by(16).zip(held) {
            bucket.fetch_or(u64::from(held), Ordering::Relaxed);
        }
        let recover_seats = || table.recover_seats(&mut Vigil::default());
        while seats_first && recover_seats() {}
        for number in 0..LAYOUT.buckets as u32 {
            if table.bucket(number).held().is_some() {
                table.wait_and_look(table.bucket(number));
            }
            prop_assert!(table.bucket(number).held().is_none());
        }
        while recover_seats() {}
        prop_assert!(table.seats(0).all(|seat| seat.holder().is_none()));
        // It may say anything.
        let _ = table.audit();
        table.census(0);
    }
}

#[test]
fn a_census_of_rings_counts_no_more_than_there_is() {
    let table = rings(Layout {
        buckets: 100,
        chunks: 500,
    });
    let census = table.census(0);
    assert_eq!(census.keys, 500);
    assert!(census.log_entries <= 2 * table.log_capacity());
    assert!(table.audit().is_err());
}

#[test]
fn who_takes_over_a_bucket_of_rings_looks_at_no_chunk_twice() {
    let table = rings(Layout {
        buckets: 2,
        chunks: 500,
    });
    let dead = table.peers.own_id() ^ 1;
    assert_eq!(table.peers.holder(dead), Holder::Dead);
    let seen = table.bucket(0).try_look().unwrap();
    std::mem::forget(seen.claim(dead).unwrap());
    table.wait_and_look(table.bucket(0));
    let totals = table.bucket(0).slots().map(|slot| {
        let first = table.pool().chunk(slot.log().first).unwrap();
        first.total()
    });
    assert_eq!(totals.sum::<u64>(), table.log_capacity());
}
