//! The table of counters: where a counter stands, how it comes and goes, and how
//! it changes as one step however many threads are about.
//!
//! A counter may stand in either of two buckets; each is found from the other and
//! the fingerprint (partial-key cuckoo hashing: Fan, Andersen and Kaminsky, "MemC3",
//! 2013). A new one goes to the emptier. Where both are full of live counters, one
//! of the ten moves to its other bucket if that has room; else the one that is
//! nearest to new is forgotten.
//!
//! The table knows nothing of rules. It asks its caller what a counter becomes and
//! stores that, or asks again if somebody was faster.

mod bucket;
mod log;
mod place;
mod region;
mod stats;
mod wait;

use bucket::{Bucket, Claimed, SLOTS, Seen, Slot};
pub(crate) use log::Log;
use log::Pool;
pub(crate) use region::Layout;
use region::Region;
pub(crate) use stats::Event;
use stats::Stripes;

use crate::algorithm::{Change, State};
use crate::error::Error;
use crate::hash::Key;

/// The counters of a service.
#[derive(Debug)]
pub(crate) struct Table {
    region: Region,
    /// Whether a live counter may be forgotten to make room.
    evict: bool,
}

/// What the caller makes of a counter: its answer, the time it was made at, and
/// what the counter becomes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Decided<R> {
    pub answer: R,
    pub now: u64,
    pub change: Change,
}

/// No room for a new counter, or for an entry of a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Full {
    /// How long until the first of what was found in the way is as good as new.
    pub wait_ns: u64,
}

/// What the table holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Census {
    pub keys: u64,
    pub log_entries: u64,
}

/// A bucket as it was seen, and its number.
#[derive(Clone, Copy)]
struct Home<'t> {
    number: u32,
    seen: Seen<'t>,
}

/// A bucket that is ours to write, and its number.
struct Held<'t> {
    number: u32,
    claimed: Claimed<'t>,
}

impl Table {
    pub fn private(layout: Layout, evict: bool) -> Result<Table, Error> {
        Ok(Table {
            region: Region::private(layout)?,
            evict,
        })
    }

