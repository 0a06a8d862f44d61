//! A refusal writes nothing: not a word of the region is another afterwards.

use super::trial::Trial;
use super::{Layout, Table};
use crate::algorithm::Algorithm;
use crate::hash::Key;
use crate::sync::Ordering;

const LAYOUT: Layout = Layout {
    buckets: 3,
    chunks: 7,
};

fn words(table: &Table) -> Vec<u64> {
    let words = table.region.words().iter();
    words.map(|word| word.load(Ordering::Relaxed)).collect()
}

#[test]
fn a_refusal_writes_nothing() {
    for algorithm in Algorithm::ALL {
        let table = Table::private(LAYOUT).unwrap();
        let key = Key {
            fingerprint: 1 << 40 | u64::from(algorithm.keeps_log()),
            home: 0,
        };
        let ask = |now, cost| {
            let trial = Trial {
                table: &table,
                key,
                now,
                cost,
                evict: true,
            };
            trial.of(algorithm, 5, 1_000_000_000)
        };
        // A counter that is not there, and a cost that never passes.
        let before = words(&table);
        assert_eq!(ask(1, 6), Ok(false), "{algorithm:?}");
        assert_eq!(words(&table), before, "{algorithm:?}");
        // One that is drained.
        assert_eq!(ask(1, 5), Ok(true), "{algorithm:?}");
        let drained = words(&table);
        assert_ne!(drained, before, "{algorithm:?}");
        for now in 1..100 {
            assert_eq!(ask(now, 1), Ok(false), "{algorithm:?}");
        }
        assert_eq!(words(&table), drained, "{algorithm:?}");
    }
}
