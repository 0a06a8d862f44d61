//! What a rule says, as data. The reader makes these from text
//! ([`crate::config`]), the book finds the one that applies (`book`).

pub(crate) mod book;
mod prefix;

use crate::algorithm::Algorithm;

/// Largest limit and burst of any algorithm: 2^53-1, which every language's
/// numbers can carry exactly.
pub const MAX_LIMIT: u64 = (1 << 53) - 1;

/// Longest window, and longest time in which an empty token bucket may fill: 100 years.
pub const MAX_WINDOW_NS: u64 = 36_525 * 24 * 3600 * 1_000_000_000;

/// Most limits in a rule, and most that one request may meet: a decision has a
/// bit for each.
pub const MAX_LIMITS: usize = 8;

/// Longest user or API name in bytes.
pub const MAX_NAME: usize = 65_535;

/// Whom a rule is for: a user and an API, where `None` means any.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Scope {
    /// The user, or any.
    pub user: Option<Box<[u8]>>,
    /// The API or those with a common beginning, or any.
    pub api: Option<Apis>,
}

/// The APIs that a rule is for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Apis {
    /// The one with this name.
    Exactly(Box<[u8]>),
    /// Every one that begins with this; with the empty prefix, every one.
    Under(Box<[u8]>),
}

/// What a rule asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Rule {
    /// Everything passes, and nothing is counted.
    Unlimited,
    /// Nothing passes.
    Deny,
    /// What all of these allow: 1 to [`MAX_LIMITS`].
    Limits(Vec<Limit>),
}

/// Who shares a limit's counter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Sharing {
    /// Nobody: each pair of a user and an API has its own.
    #[default]
    Pair,
    /// A user's requests, whatever the API.
    User,
    /// The requests to an API, whoever makes them.
    Api,
    /// All requests.
    All,
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
    /// Who shares its counter.
    pub per: Sharing,
    /// Whether it only counts and reports, and never refuses.
    pub shadow: bool,
}

impl Apis {
    /// The name or the prefix.
    pub(crate) fn bytes(&self) -> &[u8] {
        match self {
            Apis::Exactly(bytes) | Apis::Under(bytes) => bytes,
        }
    }
}

impl Rule {
    /// Its limits; none where it is unlimited or denies.
    pub fn limits(&self) -> &[Limit] {
        match self {
            Rule::Unlimited | Rule::Deny => &[],
            Rule::Limits(limits) => limits,
        }
    }
}

impl Sharing {
    /// All of them, from the fewest sharers to the most.
    pub const ALL: [Sharing; 4] = [Sharing::Pair, Sharing::User, Sharing::Api, Sharing::All];

    /// Its name in the text of a rule.
    pub fn name(self) -> &'static str {
        match self {
            Sharing::Pair => "pair",
            Sharing::User => "user",
            Sharing::Api => "api",
            Sharing::All => "all",
        }
    }
}

impl Limit {
    /// The most that can pass at once: the burst where there is one, else the limit.
    pub fn capacity(&self) -> u64 {
        self.burst.unwrap_or(self.limit)
    }
}
