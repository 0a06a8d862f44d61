//! What the table counts about itself, in stripes so that threads do not meet.

#[cfg(not(loom))]
use super::region::wiped::Wiped;
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

/// The counts of every event, each the sum over all stripes.
#[repr(C)]
#[derive(Debug)]
pub(crate) struct Stripes([[AtomicU64; EVENTS]; STRIPES]);

impl Stripes {
    /// Counts `by` events.
    #[inline]
    pub fn add(&self, event: Event, by: u64) {
        if let Some(count) = self
            .0
            .get(stripe())
            .and_then(|stripe| stripe.get(event as usize))
        {
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

/// This thread's stripe. Threads have stacks of their own, so the address of a local
/// variable tells them apart without thread-local storage; processes that were forked
/// from one have the same, so it is mixed with who they are. Those that do meet in a
/// stripe count right all the same.
#[cfg(not(loom))]
#[inline]
pub(super) fn stripe() -> usize {
    let here = 0u8;
    // Not known until a process first holds a lock.
    stripe_of((&raw const here).addr() as u64, Wiped::known_identity())
}

/// Loom wants every run to do the same.
#[cfg(loom)]
pub(super) fn stripe() -> usize {
    0
}

#[cfg(not(loom))]
#[inline]
fn stripe_of(stack: u64, identity: u64) -> usize {
    let id = identity >> 32;
    ((stack >> 16 ^ id).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (u64::BITS - STRIPES.ilog2()))
        as usize
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn stripes(of: impl Fn(u64) -> usize) -> usize {
        (0..8).map(of).collect::<BTreeSet<_>>().len()
    }

    #[test]
    fn eight_that_were_forked_from_one_seldom_meet() {
        let (stack, tag, world) = (0x7ffd_1234_5678, 77 << 54, 0xabcd);
        let id = |n| tag | (4_194_000 + n) << 32 | world;
        assert!(stripes(|n| stripe_of(stack, id(n))) >= 6);
    }

    #[test]
    fn eight_threads_of_one_process_seldom_meet() {
        let (stack, identity) = (0x7f12_3456_7000, 77 << 54 | 1234 << 32 | 0xabcd);
        assert!(stripes(|n| stripe_of(stack - n * 0x20_1000, identity)) >= 6);
    }
}
