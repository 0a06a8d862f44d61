//! Time is cut into windows from 0 on. A window's costs count in full, and those of
//! the window before by the part of it that the last `length` ns still cover.

use num_rational::BigRational;

use crate::rules::Rule;
use crate::{Answer, Model, SKEW_NS, exact};

#[derive(Clone)]
pub struct SlidingCounter {
    limit: u64,
    length: u64,
    /// What was counted last: the window's number, the sum of its costs, and that
    /// of the window before.
    window: u64,
    count: u64,
    before: u64,
}

impl SlidingCounter {
    /// The same counts as they stand in the window of `now`.
    fn at(&self, now: u64) -> SlidingCounter {
        let window = now / self.length;
        let (count, before) = match window.saturating_sub(self.window) {
            0 => (self.count, self.before),
            1 => (0, self.count),
            _ => (0, 0),
        };
        SlidingCounter {
            window: window.max(self.window),
            count,
            before,
            ..*self
        }
    }

    fn begin(&self) -> u64 {
        self.window * self.length
    }

    /// The clock was set back: all that was counted counts as this window's.
    fn set_back(&mut self, now: u64) {
        self.window = now / self.length;
        self.count = self.limit.min(self.count + self.before);
        self.before = 0;
    }

    fn used(&self, now: u64) -> BigRational {
        let since_begin = now.saturating_sub(self.begin());
        let covered = exact(self.length - since_begin) / exact(self.length);
        exact(self.before) * covered + exact(self.count)
    }

    fn idle_in(&self, now: u64) -> BigRational {
        let windows = match (self.count, self.before) {
            (0, 0) => return exact(0),
            (0, _) => 1,
            _ => 2,
        };
        exact(self.begin()) + exact(windows) * exact(self.length) - exact(now)
    }
}

impl Model for SlidingCounter {
    fn new(rule: &Rule) -> SlidingCounter {
        SlidingCounter {
            limit: rule.limit,
            length: rule.window_ns(),
            window: 0,
            count: 0,
            before: 0,
        }
    }

    fn check(&mut self, now: u64, cost: u64) -> Answer {
        if self.begin() > now + SKEW_NS {
            self.set_back(now);
        }
        let mut of_now = self.at(now);
        let allowed = of_now.used(now) + exact(cost) <= exact(self.limit);
        if allowed {
            of_now.count += cost;
            self.clone_from(&of_now);
        }
        Answer {
            allowed,
            remaining: (exact(self.limit) - of_now.used(now)).max(exact(0)),
            reset_ns: of_now.idle_in(now),
        }
    }

    fn reload(&mut self, rule: &Rule) {
        self.limit = rule.limit;
    }
}
