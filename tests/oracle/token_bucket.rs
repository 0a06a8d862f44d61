//! A bucket that holds up to `capacity` tokens and gains `limit` of them a window,
//! evenly. It starts full. A request takes its cost if so much is there.

use num_rational::BigRational;

use crate::rules::Rule;
use crate::{Answer, Model, SKEW_NS, exact};

#[derive(Clone)]
pub struct TokenBucket {
    capacity: BigRational,
    /// Tokens a nanosecond.
    rate: BigRational,
    /// What was in the bucket, and when.
    level: BigRational,
    at: u64,
}

impl TokenBucket {
    /// Between two readings of the clock the level follows the clock both ways.
    fn level_at(&self, now: u64) -> BigRational {
        let gained = (exact(now) - exact(self.at)) * &self.rate;
        (&self.level + gained).min(self.capacity.clone())
    }

    /// An empty bucket fills in so many ns; one that needs longer, on clocks that
    /// show whole ns and differ a little, shows that the clock was set back.
    fn lies_ahead(&self, level: &BigRational) -> bool {
        let longest = (&self.capacity / &self.rate).floor() + exact(1) + exact(SKEW_NS);
        self.time_to_fill(level).ceil() > longest
    }

    fn time_to_fill(&self, level: &BigRational) -> BigRational {
        (&self.capacity - level) / &self.rate
    }
}

impl Model for TokenBucket {
    fn new(rule: &Rule) -> TokenBucket {
        let capacity = exact(rule.capacity());
        TokenBucket {
            level: capacity.clone(),
            capacity,
            rate: exact(rule.limit) / exact(rule.window_ns()),
            at: 0,
        }
    }

    fn check(&mut self, now: u64, cost: u64) -> Answer {
        let mut level = self.level_at(now);
        if self.lies_ahead(&level) {
            level = exact(0);
            (self.level, self.at) = (level.clone(), now);
        }
        let allowed = level >= exact(cost);
        if allowed {
            level -= exact(cost);
            (self.level, self.at) = (level.clone(), now);
        }
        Answer {
            allowed,
            reset_ns: self.time_to_fill(&level),
            remaining: level.max(exact(0)),
        }
    }

    /// The bucket is full at the same instant as before.
    fn reload(&mut self, rule: &Rule) {
        let to_fill = self.time_to_fill(&self.level);
        let of_rule = TokenBucket::new(rule);
        self.level = &of_rule.capacity - to_fill * &of_rule.rate;
        (self.capacity, self.rate) = (of_rule.capacity, of_rule.rate);
    }
}