    /// Asks `decide` what becomes of a counter, and does that as one step: nobody
    /// else changes the counter between what `decide` saw and what is stored. It
    /// may be asked several times, and must read the clock anew each time.
    #[inline]
    pub fn update<R>(
        &self,
        key: Key,
        mut decide: impl FnMut(State, &Log<'_>) -> Decided<R>,
    ) -> Result<R, Full> {
        let first_number = self.first_home(key);
        let second_number = self.other_home(first_number, key.fingerprint);
        loop {
            let first = self.look(first_number);
            let outcome = if let Some(slot) = first.seen.find(key.fingerprint) {
                self.update_found(first, slot, &mut decide)
            } else {
                let second = self.look(second_number);
                match second.seen.find(key.fingerprint) {
                    Some(slot) => self.update_found(second, slot, &mut decide),
                    None => self.update_new([first, second], key, &mut decide),
                }
            };
            if let Some(result) = outcome {
                return result;
            }
        }
    }

    /// One try at a counter that is in the table; `None` if somebody was faster.
    #[inline]
    fn update_found<'t, R>(
        &'t self,
        home: Home<'t>,
        slot: Slot<'t>,
        decide: &mut impl FnMut(State, &Log<'_>) -> Decided<R>,
    ) -> Option<Result<R, Full>> {
        let state = slot.state();
        let decided = decide(state, &self.log(state, home.seen));
        match decided.change {
            Change::Keep => home.seen.unchanged().then_some(())?,
            Change::Set(state) => home.seen.claim()?.set(slot, state),
            Change::Log(idle_at, edit) => {
                let mut claimed = home.seen.claim()?;
                let take = || self.take_chunk(decided.now);
                let (log, edited) = self.pool().edit(slot.log(), edit, home.number, take);
                let idle_at = if edited.is_ok() {
                    idle_at
                } else {
                    state.idle_at
                };
                claimed.set(
                    slot,
                    State {
                        idle_at,
                        data: log.data(),
                    },
                );
                return Some(edited.map(|()| decided.answer));
            }
        }
        Some(Ok(decided.answer))
    }

    /// One try at a counter that is not in the table; `None` if somebody was faster.
    fn update_new<'t, R>(
        &'t self,
        homes: [Home<'t>; 2],
        key: Key,
        decide: &mut impl FnMut(State, &Log<'_>) -> Decided<R>,
    ) -> Option<Result<R, Full>> {
        let [first, second] = homes;
        let new = State::default();
        let decided = decide(new, &self.log(new, first.seen));
        if decided.change == Change::Keep {
            let unchanged = first.seen.unchanged() && second.seen.unchanged();
            return unchanged.then_some(Ok(decided.answer));
        }
        let held = Held::both(homes)?;
        let placed = self.place(held, key, decided.now, decided.change);
        Some(placed.map(|()| decided.answer))
    }

    /// Counts what the table holds at `now`: a walk over all of it, bucket by
    /// bucket, that keeps nobody waiting.
    pub fn census(&self, now: u64) -> Census {
        let mut census = Census::default();
        for bucket in self.region.buckets() {
            let seen = bucket.look();
            for slot in seen.slots().filter(|slot| slot.is_live(now)) {
                census.keys += 1;
                if slot.keeps_log() {
                    census.log_entries += self.log(slot.state(), seen).len();
                }
            }
        }
        census
    }

    pub fn stripes(&self) -> &Stripes {
        &self.region.header().stripes
    }

    /// How many counters the table has room for.
    pub fn capacity(&self) -> u64 {
        (self.region.layout().buckets * SLOTS) as u64
    }

    /// How many entries the logs have room for.
    pub fn log_capacity(&self) -> u64 {
        (self.region.layout().chunks * log::RUNS) as u64
    }

    /// How many bytes the counters may take.
    pub fn bytes(&self) -> u64 {
        self.region.layout().bytes() as u64
    }

    fn log<'t>(&'t self, state: State, seen: Seen<'t>) -> Log<'t> {
        Log::new(self.pool(), state.data, seen)
    }

    fn pool(&self) -> Pool<'_> {
        Pool::new(&self.region.header().pool, self.region.chunks())
    }

    #[inline]
    fn look(&self, number: u32) -> Home<'_> {
        Home {
            number,
            seen: self.bucket(number).look(),
        }
    }

    #[inline]
    fn bucket(&self, number: u32) -> &Bucket {
        self.region.bucket(number)
    }

    #[inline]
    fn first_home(&self, key: Key) -> u32 {
        self.scale(key.home)
    }

    /// The other bucket of a counter that may stand in `home`: the two add up to a
    /// number that its fingerprint gives, modulo the number of buckets.
    #[inline]
    fn other_home(&self, home: u32, fingerprint: u64) -> u32 {
        let sum = self.scale(fingerprint);
        if sum >= home {
            sum - home
        } else {
            sum + (self.region.layout().buckets as u32 - home)
        }
    }

    /// A random word, as the number of a bucket.
    #[inline]
    fn scale(&self, word: u64) -> u32 {
        let buckets = self.region.layout().buckets as u128;
        ((u128::from(word) * buckets) >> 64) as u32
    }
}

impl<'t> Held<'t> {
    /// Claims both buckets, or one if they are the same, in the order of their
    /// numbers, so that no two threads wait for each other.
    fn both([a, b]: [Home<'t>; 2]) -> Option<[Option<Held<'t>>; 2]> {
        let (low, high) = if a.number <= b.number { (a, b) } else { (b, a) };
        let low = Held {
            number: low.number,
            claimed: low.seen.claim()?,
        };
        if a.number == b.number {
            return Some([Some(low), None]);
        }
        let high = Held {
            number: high.number,
            claimed: high.seen.claim()?,
        };
        Some([Some(low), Some(high)])
    }
}
