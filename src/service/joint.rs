//! One decision about several counters: find them all, read the clock, decide all,
//! and store all or none; or start over, if somebody has changed one in between.
//!
//! A request meets the limits of its rules, and several requests may be decided
//! together. A limit refuses, and then nothing is taken from any counter; or it is
//! in shadow mode and only says that it would. Costs that meet in one counter add up.

use arrayvec::ArrayVec;

use super::attempt::Time;
use super::part::Part;
use super::{Request, Rules};
use crate::clock::Clock;
use crate::config::OnFull;
use crate::hash::Names;
use crate::rule::book::{Entry, Limited, Matching, Plan};
use crate::table::{Backoff, Change, Full, MAX_CHANGES, NoneStored, NotStored, Table, Terms};

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
            None => rules.book.matching(user, api),
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
            let Err(NoneStored { why, index }) = self.settle(whole) else {
                return allowed;
            };
            match why {
                NotStored::Changed => backoff.pause(),
                NotStored::Full(Full { wait_ns }) => {
                    let mut stored = self.parts.iter_mut().filter(|part| part.stores);
                    let Some(part) = stored.nth(index) else {
                        return false;
                    };
                    if self.on_full != OnFull::Allow {
                        self.full = Some((part.request, wait_ns));
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
            Time::Now => self.clock.now_by(self.table.anchor()),
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
    fn settle(&mut self, whole: bool) -> Result<(), NoneStored> {
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
            self.now = self.read(Time::Now);
            for part in &mut self.parts {
                part.stores = part.change.found.exists();
                part.refund(self.table, self.now);
            }
            // What exists always has room.
            let changed = NotStored::Changed.into();
            if self.settle(true) != Err(changed) {
                return;
            }
            backoff.pause();
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
