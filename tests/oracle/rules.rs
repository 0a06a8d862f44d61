//! Random rules of every size that the text allows.

use proptest::prelude::*;

pub const MAX_LIMIT: u64 = (1 << 53) - 1;
const MAX_WINDOW_MS: u64 = 36_525 * 24 * 3600 * 1000;

/// A rule with one limit.
#[derive(Clone, Debug)]
pub struct Rule {
    pub algorithm: &'static str,
    pub limit: u64,
    pub window_ms: u64,
    pub burst: Option<u64>,
}

impl Rule {
    pub fn text(&self) -> String {
        let Rule {
            algorithm,
            limit,
            window_ms,
            burst,
        } = self;
        let burst = burst.map_or(String::new(), |burst| format!(",burst={burst}"));
        format!("{algorithm},{limit},{window_ms}ms{burst}")
    }

    pub fn window_ns(&self) -> u64 {
        self.window_ms * 1_000_000
    }

    pub fn capacity(&self) -> u64 {
        self.burst.unwrap_or(self.limit)
    }
}

/// A number from 1 to `max`, of any magnitude alike.
pub fn magnitude(max: u64) -> impl Strategy<Value = u64> {
    (any::<u64>(), 0..64u32).prop_map(move |(word, shift)| (word >> shift) % max + 1)
}

/// Limits are small as often as not: there the boundaries are.
fn limit(max: u64) -> impl Strategy<Value = u64> {
    prop_oneof![1..=9u64, magnitude(max)]
}

fn window_ms() -> impl Strategy<Value = u64> {
    let round = vec![1, 10, 999, 1000, 10_000, 60_000, 86_400_000, MAX_WINDOW_MS];
    prop_oneof![prop::sample::select(round), magnitude(MAX_WINDOW_MS)]
}

pub fn of(algorithm: &'static str, max_limit: u64) -> impl Strategy<Value = Rule> {
    (limit(max_limit), window_ms()).prop_map(move |(limit, window_ms)| Rule {
        algorithm,
        limit,
        window_ms,
        burst: None,
    })
}

/// Token buckets whose capacity is the limit, less, or as much more as may be.
pub fn token_bucket() -> impl Strategy<Value = Rule> {
    let burst = prop::option::of(limit(MAX_LIMIT));
    (of("token-bucket", MAX_LIMIT), burst).prop_map(|(rule, burst)| {
        let (limit, window) = (u128::from(rule.limit), u128::from(rule.window_ms));
        let most = u128::from(MAX_WINDOW_MS) * limit / window;
        let most = u64::try_from(most).unwrap_or(u64::MAX);
        Rule {
            burst: burst.map(|burst| burst.min(most)),
            ..rule
        }
    })
}

/// A rule of any algorithm.
pub fn any_algorithm() -> impl Strategy<Value = Rule> {
    let narrow = u64::from(u32::MAX);
    prop_oneof![
        token_bucket(),
        of("fixed-window", MAX_LIMIT),
        of("sliding-window", narrow),
        of("sliding-window-counter", narrow),
    ]
}
