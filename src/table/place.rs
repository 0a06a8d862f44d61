//! Room for what is new: which slot a new counter gets and who has to go for it,
//! and where a chunk for a log comes from.
//!
//! What is as good as new goes first, then the counter that has given the least of
//! its quota. Other buckets than the counter's own are tried, never waited for.

use super::bucket::{Seen, Slot, Weight};
use super::log::Handle;
use super::step::{HeldBuckets, claimed};
use super::{Event, Full, Table, Terms};
use crate::algorithm::State;
use crate::hash::Key;

/// How many chunks are looked at to find a log to forget, and how often.
const PROBES: usize = 16;
const ROUNDS: usize = 8;

/// A slot of a bucket that is held, by the bucket's number.
type Place<'t> = (u32, Slot<'t>);

impl Table {
    /// Gives a new counter a slot in one of its two buckets, which are held. A slot
    /// of the step's `own` counters is not given away.
    pub(super) fn reserve<'t>(
        &'t self,
        held: &mut HeldBuckets<'t>,
        homes: [u32; 2],
        key: Key,
        terms: Terms,
        own: &impl Fn(u64) -> bool,
    ) -> Result<Place<'t>, Full> {
        let place = self.free_slot(held, homes, terms, own);
        let place = place.or_else(|| self.move_one(held, homes, terms, own));
        let place = place.or_else(|| self.forget_one(held, homes, terms, own));
        let Some((number, slot)) = place else {
            let until = slots(held, homes).map(|(_, slot)| slot.state().idle_at);
            let wait_ns = until.min().unwrap_or(0).saturating_sub(terms.now).max(1);
            return Err(Full { wait_ns, index: 0 });
        };
        let forgotten = slot.log();
        claimed(held, number).for_each(|held| {
            let (weight, new) = (Weight::default(), State::default());
            held.claimed.write(slot, key.fingerprint, weight, new);
        });
        self.pool().give_back(forgotten);
        Ok((number, slot))
    }

    /// A slot that holds nothing or what is as good as new, in the emptier bucket.
    fn free_slot<'t>(
        &self,
        held: &HeldBuckets<'t>,
        homes: [u32; 2],
        terms: Terms,
        own: &impl Fn(u64) -> bool,
    ) -> Option<Place<'t>> {
        let free = |home| {
            let slots = slots(held, [home, home]);
            slots.filter(|(_, slot)| !slot.is_live(terms.now) && !own(slot.fingerprint()))
        };
        let [first, second] = homes;
        // The first home where they are equal: there it is found sooner.
        let emptier = if free(second).count() > free(first).count() {
            second
        } else {
            first
        };
        // Never used before expired, so that the latter are counted for what they are.
        let place = free(emptier).min_by_key(|(_, slot)| slot.fingerprint() != 0)?;
        if place.1.fingerprint() != 0 {
            self.stripes().add(Event::EvictedIdle, 1);
        }
        Some(place)
    }

    /// The slot of a counter that has moved to its other bucket.
    fn move_one<'t>(
        &'t self,
        held: &mut HeldBuckets<'t>,
        homes: [u32; 2],
        terms: Terms,
        own: &impl Fn(u64) -> bool,
    ) -> Option<Place<'t>> {
        let mut movable = slots(held, homes).filter(|(_, slot)| !own(slot.fingerprint()));
        let moves = |&(number, slot): &Place<'t>| self.copy_to_other_home(number, slot, terms);
        let (number, slot) = movable.find(|place| moves(place).is_some())?;
        drop(movable);
        claimed(held, number).for_each(|held| held.claimed.clear(slot));
        Some((number, slot))
    }

    fn copy_to_other_home(&self, number: u32, slot: Slot<'_>, terms: Terms) -> Option<()> {
        let (fingerprint, state) = (slot.fingerprint(), slot.state());
        let other = self.other_home(number, fingerprint);
        // A bucket that is held shows as being written, and is left alone.
        let seen = self.bucket(other).try_look()?;
        let free = seen.slots().find(|slot| !slot.is_live(terms.now))?;
        let mut claimed = seen.claim()?;
        let forgotten = free.log();
        claimed.write(free, fingerprint, slot.weight(), state);
        if slot.keeps_log() {
            self.pool().hand_over(Handle::of(state.data), other);
        }
        self.pool().give_back(forgotten);
        Some(())
    }

    /// The slot of the counter that is worth least, if counters may be forgotten.
    fn forget_one<'t>(
        &self,
        held: &HeldBuckets<'t>,
        homes: [u32; 2],
        terms: Terms,
        own: &impl Fn(u64) -> bool,
    ) -> Option<Place<'t>> {
        if !terms.evict {
            return None;
        }
        let others = slots(held, homes).filter(|(_, slot)| !own(slot.fingerprint()));
        let nearest = others.min_by_key(|(_, slot)| slot.worth(terms.now))?;
        self.stripes().add(Event::EvictedLive, 1);
        Some(nearest)
    }

    /// A chunk for a log, if need be that of a log that is as good as new, or worth
    /// least of those that come up.
    pub(super) fn take_chunk(&self, terms: Terms) -> Result<u32, Full> {
        for _ in 0..ROUNDS {
            if let Some(chunk) = self.pool().take() {
                return Ok(chunk);
            }
            self.forget_log(terms)?;
        }
        // Nothing was found in the way, so there is no telling how long: soon.
        self.pool().take().ok_or(Full {
            wait_ns: 1,
            index: 0,
        })
    }

    fn forget_log(&self, terms: Terms) -> Result<(), Full> {
        let logs = (0..PROBES).filter_map(|_| self.probe_log(terms));
        let Some((seen, slot)) = logs.min_by_key(|(_, slot)| slot.worth(terms.now)) else {
            return Ok(());
        };
        let idle_at = slot.state().idle_at;
        let live = idle_at > terms.now;
        if live && !terms.evict {
            let wait_ns = idle_at - terms.now;
            return Err(Full { wait_ns, index: 0 });
        }
        let Some(mut claimed) = seen.claim() else {
            return Ok(());
        };
        let forgotten = slot.log();
        claimed.clear(slot);
        drop(claimed);
        let event = if live {
            Event::EvictedLive
        } else {
            Event::EvictedIdle
        };
        self.stripes().add(event, 1);
        self.pool().give_back(forgotten);
        Ok(())
    }

    /// The log worth least in the bucket that the next chunk in turn belongs to.
    fn probe_log(&self, terms: Terms) -> Option<(Seen<'_>, Slot<'_>)> {
        let seen = self.bucket(self.pool().next_owner()?).try_look()?;
        let logs = seen.slots().filter(|slot| slot.keeps_log());
        Some((seen, logs.min_by_key(|slot| slot.worth(terms.now))?))
    }
}

/// The slots of one or two buckets that are held.
fn slots<'t>(held: &HeldBuckets<'t>, homes: [u32; 2]) -> impl Iterator<Item = Place<'t>> {
    let of = held.iter().filter(move |held| homes.contains(&held.number));
    of.flat_map(|held| {
        let number = held.number;
        held.claimed.seen().slots().map(move |slot| (number, slot))
    })
}
