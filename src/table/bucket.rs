//! A bucket: five counters and the lock that guards them, in two cache lines.
//!
//! The lock is a sequence lock. Its word is a version: even at rest, odd while
//! somebody writes. A reader takes the version, reads, and looks whether the
//! version still stands; it writes nothing, so any number of cores can read one
//! bucket at once. A writer turns the version *that it read* odd by one
//! compare-and-swap, so "nobody has moved since I looked" and "it is mine" are one
//! step. While it is held the upper half of the word says by whom.
//!
//! Writes are `Release`, for two reasons. Whoever sees one of them, and then fences,
//! sees the odd version too. And none moves before another: the holder may be killed at
//! any instruction, and what is half done is then finished or undone by whoever takes
//! the bucket over (`recover`). Nothing here knows what a counter means.

use super::log::Handle;
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

/// A quota, by which counters are weighed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scale {
    quota: u64,
    /// 15, the weight of all of it, and its leading zeros; a part weighs less by its own.
    top: u32,
}

impl Scale {
    pub fn new(quota: u64) -> Scale {
        let top = 15 + quota.leading_zeros();
        Scale { quota, top }
    }

    #[inline]
    pub fn weight(self, remaining: u64) -> Weight {
        // What is left is never more than all.
        let used = self.quota.wrapping_sub(remaining);
        Weight(self.top.saturating_sub(used.leading_zeros()) as u8 & 15)
    }
}

/// The bit of a version that says that the bucket is held.
const HELD: u64 = 1;

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
    /// Looks at the bucket, unless somebody is writing.
    #[inline]
    pub fn try_look(&self) -> Option<Seen<'_>> {
        // Acquire: what is read next is at least as new as this version, and the
        // clock is read after whatever the last writer did.
        let version = self.version.load(Ordering::Acquire);
        (version & HELD == 0).then_some(Seen {
            bucket: self,
            version,
        })
    }

    /// A word of the line that tells which counters are here.
    #[inline]
    pub fn front(&self) -> &AtomicU64 {
        &self.version
    }

    /// The version of a bucket that is held, and who holds it.
    pub fn held(&self) -> Option<(u64, u32)> {
        let version = self.version.load(Ordering::Acquire);
        (version & HELD != 0).then_some((version, (version >> 32) as u32))
    }

    /// Takes the bucket over from a holder that is lost, and gives it a version that it
    /// has not had: the holder's own is not known as a whole.
    pub fn take_over(&self, held: u64, by: u32, fresh: u32) -> Option<Claimed<'_>> {
        let ours = held_by(held, by);
        self.version
            .compare_exchange(held, ours, Ordering::Acquire, Ordering::Relaxed)
            .ok()?;
        let version = u64::from(fresh) << 32 | held & 0xffff_fffe;
        let seen = Seen {
            bucket: self,
            version,
        };
        Some(Claimed {
            seen,
            written: true,
        })
    }

    /// All slots, taken or free.
    #[inline]
    pub fn slots(&self) -> impl Iterator<Item = Slot<'_>> {
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

    /// The bucket.
    #[inline]
    pub fn bucket(self) -> &'b Bucket {
        self.bucket
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
        // the version; it pairs with the writes, which are `Release`.
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
    pub fn claim(self, by: u32) -> Option<Claimed<'b>> {
        // Acquire: our writes come after those of the last owner.
        self.bucket
            .version
            .compare_exchange(
                self.version,
                held_by(self.version, by),
                Ordering::Acquire,
                Ordering::Relaxed,
            )
            .ok()?;
        Some(Claimed {
            seen: self,
            written: false,
        })
    }
}

/// The version of a bucket that is held: by whom, and the lower half of what it was.
#[inline]
fn held_by(version: u64, by: u32) -> u64 {
    u64::from(by) << 32 | version & 0xffff_fffe | HELD
}

impl<'b> Claimed<'b> {
    /// What the bucket held when it was claimed, and holds now.
    #[inline]
    pub fn seen(&self) -> Seen<'b> {
        self.seen
    }

    /// Changes a counter of which one word changes, or which is as new until its instant
    /// is written: killed anywhere in here, it is what it was or what it becomes.
    #[inline]
    pub fn set(&mut self, slot: Slot<'b>, fingerprint: u64, weight: Weight, state: State) {
        self.mark(slot, fingerprint, weight);
        let [idle_at, data] = slot.counter;
        data.store(state.data, Ordering::Release);
        idle_at.store(state.idle_at, Ordering::Release);
    }

    /// Changes a counter that is noted in a seat. It has happened when `data` is written.
    #[inline]
    pub fn set_noted(&mut self, slot: Slot<'b>, fingerprint: u64, weight: Weight, state: State) {
        self.mark(slot, fingerprint, weight);
        let [idle_at, data] = slot.counter;
        idle_at.store(state.idle_at, Ordering::Release);
        data.store(state.data, Ordering::Release);
    }

    /// Puts a counter into a slot, in place of whatever it held. Killed in between,
    /// the slot is free.
    pub fn place(&mut self, slot: Slot<'b>, fingerprint: u64, weight: Weight, state: State) {
        self.clear(slot);
        let [idle_at, data] = slot.counter;
        idle_at.store(state.idle_at, Ordering::Release);
        data.store(state.data, Ordering::Release);
        self.mark(slot, fingerprint, weight);
    }

    #[inline]
    fn mark(&mut self, slot: Slot<'b>, fingerprint: u64, weight: Weight) {
        self.written = true;
        let word = fingerprint | u64::from(weight.0) << 1;
        slot.fingerprint.store(word, Ordering::Release);
    }

    /// Frees a slot.
    pub fn clear(&mut self, slot: Slot<'b>) {
        self.written = true;
        slot.fingerprint.store(0, Ordering::Release);
    }

    /// Gives the counter in a slot back the instant that it had.
    pub fn set_idle_at(&mut self, slot: Slot<'b>, idle_at: u64) {
        self.written = true;
        slot.counter[0].store(idle_at, Ordering::Release);
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
    /// Whether it holds nothing.
    pub fn is_free(self) -> bool {
        self.fingerprint() == 0
    }

    /// Whether both are the same slot of the same bucket.
    pub fn is(self, other: Slot<'_>) -> bool {
        std::ptr::eq(self.fingerprint, other.fingerprint)
    }

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
