//! Models of who reads and who writes an anchor at the same time, in which loom runs all
//! orders of their steps. The counter goes at 2 GHz, and the clock with it, so that an
//! anchor of one writer gives the right time, and one of two does not.
//!
//! ```text
//! RUSTFLAGS="--cfg loom" cargo test --release --lib loom
//! ```

use loom::sync::Arc;
use loom::thread;

use super::*;

/// What the counter shows throughout, and the clock.
const TICKS: u64 = 2_000_000;
const NOW: u64 = TICKS / 2;

const RATE: u32 = 1 << 31;

struct Still;

impl Counters for Still {
    fn ticks(&self) -> u64 {
        TICKS
    }

    fn monotonic_ns(&self) -> u64 {
        NOW
    }
}

/// An anchor made so many ns ago, an even number.
fn record(ago: u64, usable: bool) -> Record {
    let pair = Pair {
        ns: NOW - ago,
        ticks: TICKS - 2 * ago,
    };
    Record::new(pair, RATE, usable)
}

fn anchored(record: Record) -> Arc<Anchor> {
    let anchor = Anchor::new();
    assert!(anchor.replace(anchor.found(), record).is_some());
    Arc::new(anchor)
}

/// Reads the time, which is right if there is any, but for the ns that the bit takes.
fn read(anchor: &Anchor) {
    if let Some(now) = anchor.reckon(&Still) {
        assert_eq!(now, NOW + 1);
    }
}

/// Puts a record in the place of whatever is there.
fn write(anchor: &Anchor, record: Record) -> bool {
    anchor.replace(anchor.found(), record).is_some()
}

#[test]
fn loom_a_reader_never_goes_by_two_anchors_at_once() {
    loom::model(|| {
        let anchor = anchored(record(50_000, true));
        let other = Arc::clone(&anchor);
        let writer = thread::spawn(move || write(&other, record(10, true)));
        read(&anchor);
        assert!(writer.join().unwrap());
        assert_eq!(anchor.reckon(&Still), Some(NOW + 1));
    });
}

#[test]
fn loom_of_two_who_write_an_anchor_no_half_is_left() {
    loom::model(|| {
        let anchor = anchored(record(50_000, true));
        let other = Arc::clone(&anchor);
        let writer = thread::spawn(move || write(&other, record(10, true)));
        // It may take over from the other one, at any of its steps.
        write(&anchor, record(20, true));
        read(&anchor);
        writer.join().unwrap();
        read(&anchor);
    });
}

#[test]
fn loom_who_takes_over_and_who_comes_back_are_both_read_whole() {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(3);
    builder.check(|| {
        let anchor = anchored(record(50_000, false));
        let writers = [10, 20].map(|ago| {
            let anchor = Arc::clone(&anchor);
            thread::spawn(move || write(&anchor, record(ago, true)))
        });
        read(&anchor);
        writers.into_iter().for_each(|writer| {
            writer.join().unwrap();
        });
        read(&anchor);
    });
}
