//! A list of what passed and when. What is younger than a window counts. Times are
//! whole ticks, rounded up.

use crate::rules::Rule;
use crate::{Answer, Model, SKEW_NS, exact};

/// So many expired entries are dropped by a refusal too, which else changes nothing.
const DROPPED_AT: usize = 16;

#[derive(Clone)]
pub struct SlidingLog {
    limit: u64,
    window: u64,
    tick: u64,
    /// Oldest first: the time in ticks, and the cost.
    passed: Vec<(u64, u64)>,
}

impl SlidingLog {
    fn ticks(&self, ns: u64) -> u64 {
        ns.div_ceil(self.tick)
    }

    /// How many of the oldest entries no longer count.
    fn expired(&self, now: u64) -> usize {
        let counts = |tick: u64| tick * self.tick + self.window > now;
        self.passed.partition_point(|&(tick, _)| !counts(tick))
    }

    fn newest(&self) -> u64 {
        self.passed.last().map_or(0, |&(tick, _)| tick)
    }

    fn log(&mut self, tick: u64, cost: u64) {
        match self.passed.last_mut() {
            Some((last, sum)) if *last == tick => *sum += cost,
            _ => self.passed.push((tick, cost)),
        }
    }

    /// The clock was set back: all that is logged counts as if it had passed now.
    fn set_back(&mut self, tick: u64) {
        let sum = self.passed.iter().map(|(_, cost)| cost).sum::<u64>();
        self.passed = vec![(tick, sum)];
    }
}

impl Model for SlidingLog {
    fn new(rule: &Rule) -> SlidingLog {
        let tick_ms = 1..;
        let ticks_fit = |ms: &u64| ms * 1_000_000 * (1 << 31) >= rule.window_ns();
        SlidingLog {
            limit: rule.limit,
            window: rule.window_ns(),
            tick: if rule.window_ms < 1000 {
                1000
            } else {
                { tick_ms }.find(ticks_fit).unwrap() * 1_000_000
            },
            passed: Vec::new(),
        }
    }

    fn check(&mut self, now: u64, cost: u64) -> Answer {
        let tick = self.ticks(now);
        if self.newest() > tick + self.ticks(SKEW_NS) {
            self.set_back(tick);
        }
        let expired = self.expired(now);
        let live = self.passed[expired..].iter().map(|(_, cost)| cost);
        let left = self.limit.saturating_sub(live.sum());
        let allowed = cost <= left;
        let all_expired = expired == self.passed.len();
        let tick = tick.max(self.newest());
        if allowed || (expired >= DROPPED_AT && !all_expired) {
            self.passed.drain(..expired);
        }
        if allowed {
            self.log(tick, cost);
        }
        let last = self.passed.last().filter(|_| allowed || !all_expired);
        Answer {
            allowed,
            remaining: exact(if allowed { left - cost } else { left }),
            reset_ns: last.map_or(exact(0), |&(tick, _)| {
                exact(tick) * exact(self.tick) + exact(self.window) - exact(now)
            }),
        }
    }

    fn reload(&mut self, rule: &Rule) {
        self.limit = rule.limit;
    }
}
