//! What is promised when the clock is set back, whatever the algorithm makes of it:
//! no extra burst, and nobody is locked out for more than a window.

use proptest::prelude::*;
use proptest::test_runner::TestCaseResult;

use crate::play::Desk;
use crate::rules::{self, Rule, magnitude};
use crate::steps::{self, MAX_NS, Step};
use crate::{SKEW_NS, config};

/// So many ns, and so many eighths of a window.
fn back() -> impl Strategy<Value = (u64, u8)> {
    (prop_oneof![Just(0u64), magnitude(MAX_NS)], 0..=24u8)
}

/// How long after a step back a cost of 1 must pass at the latest: a window, and by
/// how much clocks may differ and ticks are rounded.
fn longest_wait(rule: &Rule) -> u64 {
    let window = rule.window_ns();
    match rule.algorithm {
        "sliding-window-counter" => 2 * window + SKEW_NS,
        "sliding-window" if rule.window_ms < 1000 => window + SKEW_NS + 1000,
        "sliding-window" => window + 2 * window.div_ceil(1 << 31).max(1_000_000) + 1_000_000,
        _ => window + SKEW_NS,
    }
}

/// What could be taken at once.
fn left(desk: &Desk, now: u64) -> u64 {
    let seen = desk.peek(now, 1);
    seen.remaining + u64::from(seen.allowed)
}

fn holds(rule: &Rule, start: u64, past: &[Step], back: (u64, u8)) -> TestCaseResult {
    let desk = Desk::new(rule);
    let (mut now, mut last) = (start, desk.peek(start, 1));
    for Step { go, cost } in past {
        now = go.from(now, rule, last.retry_after_ms);
        last = desk.check(now, cost.of(rule, last.remaining));
    }
    let before = left(&desk, now);
    let now = now
        .saturating_sub(back.0)
        .saturating_sub(rule.window_ns() / 8 * u64::from(back.1));
    let after = left(&desk, now);
    prop_assert!(after <= before, "an extra burst: {after} after {before}");
    if after > 0 {
        prop_assert!(desk.check(now, after).allowed);
    }
    prop_assert!(!desk.check(now, 1).allowed);
    let waited = now.saturating_add(longest_wait(rule));
    if waited <= MAX_NS {
        prop_assert!(desk.check(waited, 1).allowed, "locked out at {waited}");
    }
    Ok(())
}

proptest! {
    #![proptest_config(config(2500))]

    #[test]
    fn a_clock_set_back_gives_no_burst_and_locks_nobody_out(
        rule in rules::any_algorithm(),
        start in steps::start(),
        past in steps::steps(),
        back in back(),
    ) {
        holds(&rule, start, &past, back)?;
    }
}

/// Ten pass at the end of one window and one in the next, of which the ten are
/// nine tenths. Back over the boundary they must not fade to one tenth.
#[test]
fn a_sliding_window_counter_set_back_over_a_boundary_gives_no_burst() {
    const S: u64 = 1_000_000_000;
    let desk = Desk::new(&Rule {
        algorithm: "sliding-window-counter",
        limit: 10,
        window_ms: 10_000,
        burst: None,
    });
    assert!(desk.check(9 * S, 10).allowed);
    assert!(desk.check(11 * S, 1).allowed);
    assert!(!desk.check(11 * S, 1).allowed);
    let after = desk.check(9 * S, 1);
    assert!(!after.allowed);
    assert_eq!((after.remaining, after.retry_after_ms), (0, 2000));
}
