//! Several counters changed as one step: all or none, whatever other threads do.
//!
//! All the buckets concerned are claimed as they were when their counters were
//! found, in the order of their numbers, so that no two threads wait for each
//! other. Then room is made for whatever is new, and only when there is room for
//! all of it does any counter change.

use arrayvec::ArrayVec;

use super::bucket::{Slot, Weight};
use super::log::Handle;
use super::plan::Plan;
use super::seat::SeatOf;
use super::{Found, Full, Hands, Held, NoneStored, NotStored, Place, Seen, Table, Terms};
use crate::algorithm::{Edit, State};
use crate::hash::Key;

/// Counters that one step can change.
pub(crate) const MAX_CHANGES: usize = 64;

/// A counter and what it becomes.
#[derive(Clone, Copy)]
pub(crate) struct Change<'t> {
    pub key: Key,
    pub found: Found<'t>,
    pub next: State,
    pub weight: Weight,
    pub edit: Option<Edit>,
}

impl<'t> Change<'t> {
    /// Whether it is one store that changes the counter: of one word only, or of one that
    /// is as good as new until its instant is written.
    #[inline(always)]
    pub(super) fn is_one_word(&self) -> bool {
        let (old, new) = (self.found.state, self.next);
        old.data == new.data || old.idle_at == new.idle_at || old.idle_at == 0
    }

    /// Whether that is all: the counter is there, and keeps no log or leaves it as it is.
    fn is_one_word_in_place(&self) -> bool {
        self.found.exists() && self.edit.is_none() && self.is_one_word()
    }

    #[inline(always)]
    fn set_in_place(&self, held: &mut Held<'t>) {
        if let Place::Here(slot) = self.found.place {
            self.set(held, slot);
        }
    }

    #[inline(always)]
    pub(super) fn set(&self, held: &mut Held<'t>, slot: Slot<'t>) {
        let claimed = &mut held.claimed;
        claimed.set(slot, self.key.fingerprint, self.weight, self.next);
    }

    /// The same with a note of what it was.
    #[inline]
    pub(super) fn set_noted(&self, held: &mut Held<'t>, slot: Slot<'t>, seat: SeatOf<'t>) {
        seat.note(held.number, held.index(slot), self.found.state);
        let claimed = &mut held.claimed;
        claimed.set_noted(slot, self.key.fingerprint, self.weight, self.next);
        seat.settle();
    }

    /// The same with what has become of the counter's log.
    pub(super) fn with_log(mut self, log: Handle) -> Change<'t> {
        self.next.data = log.data();
        self
    }
}

/// The buckets that a step holds, by their numbers.
pub(super) type HeldBuckets<'t> = ArrayVec<Held<'t>, { 2 * MAX_CHANGES }>;

/// Where a change will be written. Small, since it is moved.
#[derive(Clone, Copy)]
struct Room<'t> {
    bucket: u32,
    slot: Slot<'t>,
    is_new: bool,
}

/// What will become of the logs of a step, in the order of its changes.
type Plans = ArrayVec<Plan, MAX_CHANGES>;

impl Table {
    /// Makes up to [`MAX_CHANGES`] counters, each of another key, what was decided
    /// at `now`. Where there is no room for one of them none of them changes, and it
    /// is said for which.
    pub fn store_all<'t>(
        &'t self,
        changes: &mut [&mut Change<'t>],
        terms: Terms,
    ) -> Result<(), NoneStored> {
        if changes.iter().all(|change| change.is_one_word_in_place()) {
            changes.sort_unstable_by_key(|change| self.number(change.found.home));
            let stored = self.store_words(changes, None);
            return Ok(stored.ok_or(NotStored::Changed)?);
        }
        self.store_in_rooms(changes, terms)
    }

    /// The same where all are there and a word of each changes, in the order of their
    /// buckets, of which the last one claimed is `held`: claims that of the first, and then
    /// the others'; stores when it has all. It is as deep as there are changes.
    fn store_words<'t>(
        &'t self,
        changes: &[&mut Change<'t>],
        held: Option<&mut Held<'t>>,
    ) -> Option<()> {
        let Some((change, others)) = changes.split_first() else {
            return Some(());
        };
        let home = change.found.home;
        match held.filter(|held| held.number == self.number(home)) {
            None => {
                let mut held = self.claim(home)?;
                self.store_words(others, Some(&mut held))?;
                change.set_in_place(&mut held);
            }
            Some(held) => {
                // Seen twice: it must have been the same both times.
                held.claimed.seen().same(home).then_some(())?;
                self.store_words(others, Some(held))?;
                change.set_in_place(held);
            }
        }
        Some(())
    }

