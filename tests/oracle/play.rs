//! Asks a model and a service the same, and compares all that they say.

use num_bigint::BigInt;
use proptest::prelude::*;
use proptest::test_runner::TestCaseResult;
use rl::clock::Clock;
use rl::config::Config;
use rl::service::{Decision, NEVER, Request, Service};

use crate::rules::Rule;
use crate::steps::{MAX_NS, Step};
use crate::{Answer, Model, exact};

const NS_PER_MS: u64 = 1_000_000;

/// A service with one rule and a manual clock.
pub struct Desk {
    pub clock: Clock,
    service: Service,
}

impl Desk {
    pub fn new(rule: &Rule) -> Desk {
        let clock = Clock::manual(0);
        let mut config = Config::new();
        config.set(b"default", rule.text().as_bytes()).unwrap();
        config.set(b"memory", b"16k").unwrap();
        config.set_clock(clock.clone());
        Desk {
            clock,
            service: Service::new(&config).unwrap(),
        }
    }

    pub fn check(&self, now: u64, cost: u64) -> Decision {
        self.clock.set_ns(now).unwrap();
        self.service.check(request(cost)).unwrap()
    }

    pub fn peek(&self, now: u64, cost: u64) -> Decision {
        self.clock.set_ns(now).unwrap();
        self.service.peek(request(cost)).unwrap()
    }

    pub fn charge(&self, now: u64, cost: u64) -> Decision {
        self.clock.set_ns(now).unwrap();
        self.service.charge(request(cost)).unwrap()
    }

    pub fn refund(&self, now: u64, cost: u64) {
        self.clock.set_ns(now).unwrap();
        self.service.refund(request(cost)).unwrap();
    }

    pub fn reset(&self) {
        let Request { user, api, .. } = request(1);
        self.service.reset(user, api).unwrap();
    }
}

fn request(cost: u64) -> Request<'static> {
    Request {
        user: b"alice",
        api: b"/orders",
        cost,
    }
}

/// A model and a service in step with each other.
pub struct Play<M> {
    rule: Rule,
    desk: Desk,
    model: M,
    now: u64,
    last: Decision,
}

impl<M: Model> Play<M> {
    pub fn new(rule: Rule, start: u64) -> Play<M> {
        Play {
            desk: Desk::new(&rule),
            model: M::new(&rule),
            now: start,
            last: Decision::default(),
            rule,
        }
    }

    pub fn run(mut self, steps: &[Step]) -> TestCaseResult {
        steps.iter().try_for_each(|step| self.step(step))
    }

    fn step(&mut self, step: &Step) -> TestCaseResult {
        let Decision {
            retry_after_ms,
            remaining,
            ..
        } = self.last;
        self.now = step.go.from(self.now, &self.rule, retry_after_ms);
        let cost = step.cost.of(&self.rule, remaining);
        let peeked = self.desk.peek(self.now, cost);
        let got = self.desk.check(self.now, cost);
        let expected = self.model.check(self.now, cost);
        prop_assert_eq!(peeked, got, "a peek answers as a check would");
        self.compare(&got, &expected, cost)?;
        if !got.allowed {
            self.compare_hint(got.retry_after_ms, cost)?;
        }
        self.last = got;
        Ok(())
    }

    fn compare(&self, got: &Decision, expected: &Answer, cost: u64) -> TestCaseResult {
        let place = format!("cost {cost} at {}, {expected:?}", self.now);
        prop_assert_eq!(got.allowed, expected.allowed, "allowed: {}", &place);
        prop_assert_eq!(
            BigInt::from(got.remaining),
            expected.remaining.floor().to_integer(),
            "remaining: {}",
            &place
        );
        let reset_ms = &expected.reset_ns / exact(NS_PER_MS);
        prop_assert_eq!(
            BigInt::from(got.reset_after_ms),
            reset_ms.ceil().to_integer(),
            "reset: {}",
            &place
        );
        prop_assert_eq!(got.limit, self.rule.capacity());
        prop_assert_eq!(got.allowed, got.retry_after_ms == 0, "hint: {}", &place);
        Ok(())
    }

    /// Waiting as long as the hint says passes, a millisecond less does not; says
    /// the model, and so does the service.
    fn compare_hint(&self, hint_ms: u64, cost: u64) -> TestCaseResult {
        let can_pass = cost <= self.rule.capacity();
        prop_assert_eq!(hint_ms != NEVER, can_pass, "cost {}", cost);
        if !can_pass {
            return Ok(());
        }
        for (wait_ms, passes) in [(hint_ms, true), (hint_ms - 1, false)] {
            let then = u128::from(self.now) + u128::from(wait_ms) * u128::from(NS_PER_MS);
            let Some(then) = u64::try_from(then).ok().filter(|&then| then <= MAX_NS) else {
                continue;
            };
            let place = format!("cost {cost} at {} waits {wait_ms} ms", self.now);
            let modelled = self.model.clone().check(then, cost).allowed;
            prop_assert_eq!(modelled, passes, "model: {}", &place);
            let allowed = self.desk.peek(then, cost).allowed;
            prop_assert_eq!(allowed, passes, "service: {}", &place);
        }
        Ok(())
    }
}
