//! Seats: where a process that may be killed notes what it is about to do, and what
//! it has in its hands. There is a fixed number of them in the region, each for one
//! thread at a time; nobody waits for a certain one.
//!
//! A change of one word needs no note: it has happened or not. A change of both words
//! of a counter, or one that takes chunks or lets them go, is noted with the words that
//! stood there before. It has happened when the counter's `data` is another. Whoever
//! takes over the bucket then finishes what has happened and undoes what has not
//! (`recover`).
//!
//! Each seat also keeps free chunks: a share of the pool of its own, of which what was
//! never used stays untouched memory, and what was given back under it. So chunks need
//! no lock but the seat.
//!
//! Invariant: the notes hold only while their writer holds the bucket that they name.

use arrayvec::ArrayVec;

use super::bucket::{Claimed, Slot};
use super::log::{Handle, Pool};
use crate::algorithm::State;
use crate::sync::{AtomicU64, Ordering};

/// How many there are.
pub(crate) const SEATS: usize = if cfg!(loom) { 2 } else { 24 };

/// The bit of a seat's place that says that chunks are noted too.
const CHUNKS: u64 = 1 << 3;

/// The bit of a word that says that somebody has it; the lower half says who.
pub(super) const TAKEN: u64 = 1 << 32;

/// One seat.
#[repr(C)]
#[derive(Debug)]
pub(crate) struct Seat {
    holder: AtomicU64,
    /// The first of the chunks that were given back; each links to the next.
    free: AtomicU64,
    /// How many chunks of its share have ever been used.
    used: AtomicU64,
    /// The counter that changes: its bucket, a bit that is set where chunks change too,
    /// and in three bits its slot, counted from 1. 0 where nothing is noted.
    place: AtomicU64,
    /// What the counter was.
    idle_at: AtomicU64,
    data: AtomicU64,
    /// The chunk that it takes.
    taking: AtomicU64,
    /// The chunks that it lets go.
    giving: AtomicU64,
}

/// All seats of a region.
pub(crate) type Seats = [Seat; SEATS];

/// A seat with its share of the pool.
#[derive(Clone, Copy, Debug)]
pub(super) struct SeatOf<'t> {
    seat: &'t Seat,
    pool: Pool<'t>,
    index: usize,
}

/// A seat that is ours until this is dropped.
#[derive(Debug)]
pub(super) struct Seated<'t>(SeatOf<'t>);

/// The seats that one step has.
pub(super) type Seatings<'t> = ArrayVec<Seated<'t>, SEATS>;

/// One of the seats.
#[inline]
pub(super) fn at<'t>(seats: &'t Seats, pool: Pool<'t>, index: usize) -> Option<SeatOf<'t>> {
    let seat = seats.get(index)?;
    Some(SeatOf { seat, pool, index })
}

/// All seats, beginning with the one of `turn`.
pub(super) fn seats<'t>(
    seats: &'t Seats,
    pool: Pool<'t>,
    turn: usize,
) -> impl Iterator<Item = SeatOf<'t>> {
    let indices = (turn..turn + SEATS).map(|index| index % SEATS);
    indices.filter_map(move |index| at(seats, pool, index))
}

