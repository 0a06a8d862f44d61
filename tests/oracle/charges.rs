//! Costs that are charged after the fact and given back, whatever the algorithm.

use proptest::prelude::*;
use proptest::test_runner::TestCaseResult;

use crate::config;
use crate::play::Desk;
use crate::rules::{self, Rule, magnitude};
use crate::steps::{self, MAX_NS, Step};

/// A service with a past.
struct Past {
    rule: Rule,
    desk: Desk,
    now: u64,
}

/// Checks, charges and refunds.
#[derive(Clone, Debug)]
enum Call {
    Check,
    Charge,
    Refund,
}

fn calls() -> impl Strategy<Value = Vec<(Step, Call)>> {
    let call = prop_oneof![
        3 => Just(Call::Check),
        1 => Just(Call::Charge),
        1 => Just(Call::Refund),
    ];
    let step = (steps::go(), steps::cost()).prop_map(|(go, cost)| Step { go, cost });
    prop::collection::vec((step, call), 0..30)
}

fn past() -> impl Strategy<Value = Past> {
    let past = (rules::any_algorithm(), steps::start(), calls());
    past.prop_map(|(rule, start, calls)| {
        let desk = Desk::new(&rule);
        let (mut now, mut last) = (start, desk.peek(start, 1));
        for (Step { go, cost }, call) in calls {
            now = go.from(now, &rule, last.retry_after_ms);
            let cost = cost.of(&rule, last.remaining);
            match call {
                Call::Check => last = desk.check(now, cost),
                Call::Charge => last = desk.charge(now, cost),
                Call::Refund => desk.refund(now, cost),
            }
        }
        Past { rule, desk, now }
    })
}

impl std::fmt::Debug for Past {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let seen = self.desk.peek(self.now, 1);
        write!(f, "{:?} at {}: {seen:?}", self.rule, self.now)
    }
}

impl Past {
    /// What could be taken at once.
    fn left(&self) -> u64 {
        let seen = self.desk.peek(self.now, 1);
        seen.remaining + u64::from(seen.allowed)
    }

    /// Waiting as long as a hint says passes, a millisecond less does not.
    fn is_tight(&self, hint_ms: u64) -> TestCaseResult {
        for (wait_ms, passes) in [(hint_ms, true), (hint_ms - 1, false)] {
            let then = u128::from(self.now) + u128::from(wait_ms) * 1_000_000;
            let Some(then) = u64::try_from(then).ok().filter(|&then| then <= MAX_NS) else {
                continue;
            };
            let allowed = self.desk.peek(then, 1).allowed;
            prop_assert_eq!(allowed, passes, "{:?} after {} ms", self, wait_ms);
        }
        Ok(())
    }

    /// The longest that a cost of 1 ever has to wait for a clock that runs on: what a
    /// bucket owes is one window's worth, and a token more takes its time.
    fn longest_wait_ms(&self) -> u64 {
        let window = self.rule.window_ms;
        match self.rule.algorithm {
            // Rounded up twice, and clocks that differ a little.
            "token-bucket" => window + window / self.rule.limit + 2,
            "sliding-window-counter" => 2 * window + 1,
            // A tick more, and clocks that differ by as much as that.
            "sliding-window" => window + 2 * window.div_ceil(1 << 31) + 1,
            _ => window + 1,
        }
    }

    /// A cost that a charge takes in full, from whatever is left or from more.
    fn full_cost(&self, cost: u64) -> u64 {
        let most = match self.rule.algorithm {
            "token-bucket" => self.rule.limit,
            "fixed-window" => 1 << 60,
            _ => 1 << 20,
        };
        1 + cost % most
    }
}

fn cost() -> impl Strategy<Value = u64> {
    prop_oneof![1..=3u64, magnitude(u64::MAX)]
}

proptest! {
    #![proptest_config(config(1500))]

    #[test]
    fn what_is_charged_and_given_back_leaves_no_trace(past in past(), cost in cost()) {
        let cost = past.full_cost(cost);
        let before = past.desk.peek(past.now, 1);
        if !before.allowed {
            // What was overcharged may have come to an end of what can be counted.
            return Ok(());
        }
        past.desk.charge(past.now, cost);
        past.desk.refund(past.now, cost);
        let after = past.desk.peek(past.now, 1);
        prop_assert_eq!(before, after, "a cost of {}", cost);
    }

    /// A bucket pays back what it owes.
    #[test]
    fn a_bucket_that_owes_less_than_a_window_can_be_given_back_all(
        rule in rules::token_bucket(), start in steps::start(), part in 0..=8u64,
    ) {
        let desk = Desk::new(&rule);
        let cost = (rule.limit / 8 * part).max(1);
        let before = desk.check(start, rule.capacity());
        desk.charge(start, cost);
        desk.refund(start, cost);
        let after = desk.check(start, rule.capacity() + 1);
        prop_assert_eq!(before.remaining, after.remaining);
        prop_assert_eq!(before.reset_after_ms, after.reset_after_ms, "a cost of {}", cost);
    }

    #[test]
    fn what_was_used_can_be_given_back_and_charged_again(past in past(), cost in cost()) {
        let left = past.left();
        // A part of a token in use is not a token, and what the last window of a
        // sliding counter gives back is no whole number.
        let used = (past.rule.capacity() - left).saturating_sub(1);
        if used == 0 || past.rule.algorithm == "sliding-window-counter" {
            return Ok(());
        }
        let cost = 1 + cost % used;
        if past.left() > 0 {
            past.desk.refund(past.now, cost);
            prop_assert_eq!(past.left(), left + cost);
            past.desk.charge(past.now, cost);
            prop_assert_eq!(past.left(), left);
        }
    }

    #[test]
    fn a_charge_tells_whether_it_fitted_and_when_one_will(past in past(), cost in cost()) {
        let left = past.left();
        let charged = past.desk.charge(past.now, cost);
        prop_assert_eq!(charged.allowed, cost <= left);
        if charged.allowed {
            prop_assert_eq!(past.left(), left - cost);
            return Ok(());
        }
        prop_assert_eq!(past.left(), 0);
        prop_assert!(charged.retry_after_ms <= past.longest_wait_ms(), "{:?}", charged);
        prop_assert_eq!(charged.retry_after_ms, past.desk.peek(past.now, 1).retry_after_ms);
        past.is_tight(charged.retry_after_ms)?;
        let reset_ms = past.desk.peek(past.now, 1).reset_after_ms;
        prop_assert_eq!(charged.reset_after_ms, reset_ms);
    }

    #[test]
    fn nothing_is_given_back_beyond_full(past in past(), cost in cost()) {
        let left = past.left();
        past.desk.refund(past.now, cost);
        prop_assert!(past.left() >= left, "{} after {}", past.left(), left);
        past.desk.refund(past.now, u64::MAX);
        prop_assert_eq!(past.left(), past.rule.capacity());
        prop_assert!(past.desk.check(past.now, past.rule.capacity()).allowed);
        prop_assert!(!past.desk.check(past.now, 1).allowed);
    }

    #[test]
    fn a_reset_is_a_new_beginning(past in past()) {
        past.desk.reset();
        let new = Desk::new(&past.rule).check(past.now, 1);
        prop_assert_eq!(past.desk.check(past.now, 1), new);
    }
}
