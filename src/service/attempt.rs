//! One decision about one counter: find it, read the clock, decide, store; or
//! start over, if somebody else has changed the counter in between.

use super::Decision;
use crate::algorithm::{Ask, Decide, Visitor};
use crate::clock::Clock;
use crate::hash::Key;
use crate::rule::book::Limited;
use crate::table::{Backoff, Change, Full, Homes, NotStored, Table, Terms};

/// When a decision is made.
#[derive(Clone, Copy)]
pub(super) enum Time {
    /// When the counter has been found: in time, decisions are then in the order
    /// in which the table has them.
    Now,
    /// At a reading made before, for several decisions at once.
    At(u64),
}

/// All that a decision needs.
pub(super) struct Attempt<'a> {
    pub table: &'a Table,
    pub clock: &'a Clock,
    pub limit: &'a Limited,
    pub key: Key,
    pub homes: Homes<'a>,
    pub cost: u64,
    pub time: Time,
    pub takes: bool,
    pub evict: bool,
}

impl Attempt<'_> {
    /// Tries until nobody was faster.
    #[inline(always)]
    pub fn until_done(self, out: &mut Decision) -> Result<(), Full> {
        self.limit.counter.visit(Until(self, out))
    }

    /// One try.
    #[inline(always)]
    fn once(
        &self,
        algorithm: &impl Decide,
        time: Time,
        out: &mut Decision,
    ) -> Result<(), NotStored> {
        let &Attempt {
            table, key, homes, ..
        } = self;
        let found = table.find_in(homes, key);
        let now = match time {
            Time::Now => self.clock.now_by(table.anchor()),
            Time::At(now) => now,
        };
        let mut edit = None;
        let log = || table.log(&found);
        let (state, cost) = (found.state, self.cost);
        let verdict = algorithm.decide(Ask { state, now, cost }, log, &mut edit);
        if verdict.stepped_back && matches!(time, Time::At(_)) {
            // The counter is ahead of an old reading: that shows nothing of the clock.
            return Err(NotStored::Changed);
        }
        if verdict.changes && self.takes {
            let change = Change {
                key,
                found,
                next: verdict.next,
                weight: self.limit.scale.weight(verdict.remaining),
                edit,
            };
            let evict = self.evict;
            table.store(change, Terms { now, evict })?;
        } else {
            table.keep(found)?;
        }
        out.fill(self.limit, &verdict);
        Ok(())
    }
}

/// An attempt, and the place for its answer.
struct Until<'a, 'o>(Attempt<'a>, &'o mut Decision);

impl Visitor for Until<'_, '_> {
    type Output = Result<(), Full>;

    #[inline(always)]
    fn visit(self, algorithm: &impl Decide) -> Result<(), Full> {
        let Until(attempt, out) = self;
        let (mut time, mut backoff) = (attempt.time, Backoff::new());
        loop {
            match attempt.once(algorithm, time, out) {
                Ok(()) => return Ok(()),
                Err(NotStored::Full(full)) => return Err(full),
                Err(NotStored::Changed) => {
                    time = Time::Now;
                    backoff.pause();
                }
            }
        }
    }
}