impl<'t> SeatOf<'t> {
    /// Takes the seat, if it is free.
    pub fn claim(self, by: u32) -> Option<Seated<'t>> {
        let ours = TAKEN | u64::from(by);
        // Acquire: the chunks are as the last holder left them. And whoever sees what is
        // then written into one sees that the bucket was claimed that it came from.
        let holder = &self.seat.holder;
        holder
            .compare_exchange(0, ours, Ordering::Acquire, Ordering::Relaxed)
            .ok()?;
        Some(Seated(self))
    }

    /// The word of whoever holds the seat, if anybody does.
    pub fn holder(self) -> Option<u64> {
        let holder = self.seat.holder.load(Ordering::Acquire);
        (holder != 0).then_some(holder)
    }

    /// Frees the seat of a holder that is lost, if it has not been freed already: the
    /// notes of whoever has it then are not ours to clear.
    pub fn free_from(self, holder: u64) {
        if self.holder() != Some(holder) {
            return;
        }
        self.seat.place.store(0, Ordering::Release);
        let seat = &self.seat.holder;
        seat.compare_exchange(holder, 0, Ordering::AcqRel, Ordering::Relaxed)
            .unwrap_or(0);
    }

    /// The bucket that the notes name, and which of its slots.
    pub fn noted(self) -> Option<(u32, usize)> {
        let place = self.seat.place.load(Ordering::Acquire);
        let slot = (place as usize & 7).checked_sub(1)?;
        Some((u32::try_from(place >> 4).ok()?, slot))
    }

    /// Whether both are the same seat.
    pub fn is(self, other: SeatOf<'_>) -> bool {
        std::ptr::eq(self.seat, other.seat)
    }

    /// Notes what a counter was before it changes.
    #[inline]
    pub fn note(self, bucket: u32, slot: usize, was: State) {
        self.begin(bucket, slot, was, 0);
    }

    /// The same of a counter that takes a chunk, or lets chunks go.
    pub fn note_chunks(self, bucket: u32, slot: usize, was: State, lets_go: Handle) {
        self.seat.taking.store(0, Ordering::Release);
        self.seat.giving.store(lets_go.data(), Ordering::Release);
        self.begin(bucket, slot, was, CHUNKS);
    }

    #[inline]
    fn begin(self, bucket: u32, slot: usize, was: State, chunks: u64) {
        let seat = self.seat;
        seat.idle_at.store(was.idle_at, Ordering::Release);
        seat.data.store(was.data, Ordering::Release);
        let place = u64::from(bucket) << 4 | chunks | (slot as u64 + 1);
        seat.place.store(place, Ordering::Release);
    }

    /// Takes a chunk for the counter that is noted.
    pub fn take(self) -> Option<u32> {
        let seat = self.seat;
        let free = seat.free.load(Ordering::Relaxed) as u32;
        if let Some(chunk) = self.pool.chunk(free) {
            let next = chunk.next();
            seat.taking.store(u64::from(free), Ordering::Release);
            seat.free.store(u64::from(next), Ordering::Release);
            return Some(free);
        }
        let fresh = self.next_fresh()?;
        seat.taking.store(u64::from(fresh), Ordering::Release);
        seat.used.store(self.used() as u64 + 1, Ordering::Release);
        Some(fresh)
    }

    /// The change has happened, and is noted no more.
    #[inline]
    pub fn settle(self) {
        self.seat.place.store(0, Ordering::Release);
    }

    /// The same; what the counter let go is free.
    pub fn settle_chunks(self) {
        self.push(Handle::of(self.seat.giving.load(Ordering::Relaxed)));
        self.settle();
    }

    /// Finishes or undoes what is noted about a slot of a bucket that is ours.
    pub fn resolve<'b>(self, bucket: &mut Claimed<'b>, slot: Slot<'b>) {
        let seat = self.seat;
        let chunks = seat.place.load(Ordering::Relaxed) & CHUNKS != 0;
        let happened = slot.is_free() || slot.state().data != seat.data.load(Ordering::Relaxed);
        if !happened {
            bucket.set_idle_at(slot, seat.idle_at.load(Ordering::Relaxed));
        }
        match (chunks, happened) {
            (true, true) => self.push(Handle::of(seat.giving.load(Ordering::Relaxed))),
            (true, false) => self.put_back(seat.taking.load(Ordering::Relaxed) as u32),
            (false, _) => {}
        }
        self.settle();
    }

    /// Gives back what was to be taken, if it was taken.
    fn put_back(self, chunk: u32) {
        if Some(chunk) != self.next_fresh() {
            self.push(Handle::single(chunk));
        }
    }

    /// How many chunks can be had here, up to `most`.
    pub fn chunks(self, most: usize) -> usize {
        let share = self.share();
        let fresh = share.len().saturating_sub(self.used());
        let returned = self.returned().take(most).count();
        fresh.saturating_add(returned).min(most)
    }

    /// The numbers of the chunks that were given back.
    pub fn returned(self) -> impl Iterator<Item = u32> + use<'t> {
        let pool = self.pool;
        let first = self.seat.free.load(Ordering::Relaxed) as u32;
        let next = move |&number: &u32| Some(pool.chunk(number)?.next());
        let numbers = std::iter::successors(Some(first), next);
        numbers
            .take_while(move |&number| pool.chunk(number).is_some())
            .take(pool.len())
    }

    /// The numbers of the chunks of its share that were never used.
    pub fn fresh(self) -> impl Iterator<Item = u32> {
        let share = self.share();
        share.skip(self.used()).map(|index| index as u32 + 1)
    }

    fn share(self) -> std::ops::Range<usize> {
        let border = |index: usize| self.pool.len() * index / SEATS;
        border(self.index)..border(self.index + 1)
    }

    fn used(self) -> usize {
        self.seat.used.load(Ordering::Relaxed) as usize
    }

    fn next_fresh(self) -> Option<u32> {
        self.fresh().next()
    }

    /// Puts the chunks of a log that nobody names any more on top of the free ones.
    /// To do it again changes nothing.
    fn push(self, log: Handle) {
        let free = self.seat.free.load(Ordering::Relaxed);
        let Some(last) = self.pool.chunk(log.last) else {
            return;
        };
        if free as u32 != log.first {
            last.set_next(free as u32);
            self.seat
                .free
                .store(u64::from(log.first), Ordering::Release);
        }
    }
}

impl<'t> Seated<'t> {
    pub fn seat(&self) -> SeatOf<'t> {
        self.0
    }
}

impl Drop for Seated<'_> {
    fn drop(&mut self) {
        // Release: the next holder finds the chunks as they are now.
        self.0.seat.holder.store(0, Ordering::Release);
    }
}

impl Seat {
    #[cfg(loom)]
    pub fn new() -> Seat {
        let zero = || AtomicU64::new(0);
        Seat {
            holder: zero(),
            free: zero(),
            used: zero(),
            place: zero(),
            idle_at: zero(),
            data: zero(),
            taking: zero(),
            giving: zero(),
        }
    }
}
