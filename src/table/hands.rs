//! The seats of one step: one to note in, and enough of them for the chunks that the
//! step takes. They are left when it is done.

use super::seat::{SeatOf, Seated, Seatings};
use super::wait::Vigil;
use super::{Backoff, Full, Table, Terms};

/// How often room for a chunk is looked for.
const ROUNDS: usize = 8;

/// The seats of a step.
pub(super) struct Hands<'t> {
    table: &'t Table,
    seats: Seatings<'t>,
    /// How many chunks the step will take.
    reserved: usize,
}

/// What came of looking for a seat.
enum Sitting<'t> {
    Got(Seated<'t>),
    /// Somebody has the only ones that would do.
    Taken,
    /// None would do.
    None,
}

impl<'t> Hands<'t> {
    pub fn new(table: &'t Table) -> Hands<'t> {
        Hands {
            table,
            seats: Seatings::new(),
            reserved: 0,
        }
    }

    /// Any seat. All are taken only where as many have lost the processor, been stopped
    /// or been killed while they had one.
    pub fn any(&mut self) -> SeatOf<'t> {
        let (mut backoff, mut vigil) = (Backoff::new(), Vigil::default());
        loop {
            if let Some(first) = self.seats.first() {
                return first.seat();
            }
            if let Sitting::Got(seat) = self.sit(false) {
                return self.keep(seat);
            }
            backoff.pause();
            if backoff.is_time_to_ask() {
                self.table.recover_seats(&mut vigil);
            }
        }
    }

    /// A seat with a chunk, where one was [reserved](Hands::reserve_chunk).
    pub fn with_chunk(&mut self) -> SeatOf<'t> {
        let mut seats = self.seats.iter().map(Seated::seat);
        match seats.find(|seat| seat.chunks(1) > 0) {
            Some(seat) => seat,
            None => self.any(),
        }
    }

    /// Makes sure of one more chunk, if need be that of a log that is as good as new, or
    /// worth least of those that come up.
    pub fn reserve_chunk(&mut self, terms: Terms) -> Result<(), Full> {
        let need = self.reserved + 1;
        let (mut backoff, mut vigil) = (Backoff::new(), Vigil::default());
        let mut rounds = 0;
        while self.chunks(need) < need {
            match self.sit(true) {
                Sitting::Got(seat) => {
                    self.keep(seat);
                    continue;
                }
                Sitting::Taken
                    if backoff.is_time_to_ask() && self.table.recover_seats(&mut vigil) =>
                {
                    continue;
                }
                Sitting::Taken if !backoff.is_long() => {
                    backoff.pause();
                    continue;
                }
                Sitting::Taken | Sitting::None => {}
            }
            if rounds == ROUNDS {
                // Nothing was found in the way, so there is no telling how long: soon.
                return Err(Full { wait_ns: 1 });
            }
            rounds += 1;
            self.table.forget_log(terms, self)?;
        }
        self.reserved = need;
        Ok(())
    }

    /// Makes sure of one more chunk if one is free.
    pub fn reserve_free_chunk(&mut self) -> bool {
        let need = self.reserved + 1;
        while self.chunks(need) < need {
            let Sitting::Got(seat) = self.sit(true) else {
                return false;
            };
            self.keep(seat);
        }
        self.reserved = need;
        true
    }

    /// The chunks that can be had, up to `most`.
    fn chunks(&self, most: usize) -> usize {
        let chunks = self.seats.iter().map(|seat| seat.seat().chunks(most));
        chunks.sum()
    }

    /// Looks for a seat that we have not, from our own on, so that threads seldom meet.
    fn sit(&self, with_chunk: bool) -> Sitting<'t> {
        let mut taken = false;
        let others = self.table.seats(self.table.stripe());
        let others = others.filter(|&seat| !self.seats.iter().any(|ours| ours.seat().is(seat)));
        let good = |seat: SeatOf<'_>| !with_chunk || seat.chunks(1) > 0;
        for seat in others.filter(|&seat| good(seat)) {
            match seat.claim(self.table.peers.own_id()) {
                Some(seated) if good(seat) => return Sitting::Got(seated),
                Some(_) => {}
                None => taken = true,
            }
        }
        if taken { Sitting::Taken } else { Sitting::None }
    }

    fn keep(&mut self, seat: Seated<'t>) -> SeatOf<'t> {
        let kept = seat.seat();
        // There is room for all that there are.
        self.seats.try_push(seat).unwrap_or(());
        kept
    }
}
