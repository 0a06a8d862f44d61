//! From names to places in the table.
//!
//! A name is hashed once, by a MAC under a secret of the region (`light_mac`), users and
//! APIs as messages of two kinds. Nobody who does not know the secret can aim at a
//! counter or a bucket, whatever names they choose and whatever they see of the answers.
//! The two hashes, mixed with the tag of a limit, are the counter's.

mod light_mac;

use light_mac::LightMac;

use crate::rule::{Limit, Sharing};

/// The secret of a region: the keys of its MAC.
pub(crate) type Secret = [u64; 4];

/// The kinds of messages. No name must ever hash to what a tag does.
const USER: u8 = 0;
const API: u8 = 1;
const TAG: u8 = 2;

/// The bits of a fingerprint that do not tell counters apart: the lowest says that
/// the counter keeps a log, the others are the table's to use.
pub(crate) const FINGERPRINT_MARKS: u64 = 0b1_1111;

/// The hashes of a request's two names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Names {
    pub user: u64,
    pub api: u64,
}

/// What tells the counters of one kind of limit from those of another: a change
/// of the limit itself keeps its counters, one of the algorithm, the window or the
/// sharing does not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Tag {
    words: [u64; 2],
    /// All ones where the counter is one user's, or one API's.
    user: u64,
    api: u64,
    keeps_log: bool,
}

/// Where a counter is and how it is known there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Key {
    /// Identifies the counter in its bucket; never 0. Of its [`FINGERPRINT_MARKS`]
    /// only the lowest may be set.
    pub fingerprint: u64,
    /// Chooses its first bucket.
    pub home: u64,
}

/// Hashes names under a secret.
#[derive(Clone, Debug)]
pub(crate) struct Hasher {
    mac: LightMac,
    /// The hash of the empty API, which is that of all who have users only.
    no_api: u64,
}

impl Hasher {
    pub fn new([a, b, c, d]: Secret) -> Hasher {
        let mac = LightMac::new([[a, b], [c, d]]);
        let no_api = mac.tag(API, b"");
        Hasher { mac, no_api }
    }

    #[inline(always)]
    pub fn names(&self, user: &[u8], api: &[u8]) -> Names {
        if api.is_empty() {
            let (user, api) = (self.mac.tag(USER, user), self.no_api);
            return Names { user, api };
        }
        let [user, api] = self.mac.tags::<USER, API>(user, api);
        Names { user, api }
    }

    /// The tag of a limit's counters. `order` tells apart limits that are alike in
    /// all else and count side by side.
    pub fn tag(&self, limit: &Limit, order: u64) -> Tag {
        let (algorithm, per) = (limit.algorithm.name(), limit.per.name());
        let said = format!("{algorithm},{},{per},{order}", limit.window_ns);
        let word = |which: u8| [&[which], said.as_bytes()].concat();
        let [first, second] = [word(0), word(1)];
        let words = self.mac.tags::<TAG, TAG>(&first, &second);
        let mask = |applies: bool| if applies { u64::MAX } else { 0 };
        Tag {
            words,
            user: mask(matches!(limit.per, Sharing::Pair | Sharing::User)),
            api: mask(matches!(limit.per, Sharing::Pair | Sharing::Api)),
            keeps_log: limit.algorithm.keeps_log(),
        }
    }
}

impl Tag {
    /// Whether the counter is one pair's own.
    pub fn is_of_pair(self) -> bool {
        self.user != 0 && self.api != 0
    }
}

impl Names {
    /// The counter for limits of this tag: of this pair, user, API or of all.
    #[inline]
    pub fn key(self, tag: Tag) -> Key {
        let [a, b] = tag.words;
        let (user, api) = (self.user & tag.user, self.api & tag.api);
        let mixed = fold(user ^ a, api ^ b);
        Key {
            // One fingerprint would read as free space; the next stands in for it.
            fingerprint: (mixed & !FINGERPRINT_MARKS).max(FINGERPRINT_MARKS + 1)
                | u64::from(tag.keeps_log),
            home: fold(user ^ b, api ^ a),
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Zones hold hashes of both.
    #[test]
    fn a_hash_that_is_kept_is_the_one_that_would_be_made() {
        let hasher = Hasher::new([1, 2, 3, 4]);
        for user in [&b""[..], b"alice", b"a name of more than 14 bytes"] {
            let [user_hash, no_api] = hasher.mac.tags::<USER, API>(user, b"");
            let made = Names {
                user: user_hash,
                api: no_api,
            };
            assert_eq!(hasher.names(user, b""), made);
        }
    }
}
