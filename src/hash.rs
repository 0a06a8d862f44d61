//! From names to places in the table.
//!
//! A name is hashed once with SipHash-1-3 (Aumasson and Bernstein, "SipHash: a fast
//! short-input PRF", 2012) under a secret of the region; users and APIs have a key
//! each. Nobody who does not know the secret can aim at a counter or a bucket. The
//! two hashes find the rule and, mixed with the tag of its limit, the counter.

use std::hash::Hasher as _;

use siphasher::sip::SipHasher13;

use crate::rule::Limit;

/// The secret of a region: two SipHash keys.
pub(crate) type Secret = [u64; 4];

/// The hashes of a request's two names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Names {
    pub user: u64,
    pub api: u64,
}

/// What tells the counters of one kind of limit from those of another: a change
/// of the limit itself keeps its counters, one of the algorithm or window does not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Tag {
    words: [u64; 2],
    keeps_log: bool,
}

/// Where a counter is and how it is known there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Key {
    /// Identifies the counter in its bucket; never 0. The lowest bit says that it
    /// keeps a log.
    pub fingerprint: u64,
    /// Chooses its first bucket.
    pub home: u64,
}

/// Hashes names under a secret.
#[derive(Clone, Debug)]
pub(crate) struct Hasher {
    user: SipHasher13,
    api: SipHasher13,
}

impl Hasher {
    pub fn new([user0, user1, api0, api1]: Secret) -> Hasher {
        Hasher {
            user: SipHasher13::new_with_keys(user0, user1),
            api: SipHasher13::new_with_keys(api0, api1),
        }
    }

    #[inline]
    pub fn user(&self, name: &[u8]) -> u64 {
        self.user.hash(name)
    }

    #[inline]
    pub fn api(&self, name: &[u8]) -> u64 {
        self.api.hash(name)
    }

    #[inline]
    pub fn names(&self, user: &[u8], api: &[u8]) -> Names {
        Names {
            user: self.user(user),
            api: self.api(api),
        }
    }

    /// The tag of a limit's counters.
    pub fn tag(&self, limit: &Limit) -> Tag {
        let word = |mut hasher: SipHasher13| {
            hasher.write(limit.algorithm.name().as_bytes());
            hasher.write_u64(limit.window_ns);
            hasher.finish()
        };
        Tag {
            words: [word(self.user), word(self.api)],
            keeps_log: limit.algorithm.keeps_log(),
        }
    }
}

impl Names {
    /// One hash of both names, for rules that name a pair.
    #[inline]
    pub fn pair(self) -> u64 {
        fold(self.user, self.api)
    }

    /// The counter of this pair for limits of this tag.
    #[inline]
    pub fn key(self, tag: Tag) -> Key {
        let [a, b] = tag.words;
        let mixed = fold(self.user ^ a, self.api ^ b);
        Key {
            // 2 stands in for the one fingerprint that would read as free space.
            fingerprint: ((mixed & !1).max(2)) | u64::from(tag.keeps_log),
            home: fold(self.user ^ b, self.api ^ a),
        }
    }
}

/// The two halves of a product on top of each other: every bit of the result
/// depends on every bit of both factors, which are already random.
#[inline]
fn fold(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    (product as u64) ^ (product >> 64) as u64
}
