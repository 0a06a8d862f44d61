//! Room for what is new: which slot a new counter gets and who has to go for it,
//! and where a chunk for a log comes from.
//!
//! What is as good as new goes first, then the counter nearest to that. Other
//! buckets than the counter's own are tried, never waited for.

use super::bucket::{Seen, Slot};
use super::log::Handle;
use super::{Event, Full, Held, Table};
use crate::algorithm::{Edit, State};
use crate::hash::Key;

/// How many chunks are looked at to find a log to forget, and how often.
const PROBES: usize = 16;
const ROUNDS: usize = 8;

/// A slot of a bucket that is held, by the bucket's number.
type Place<'t> = (u32, Slot<'t>);

impl Table {
    /// Puts a new counter into one of its two buckets.
    pub(super) fn place<'t>(
        &'t self,
        mut held: [Option<Held<'t>>; 2],
        key: Key,
        now: u64,
        next: State,
        edit: Option<Edit>,
    ) -> Result<(), Full> {
        let chunk = edit.map(|_| self.take_chunk(now)).transpose()?;
        let Some(((number, slot), forgotten)) = self.make_room(&held, now) else {
            if let Some(chunk) = chunk {
                self.pool().give_back(Handle::single(chunk));
            }
            let until = each_slot(&held).map(|(_, slot)| slot.state().idle_at).min();
            return Err(Full {
                wait_ns: until.unwrap_or(now).saturating_sub(now),
            });
        };
        let data = edit.map_or(next.data, |edit| {
            let take = || chunk.ok_or(Full { wait_ns: 0 });
            let (log, _) = self.pool().edit(Handle::default(), edit, number, take);
            log.data()
        });
        let state = State { data, ..next };
        let of_slot = held.iter_mut().flatten().find(|held| held.number == number);
        if let Some(held) = of_slot {
            held.claimed.write(slot, key.fingerprint, state);
        }
        self.pool().give_back(forgotten);
        Ok(())
    }

    /// A slot for a new counter, whose old content may be overwritten, and the log
    /// that goes with it.
    fn make_room<'t>(&'t self, held: &[Option<Held<'t>>], now: u64) -> Option<(Place<'t>, Handle)> {
        let and_log = |(number, slot): Place<'t>| ((number, slot), slot.log());
        // What moves takes its log along.
        let moved = || Some((self.move_one(held, now)?, Handle::default()));
        let free = self.free_slot(held, now).map(and_log);
        free.or_else(moved)
            .or_else(|| self.forget_one(held).map(and_log))
    }

    /// A slot that holds nothing or what is as good as new, in the emptier bucket.
    fn free_slot<'t>(&self, held: &[Option<Held<'t>>], now: u64) -> Option<Place<'t>> {
        let free = |held: &Held<'t>| {
            let slots = held.claimed.seen().slots();
            slots.filter(|slot| !slot.is_live(now)).count()
        };
        // Of equals the last wins: the first home, where it is found sooner.
        let homes = held.iter().rev().flatten();
        let emptier = homes.max_by_key(|&held| free(held))?;
        let slots = emptier.claimed.seen().slots();
        // Never used before expired, so that the latter are counted for what they are.
        let slot = slots
            .filter(|slot| !slot.is_live(now))
            .min_by_key(|slot| slot.fingerprint() != 0)?;
        if slot.fingerprint() != 0 {
            self.stripes().add(Event::EvictedIdle, 1);
        }
        Some((emptier.number, slot))
    }

    /// The slot of a counter that could be copied to its other bucket.
    fn move_one<'t>(&'t self, held: &[Option<Held<'t>>], now: u64) -> Option<Place<'t>> {
        each_slot(held).find(|&(number, slot)| self.copy_to_other_home(number, slot, now).is_some())
    }

    fn copy_to_other_home(&self, number: u32, slot: Slot<'_>, now: u64) -> Option<()> {
        let (fingerprint, state) = (slot.fingerprint(), slot.state());
        let other = self.other_home(number, fingerprint);
        // A bucket that is held shows as being written, and is left alone.
        let seen = self.bucket(other).try_look()?;
        let free = seen.slots().find(|slot| !slot.is_live(now))?;
        let mut claimed = seen.claim()?;
        let forgotten = free.log();
        claimed.write(free, fingerprint, state);
        if slot.keeps_log() {
            self.pool().hand_over(Handle::of(state.data), other);
        }
        self.pool().give_back(forgotten);
        Some(())
    }

    /// The slot of the counter that is nearest to new, if counters may be forgotten.
    fn forget_one<'t>(&self, held: &[Option<Held<'t>>]) -> Option<Place<'t>> {
        if !self.evict {
            return None;
        }
        let nearest = each_slot(held).min_by_key(|(_, slot)| slot.state().idle_at)?;
        self.stripes().add(Event::EvictedLive, 1);
        Some(nearest)
    }

    /// A chunk for a log, if need be that of a log that is as good as new, or
    /// nearest to it of those that come up.
    pub(super) fn take_chunk(&self, now: u64) -> Result<u32, Full> {
        for _ in 0..ROUNDS {
            if let Some(chunk) = self.pool().take() {
                return Ok(chunk);
            }
            self.forget_log(now)?;
        }
        // Nothing was found in the way, so there is no telling how long: soon.
        self.pool().take().ok_or(Full { wait_ns: 1 })
    }

    fn forget_log(&self, now: u64) -> Result<(), Full> {
        let logs = (0..PROBES).filter_map(|_| self.probe_log());
        let Some((seen, slot)) = logs.min_by_key(|(_, slot)| slot.state().idle_at) else {
            return Ok(());
        };
        let idle_at = slot.state().idle_at;
        let live = idle_at > now;
        if live && !self.evict {
            return Err(Full {
                wait_ns: idle_at - now,
            });
        }
        let Some(mut claimed) = seen.claim() else {
            return Ok(());
        };
        let forgotten = slot.log();
        claimed.clear(slot);
        drop(claimed);
        self.stripes().add(
            if live {
                Event::EvictedLive
            } else {
                Event::EvictedIdle
            },
            1,
        );
        self.pool().give_back(forgotten);
        Ok(())
    }

    /// The log nearest to new in the bucket that the next chunk in turn belongs to.
    fn probe_log(&self) -> Option<(Seen<'_>, Slot<'_>)> {
        let seen = self.bucket(self.pool().next_owner()?).try_look()?;
        let logs = seen.slots().filter(|slot| slot.keeps_log());
        Some((seen, logs.min_by_key(|slot| slot.state().idle_at)?))
    }
}

fn each_slot<'t>(held: &[Option<Held<'t>>]) -> impl Iterator<Item = Place<'t>> {
    let slots = |held: &Held<'t>| {
        let number = held.number;
        held.claimed.seen().slots().map(move |slot| (number, slot))
    };
    held.iter().flatten().flat_map(slots)
}
