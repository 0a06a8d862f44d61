//! A region may hold any bits, since another process may have written them. Every
//! call must still come back, without a panic and without a look outside; what it
//! says is of no use.

use std::collections::HashSet;

use proptest::prelude::*;

use super::trial::{Trial, counter};
use super::{Layout, NotStored, Table, Terms};
use crate::algorithm::Algorithm;
use crate::hash::{FINGERPRINT_MARKS, Key};
use crate::sync::Ordering;

const LAYOUT: Layout = Layout {
    buckets: 3,
    chunks: 7,
};

/// The version of each bucket, which is the first word of 16 after the header's 512.
fn is_version(word: usize) -> bool {
    (512..512 + LAYOUT.buckets * 16).contains(&word) && word % 16 == 0
}

/// Writes over the whole region. No bucket is left as if somebody were writing: that
/// would be waited for.
fn scramble(table: &Table, mut word: impl FnMut() -> u64) {
    for (place, to) in table.region.words().iter().enumerate() {
        let keep_even = if is_version(place) { !1 } else { !0 };
        to.store(word() & keep_even, Ordering::Relaxed);
    }
}

/// Small numbers, which are likely to name a chunk, and fingerprints and instants
/// of any magnitude.
fn word() -> impl Strategy<Value = u64> {
    let small = 0..=LAYOUT.chunks as u64 + 1;
    prop_oneof![
        (small.clone(), small).prop_map(|(high, low)| high << 32 | low),
        (any::<u64>(), 0..64u32).prop_map(|(word, shift)| word >> shift),
        (0..8u64).prop_map(|near| 1_000_000 + near),
    ]
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
            prop_assert_ne!(table.store_all(&changes, terms), Err(NotStored::Changed));
            for change in &changes {
                prop_assert_eq!(table.forget(table.find(change.key)), Ok(()));
            }
            table.census(now);
        }
    }
}
