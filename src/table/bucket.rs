//! A bucket: five counters and the lock that guards them, in two cache lines.
//!
//! The lock is a sequence lock. Its word is a version: even at rest, odd while
//! somebody writes. A reader takes the version, reads, and looks whether the
//! version still stands; it writes nothing, so any number of cores can read one
//! bucket at once. A writer turns the version *that it read* odd by one
//! compare-and-swap, so "nobody has moved since I looked" and "it is mine" are one
//! step. Nothing here knows what a counter means.

use super::log::Handle;
use super::wait::Backoff;
use crate::algorithm::State;
use crate::hash::FINGERPRINT_MARKS;
use crate::sync::{AtomicU64, Ordering, fence};

/// Counters in a bucket.
pub(crate) const SLOTS: usize = 5;

/// Where in the word of a fingerprint its [`Weight`] stands.
const WEIGHT: u64 = FINGERPRINT_MARKS & !1;

/// How much of its quota a counter has given, in halvings: 15 for nearly all of it,
/// 14 for half, 13 for a quarter. It is what is lost when a counter is forgotten.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Weight(u8);

impl Weight {
    #[inline]
    pub fn new(capacity: u64, remaining: u64) -> Weight {
        let used = capacity.saturating_sub(remaining);
        let halvings = used
            .leading_zeros()
            .saturating_sub(capacity.leading_zeros());
        Weight(15u32.saturating_sub(halvings) as u8)
    }
}

/// Five counters. The fingerprints and the first counter share the first cache line.
#[repr(C)]
#[derive(Debug)]
pub(crate) struct Bucket {
    version: AtomicU64,
    fingerprints: [AtomicU64; SLOTS],
    counters: [[AtomicU64; 2]; SLOTS],
}

#[cfg(not(loom))]
const _: () = assert!(size_of::<Bucket>() == 128);

/// One counter's place in a bucket.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Slot<'b> {
    fingerprint: &'b AtomicU64,
    /// `idle_at` and `data`.
    counter: &'b [AtomicU64; 2],
}

/// A bucket as somebody saw it. What is read through this holds if it is still
/// [`unchanged`](Seen::unchanged) afterwards, or when it is [claimed](Seen::claim).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seen<'b> {
    bucket: &'b Bucket,
    version: u64,
}

/// A bucket that is ours to write until this is dropped.
#[derive(Debug)]
pub(crate) struct Claimed<'b> {
    seen: Seen<'b>,
    written: bool,
}

impl Bucket {
    /// Looks at the bucket, as soon as nobody is writing.
    #[inline]
    pub fn look(&self) -> Seen<'_> {
        match self.try_look() {
            Some(seen) => seen,
            None => self.wait_and_look(),
        }
    }

    /// Looks at the bucket, unless somebody is writing.
    #[inline]
    pub fn try_look(&self) -> Option<Seen<'_>> {
        // Acquire: what is read next is at least as new as this version, and the
        // clock is read after whatever the last writer did.
        let version = self.version.load(Ordering::Acquire);
        (version & 1 == 0).then_some(Seen {
            bucket: self,
            version,
        })
    }

    #[cold]
    fn wait_and_look(&self) -> Seen<'_> {
        let mut backoff = Backoff::new();
        loop {
            backoff.pause();
            if let Some(seen) = self.try_look() {
                return seen;
            }
        }
    }

    #[inline]
    fn slots(&self) -> impl Iterator<Item = Slot<'_>> {
        self.fingerprints
            .iter()
            .zip(&self.counters)
            .map(|(fingerprint, counter)| Slot {
                fingerprint,
                counter,
            })
    }

    #[cfg(loom)]
    pub fn new() -> Bucket {
        let zero = || AtomicU64::new(0);
        Bucket {
            version: zero(),
            fingerprints: std::array::from_fn(|_| zero()),
            counters: std::array::from_fn(|_| [zero(), zero()]),
        }
    }
}

