//! Random times and costs, drawn to where rules change their minds: the ends of
//! windows, the instant of the next token, the instant that a hint named.

use proptest::prelude::*;

use rl::service::NEVER;

use crate::SKEW_NS;
use crate::rules::{Rule, magnitude};

pub const MAX_NS: u64 = i64::MAX as u64;

/// One request: when, seen from the one before, and for how much.
#[derive(Clone, Debug)]
pub struct Step {
    pub go: Go,
    pub cost: Cost,
}

/// How the clock moves.
#[derive(Clone, Debug)]
pub enum Go {
    Stay,
    Ahead(u64),
    Back(u64),
    /// So many eighths of a window, and some ns.
    Windows(i8, i8),
    /// To the start of the window that is so many windows away, and some ns.
    Boundary(i8, i8),
    /// So many tokens' time, and some ns.
    Tokens(i8, i8),
    /// Around what may be the clocks' difference.
    Skew(i32),
    /// As long as the last hint said, less so many ms and some ns.
    Hint(u8, i8),
}

/// What a request takes.
#[derive(Clone, Debug)]
pub enum Cost {
    Some(u64),
    /// So many eighths of the capacity.
    Part(u8),
    /// What the last answer left, and so much more.
    Left(u8),
    OverCapacity,
}

impl Go {
    pub fn from(&self, now: u64, rule: &Rule, hint_ms: u64) -> u64 {
        let (at, window) = (i128::from(now), i128::from(rule.window_ns()));
        let to = match *self {
            Go::Stay => at,
            Go::Ahead(ns) => at + i128::from(ns),
            Go::Back(ns) => at - i128::from(ns),
            Go::Windows(eighths, ns) => at + window * i128::from(eighths) / 8 + i128::from(ns),
            Go::Boundary(windows, ns) => {
                (at / window + i128::from(windows)) * window + i128::from(ns)
            }
            Go::Tokens(tokens, ns) => {
                at + window * i128::from(tokens) / i128::from(rule.limit) + i128::from(ns)
            }
            Go::Skew(ns) => at + i128::from(ns),
            Go::Hint(less, ns) => {
                let ms = (hint_ms % NEVER).saturating_sub(less.into());
                at + i128::from(ms) * 1_000_000 - i128::from(ns)
            }
        };
        to.clamp(0, i128::from(MAX_NS)) as u64
    }
}

impl Cost {
    pub fn of(&self, rule: &Rule, left: u64) -> u64 {
        let cost = match *self {
            Cost::Some(cost) => cost,
            Cost::Part(eighths) => rule.capacity() / 8 * u64::from(eighths),
            Cost::Left(more) => left + u64::from(more),
            Cost::OverCapacity => rule.capacity() + 1,
        };
        cost.max(1)
    }
}

pub fn start() -> impl Strategy<Value = u64> {
    let realtime: u64 = 1_750_000_000_000_000_000;
    prop_oneof![
        Just(0u64),
        magnitude(MAX_NS),
        realtime..2 * realtime,
        magnitude(MAX_NS).prop_map(|left| MAX_NS - left),
    ]
}

pub fn go() -> impl Strategy<Value = Go> {
    let around = -2..=2i8;
    let skew = 2 * SKEW_NS as i32;
    prop_oneof![
        4 => Just(Go::Stay),
        2 => magnitude(MAX_NS).prop_map(Go::Ahead),
        1 => magnitude(MAX_NS).prop_map(Go::Back),
        3 => (-12..=16i8, around.clone()).prop_map(|(n, ns)| Go::Windows(n, ns)),
        1 => (-2..=2i8, around.clone()).prop_map(|(n, ns)| Go::Boundary(n, ns)),
        2 => (-3..=6i8, around.clone()).prop_map(|(n, ns)| Go::Tokens(n, ns)),
        1 => (-skew..=skew).prop_map(Go::Skew),
        3 => (0..=1u8, around).prop_map(|(less, ns)| Go::Hint(less, ns)),
    ]
}

pub fn cost() -> impl Strategy<Value = Cost> {
    prop_oneof![
        4 => (1..=3u64).prop_map(Cost::Some),
        1 => magnitude(u64::MAX).prop_map(Cost::Some),
        2 => (0..=8u8).prop_map(Cost::Part),
        3 => (0..=1u8).prop_map(Cost::Left),
        1 => prop_oneof![Just(Cost::OverCapacity), Just(Cost::Some(u64::MAX))],
    ]
}

pub fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = (go(), cost()).prop_map(|(go, cost)| Step { go, cost });
    prop::collection::vec(step, 1..40)
}
