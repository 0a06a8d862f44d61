//! What a process leaves that was killed in the middle of a change, taken over.
//!
//! A bucket says who holds it. Who waits for it for long asks whether that one lives;
//! if not, it takes the bucket over, finishes or undoes what was noted about it, and
//! lets go. Then a counter has given what was answered, and at most the request that was
//! never answered. One at a time recovers, so that of a counter that was being moved
//! exactly one copy stays. All of it can be done again if who recovers is killed.

use super::peers::Holder;
use super::seat::TAKEN;
use super::wait::{Vigil, Watch};
use super::{Backoff, Bucket, Claimed, Event, SeatOf, Seen, Table};
use crate::sync::Ordering;

impl Table {
    /// Looks at a bucket that is being written, as soon as it is not.
    #[cold]
    #[inline(never)]
    pub(super) fn wait_and_look<'t>(&'t self, bucket: &'t Bucket) -> Seen<'t> {
        let number = self.region.number(bucket);
        let (mut backoff, mut vigil) = (Backoff::new(), Vigil::default());
        loop {
            backoff.pause();
            if let Some(seen) = bucket.try_look() {
                return seen;
            }
            if backoff.is_time_to_ask() {
                self.recover(number, &mut vigil);
            }
        }
    }

    /// Looks at a bucket, unless somebody is writing who may live.
    pub(super) fn try_look(&self, number: u32) -> Option<Seen<'_>> {
        let bucket = self.bucket(number);
        bucket.try_look().or_else(|| {
            self.recover(number, &mut Vigil::default());
            bucket.try_look()
        })
    }

    /// Takes a bucket over if who holds it is lost.
    pub(super) fn recover(&self, number: u32, vigil: &mut Vigil) {
        let Some((held, by)) = self.bucket(number).held() else {
            return;
        };
        if self.is_lost(by, || vigil.held.is_stuck(held)) {
            self.in_turn(&mut vigil.turn, || self.recover_bucket(number, held));
        }
    }

    /// Frees the seats of those who are lost; says whether there were any. Those who
    /// cannot be asked are lost when nothing has moved in any seat for long.
    pub(super) fn recover_seats(&self, vigil: &mut Vigil) -> bool {
        let taken = || {
            self.seats(0)
                .filter_map(|seat| Some((seat, seat.holder()?)))
        };
        let all = taken().fold(1, |all: u64, (_, holder)| all.rotate_left(5) ^ holder);
        let stuck = vigil.held.is_stuck(all);
        let mut any = false;
        for (seat, holder) in taken().filter(|&(_, by)| self.is_lost(by as u32, || stuck)) {
            let recover = || self.recover_seat(seat, holder, stuck);
            any |= self.in_turn(&mut vigil.turn, recover);
        }
        any
    }

    /// Takes over all that is held by those who are known to be dead.
    pub(super) fn recover_all(&self) {
        for number in 0..self.region.layout().buckets as u32 {
            self.recover(number, &mut Vigil::default());
        }
        self.recover_seats(&mut Vigil::default());
    }

    fn recover_seat(&self, seat: SeatOf<'_>, holder: u64, stuck: bool) {
        let noted = seat.noted().and_then(|(number, _)| self.checked(number));
        let bucket = noted.and_then(|number| Some((number, self.bucket(number).held()?)));
        if let Some((number, (held, by))) = bucket {
            if self.is_lost(by, || stuck) {
                self.recover_bucket(number, held);
            }
        }
        seat.free_from(holder);
    }

    fn recover_bucket(&self, number: u32, held: u64) {
        let recovered = self.counted(Event::RecoveredLock);
        let bucket = self.bucket(number);
        let Some(mut claimed) = bucket.take_over(
            held,
            self.peers.own_id(),
            (recovered as u32).wrapping_add(1),
        ) else {
            return;
        };
        self.resolve_notes(number, &mut claimed);
        self.clear_copies(number, &mut claimed);
        // All logs together have no more chunks than there are, whatever the links say.
        let mut left = self.pool().len();
        for slot in bucket.slots() {
            self.pool().mend(slot.log(), number, &mut left);
        }
        self.count(Event::RecoveredLock, 1);
    }

    fn resolve_notes(&self, number: u32, bucket: &mut Claimed<'_>) {
        for seat in self.seats(0) {
            let Some((_, slot)) = seat.noted().filter(|noted| noted.0 == number) else {
                continue;
            };
            if let Some(slot) = bucket.seen().slots().nth(slot) {
                seat.resolve(bucket, slot);
            }
            // Its holder is that of the bucket.
            if let Some(holder) = seat.holder() {
                seat.free_from(holder);
            }
        }
    }

    /// Clears what also stands in its other bucket: it was being moved.
    fn clear_copies(&self, number: u32, bucket: &mut Claimed<'_>) {
        let taken = bucket.seen().slots().filter(|slot| !slot.is_free());
        for slot in taken {
            let fingerprint = slot.fingerprint();
            let other = self.other_home(number, fingerprint);
            let mut others = self.bucket(other).slots();
            if other != number && others.any(|slot| slot.fingerprint() == fingerprint) {
                bucket.clear(slot);
            }
        }
    }

    /// Whether who holds something does so no more; where that cannot be asked, whether
    /// it is `stuck` tells.
    fn is_lost(&self, by: u32, stuck: impl FnOnce() -> bool) -> bool {
        match self.peers.holder(by) {
            Holder::Alive => false,
            Holder::Dead => true,
            Holder::Unknown => stuck(),
        }
    }

    /// Runs something while nobody else recovers; says whether it could.
    fn in_turn(&self, watch: &mut Watch, run: impl FnOnce()) -> bool {
        let turn = &self.region.header().recovering;
        let seen = turn.load(Ordering::Relaxed);
        if seen != 0 && !self.is_lost(seen as u32, || watch.is_stuck(seen)) {
            return false;
        }
        let ours = TAKEN | u64::from(self.peers.own_id());
        let took = turn.compare_exchange(seen, ours, Ordering::Acquire, Ordering::Relaxed);
        if took.is_ok() {
            run();
            turn.store(0, Ordering::Release);
        }
        took.is_ok()
    }
}
