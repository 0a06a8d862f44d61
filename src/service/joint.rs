//! One decision about several counters: find them all, read the clock, decide all,
//! and store all or none; or start over, if somebody has changed one in between.
//!
//! A request meets the limits of its rules, and several requests may be decided
//! together. A limit refuses, and then nothing is taken from any counter; or it is
//! in shadow mode and only says that it would. Costs that meet in one counter add up.

use arrayvec::ArrayVec;

use super::attempt::Time;
use super::{Request, Rules};
use crate::algorithm::{Ask, Decide, Edit, State, Verdict};
use crate::clock::Clock;
use crate::config::OnFull;
use crate::hash::{Key, Names};
use crate::rule::book::{Limited, Matching, Plan};
use crate::table::{Backoff, Change, Found, Full, MAX_CHANGES, NotStored, Table, Terms};

/// The requests that can be decided together.
pub(super) const MAX_REQUESTS: usize = 8;

/// A request with the rules that apply to it.
pub(super) struct Met<'b> {
    pub names: Names,
    pub rules: Matching<'b>,
    pub cost: u64,
}

impl<'b> Met<'b> {
    pub fn new(rules: &'b Rules, names: Names, request: Request<'_>) -> Met<'b> {
        let Request { user, api, cost } = request;
        let rules = rules.book.matching(names, user, api);
        Met { names, rules, cost }
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
    key: Key,
    cost: u64,
    found: Found<'a>,
    edit: Option<Edit>,
    /// What requests before it take from the same counter.
    before: u64,
    /// The cost, and those before it that meet in the same counter.
    pub total: u64,
    /// What the limit says to the total.
    pub verdict: Verdict,
    /// There was no room for the counter, and requests pass without it.
    pub untracked: bool,
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
    pub fn meet(&mut self, requests: &[Met<'a>]) {
        for (request, met) in requests.iter().enumerate() {
            let plans = || met.rules.iter().map(|entry| &entry.plan);
            let denied = plans().any(|plan| matches!(plan, Plan::Deny));
            self.denied.try_push(denied).unwrap_or(());
            let limits = plans().filter_map(Plan::limits).flatten();
            limits.for_each(|limit| self.add(request, met, limit));
        }
    }

    fn add(&mut self, request: usize, met: &Met<'a>, limit: &'a Limited) {
        let key = met.names.key(limit.tag);
        let part = Part {
            limit,
            request,
            key,
            cost: met.cost,
            found: self.table.find(key),
            edit: None,
            before: 0,
            total: 0,
            verdict: Verdict::default(),
            untracked: false,
        };
        // They all fit: `Config::validate` sees to it.
        self.parts.try_push(part).unwrap_or(());
    }

    /// Decides, carries that out, and says whether all is allowed.
    pub fn decide(&mut self, mut time: Time, mode: Mode) -> bool {
        let mut backoff = Backoff::new();
        loop {
            let now = self.read(time);
            self.now = now;
            (0..self.parts.len()).for_each(|index| self.evaluate(index, now, mode));
            let stepped_back = |part: &Part<'_>| part.verdict.stepped_back;
            if matches!(time, Time::At(_)) && self.parts.iter().any(stepped_back) {
                // A counter is ahead of an old reading: that shows nothing of the clock.
                time = Time::Now;
                self.find();
                continue;
            }
            let allowed = !self.denied.contains(&true) && !self.parts.iter().any(Part::refuses);
            match self.settle(allowed, now, mode) {
                Ok(()) => return allowed,
                Err(NotStored::Changed) => backoff.pause(),
                Err(NotStored::Full(full)) => {
                    let Some(part) = self.parts.get_mut(full.index) else {
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

    /// Finds all counters anew.
    fn find(&mut self) {
        for part in &mut self.parts {
            part.found = self.table.find(part.key);
        }
    }

    /// The time, which is to be read after the counters have been found.
    fn read(&self, time: Time) -> u64 {
        match time {
            Time::Now => self.clock.now_by(self.table.anchor()),
            Time::At(now) => now,
        }
    }

    fn evaluate(&mut self, index: usize, now: u64, mode: Mode) {
        let (before, rest) = self.parts.split_at_mut(index);
        let Some(part) = rest.first_mut() else {
            return;
        };
        let same = before.iter().filter(|earlier| {
            earlier.key == part.key && (earlier.verdict.allowed || mode == Mode::Charge)
        });
        part.before = same.fold(0, |sum, earlier| sum.saturating_add(earlier.cost));
        part.total = part.before.saturating_add(part.cost);
        let (table, found) = (self.table, part.found);
        let log = || table.log(&found);
        let ask = Ask {
            state: found.state,
            now,
            cost: part.total,
        };
        part.edit = None;
        let counter = &part.limit.counter;
        part.verdict = match mode {
            Mode::Charge => counter.charge(ask, log, &mut part.edit),
            _ => counter.decide(ask, log, &mut part.edit),
        };
    }

    /// Stores what was decided, and makes sure of what was not stored.
    fn settle(&self, allowed: bool, now: u64, mode: Mode) -> Result<(), NotStored> {
        let stores = |part: &Part<'_>| match mode {
            Mode::Look => false,
            Mode::Charge => !part.untracked,
            // Of a refusal only what it mends in a counter is stored, no cost.
            Mode::Take => {
                part.verdict.changes && !part.untracked && (allowed || !part.verdict.allowed)
            }
        };
        // What several requests met, they met at one instant. One that is refused need
        // not wait for the traffic on counters that would have let it pass.
        let whole = mode == Mode::Look || self.denied.len() > 1;
        let mut changes: ArrayVec<Change<'_>, MAX_CHANGES> = ArrayVec::new();
        let mut indices: ArrayVec<usize, MAX_CHANGES> = ArrayVec::new();
        // Of those that meet in one counter the last that is charged has the cost of all.
        let rank = |index, part: &Part<'_>| (mode == Mode::Charge || part.verdict.allowed, index);
        for (index, part) in self.parts.iter().enumerate() {
            let same = |(other, of): (usize, &Part<'_>)| {
                of.key == part.key && stores(of) && rank(other, of) > rank(index, part)
            };
            if !stores(part) {
                if whole || part.refuses() {
                    self.table.keep(part.found)?;
                }
            } else if !self.parts.iter().enumerate().any(same) {
                changes
                    .try_push(part.change(part.verdict.next))
                    .unwrap_or(());
                indices.try_push(index).unwrap_or(());
            }
        }
        let stored = self.table.store_all(&mut changes, self.terms(now));
        stored.map_err(|error| match error {
            NotStored::Full(full) => NotStored::Full(Full {
                index: indices.get(full.index).copied().unwrap_or(full.index),
                ..full
            }),
            NotStored::Changed => NotStored::Changed,
        })
    }

    /// Gives the costs back to the counters that there are.
    pub fn refund(&mut self) {
        let mut backoff = Backoff::new();
        loop {
            let now = self.read(Time::Now);
            let mut changes: ArrayVec<Change<'_>, MAX_CHANGES> = ArrayVec::new();
            for part in &mut self.parts {
                if !part.found.exists() {
                    continue;
                }
                let (table, found) = (self.table, part.found);
                let log = || table.log(&found);
                let ask = Ask {
                    state: found.state,
                    now,
                    cost: part.cost,
                };
                let counter = &part.limit.counter;
                part.edit = None;
                let (next, left) = counter.refund(ask, log, &mut part.edit);
                part.verdict.remaining = left;
                changes.try_push(part.change(next)).unwrap_or(());
            }
            match self.table.store_all(&mut changes, self.terms(now)) {
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
            while self.table.forget(self.table.find(part.key)).is_err() {}
        }
    }

    fn terms(&self, now: u64) -> Terms {
        Terms {
            now,
            evict: self.on_full == OnFull::Evict,
        }
    }
}

impl<'a> Part<'a> {
    /// Whether the limit refuses; one in shadow mode never does.
    pub fn refuses(&self) -> bool {
        !self.verdict.allowed && !self.limit.shadow && !self.untracked
    }

    fn change(&self, next: State) -> Change<'a> {
        Change {
            key: self.key,
            found: self.found,
            next,
            weight: self.limit.scale.weight(self.verdict.remaining),
            edit: self.edit,
        }
    }

    /// How long until the counter is as good as new, if the costs are taken or not.
    pub fn reset_ns(&self, taken: bool, now: u64) -> u64 {
        match taken || self.verdict.stepped_back {
            true => self.verdict.reset_ns,
            false => self.found.state.idle_at.saturating_sub(now),
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
