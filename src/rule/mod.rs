//! What a rule says, as data. The reader makes these from text
//! ([`crate::config`]), the book finds the one that applies ([`book`]).

pub(crate) mod book;

use crate::algorithm::Algorithm;

/// Largest limit and burst of any algorithm: 2^53-1, which every language's
/// numbers can carry exactly.
pub const MAX_LIMIT: u64 = (1 << 53) - 1;

/// Longest window, and longest time in which an empty token bucket may fill: 100 years.
pub const MAX_WINDOW_NS: u64 = 36_525 * 24 * 3600 * 1_000_000_000;

/// Longest user or API name in bytes.
pub const MAX_NAME: usize = 65_535;

/// Whom a rule is for: a user and an API, where `None` means any.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Scope {
    /// The user, or any.
    pub user: Option<Box<[u8]>>,
    /// The API, or any.
    pub api: Option<Box<[u8]>>,
}

/// What a rule asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Rule {
    /// Everything passes, and nothing is counted.
    Unlimited,
    /// Nothing passes.
    Deny,
    /// Up to `limit.limit` in every `limit.window_ns`.
    Limited(Limit),
}

/// One limit: so much of a quota in so much time, by one algorithm.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limit {
    /// How it counts.
    pub algorithm: Algorithm,
    /// Quota of a window, from 1 to [`MAX_LIMIT`].
    pub limit: u64,
    /// Length of the window in ns, from 1 ms to [`MAX_WINDOW_NS`]; whole milliseconds.
    pub window_ns: u64,
    /// Capacity of a token bucket, where it differs from the limit.
    pub burst: Option<u64>,
    /// Its `name=`: 1 to 15 of `a-z 0-9 - _`.
    pub name: Option<Box<str>>,
}

impl Scope {
    /// Whether the rule is for a request of this user and API.
    pub(crate) fn covers(&self, user: &[u8], api: &[u8]) -> bool {
        let covers =
            |name: &Option<Box<[u8]>>, other| name.as_deref().is_none_or(|name| name == other);
        covers(&self.user, user) && covers(&self.api, api)
    }
}

impl Limit {
    /// The most that can pass at once: the burst where there is one, else the limit.
    pub fn capacity(&self) -> u64 {
        self.burst.unwrap_or(self.limit)
    }
}
