//! One decision about several counters: find them all, read the clock, decide all,
//! and store all or none; or start over, if somebody has changed one in between.
//!
//! A request meets the limits of its rules, and several requests may be decided
//! together. A limit refuses, and then nothing is taken from any counter; or it is
//! in shadow mode and only says that it would. Costs that meet in one counter add up.

use arrayvec::ArrayVec;

use super::attempt::Time;
use super::{Request, Rules};
use crate::algorithm::{Ask, Decide, State, Verdict, Visitor};
use crate::clock::Clock;
use crate::config::OnFull;
use crate::hash::Names;
use crate::rule::book::{Entry, Limited, Matching, Plan};
use crate::table::{Backoff, Change, MAX_CHANGES, NotStored, Table, Terms, Weight};

/// The requests that can be decided together.
pub(super) const MAX_REQUESTS: usize = 8;

/// A request with the rules that apply to it.
pub(super) struct Met<'b> {
    pub names: Names,
    pub rules: Matching<'b>,
    pub cost: u64,
}

impl<'b> Met<'b> {
    /// A request to which one `rule` applies, or all that match.
    #[inline(always)]
    pub fn new(
        rules: &'b Rules,
        names: Names,
        rule: Option<&'b Entry>,
        request: Request<'_>,
    ) -> Met<'b> {
        let Request { user, api, cost } = request;
        let rules = match rule {
            Some(rule) => Matching::from_iter([rule]),
            None => rules.book.matching(names, user, api),
        };
        Met { names, rules, cost }
    }

    /// The limits that it meets.
    #[inline(always)]
    pub fn limits(&self) -> impl Iterator<Item = &'b Limited> {
        let limits = self.rules.iter().filter_map(|entry| entry.plan.limits());
        limits.flatten()
    }

    fn is_denied(&self) -> bool {
        let mut plans = self.rules.iter().map(|entry| &entry.plan);
        plans.any(|plan| matches!(plan, Plan::Deny))
    }
}

/// What is to come of a decision.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Mode {
    /// The costs are taken if all is allowed.
    Take,
    /// Nothing is taken.
    Look,
    /// The costs are taken whatever the answer.
    Charge,
}

/// One limit that a request meets, and what it came to.
pub(super) struct Part<'a> {
    pub limit: &'a Limited,
    /// Index of the request.
    pub request: usize,
    cost: u64,
    /// What requests before it take from the same counter.
    before: u64,
    /// The cost, and those before it that meet in the same counter.
    pub total: u64,
    /// What the limit says to the total.
    pub verdict: Verdict,
    /// There was no room for the counter, and requests pass without it.
    pub untracked: bool,
    /// Whether the counter is stored as `change` says.
    stores: bool,
    change: Change<'a>,
}

/// A decision about several counters.
pub(super) struct Joint<'a> {
    table: &'a Table,
    clock: &'a Clock,
    on_full: OnFull,
    pub parts: ArrayVec<Part<'a>, MAX_CHANGES>,
    /// Whether a rule of a request is `deny`.
    pub denied: ArrayVec<bool, MAX_REQUESTS>,
    /// The request for which there was no room, and how long to wait for some.
    pub full: Option<(usize, u64)>,
    /// When it was decided.
    pub now: u64,
}

