//! Each algorithm against a model written from its definition in exact rational
//! arithmetic, alone and several in one decision, and what is promised when the
//! clock is set back, when costs are charged and given back, and at a reload.
//!
//! The models know nothing of how the library counts: the token bucket is a level
//! that rises, the log a list. They are asked the same as a service, under random
//! rules, times and costs, and must answer the same.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic
)]

mod charges;
mod clock_steps;
mod fixed_window;
mod joint;
mod play;
mod reload;
mod rules;
mod sliding_counter;
mod sliding_log;
mod steps;
mod together;
mod token_bucket;

use num_bigint::BigInt;
use num_rational::BigRational;
use proptest::prelude::*;
use proptest::test_runner::TestCaseResult;

use rules::Rule;
use steps::Step;

/// By how much a counter may lie in the future before the clock counts as set
/// back: 0.1 ms.
const SKEW_NS: u64 = 100_000;

/// What a model answers.
#[derive(Clone, Debug)]
pub(crate) struct Answer {
    pub allowed: bool,
    /// What is left after this check; as a whole number it is rounded down.
    pub remaining: BigRational,
    /// Nanoseconds until the counter is as if never used.
    pub reset_ns: BigRational,
}

/// A definition of an algorithm. Cloned, it can be asked what would be.
pub(crate) trait Model: Clone {
    fn new(rule: &Rule) -> Self;
    fn check(&mut self, now: u64, cost: u64) -> Answer;
    /// Goes on under a rule that differs in its limit or burst only.
    fn reload(&mut self, rule: &Rule);
}

pub(crate) fn exact(number: impl Into<BigInt>) -> BigRational {
    BigRational::from_integer(number.into())
}

fn agrees<M: Model>(rule: Rule, start: u64, steps: &[Step]) -> TestCaseResult {
    play::Play::<M>::new(rule, start).run(steps)
}

fn config(cases: u32) -> ProptestConfig {
    ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::with_cases(cases)
    }
}

proptest! {
    #![proptest_config(config(600))]

    #[test]
    fn a_token_bucket_is_a_level_that_rises(
        rule in rules::token_bucket(), start in steps::start(), steps in steps::steps(),
    ) {
        agrees::<token_bucket::TokenBucket>(rule, start, &steps)?;
    }

    #[test]
    fn a_fixed_window_is_a_count_for_each_window(
        rule in rules::of("fixed-window", rules::MAX_LIMIT),
        start in steps::start(), steps in steps::steps(),
    ) {
        agrees::<fixed_window::FixedWindow>(rule, start, &steps)?;
    }

    #[test]
    fn a_sliding_window_is_a_list_of_what_passed(
        rule in rules::of("sliding-window", u64::from(u32::MAX)),
        start in steps::start(), steps in steps::steps(),
    ) {
        agrees::<sliding_log::SlidingLog>(rule, start, &steps)?;
    }

    #[test]
    fn a_sliding_window_counter_weighs_the_last_window_by_its_overlap(
        rule in rules::of("sliding-window-counter", u64::from(u32::MAX)),
        start in steps::start(), steps in steps::steps(),
    ) {
        agrees::<sliding_counter::SlidingCounter>(rule, start, &steps)?;
    }
}
