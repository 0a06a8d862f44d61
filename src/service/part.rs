//! One limit that a request meets, in a decision about several counters: what it is
//! asked, what it says, and what its counter becomes.
//!
//! A part knows of no other, but for what those before it take from the same counter;
//! whether it is stored is decided by all of them together (`joint`).

use super::joint::{Met, Mode};
use crate::algorithm::{Ask, Decide, State, Verdict, Visitor};
use crate::rule::book::Limited;
use crate::table::{Change, Table, Weight};

/// One limit that a request meets, and what it came to.
pub(super) struct Part<'a> {
    pub limit: &'a Limited,
    /// Index of the request.
    pub request: usize,
    pub cost: u64,
    /// What requests before it take from the same counter.
    pub before: u64,
    /// The cost, and those before it that meet in the same counter.
    pub total: u64,
    /// What the limit says to the total.
    pub verdict: Verdict,
    /// There was no room for the counter, and requests pass without it.
    pub untracked: bool,
    /// Whether the counter is stored as `change` says.
    pub stores: bool,
    pub change: Change<'a>,
}

impl<'a> Part<'a> {
    #[inline(always)]
    pub fn new(request: usize, met: &Met<'a>, limit: &'a Limited, table: &'a Table) -> Part<'a> {
        let key = met.names.key(limit.tag);
        Part {
            limit,
            request,
            cost: met.cost,
            before: 0,
            total: 0,
            verdict: Verdict::default(),
            untracked: false,
            stores: false,
            change: Change {
                key,
                found: table.find(key),
                next: State::default(),
                weight: Weight::default(),
                edit: None,
            },
        }
    }

    /// Whether the limit refuses; one in shadow mode never does.
    #[inline]
    pub fn refuses(&self) -> bool {
        !self.verdict.allowed && !self.limit.shadow && !self.untracked
    }

    /// Adds its cost to those after it that meet in the same counter.
    #[cold]
    pub fn add_to(&self, later: &mut [Part<'_>]) {
        let same = later
            .iter_mut()
            .filter(|part| part.change.key == self.change.key);
        same.for_each(|part| part.before = part.before.saturating_add(self.cost));
    }

    /// Asks the limit.
    #[inline(always)]
    pub fn evaluate(&mut self, table: &Table, now: u64, mode: Mode) {
        self.total = self.before.saturating_add(self.cost);
        self.limit.counter.visit(Evaluate(self, table, now, mode));
    }

    /// Notes what the counter becomes: as much is left of the limit.
    #[inline(always)]
    fn becomes(&mut self, next: State, left: u64) {
        self.change.next = next;
        self.change.weight = self.limit.scale.weight(left);
    }

    /// Gives the cost back, in what its counter becomes.
    pub fn refund(&mut self, table: &Table, now: u64) {
        let Change { found, edit, .. } = &mut self.change;
        let ask = Ask {
            state: found.state,
            now,
            cost: self.cost,
        };
        *edit = None;
        let (counter, log) = (&self.limit.counter, || table.log(found));
        let (next, left) = counter.refund(ask, log, edit);
        self.becomes(next, left);
    }

    /// Whether the counter changes by what was decided about all.
    pub fn stores(&self, allowed: bool, mode: Mode) -> bool {
        match mode {
            Mode::Look => false,
            Mode::Charge => true,
            // Of a refusal only what it mends in a counter is stored, no cost.
            Mode::Take => self.verdict.changes && (allowed || !self.verdict.allowed),
        }
    }

    /// How long until the counter is as good as new, if the costs are taken or not.
    pub fn reset_ns(&self, taken: bool, now: u64) -> u64 {
        match taken || self.verdict.stepped_back {
            true => self.verdict.reset_ns,
            false => self.change.found.state.idle_at.saturating_sub(now),
        }
    }

    /// What is left of the limit: after the request, or as it was if nothing is taken.
    pub fn remaining(&self, taken: bool) -> u64 {
        let Verdict {
            allowed, remaining, ..
        } = self.verdict;
        match (allowed, taken) {
            (true, true) | (false, false) => remaining,
            (true, false) => remaining.saturating_add(self.total),
            (false, true) => remaining.saturating_sub(self.before),
        }
    }
}

/// A part to be asked, and of what table, when and for what.
struct Evaluate<'p, 'a>(&'p mut Part<'a>, &'p Table, u64, Mode);

impl Visitor for Evaluate<'_, '_> {
    type Output = ();

    #[inline(always)]
    fn visit(self, algorithm: &impl Decide) {
        let Evaluate(part, table, now, mode) = self;
        let Change { found, edit, .. } = &mut part.change;
        let (state, cost) = (found.state, part.total);
        let (ask, log) = (Ask { state, now, cost }, || table.log(found));
        *edit = None;
        part.verdict = match mode {
            Mode::Charge => algorithm.charge(ask, log, edit),
            Mode::Take | Mode::Look => algorithm.decide(ask, log, edit),
        };
        part.becomes(part.verdict.next, part.verdict.remaining);
    }
}
