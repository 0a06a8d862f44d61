//! One decision about one counter: find it, read the clock, decide, store; or
//! start over, if somebody else has changed the counter in between.

use super::Decision;
use super::rules::Rules;
use crate::algorithm::{Ask, Decide, Visitor};
use crate::clock::Clock;
use crate::config::OnFull;
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
    pub rules: &'a Rules,
}

impl Attempt<'_> {
    /// Tries until nobody was faster.
    #[inline(always)]
    pub fn until_done(self, out: &mut Decision) -> Result<(), Full> {
        match self.once(out) {
            Ok(()) => Ok(()),
            Err(NotStored::Full(full)) => Err(full),
            Err(NotStored::Changed) => self.again(out),
        }
    }

    /// Apart, so that nothing is kept for it on the way of the first try.
    #[cold]
    #[inline(never)]
    fn again(mut self, out: &mut Decision) -> Result<(), Full> {
        self.time = Time::Now;
        let mut backoff = Backoff::new();
        loop {
            backoff.pause();
            match self.once(out) {
                Ok(()) => return Ok(()),
                Err(NotStored::Full(full)) => return Err(full),
                Err(NotStored::Changed) => {}
            }
        }
    }

    /// One try.
    #[inline(always)]
    fn once(&self, out: &mut Decision) -> Result<(), NotStored> {
        self.limit.counter.visit(Once(self, out))
    }
}

/// One try of an attempt, and the place for its answer.
struct Once<'a, 't, 'o>(&'a Attempt<'t>, &'o mut Decision);

impl Visitor for Once<'_, '_, '_> {
    type Output = Result<(), NotStored>;

    #[inline(always)]
    fn visit(self, algorithm: &impl Decide) -> Result<(), NotStored> {
        let Once(attempt, out) = self;
        let &Attempt {
            table,
            limit,
            key,
            cost,
            ..
        } = attempt;
        let found = table.find_in(attempt.homes, key);
        let now = match attempt.time {
            Time::Now => attempt.clock.now_by(table.anchor()),
            Time::At(now) => now,
        };
        let mut edit = None;
        let log = || table.log(&found);
        let state = found.state;
        let verdict = algorithm.decide(Ask { state, now, cost }, log, &mut edit);
        if verdict.stepped_back && matches!(attempt.time, Time::At(_)) {
            // The counter is ahead of an old reading: that shows nothing of the clock.
            return Err(NotStored::Changed);
        }
        // Filled in before the counter changes, and anew if somebody was faster: then none of
        // it need be kept so long.
        if verdict.allowed {
            out.allow(limit, &verdict);
        } else {
            out.refuse(limit, &verdict);
        }
        if verdict.changes && attempt.takes {
            let change = Change {
                key,
                found,
                next: verdict.next,
                weight: limit.scale.weight(verdict.remaining),
                edit,
            };
            let evict = attempt.rules.on_full == OnFull::Evict;
            table.store(change, Terms { now, evict })
        } else {
            table.keep(found)
        }
    }
}
