//! What the table counts about itself, in stripes so that threads do not meet; and a
//! count of what it holds.

use super::Table;
use crate::sync::{AtomicU64, Ordering};

const STRIPES: usize = if cfg!(loom) { 1 } else { 32 };

/// What is counted.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Event {
    Allowed,
    Denied,
    Error,
    EvictedIdle,
    EvictedLive,
    RefusedFull,
    RecoveredLock,
}

const EVENTS: usize = 8;

/// What the table holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Census {
    pub keys: u64,
    pub log_entries: u64,
}

/// The counts of every event, each the sum over all stripes.
#[repr(C)]
#[derive(Debug)]
pub(crate) struct Stripes([[AtomicU64; EVENTS]; STRIPES]);

impl Stripes {
    /// Counts `by` events in a stripe.
    #[inline]
    pub fn add(&self, stripe: usize, event: Event, by: u64) {
        let stripe = self.0.get(stripe);
        if let Some(count) = stripe.and_then(|stripe| stripe.get(event as usize)) {
            // Relaxed: a count orders nothing.
            count.fetch_add(by, Ordering::Relaxed);
        }
    }

    /// How often an event was counted.
    pub fn sum(&self, event: Event) -> u64 {
        let counts = self
            .0
            .iter()
            .filter_map(|stripe| stripe.get(event as usize));
        counts.fold(0, |sum, count| {
            sum.wrapping_add(count.load(Ordering::Relaxed))
        })
    }

    #[cfg(loom)]
    pub fn new() -> Stripes {
        Stripes(std::array::from_fn(|_| {
            std::array::from_fn(|_| AtomicU64::new(0))
        }))
    }
}

impl Table {
    /// Counts what the table holds at `now`: a walk over all of it, bucket by
    /// bucket, that keeps nobody waiting.
    pub fn census(&self, now: u64) -> Census {
        let mut census = Census::default();
        // All logs together have no more chunks than there are, whatever the links say.
        // Twice as many, since chunks may get into other logs meanwhile.
        let mut left = 2 * self.pool().len();
        for bucket in self.region.buckets() {
            // A log that is just being written cannot be counted.
            let seen = bucket.try_look();
            for slot in bucket.slots().filter(|slot| slot.is_live(now)) {
                census.keys += 1;
                if let Some(seen) = seen.filter(|_| slot.keeps_log()) {
                    census.log_entries += self.log_of(slot.state(), seen).len(&mut left);
                }
            }
        }
        census
    }

    /// Counts events.
    #[inline]
    pub fn count(&self, event: Event, by: u64) {
        self.stripes().add(self.stripe(), event, by);
    }

    /// How often an event was counted.
    pub fn counted(&self, event: Event) -> u64 {
        self.stripes().sum(event)
    }

    fn stripes(&self) -> &Stripes {
        &self.region.header().stripes
    }

    /// The stripe of the statistics that is this thread's.
    #[inline]
    pub(super) fn stripe(&self) -> usize {
        stripe(self.peers.mark())
    }
}

/// The stripe of this thread of the process with this `mark`. Threads have stacks of
/// their own, so the address of a local variable tells them apart without thread-local
/// storage; processes that were forked from one have the same, so it is mixed with who
/// they are. Those that do meet in a stripe count right all the same.
#[inline]
fn stripe(mark: u64) -> usize {
    let here = 0u8;
    match cfg!(loom) {
        // Loom wants every run to do the same.
        true => 0,
        false => stripe_of((&raw const here).addr() as u64, mark),
    }
}

#[inline]
fn stripe_of(stack: u64, mark: u64) -> usize {
    // The golden ratio for each half: neighbours in either come far apart.
    let mixed = (stack >> 16 ^ mark).wrapping_mul(0x9e37_79b9_9e37_79b9);
    (mixed >> (u64::BITS - STRIPES.ilog2())) as usize
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn stripes(of: impl Fn(u32) -> usize) -> usize {
        (0..8).map(of).collect::<BTreeSet<_>>().len()
    }

    #[test]
    fn eight_that_were_forked_from_one_seldom_meet() {
        let mark = |n: u32| (77 << 22 | u64::from(4_194_000 + n)) << 32 | 0x1234_5678;
        assert!(stripes(|n| stripe_of(0x7ffd_1234_5678, mark(n))) >= 6);
    }

    #[test]
    fn eight_threads_of_one_process_seldom_meet() {
        let stack = |n: u32| 0x7f12_3456_7000 - u64::from(n) * 0x20_1000;
        assert!(stripes(|n| stripe_of(stack(n), (77 << 22 | 1234) << 32 | 0x1234_5678)) >= 6);
    }
}
