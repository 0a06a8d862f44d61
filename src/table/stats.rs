//! What the table counts about itself, in stripes so that threads do not meet.

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

/// This thread's stripe. Threads have stacks of their own, so the address of a
/// local variable tells them apart without thread-local storage; two threads that
/// do meet in a stripe count right all the same.
#[inline]
pub(super) fn stripe() -> usize {
    if cfg!(loom) {
        // Loom wants every run to do the same.
        return 0;
    }
    let here = 0u8;
    let stack = ((&raw const here).addr() >> 16) as u64;
    (stack.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (u64::BITS - STRIPES.ilog2())) as usize
}