impl<'a> Joint<'a> {
    /// Inlined, since a move would copy the room for all parts.
    #[inline(always)]
    pub fn new(table: &'a Table, clock: &'a Clock, on_full: OnFull) -> Joint<'a> {
        Joint {
            table,
            clock,
            on_full,
            parts: ArrayVec::new(),
            denied: ArrayVec::new(),
            full: None,
            now: 0,
        }
    }

    /// Takes the requests in, and finds their counters.
    #[inline(always)]
    pub fn meet(&mut self, requests: &[Met<'a>]) {
        for (request, met) in requests.iter().enumerate() {
            self.denied.try_push(met.is_denied()).unwrap_or(());
            for limit in met.limits() {
                let part = Part::new(request, met, limit, self.table);
                // They all fit: `Config::validate` sees to it.
                self.parts.try_push(part).unwrap_or(());
            }
        }
    }

    /// Decides, carries that out, and says whether all is allowed.
    #[inline(always)]
    pub fn decide(&mut self, mut time: Time, mode: Mode) -> bool {
        let mut backoff = Backoff::new();
        loop {
            self.now = self.read(time);
            let (allowed, stepped_back) = self.evaluate(mode);
            if matches!(time, Time::At(_)) && stepped_back {
                // A counter is ahead of an old reading: that shows nothing of the clock.
                time = Time::Now;
                self.find();
                continue;
            }
            // What several requests met, they met at one instant. One that is refused need
            // not wait for the traffic on counters that would have let it pass.
            let whole = mode == Mode::Look || self.is_of_several();
            self.choose(allowed, mode);
            match self.settle(whole) {
                Ok(()) => return allowed,
                Err(NotStored::Changed) => backoff.pause(),
                Err(NotStored::Full(full)) => {
                    let mut stored = self.parts.iter_mut().filter(|part| part.stores);
                    let Some(part) = stored.nth(full.index) else {
                        return false;
                    };
                    if self.on_full != OnFull::Allow {
                        self.full = Some((part.request, full.wait_ns));
                        return false;
                    }
                    part.untracked = true;
                }
            }
            self.find();
        }
    }

    /// Finds all counters anew, to start over.
    #[cold]
    fn find(&mut self) {
        for part in &mut self.parts {
            part.change.found = self.table.find(part.change.key);
            part.before = 0;
        }
    }

    /// The time, which is to be read after the counters have been found.
    fn read(&self, time: Time) -> u64 {
        match time {
            Time::Now => self.clock.now_ns(),
            Time::At(now) => now,
        }
    }

    /// Whether several requests are decided, which may meet in one counter. The limits of
    /// a single one never do: their tags differ.
    fn is_of_several(&self) -> bool {
        self.denied.len() > 1
    }

    /// Asks each limit as if it were alone. Whether all is allowed, and whether a counter
    /// is ahead of the clock.
    fn evaluate(&mut self, mode: Mode) -> (bool, bool) {
        let several = self.is_of_several();
        let (mut allowed, mut stepped_back) = (!self.denied.contains(&true), false);
        let mut parts = self.parts.as_mut_slice();
        while let Some((part, later)) = parts.split_first_mut() {
            part.evaluate(self.table, self.now, mode);
            allowed &= !part.refuses();
            stepped_back |= part.verdict.stepped_back;
            if several && (part.verdict.allowed || mode == Mode::Charge) {
                part.add_to(later);
            }
            parts = later;
        }
        (allowed, stepped_back)
    }

    /// Chooses which counters are stored.
    fn choose(&mut self, allowed: bool, mode: Mode) {
        for part in &mut self.parts {
            part.stores = !part.untracked && part.stores(allowed, mode);
        }
        if self.is_of_several() {
            self.merge(mode);
        }
    }

    /// Of those that meet in one counter the last that is charged has the cost of all.
    #[cold]
    fn merge(&mut self, mode: Mode) {
        let rank = |index, part: &Part<'_>| (mode == Mode::Charge || part.verdict.allowed, index);
        for index in 0..self.parts.len() {
            let Some(part) = self.parts.get(index) else {
                return;
            };
            let mut others = self.parts.iter().enumerate();
            let is_merged = others.any(|(other, of)| {
                of.change.key == part.change.key && of.stores && rank(other, of) > rank(index, part)
            });
            if let Some(part) = self.parts.get_mut(index) {
                part.stores &= !is_merged;
            }
        }
    }

    /// Stores what was chosen, and makes sure of what refuses, or of all that was not.
    #[inline(always)]
    fn settle(&mut self, whole: bool) -> Result<(), NotStored> {
        let terms = Terms {
            now: self.now,
            evict: self.on_full == OnFull::Evict,
        };
        let mut changes: ArrayVec<&mut Change<'_>, MAX_CHANGES> = ArrayVec::new();
        for part in &mut self.parts {
            if part.stores {
                changes.try_push(&mut part.change).unwrap_or(());
            } else if whole || part.refuses() {
                self.table.keep(part.change.found)?;
            }
        }
        self.table.store_all(&mut changes, terms)
    }

    /// Gives the costs back to the counters that there are.
    pub fn refund(&mut self) {
        let mut backoff = Backoff::new();
        loop {
            self.now = self.clock.now_ns();
            for part in &mut self.parts {
                part.stores = part.change.found.exists();
                part.refund(self.table, self.now);
            }
            match self.settle(true) {
                // What exists always has room.
                Ok(()) | Err(NotStored::Full(_)) => return,
                Err(NotStored::Changed) => backoff.pause(),
            }
            self.find();
        }
    }

    /// Forgets the counters that are the pair's own.
    pub fn reset(&self) {
        for part in self.parts.iter().filter(|part| part.limit.tag.is_of_pair()) {
            while self.table.forget(self.table.find(part.change.key)).is_err() {}
        }
    }
}

impl<'a> Part<'a> {
    #[inline(always)]
    fn new(request: usize, met: &Met<'a>, limit: &'a Limited, table: &'a Table) -> Part<'a> {
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
    fn add_to(&self, later: &mut [Part<'_>]) {
        let same = later
            .iter_mut()
            .filter(|part| part.change.key == self.change.key);
        same.for_each(|part| part.before = part.before.saturating_add(self.cost));
    }

    /// Asks the limit.
    #[inline(always)]
    fn evaluate(&mut self, table: &Table, now: u64, mode: Mode) {
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
    fn refund(&mut self, table: &Table, now: u64) {
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
    fn stores(&self, allowed: bool, mode: Mode) -> bool {
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
