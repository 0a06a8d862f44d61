//! The table of counters: where a counter stands, how it comes and goes, and how
//! it changes as one step however many threads are about.
//!
//! A counter may stand in either of two buckets; each is found from the other and
//! the fingerprint (partial-key cuckoo hashing: Fan, Andersen and Kaminsky, "MemC3",
//! 2013). A new one goes to the emptier. Where both are full of live counters, one
//! of the ten moves to its other bucket if that has room; else the one that has
//! given the least of its quota is forgotten.
//!
//! Whoever works here may be killed at any instruction, and nobody else may wait for
//! it or be given anything for it: what it leaves is mended by `recover`, with the help
//! of what it has noted in a `seat`.
//!
//! The table knows nothing of rules. Its caller finds a counter, decides what it
//! becomes and stores that, or starts over if somebody was faster.

mod audit;
mod bucket;
mod chunk;
mod edit;
#[cfg(all(test, not(loom)))]
mod garbage;
mod hands;
mod log;
#[cfg(all(test, loom))]
mod models;
mod open;
mod peers;
mod place;
mod plan;
#[cfg(not(loom))]
mod process;
mod recover;
#[cfg(all(test, not(loom)))]
mod refusals;
mod seat;
#[cfg(not(loom))]
mod shm;
mod stats;
mod step;
#[cfg(test)]
mod trial;
mod wait;
#[cfg(not(loom))]
mod zone;
mod zone_name;

pub(crate) use crate::machine::Layout;
pub use crate::machine::Memory;
use crate::machine::Region;
use crate::machine::cpu::prefetch;
pub(crate) use bucket::{Bucket, Scale, Weight};
use bucket::{Claimed, SLOTS, Seen, Slot};
pub(crate) use chunk::{CHUNK_WORDS, Chunk};
use hands::Hands;
pub(crate) use log::Log;
use log::Pool;
pub(crate) use open::Wanted;
pub(crate) use peers::Peers;
#[cfg(loom)]
pub(crate) use peers::generation;
#[cfg(not(loom))]
pub(crate) use process::generation;
#[cfg(loom)]
pub(crate) use seat::Seat;
use seat::SeatOf;
pub(crate) use seat::Seats;
pub(crate) use stats::{Event, Stripes};
pub(crate) use step::{Change, MAX_CHANGES};
pub(crate) use wait::Backoff;
#[cfg(not(loom))]
pub(crate) use zone::Zone;
pub(crate) use zone_name::{unlink_zone, valid_zone_name};

use crate::algorithm::State;
use crate::clock::Anchor;
use crate::hash::Key;

/// The counters of a service.
#[derive(Debug)]
pub(crate) struct Table {
    region: Region,
    /// Who may hold its locks.
    peers: Peers,
}

/// The two buckets where a counter may stand.
pub(crate) type Homes<'t> = [&'t Bucket; 2];

/// Where a counter stands, or would, and what it was when it was found. It holds
/// until it is [stored](Table::store), if nobody was faster.
#[derive(Clone, Copy)]
pub(crate) struct Found<'t> {
    pub state: State,
    /// Where it stands, or would stand first.
    home: Seen<'t>,
    place: Place<'t>,
}

#[derive(Clone, Copy)]
enum Place<'t> {
    Here(Slot<'t>),
    /// Not there, nor in its other home.
    Nowhere(Seen<'t>),
}

/// Why a counter was not stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NotStored {
    /// Somebody was faster: find it and decide again, at a new reading of the clock.
    Changed,
    /// There is no room.
    Full(Full),
}

/// When a change is made, and whether it may make room by forgetting a counter that
/// still counts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Terms {
    pub now: u64,
    pub evict: bool,
}

/// No room for a new counter, or for an entry of a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Full {
    /// How long until the first of what was found in the way is as good as new.
    pub wait_ns: u64,
}

/// Why several counters were not stored, none of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NoneStored {
    pub why: NotStored,
    /// Which of them it is that has no room.
    pub index: usize,
}