impl<'b> Seen<'b> {
    /// The slot of a fingerprint, if it is here.
    #[inline]
    pub fn find(self, fingerprint: u64) -> Option<Slot<'b>> {
        self.slots().find(|slot| slot.fingerprint() == fingerprint)
    }

    /// All slots, taken or free.
    #[inline]
    pub fn slots(self) -> impl Iterator<Item = Slot<'b>> {
        self.bucket.slots()
    }

    /// Whether nobody has begun to write since it was seen.
    #[inline]
    pub fn unchanged(self) -> bool {
        // The fence keeps the reads before it from sinking below the second look at
        // the version; it pairs with the one in `claim`.
        fence(Ordering::Acquire);
        self.bucket.version.load(Ordering::Relaxed) == self.version
    }

    /// Whether both looks saw the bucket in the same state.
    #[inline]
    pub fn same(self, other: Seen<'_>) -> bool {
        std::ptr::eq(self.bucket, other.bucket) && self.version == other.version
    }

    /// Makes the bucket ours, if nobody has begun to write since it was seen.
    #[inline]
    pub fn claim(self) -> Option<Claimed<'b>> {
        // Acquire: our writes come after those of the last owner.
        self.bucket
            .version
            .compare_exchange(
                self.version,
                self.version | 1,
                Ordering::Acquire,
                Ordering::Relaxed,
            )
            .ok()?;
        // Whoever sees one of the writes that follow also sees the odd version.
        fence(Ordering::Release);
        Some(Claimed {
            seen: self,
            written: false,
        })
    }
}

impl<'b> Claimed<'b> {
    /// What the bucket held when it was claimed, and holds now.
    #[inline]
    pub fn seen(&self) -> Seen<'b> {
        self.seen
    }

    /// Stores a counter in a slot of this bucket, in place of whatever it held.
    #[inline]
    pub fn write(&mut self, slot: Slot<'b>, fingerprint: u64, weight: Weight, state: State) {
        self.written = true;
        let word = fingerprint | u64::from(weight.0) << 1;
        slot.fingerprint.store(word, Ordering::Relaxed);
        // The instant first, which the second store's Release makes sure of: a change
        // that stops half-way leaves a counter that is idle later, not sooner.
        let [idle_at, data] = slot.counter;
        idle_at.store(state.idle_at, Ordering::Relaxed);
        data.store(state.data, Ordering::Release);
    }

    /// Frees a slot.
    pub fn clear(&mut self, slot: Slot<'b>) {
        self.write(slot, 0, Weight::default(), State::default());
    }
}

impl Drop for Claimed<'_> {
    #[inline]
    fn drop(&mut self) {
        // A claim under which nothing was written leaves the version as it was, so
        // that nobody who reads has to start over.
        let step = if self.written { 2 } else { 0 };
        // Release: whoever sees the even version sees all that was written.
        self.seen
            .bucket
            .version
            .store(self.seen.version.wrapping_add(step), Ordering::Release);
    }
}

impl Slot<'_> {
    #[inline]
    pub fn fingerprint(self) -> u64 {
        self.fingerprint.load(Ordering::Relaxed) & !WEIGHT
    }

    #[inline]
    pub fn weight(self) -> Weight {
        Weight(((self.fingerprint.load(Ordering::Relaxed) & WEIGHT) >> 1) as u8)
    }

    /// What is lost at `now` when the counter is forgotten: nothing where it is as good
    /// as new, else its weight, and of equals the time for which it would still count.
    pub fn worth(self, now: u64) -> (bool, Weight, u64) {
        (self.is_live(now), self.weight(), self.state().idle_at)
    }

    #[inline]
    pub fn state(self) -> State {
        let [idle_at, data] = self.counter;
        State {
            idle_at: idle_at.load(Ordering::Relaxed),
            data: data.load(Ordering::Relaxed),
        }
    }

    /// Whether the slot holds a counter that cannot yet be told from a new one.
    #[inline]
    pub fn is_live(self, now: u64) -> bool {
        self.fingerprint() != 0 && self.state().idle_at > now
    }

    /// The log of the counter that the slot holds, if it keeps one.
    pub fn log(self) -> Handle {
        if self.keeps_log() {
            Handle::of(self.state().data)
        } else {
            Handle::default()
        }
    }

    /// Whether the slot's counter keeps a log.
    #[inline]
    pub fn keeps_log(self) -> bool {
        self.fingerprint() & 1 == 1
    }
}
