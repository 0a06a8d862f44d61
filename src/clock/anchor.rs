//! `CLOCK_MONOTONIC` by the processor's counter: a reading is the last anchor's instant
//! and the ticks since, for a fraction of a millisecond; then the clock itself is read,
//! and that is the next anchor. One anchor serves all processes of a region.
//!
//! Nobody waits for an anchor. Whoever finds none to use, or one that changes meanwhile,
//! reads the clock. What makes a good anchor is known to `record`; who may use it at all
//! to the caller.
//!
//! Invariant: an instant with the bit `USABLE` stands beside the ticks and the rate that
//! were written with it, whoever is killed or held up at whichever instruction. A writer
//! claims the anchor by turning its instant into one of its own without the bit, and sets
//! the bit last. Each word it writes by a swap for the one that it had found there. A
//! claim that has stood for some time may be taken over. Whoever comes back to one that
//! was taken over finds other words in the place of those it knew, for no two anchors
//! have a word in common, and changes nothing more.

use super::record::{Pair, Record, SPAN_TICKS, USABLE};
use super::tsc::Counters;
use crate::sync::{AtomicU64, Ordering, fence};

/// An anchor for all that have this memory. All zero is none.
#[repr(C)]
#[derive(Debug)]
pub(crate) struct Anchor {
    instant: AtomicU64,
    ticks: AtomicU64,
    rate: AtomicU64,
    /// Keeps all else off this cache line, which every check reads.
    _reserved: [AtomicU64; 5],
}

impl Anchor {
    /// The time now, in nanoseconds of `CLOCK_MONOTONIC`: from the anchor, or by a look
    /// at the clock.
    #[inline(always)]
    pub fn now_ns(&self, counters: &impl Counters) -> u64 {
        match self.reckon(counters) {
            Some(now) => now,
            None => self.look(counters),
        }
    }

    /// The time by the counter, if there is an anchor to go by.
    #[inline(always)]
    fn reckon(&self, counters: &impl Counters) -> Option<u64> {
        // Acquire: the ticks and the rate are those written before this, or later ones.
        let instant = self.instant.load(Ordering::Acquire);
        let ticks = self.ticks.load(Ordering::Relaxed);
        let rate = self.rate.load(Ordering::Relaxed) as u32;
        // After the loads, so that one that is held up here finds the anchor expired.
        let since = counters.ticks().wrapping_sub(ticks);
        // The loads come before the second look: if they saw a word of another anchor,
        // that sees its claim.
        fence(Ordering::Acquire);
        let unchanged = self.instant.load(Ordering::Relaxed) == instant;
        // A counter that went back shows as one that went on for very long. Less than
        // 2^19 ticks of 32 bits each do not overflow; a damaged instant may.
        (unchanged && instant & USABLE != 0 && since < SPAN_TICKS)
            .then(|| instant.wrapping_add((since * u64::from(rate)) >> 32))
    }

    /// The time by the clock. Makes an anchor of it, or the next step towards one.
    #[cold]
    #[inline(never)]
    fn look(&self, counters: &impl Counters) -> u64 {
        let found = self.found();
        let now = counters.monotonic_ns();
        if found.is_due(now) {
            let before = counters.ticks();
            let ns = counters.monotonic_ns();
            let pair = Pair::between(before, ns, counters.ticks());
            // Where somebody else was faster, that one has made the anchor.
            pair.and_then(|pair| self.replace(found, found.next(pair)));
        }
        now
    }

    /// The words as they are. They belong together if the instant is the same when it
    /// is claimed; if not, that fails.
    fn found(&self) -> Record {
        Record {
            // Acquire: as in `reckon`.
            instant: self.instant.load(Ordering::Acquire),
            ticks: self.ticks.load(Ordering::Relaxed),
            rate: self.rate.load(Ordering::Relaxed),
        }
    }

    /// Puts a record in the place of the one that was found; `None` if anybody has
    /// changed a word since.
    fn replace(&self, found: Record, next: Record) -> Option<()> {
        let claim = next.instant & !USABLE;
        swap(&self.instant, found.instant, claim)?;
        swap(&self.ticks, found.ticks, next.ticks)?;
        swap(&self.rate, found.rate, next.rate)?;
        swap(&self.instant, claim, next.instant)
    }

    #[cfg(any(test, loom))]
    pub fn new() -> Anchor {
        let word = || AtomicU64::new(0);
        Anchor {
            instant: word(),
            ticks: word(),
            rate: word(),
            _reserved: std::array::from_fn(|_| word()),
        }
    }
}

/// Writes a word, if it is still what it was.
fn swap(word: &AtomicU64, found: u64, next: u64) -> Option<()> {
    // Release: whoever sees this sees the words before it. So who sees a ticks or a rate
    // sees the claim that they were written under, and who sees the instant sees both.
    word.compare_exchange(found, next, Ordering::Release, Ordering::Relaxed)
        .ok()
        .map(drop)
}

#[cfg(all(test, loom))]
mod models;
#[cfg(all(test, not(loom)))]
mod real;
#[cfg(all(test, not(loom)))]
mod tests;
