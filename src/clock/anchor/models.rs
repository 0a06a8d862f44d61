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

/// An anchor that has long been there.
fn old() -> (Arc<Anchor>, Record) {
    let (anchor, record) = (Anchor::new(), record(50_000, true));
    assert!(anchor.replace(anchor.found(), record).is_some());
    (Arc::new(anchor), record)
}

/// Reads the time, which is right if there is any, but for the ns that the bit takes.
fn read(anchor: &Anchor) {
    if let Some(now) = anchor.reckon(&Still) {
        assert_eq!(now, NOW + 1);
    }
}

/// Puts a record in the place of another that is known. It does so without a look, which
/// would hide from loom what readers did before.
fn write(anchor: &Arc<Anchor>, found: Record, next: Record) -> thread::JoinHandle<bool> {
    let anchor = Arc::clone(anchor);
    thread::spawn(move || anchor.replace(found, next).is_some())
}

#[test]
fn loom_a_reader_never_goes_by_two_anchors_at_once() {
    loom::model(|| {
        let (anchor, old) = old();
        let writer = write(&anchor, old, record(10, true));
        read(&anchor);
        assert!(writer.join().unwrap());
        assert_eq!(anchor.reckon(&Still), Some(NOW + 1));
    });
}

#[test]
fn loom_of_two_who_write_an_anchor_one_does() {
    loom::model(|| {
        let (anchor, old) = old();
        let writer = write(&anchor, old, record(10, true));
        let second = anchor.replace(old, record(20, true)).is_some();
        assert_ne!(writer.join().unwrap(), second);
        assert_eq!(anchor.reckon(&Still), Some(NOW + 1));
    });
}

/// One takes over from another, which it has seen at each of its steps, and which is not
/// dead but goes on.
#[test]
fn loom_who_takes_over_and_who_comes_back_are_read_whole() {
    for step in 1..=3 {
        let mut builder = loom::model::Builder::new();
        builder.preemption_bound = Some(3);
        builder.check(move || {
            let (anchor, old) = old();
            let (first, second) = (record(10, true), record(20, true));
            let claim = first.instant & !USABLE;
            let seen = Record {
                instant: claim,
                ticks: if step > 1 { first.ticks } else { old.ticks },
                rate: if step > 2 { first.rate } else { old.rate },
            };
            let writers = [(old, first), (seen, second)];
            let writers = writers.map(|(found, next)| write(&anchor, found, next));
            read(&anchor);
            writers.into_iter().for_each(|writer| {
                writer.join().unwrap();
            });
            read(&anchor);
        });
    }
}

/// The same, by somebody who looks what there is.
#[test]
fn loom_who_takes_over_at_any_step_leaves_no_half() {
    loom::model(|| {
        let (anchor, old) = old();
        let writer = write(&anchor, old, record(10, true));
        anchor.replace(anchor.found(), record(20, true));
        read(&anchor);
        writer.join().unwrap();
        read(&anchor);
    });
}
