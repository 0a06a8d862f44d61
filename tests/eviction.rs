//! Who has to go when the table is full: first what is as good as new, then the
//! counter nearest to that; and what is answered where nobody may be sent away.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic
)]

mod desk;

use desk::Desk;
use rl::service::flag;

const FLOOD: u64 = 1_000_000;

const ALGORITHMS: [&str; 4] = [
    "token-bucket",
    "fixed-window",
    "sliding-window",
    "sliding-window-counter",
];

#[test]
fn a_drained_key_outlives_a_flood_of_fresh_ones() {
    let desk = Desk::new("memory = 64k\ndefault = token-bucket,5,10");
    let drained = drain(&desk);
    for user in 0..FLOOD {
        assert!(desk.fresh(user).allowed, "user {user}");
    }
    for key in &drained {
        let seen = desk.peek(key);
        assert!(!seen.allowed, "{key:?}");
        assert_eq!(seen.retry_after_ms, 2000);
    }
    let stats = desk.stats();
    assert!(stats.keys <= stats.capacity);
    assert_eq!(stats.evicted_live + stats.keys, FLOOD + 20);
}

/// Twenty users who have taken all of a limit of 5.
fn drain(desk: &Desk) -> Vec<[u8; 2]> {
    let drained: Vec<_> = (0..20u8).map(|i| [b'd', i]).collect();
    for key in &drained {
        assert!(desk.take(key, 5).allowed);
    }
    drained
}

#[test]
fn it_does_so_whatever_the_algorithm() {
    for algorithm in ALGORITHMS {
        let desk = Desk::new(&format!("memory = 64k\ndefault = {algorithm},5,1000"));
        let drained = drain(&desk);
        for user in 0..20_000 {
            // Later, and so nearer to new are those who came before.
            desk.wait_ms(1);
            assert!(desk.fresh(user).allowed, "{algorithm}, user {user}");
        }
        for key in &drained {
            assert!(!desk.peek(key).allowed, "{algorithm}, {key:?}");
        }
        assert!(desk.stats().evicted_live > 15_000, "{algorithm}");
    }
}

/// What is given back makes a counter nearer to new, not farther.
#[test]
fn it_does_so_where_costs_are_given_back() {
    for algorithm in ALGORITHMS {
        let desk = Desk::new(&format!("memory = 64k\ndefault = {algorithm},5,1000"));
        let drained = drain(&desk);
        for user in 0..20_000u64 {
            let user = user.to_le_bytes();
            desk.wait_ms(1);
            assert!(desk.take(&user, 2).allowed, "{algorithm}, user {user:?}");
            desk.refund(&user, 1);
            assert_eq!(desk.peek(&user).remaining, 3, "{algorithm}");
        }
        for key in &drained {
            assert!(!desk.peek(key).allowed, "{algorithm}, {key:?}");
        }
    }
}

#[test]
fn what_is_as_good_as_new_goes_before_anything_else() {
    let desk =
        Desk::new("memory = 256k\ndefault = token-bucket,5,1000\napi.brief = fixed-window,5,1");
    let third = desk.stats().capacity / 3;
    for user in 0..third {
        desk.check(&user.to_le_bytes(), b"brief");
        desk.fresh(user);
    }
    assert_eq!(desk.stats().keys, 2 * third);
    desk.wait_ms(1000);
    assert_eq!(desk.stats().keys, third);
    for user in third..2 * third {
        desk.fresh(user);
    }
    let stats = desk.stats();
    assert_eq!((stats.keys, stats.evicted_live), (2 * third, 0));
    assert!(stats.evicted_idle > 0, "{stats:?}");
    for user in 0..2 * third {
        let seen = desk.peek(&user.to_le_bytes());
        assert_eq!(seen.remaining, 3, "user {user}: {stats:?}");
    }
}

/// By the number of keys that the table took before it forgot one.
#[test]
fn three_quarters_of_the_table_fill_before_a_live_counter_goes() {
    for memory in ["128k", "512k", "2m"] {
        let desk = Desk::new(&format!("memory = {memory}\ndefault = token-bucket,5,10"));
        let capacity = desk.stats().capacity;
        let enough = capacity * 3 / 4;
        (0..enough).for_each(|user| assert!(desk.fresh(user).allowed));
        let stats = desk.stats();
        assert_eq!((stats.evicted_live, stats.keys), (0, enough), "{memory}");
        (0..enough).for_each(|user| assert_eq!(desk.fresh(user).remaining, 3, "{memory} {user}"));
        (enough..2 * capacity).for_each(|user| assert!(desk.fresh(user).allowed));
        assert!(desk.stats().evicted_live > 0, "{memory}");
    }
}

#[test]
fn counts_are_exact_while_everything_fits() {
    let desk = Desk::new("memory = 1m\ndefault = fixed-window,3,10\napi.log = sliding-window,3,10");
    for round in 0..5 {
        for user in 0..1500u64 {
            for api in [&b"log"[..], b"other"] {
                let got = desk.check(&user.to_le_bytes(), api);
                assert_eq!(got.allowed, round < 3, "user {user}, round {round}");
            }
        }
    }
    let stats = desk.stats();
    assert_eq!(
        (stats.keys, stats.evicted_live, stats.refused_full),
        (3000, 0, 0)
    );
    assert_eq!((stats.allowed, stats.denied), (9000, 6000));
}

/// Fills a table until it has no room for one of the users, and says for whom.
fn fill(desk: &Desk) -> u64 {
    let mut users = 0..10_000;
    let turned_away = users.find(|&user| desk.fresh(user).flags == flag::UNTRACKED);
    turned_away.expect("a full table")
}

#[test]
fn a_full_table_denies_newcomers_where_it_is_told_to() {
    let desk = Desk::new("memory = 16k\non-full = deny\ndefault = token-bucket,5,10");
    let user = fill(&desk);
    let refused = desk.fresh(user);
    assert!(!refused.allowed);
    assert_eq!(
        (refused.flags, refused.retry_after_ms),
        (flag::UNTRACKED, 2000)
    );
    assert_eq!(desk.fresh(0).remaining, 3, "who is there goes on");
    let stats = desk.stats();
    assert_eq!(
        (stats.refused_full, stats.evicted_live, stats.keys),
        (2, 0, user)
    );

    desk.wait_ms(2000);
    let got = desk.fresh(user);
    assert!(got.allowed);
    assert_eq!((got.flags, got.remaining), (0, 4));
}

#[test]
fn a_full_table_lets_newcomers_pass_uncounted_where_it_is_told_to() {
    let desk = Desk::new("memory = 16k\non-full = allow\ndefault = token-bucket,5,10");
    let user = fill(&desk);
    for _ in 0..20 {
        let got = desk.fresh(user);
        assert!(got.allowed);
        assert_eq!((got.flags, got.retry_after_ms), (flag::UNTRACKED, 0));
    }
    let stats = desk.stats();
    assert_eq!((stats.refused_full, stats.evicted_live), (21, 0));
}
