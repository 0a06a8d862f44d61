//! Time is cut into windows from 0 on; in each, costs up to the limit pass.

use crate::rules::Rule;
use crate::{Answer, Model, SKEW_NS, exact};

#[derive(Clone)]
pub struct FixedWindow {
    limit: u64,
    length: u64,
    /// What was counted last: the end of its window, and the sum of its costs.
    end: u64,
    count: u64,
}

impl FixedWindow {
    /// What was counted, as it stands at `now`.
    fn at(&self, now: u64) -> FixedWindow {
        let mut of_now = self.clone();
        if self.end <= now {
            let begin = now / self.length * self.length;
            (of_now.end, of_now.count) = (begin + self.length, 0);
        } else if self.end > now + self.length + SKEW_NS {
            // The clock was set back: what was counted counts for a whole window.
            of_now.end = now + self.length;
        }
        of_now
    }
}

impl Model for FixedWindow {
    fn new(rule: &Rule) -> FixedWindow {
        FixedWindow {
            limit: rule.limit,
            length: rule.window_ns(),
            end: 0,
            count: 0,
        }
    }

    fn check(&mut self, now: u64, cost: u64) -> Answer {
        let mut of_now = self.at(now);
        let set_back = of_now.end < self.end;
        let allowed = cost <= self.limit.saturating_sub(of_now.count);
        if allowed {
            of_now.count += cost;
        }
        if allowed || set_back {
            self.clone_from(&of_now);
        }
        Answer {
            allowed,
            remaining: exact(self.limit.saturating_sub(of_now.count)),
            reset_ns: if of_now.count == 0 {
                exact(0)
            } else {
                exact(of_now.end) - exact(now)
            },
        }
    }

    fn reload(&mut self, rule: &Rule) {
        self.limit = rule.limit;
    }
}
