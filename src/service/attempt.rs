//! One decision about one counter: find it, read the clock, decide, store; or
//! start over, if somebody else has changed the counter in between.

use super::Decision;
use crate::algorithm::{Ask, Decide, Visitor};
use crate::clock::Clock;
use crate::hash::Key;
use crate::rule::book::Limited;
use crate::table::{Backoff, Change, Full, NotStored, Table, Terms, Weight};

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
#[derive(Clone, Copy)]
pub(super) struct Attempt<'a> {
    pub table: &'a Table,
    pub clock: &'a Clock,
    pub limit: &'a Limited,
    pub key: Key,
    pub cost: u64,
    pub time: Time,
    pub takes: bool,
    pub evict: bool,
}

impl Attempt<'_> {
    /// Tries until nobody was faster.
    #[inline(always)]
    pub fn until_done(self, out: &mut Decision) -> Result<(), Full> {
        let mut backoff = Backoff::new();
        loop {
            match self.limit.counter.visit(Try(&self, out)) {
                Ok(()) => return Ok(()),
                Err(NotStored::Changed) => backoff.pause(),
                Err(NotStored::Full(full)) => return Err(full),
            }
        }
    }
}

/// One try, with the place for its answer.
struct Try<'a, 'o>(&'a Attempt<'a>, &'o mut Decision);

impl Visitor for Try<'_, '_> {
    type Output = Result<(), NotStored>;

    #[inline(never)]
    fn visit(self, algorithm: &impl Decide) -> Result<(), NotStored> {
        let Try(&attempt, out) = self;
        let Attempt {
            table,
            clock,
            limit,
            key,
            cost,
            time,
            takes,
            evict,
        } = attempt;
        let found = table.find(key);
        let now = match time {
            Time::Now => clock.now_by(table.anchor()),
            Time::At(now) => now,
        };
        let mut edit = None;
        let log = || table.log(&found);
        let state = found.state;
        let verdict = algorithm.decide(Ask { state, now, cost }, log, &mut edit);
        if verdict.stepped_back && matches!(time, Time::At(_)) {
            // The counter is ahead of an old reading: that shows nothing of the clock.
            let time = Time::Now;
            return Try(&Attempt { time, ..attempt }, out).visit(algorithm);
        }
        if verdict.changes && takes {
            let change = Change {
                key,
                found,
                next: verdict.next,
                weight: Weight::new(limit.capacity, verdict.remaining),
                edit,
            };
            table.store(change, Terms { now, evict })?;
        } else {
            table.keep(found)?;
        }
        out.fill(limit, &verdict);
        Ok(())
    }
}
