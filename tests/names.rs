//! Keys never share a counter: a name is its bytes and its length, and a pair is
//! two names in their order.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic
)]

mod desk;

use desk::{Desk, Random};
use std::collections::HashSet;

/// Every pair gets its own limit of 1, whatever the others took.
fn are_apart(pairs: &[(&[u8], &[u8])]) {
    for rule in [
        "token-bucket",
        "fixed-window",
        "sliding-window",
        "sliding-window-counter",
    ] {
        let desk = Desk::new(&format!("default = {rule},1,10"));
        for &(user, api) in pairs {
            assert!(desk.check(user, api).allowed, "{rule} {user:?} {api:?}");
        }
        for &(user, api) in pairs {
            assert!(!desk.check(user, api).allowed, "{rule} {user:?} {api:?}");
        }
    }
}

#[test]
fn a_separator_in_a_name_does_not_move_the_border() {
    are_apart(&[
        (b"a|b", b"c"),
        (b"a", b"b|c"),
        (b"a|b|c", b""),
        (b"", b"a|b|c"),
        (b"a:b", b"c"),
        (b"a", b"b:c"),
        (b"abc", b""),
        (b"ab", b"c"),
        (b"a", b"bc"),
    ]);
}

#[test]
fn user_and_api_are_not_exchanged() {
    are_apart(&[(b"x", b"y"), (b"y", b"x"), (b"x", b"x"), (b"y", b"y")]);
}

#[test]
fn nuls_and_the_empty_name_are_names() {
    let pairs: [(&[u8], &[u8]); 10] = [
        (b"", b""),
        (b"\0", b""),
        (b"", b"\0"),
        (b"\0", b"\0"),
        (b"\0\0", b""),
        (b"", b"\0\0"),
        (b"a", b""),
        (b"a\0", b""),
        (b"a\0b", b""),
        (b"a", b"b"),
    ];
    are_apart(&pairs);
}

#[test]
fn long_names_that_differ_in_one_byte_are_apart() {
    let long = vec![b'n'; 65_535];
    let (mut first, mut last) = (long.clone(), long.clone());
    (first[0], last[65_534]) = (b'm', b'm');
    are_apart(&[
        (&long, b""),
        (&first, b""),
        (&last, b""),
        (&long[1..], b""),
        (b"", &long),
        (&long, &long),
        (&first, &last),
    ]);
}

#[test]
fn a_hundred_thousand_random_pairs_each_get_exactly_their_own_limit() {
    let desk = Desk::new("memory = 16m\ndefault = fixed-window,2,10");
    let mut random = Random(1);
    let mut name = || -> Vec<u8> {
        let bytes = random.word().to_le_bytes();
        bytes[..random.below(9) as usize].to_vec()
    };
    let mut pairs = HashSet::new();
    while pairs.len() < 100_000 {
        pairs.insert((name(), name()));
    }
    for round in 0..3 {
        for (user, api) in &pairs {
            let got = desk.check(user, api);
            assert_eq!(got.allowed, round < 2, "{user:?} {api:?} {round}");
        }
    }
    let stats = desk.stats();
    assert_eq!((stats.keys, stats.evicted_live), (100_000, 0));
}

/// A limit's algorithm, sharing and window are hashed too. A name of the same bytes
/// would else undo that, and all who ask with it would share a counter.
#[test]
fn a_name_like_what_a_limit_is_hashed_from_is_a_name() {
    let word = u64::to_le_bytes;
    let (algorithm, window) = ("fixed-window", 10_000_000_000);
    for per in ["pair", "user", "api", "all"] {
        let text = [algorithm.as_bytes(), per.as_bytes()].concat();
        for (which, order) in [(0, 0), (1, 0), (0, 1), (1, 1)] {
            let limit = [&text[..], &word(window), &word(order)].concat();
            let like = [&word(which), &limit[..]].concat();
            for name in [limit, like] {
                every_pair_of_it_is_alone(&name, algorithm, per);
            }
        }
    }
}

/// In so small a table that nearly all share a bucket with others.
fn every_pair_of_it_is_alone(name: &[u8], algorithm: &str, per: &str) {
    let rule = format!("memory = 16k\ndefault = {algorithm},1,10,per={per}");
    for as_user in [true, false] {
        let desk = Desk::new(&rule);
        let shared = match (per, as_user) {
            ("all", _) | ("user", true) | ("api", false) => 1,
            _ => 100,
        };
        let other = |i: u8| [b'n', i];
        let allowed = (0..100).filter(|&i| match as_user {
            true => desk.check(name, &other(i)).allowed,
            false => desk.check(&other(i), name).allowed,
        });
        assert_eq!(allowed.count(), shared, "{per}, as user: {as_user}");
    }
}