impl From<NotStored> for NoneStored {
    fn from(why: NotStored) -> NoneStored {
        NoneStored { why, index: 0 }
    }
}

/// A bucket that is ours to write, and its number.
#[derive(Debug)]
struct Held<'t> {
    number: u32,
    claimed: Claimed<'t>,
}

impl<'t> Held<'t> {
    /// Which of the bucket's slots it is.
    fn index(&self, slot: Slot<'t>) -> usize {
        let mut slots = self.claimed.seen().slots();
        slots.position(|other| other.is(slot)).unwrap_or(0)
    }
}

impl<'t> Found<'t> {
    /// Its bucket, or both where it may stand.
    fn homes(&self) -> impl Iterator<Item = Seen<'t>> {
        let other = match self.place {
            Place::Here(_) => None,
            Place::Nowhere(other) => Some(other),
        };
        [self.home].into_iter().chain(other)
    }

    /// Whether the table holds the counter.
    pub fn exists(&self) -> bool {
        matches!(self.place, Place::Here(_))
    }
}

impl Table {
    /// Looks for a counter. Whatever is decided about it must be decided by a clock
    /// that is read after this, so that decisions are in time in the order in which
    /// they are stored.
    pub fn find(&self, key: Key) -> Found<'_> {
        self.find_in(self.homes(key), key)
    }

    /// The same, where its homes are known.
    #[inline(always)]
    pub fn find_in<'t>(&'t self, [first, second]: Homes<'t>, key: Key) -> Found<'t> {
        let first = self.look(first);
        if let Some(slot) = first.find(key.fingerprint) {
            return Found {
                state: slot.state(),
                home: first,
                place: Place::Here(slot),
            };
        }
        let second = self.look(second);
        match second.find(key.fingerprint) {
            Some(slot) => Found {
                state: slot.state(),
                home: second,
                place: Place::Here(slot),
            },
            None => Found {
                state: State::default(),
                home: first,
                place: Place::Nowhere(second),
            },
        }
    }

    /// Where a counter may stand. The memory there is brought near meanwhile: both
    /// buckets are on their way at the same time, and those of other counters with them,
    /// where looking at one after the other would wait for each.
    #[inline(always)]
    pub fn fetch(&self, key: Key) -> Homes<'_> {
        let homes @ [first, second] = self.homes(key);
        prefetch(first);
        // More often than not the counter is not there. Who finds it there may have to
        // wait for the line that it is in; all others wait less for theirs.
        prefetch(second.front());
        homes
    }

    /// The log of a counter that was found.
    #[inline]
    pub fn log<'t>(&'t self, found: &Found<'t>) -> Log<'t> {
        self.log_of(found.state, found.home)
    }

    /// Confirms what was decided without a change to the counter: nobody has
    /// changed it since it was found.
    #[inline(always)]
    pub fn keep(&self, found: Found<'_>) -> Result<(), NotStored> {
        let unchanged = found.home.unchanged();
        let nowhere = match found.place {
            Place::Here(_) => true,
            Place::Nowhere(other) => other.unchanged(),
        };
        (unchanged && nowhere)
            .then_some(())
            .ok_or(NotStored::Changed)
    }

    /// Makes a counter what was decided from what was found, as one step: nobody has
    /// changed it since. If it keeps a log, that is edited too.
    #[inline(always)]
    pub fn store(&self, change: Change<'_>, terms: Terms) -> Result<(), NotStored> {
        match (change.found.place, change.edit) {
            (Place::Here(slot), None) if change.is_one_word() => {
                let mut held = self.claim(change.found.home).ok_or(NotStored::Changed)?;
                change.set(&mut held, slot);
                Ok(())
            }
            _ => self.store_with_notes(change, terms),
        }
    }

    /// The same for what takes more than one store. Apart, so that the change is put
    /// together in memory only where it is handed on.
    #[inline(never)]
    fn store_with_notes<'t>(
        &'t self,
        mut change: Change<'t>,
        terms: Terms,
    ) -> Result<(), NotStored> {
        match (change.found.place, change.edit) {
            (Place::Here(slot), None) => {
                let mut held = self.claim(change.found.home).ok_or(NotStored::Changed)?;
                self.set_noted(&mut held, slot, &change);
                Ok(())
            }
            (Place::Here(slot), Some(edit)) => {
                self.store_log(change.found.home, slot, change, edit, terms)
            }
            (Place::Nowhere(other), None) if self.settle(&change, other, terms)? => Ok(()),
            (Place::Nowhere(_), _) => {
                let stored = self.store_all(&mut [&mut change], terms);
                stored.map_err(|none| none.why)
            }
        }
    }

    /// Forgets a counter.
    pub fn forget(&self, found: Found<'_>) -> Result<(), NotStored> {
        let Place::Here(slot) = found.place else {
            return self.keep(found);
        };
        let mut held = self.claim(found.home).ok_or(NotStored::Changed)?;
        self.clear(&mut held, slot, &mut Hands::new(self));
        Ok(())
    }

    /// Frees a slot, and the chunks of its log.
    fn clear<'t>(&'t self, held: &mut Held<'t>, slot: Slot<'t>, hands: &mut Hands<'t>) {
        let log = slot.log();
        if log.is_none() {
            return held.claimed.clear(slot);
        }
        let seat = hands.any();
        seat.note_chunks(held.number, held.index(slot), slot.state(), log);
        held.claimed.clear(slot);
        seat.settle_chunks();
    }

    /// What the clock is read by.
    #[inline(always)]
    pub fn anchor(&self) -> &Anchor {
        &self.region.header().anchor
    }

    /// How many counters the table has room for.
    pub fn capacity(&self) -> u64 {
        (self.region.layout().buckets * SLOTS) as u64
    }

    /// How many entries the logs have room for.
    pub fn log_capacity(&self) -> u64 {
        (self.region.layout().chunks * chunk::RUNS) as u64
    }

    /// How many bytes the counters may take.
    pub fn bytes(&self) -> u64 {
        self.region.layout().bytes() as u64
    }

    #[inline]
    fn log_of<'t>(&'t self, state: State, seen: Seen<'t>) -> Log<'t> {
        Log::new(self.pool(), state.data, seen)
    }

    fn seat(&self, index: usize) -> Option<SeatOf<'_>> {
        seat::at(&self.region.header().seats, self.pool(), index)
    }

    fn seats(&self, turn: usize) -> impl Iterator<Item = SeatOf<'_>> {
        seat::seats(&self.region.header().seats, self.pool(), turn)
    }

    fn pool(&self) -> Pool<'_> {
        Pool::new(self.region.chunks())
    }

    #[inline]
    fn look<'t>(&'t self, bucket: &'t Bucket) -> Seen<'t> {
        match bucket.try_look() {
            Some(seen) => seen,
            None => self.wait_and_look(bucket),
        }
    }

    /// Makes a bucket ours, if nobody has begun to write since it was seen.
    #[inline(always)]
    fn claim<'t>(&self, seen: Seen<'t>) -> Option<Held<'t>> {
        let claimed = seen.claim(self.peers.own_id())?;
        let number = self.number(seen);
        Some(Held { number, claimed })
    }

    #[inline]
    fn bucket(&self, number: u32) -> &Bucket {
        self.region.bucket(number)
    }

    /// The number of a bucket.
    #[inline]
    fn number(&self, seen: Seen<'_>) -> u32 {
        self.region.number(seen.bucket())
    }

    /// A bucket's number that was read from the region, where it may be any bits.
    fn checked(&self, number: u32) -> Option<u32> {
        ((number as usize) < self.region.layout().buckets).then_some(number)
    }

    #[inline]
    fn homes(&self, key: Key) -> Homes<'_> {
        self.region.homes(key.home, key.fingerprint)
    }

    /// The other bucket of a counter that may stand in `home`.
    fn other_home(&self, home: u32, fingerprint: u64) -> u32 {
        self.region.layout().other_home(home, fingerprint)
    }
}
