//! Room for what is new: which slot a new counter gets and who has to go for it, and
//! which log goes where chunks have run out.
//!
//! What is as good as new goes first, then the counter that has given the least of
//! its quota. Other buckets than the counter's own are tried, never waited for.

use std::cmp::Ordering::{Equal, Greater, Less};

use arrayvec::ArrayVec;

use super::bucket::{SLOTS, Slot, Weight};
use super::step::{Change, HeldBuckets, claimed};
use super::{Event, Full, Hands, Held, NotStored, Seen, Table, Terms};
use crate::algorithm::State;
use crate::hash::Key;
use crate::sync::Ordering;

/// How many chunks are looked at to find a log to forget.
const PROBES: usize = 16;

/// A slot of a bucket that is held, by the bucket's number.
type Place<'t> = (u32, Slot<'t>);

impl Table {
    /// Puts a counter that is in neither of its buckets where a slot is vacant; says
    /// whether one was. That is all it takes where nobody has to go for it.
    pub(super) fn settle<'t>(
        &'t self,
        change: &Change<'t>,
        other: Seen<'t>,
        terms: Terms,
    ) -> Result<bool, NotStored> {
        let home = change.found.home;
        let claim = |home| self.claim(home).ok_or(NotStored::Changed);
        // In the order of their numbers, as all who claim several.
        let (mut first, mut second) = match self.number(home).cmp(&self.number(other)) {
            Less => (claim(home)?, claim(other)?),
            Greater => {
                let second = claim(other)?;
                (claim(home)?, second)
            }
            Equal => return Ok(false),
        };
        let [here, there] = [&first, &second].map(|held| vacancy(held, terms.now, &|_| false));
        let (held, slot) = if there.count > here.count {
            (&mut second, there.slot)
        } else {
            (&mut first, here.slot)
        };
        let Some(slot) = slot.filter(|slot| !slot.keeps_log()) else {
            return Ok(false);
        };
        self.count_expired(slot);
        let (fingerprint, weight) = (change.key.fingerprint, change.weight);
        held.claimed.place(slot, fingerprint, weight, change.next);
        Ok(true)
    }

    /// Gives a new counter a slot in one of its two buckets, which are held. A slot
    /// of the step's `own` counters is not given away.
    pub(super) fn reserve<'t>(
        &'t self,
        held: &mut HeldBuckets<'t>,
        homes: [u32; 2],
        key: Key,
        terms: Terms,
        own: &impl Fn(u64) -> bool,
        hands: &mut Hands<'t>,
    ) -> Result<Place<'t>, Full> {
        let place = self.free_slot(held, homes, terms, own);
        let place = place.or_else(|| self.move_one(held, homes, terms, own, hands));
        let place = place.or_else(|| self.forget_one(held, homes, terms, own));
        let Some((number, slot)) = place else {
            let until = slots(held, homes).map(|(_, slot)| slot.state().idle_at);
            let wait_ns = until.min().unwrap_or(0).saturating_sub(terms.now).max(1);
            return Err(Full { wait_ns });
        };
        let new = (key.fingerprint, Weight::default(), State::default());
        claimed(held, number).for_each(|held| self.put(held, slot, new, hands));
        Ok((number, slot))
    }

    /// Puts a counter into a slot, in place of whatever it held.
    fn put<'t>(
        &'t self,
        held: &mut Held<'t>,
        slot: Slot<'t>,
        (fingerprint, weight, state): (u64, Weight, State),
        hands: &mut Hands<'t>,
    ) {
        self.clear(held, slot, hands);
        held.claimed.place(slot, fingerprint, weight, state);
    }

    /// A slot that holds nothing or what is as good as new, in the emptier bucket.
    fn free_slot<'t>(
        &self,
        held: &HeldBuckets<'t>,
        homes: [u32; 2],
        terms: Terms,
        own: &impl Fn(u64) -> bool,
    ) -> Option<Place<'t>> {
        let [here, there] = homes.map(|home| {
            let held = held.iter().find(|held| held.number == home);
            held.map_or(Vacancy::default(), |held| vacancy(held, terms.now, own))
        });
        let [first, second] = homes;
        // The first home where they are equal: there it is found sooner.
        let (number, slot) = if there.count > here.count {
            (second, there.slot?)
        } else {
            (first, here.slot?)
        };
        self.count_expired(slot);
        Some((number, slot))
    }

    fn count_expired(&self, slot: Slot<'_>) {
        if !slot.is_free() {
            self.count(Event::EvictedIdle, 1);
        }
    }

    /// The slot of a counter that has moved to its other bucket.
    fn move_one<'t>(
        &'t self,
        held: &mut HeldBuckets<'t>,
        homes: [u32; 2],
        terms: Terms,
        own: &impl Fn(u64) -> bool,
        hands: &mut Hands<'t>,
    ) -> Option<Place<'t>> {
        let movable = slots(held, homes).filter(|(_, slot)| !own(slot.fingerprint()));
        let movable: ArrayVec<_, { 2 * SLOTS }> = movable.take(2 * SLOTS).collect();
        let mut copy = |place: &Place<'t>| self.copy_to_other_home(place.0, place.1, terms, hands);
        let (number, slot, held_other) = movable
            .into_iter()
            .find_map(|place| Some((place.0, place.1, copy(&place)?)))?;
        // Killed before this, there are two: `recover` clears one.
        claimed(held, number).for_each(|held| held.claimed.clear(slot));
        drop(held_other);
        Some((number, slot))
    }

    /// Copies a counter to its other bucket, which stays held.
    fn copy_to_other_home<'t>(
        &'t self,
        number: u32,
        slot: Slot<'t>,
        terms: Terms,
        hands: &mut Hands<'t>,
    ) -> Option<Held<'t>> {
        let number = self.other_home(number, slot.fingerprint());
        // A bucket that is held shows as being written, and is left alone.
        let seen = self.try_look(number)?;
        let free = seen.slots().find(|slot| !slot.is_live(terms.now))?;
        let mut held = self.claim(seen)?;
        let counter = (slot.fingerprint(), slot.weight(), slot.state());
        self.put(&mut held, free, counter, hands);
        self.pool().hand_over(slot.log(), number);
        Some(held)
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
        self.count(Event::EvictedLive, 1);
        Some(nearest)
    }

    /// Forgets a log that is as good as new, or the one worth least of those that come up.
    pub(super) fn forget_log<'t>(
        &'t self,
        terms: Terms,
        hands: &mut Hands<'t>,
    ) -> Result<(), Full> {
        let logs = (0..PROBES).filter_map(|_| self.probe_log(terms));
        let Some((home, slot)) = logs.min_by_key(|(_, slot)| slot.worth(terms.now)) else {
            return Ok(());
        };
        let idle_at = slot.state().idle_at;
        let live = idle_at > terms.now;
        if live && !terms.evict {
            let wait_ns = idle_at - terms.now;
            return Err(Full { wait_ns });
        }
        let Some(mut held) = self.claim(home) else {
            return Ok(());
        };
        let event = if live {
            Event::EvictedLive
        } else {
            Event::EvictedIdle
        };
        // Counted first: who is killed in between leaves no loss that is not told.
        self.count(event, 1);
        self.clear(&mut held, slot, hands);
        Ok(())
    }

    /// The log worth least in the bucket that the next chunk in turn belongs to.
    fn probe_log(&self, terms: Terms) -> Option<(Seen<'_>, Slot<'_>)> {
        let turn = self.region.header().hand.fetch_add(1, Ordering::Relaxed);
        let number = self.checked(self.pool().owner_in_turn(turn)?)?;
        let seen = self.try_look(number)?;
        let logs = seen.slots().filter(|slot| slot.keeps_log());
        let slot = logs.min_by_key(|slot| slot.worth(terms.now))?;
        Some((seen, slot))
    }
}

/// How many slots of a bucket hold nothing or what is as good as new, and the best of them.
#[derive(Default)]
struct Vacancy<'t> {
    count: usize,
    slot: Option<Slot<'t>>,
}

fn vacancy<'t>(held: &Held<'t>, now: u64, own: &impl Fn(u64) -> bool) -> Vacancy<'t> {
    let mut found = Vacancy::default();
    for slot in held.claimed.seen().slots() {
        if slot.is_live(now) || own(slot.fingerprint()) {
            continue;
        }
        found.count += 1;
        // Never used before expired, so that the latter are counted for what they are.
        let better = |best: Slot<'t>| slot.is_free() && !best.is_free();
        if found.slot.is_none_or(better) {
            found.slot = Some(slot);
        }
    }
    found
}

/// The slots of one or two buckets that are held.
fn slots<'t>(held: &HeldBuckets<'t>, homes: [u32; 2]) -> impl Iterator<Item = Place<'t>> {
    let of = held.iter().filter(move |held| homes.contains(&held.number));
    of.flat_map(|held| {
        let number = held.number;
        held.claimed.seen().slots().map(move |slot| (number, slot))
    })
}