    /// The same where there is more to do.
    #[inline(never)]
    fn store_in_rooms<'t>(
        &'t self,
        changes: &mut [&mut Change<'t>],
        terms: Terms,
    ) -> Result<(), NoneStored> {
        // Filled where they stand: these are large, and a move would copy all of them.
        // The buckets are let go last, after whatever is noted about them.
        let mut held = HeldBuckets::new();
        self.hold(changes, &mut held).ok_or(NotStored::Changed)?;
        let mut hands = Hands::new(self);
        let mut rooms: ArrayVec<Room<'_>, MAX_CHANGES> = ArrayVec::new();
        let mut plans = Plans::new();
        let mut made = self.make_rooms(&mut held, changes, terms, &mut hands, &mut rooms);
        if made.is_ok() {
            made = self.plan_logs(&mut held, changes, terms, &mut hands, &rooms, &mut plans);
        }
        if let Err((index, full)) = made {
            rooms.iter().for_each(|room| give_up(&mut held, room));
            let why = NotStored::Full(full);
            return Err(NoneStored { why, index });
        }
        self.fill(&mut held, changes, &rooms, &plans, &mut hands);
        Ok(())
    }

    /// Finds a slot for each change.
    fn make_rooms<'t>(
        &'t self,
        held: &mut HeldBuckets<'t>,
        changes: &[&mut Change<'t>],
        terms: Terms,
        hands: &mut Hands<'t>,
        rooms: &mut ArrayVec<Room<'t>, MAX_CHANGES>,
    ) -> Result<(), (usize, Full)> {
        let own = |fingerprint| {
            let mut keys = changes.iter().map(|change| change.key.fingerprint);
            keys.any(|key| key == fingerprint)
        };
        for (index, change) in changes.iter().enumerate() {
            let (bucket, slot, is_new) = match change.found.place {
                Place::Here(slot) => (self.number(change.found.home), slot, false),
                Place::Nowhere(other) => {
                    let homes = [change.found.home, other].map(|home| self.number(home));
                    let reserved = self.reserve(held, homes, change.key, terms, &own, hands);
                    let (bucket, slot) = reserved.map_err(|full| (index, full))?;
                    (bucket, slot, true)
                }
            };
            let room = Room {
                bucket,
                slot,
                is_new,
            };
            rooms.try_push(room).unwrap_or(());
        }
        Ok(())
    }

    /// Plans the changes of logs, and makes sure of the chunks that they take.
    fn plan_logs<'t>(
        &'t self,
        held: &mut HeldBuckets<'t>,
        changes: &mut [&mut Change<'t>],
        terms: Terms,
        hands: &mut Hands<'t>,
        rooms: &[Room<'t>],
        plans: &mut Plans,
    ) -> Result<(), (usize, Full)> {
        for (index, (change, room)) in changes.iter_mut().zip(rooms).enumerate() {
            let Some(edit) = change.edit else {
                continue;
            };
            for held in claimed(held, room.bucket) {
                let plan = self.room_in_log(held, room.slot, change, edit, hands, terms);
                let plan = plan.map_err(|full| (index, full))?;
                plans.try_push(plan).unwrap_or(());
            }
        }
        Ok(())
    }

    fn fill<'t>(
        &'t self,
        held: &mut HeldBuckets<'t>,
        changes: &[&mut Change<'t>],
        rooms: &[Room<'t>],
        plans: &[Plan],
        hands: &mut Hands<'t>,
    ) {
        let mut plans = plans.iter();
        for (change, &Room { bucket, slot, .. }) in changes.iter().zip(rooms) {
            let plan = change.edit.and_then(|_| plans.next());
            claimed(held, bucket).for_each(|held| match plan {
                Some(&plan) => self.edit_log(held, slot, change, plan, hands),
                None if change.is_one_word() => change.set(held, slot),
                None => self.set_noted(held, slot, change),
            });
        }
    }

    /// Claims all the buckets concerned, unless one has changed since it was seen.
    fn hold<'t>(&self, changes: &[&mut Change<'t>], held: &mut HeldBuckets<'t>) -> Option<()> {
        let mut homes: ArrayVec<Seen<'t>, { 2 * MAX_CHANGES }> = ArrayVec::new();
        for home in changes.iter().flat_map(|change| change.found.homes()) {
            homes.try_push(home).ok()?;
        }
        homes.sort_unstable_by_key(|&home| self.number(home));
        for home in homes {
            match held.last().filter(|last| last.number == self.number(home)) {
                // Seen twice: it must have been the same both times.
                Some(last) => last.claimed.seen().same(home).then_some(())?,
                None => held.try_push(self.claim(home)?).ok()?,
            }
        }
        Some(())
    }
}

/// Takes back what was made room for.
fn give_up<'t>(held: &mut HeldBuckets<'t>, room: &Room<'t>) {
    if room.is_new {
        claimed(held, room.bucket).for_each(|held| held.claimed.clear(room.slot));
    }
}

/// The bucket of that number, to be written.
pub(super) fn claimed<'h, 't>(
    held: &'h mut HeldBuckets<'t>,
    number: u32,
) -> impl Iterator<Item = &'h mut Held<'t>> {
    held.iter_mut().filter(move |held| held.number == number)
}
