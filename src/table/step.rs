//! Several counters changed as one step: all or none, whatever other threads do.
//!
//! All the buckets concerned are claimed as they were when their counters were
//! found, in the order of their numbers, so that no two threads wait for each
//! other. Then room is made for whatever is new, and only when there is room for
//! all of it does any counter change.

use arrayvec::ArrayVec;

use super::bucket::{Slot, Weight};
use super::log::Handle;
use super::{Found, Full, Held, Home, NotStored, Place, Table, Terms};
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

/// The buckets that a step holds, by their numbers.
pub(super) type HeldBuckets<'t> = ArrayVec<Held<'t>, { 2 * MAX_CHANGES }>;

/// Where a change will be written, and the chunk that its log may need.
#[derive(Clone, Copy)]
struct Room<'t> {
    bucket: u32,
    slot: Slot<'t>,
    is_new: bool,
    chunk: Handle,
}

impl Table {
    /// Makes up to [`MAX_CHANGES`] counters, each of another key, what was decided
    /// at `now`. Where there is no room for one of them none of them changes, and it
    /// is said for which.
    #[inline(never)]
    pub fn store_all(&self, changes: &[Change<'_>], terms: Terms) -> Result<(), NotStored> {
        // Filled where they stand: these are large, and a move would copy all of them.
        let mut held = HeldBuckets::new();
        hold(changes, &mut held).ok_or(NotStored::Changed)?;
        let mut rooms: ArrayVec<Room<'_>, MAX_CHANGES> = ArrayVec::new();
        let own = |fingerprint| {
            let mut keys = changes.iter().map(|change| change.key.fingerprint);
            keys.any(|key| key == fingerprint)
        };
        for (index, change) in changes.iter().enumerate() {
            match self.room_for(&mut held, change, terms, &own) {
                Ok(room) => rooms.try_push(room).unwrap_or(()),
                Err(full) => {
                    rooms.iter().for_each(|room| self.give_up(&mut held, room));
                    return Err(NotStored::Full(Full { index, ..full }));
                }
            }
        }
        for (change, &room) in changes.iter().zip(&rooms) {
            self.fill(&mut held, change, room);
        }
        Ok(())
    }

    fn room_for<'t>(
        &'t self,
        held: &mut HeldBuckets<'t>,
        change: &Change<'t>,
        terms: Terms,
        own: &impl Fn(u64) -> bool,
    ) -> Result<Room<'t>, Full> {
        let log = match change.found.place {
            Place::Here(_, slot) => slot.log(),
            Place::Nowhere(_) => Handle::default(),
        };
        let chunk = match change.edit {
            Some(edit) if !self.pool().has_room(log, edit) => {
                Handle::single(self.take_chunk(terms)?)
            }
            _ => Handle::default(),
        };
        let (bucket, slot, is_new) = match change.found.place {
            Place::Here(home, slot) => (home.number, slot, false),
            Place::Nowhere(homes) => {
                let homes = homes.map(|home| home.number);
                let reserved = self.reserve(held, homes, change.key, terms, own);
                let (bucket, slot) = reserved.inspect_err(|_| self.pool().give_back(chunk))?;
                (bucket, slot, true)
            }
        };
        Ok(Room {
            bucket,
            slot,
            is_new,
            chunk,
        })
    }

    fn give_up<'t>(&self, held: &mut HeldBuckets<'t>, room: &Room<'t>) {
        self.pool().give_back(room.chunk);
        if room.is_new {
            claimed(held, room.bucket).for_each(|held| held.claimed.clear(room.slot));
        }
    }

    fn fill<'t>(&self, held: &mut HeldBuckets<'t>, change: &Change<'t>, room: Room<'t>) {
        let Room {
            bucket,
            slot,
            mut chunk,
            ..
        } = room;
        let mut data = change.next.data;
        if let Some(edit) = change.edit {
            let take = || Ok(std::mem::take(&mut chunk).first());
            data = self.pool().edit(slot.log(), edit, bucket, take).0.data();
        }
        let state = State {
            data,
            ..change.next
        };
        let (fingerprint, weight) = (change.key.fingerprint, change.weight);
        claimed(held, bucket).for_each(|held| held.claimed.write(slot, fingerprint, weight, state));
        self.pool().give_back(chunk);
    }
}

/// The bucket of that number, to be written.
pub(super) fn claimed<'h, 't>(
    held: &'h mut HeldBuckets<'t>,
    number: u32,
) -> impl Iterator<Item = &'h mut Held<'t>> {
    held.iter_mut().filter(move |held| held.number == number)
}

/// Claims all the buckets concerned, unless one has changed since it was seen.
fn hold<'t>(changes: &[Change<'t>], held: &mut HeldBuckets<'t>) -> Option<()> {
    let mut homes: ArrayVec<Home<'t>, { 2 * MAX_CHANGES }> = ArrayVec::new();
    for change in changes {
        let (first, second) = match change.found.place {
            Place::Here(home, _) => (home, None),
            Place::Nowhere([first, second]) => (first, Some(second)),
        };
        homes.try_push(first).ok()?;
        second
            .map_or(Ok(()), |second| homes.try_push(second))
            .ok()?;
    }
    homes.sort_unstable_by_key(|home| home.number);
    let mut last: Option<Home<'t>> = None;
    for &home in &homes {
        match last {
            Some(last) if last.number == home.number => {
                // Seen twice: it must have been the same both times.
                last.seen.same(home.seen).then_some(())?;
            }
            _ => {
                let (number, claimed) = (home.number, home.seen.claim()?);
                held.try_push(Held { number, claimed }).ok()?;
            }
        }
        last = Some(home);
    }
    Some(())
}
