//! The logs of sliding windows share one pool of memory: what has expired makes
//! room, what is nearest to new goes first, and nothing is lost or shared by two.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic
)]

mod desk;

use desk::{Desk, Random};
use rl::service::flag;
use std::collections::{HashMap, VecDeque};

/// A chunk holds so many entries; 16k of memory has 48 chunks.
const RUNS: u64 = 13;
const CHUNKS: u64 = 48;

#[test]
fn entries_go_as_they_expire() {
    let desk = Desk::new("memory = 1m\ndefault = sliding-window,100,10");
    for second in 1..=50u64 {
        assert!(desk.fresh(0).allowed);
        assert_eq!(desk.stats().log_entries, second.min(10));
        desk.wait_ms(1000);
    }
    desk.wait_ms(9000);
    let stats = desk.stats();
    assert_eq!((stats.keys, stats.log_entries), (0, 0));
}

#[test]
fn requests_of_one_tick_are_one_entry() {
    let desk = Desk::new("memory = 1m\ndefault = sliding-window,1000,10");
    (0..1000).for_each(|_| assert!(desk.fresh(0).allowed));
    assert!(!desk.fresh(0).allowed);
    assert_eq!(desk.stats().log_entries, 1);
}

#[test]
fn a_drained_log_outlives_a_flood_of_fresh_ones() {
    let desk = Desk::new(
        "memory = 16k\ndefault = sliding-window,3,10\nuser.drained = sliding-window,3,100",
    );
    assert_eq!(desk.stats().log_capacity, CHUNKS * RUNS);
    assert!(desk.take(b"drained", 3).allowed);
    for user in 0..20_000 {
        assert!(desk.fresh(user).allowed);
        desk.wait_ms(user % 2);
    }
    let seen = desk.peek(b"drained");
    assert_eq!((seen.allowed, seen.retry_after_ms), (false, 90_000));
    let stats = desk.stats();
    assert!(stats.evicted_live > 19_000, "{stats:?}");
}

/// With one limit or with several: a log whose own chunks have room needs no other.
#[test]
fn an_empty_pool_is_nothing_to_a_log_that_has_room() {
    let one = "memory = 16k\non-full = deny\ndefault = sliding-window,20,100";
    for text in [one.to_owned(), format!("{one} + fixed-window,1000,100")] {
        let desk = Desk::new(&text);
        let fits = |user| desk.fresh(user).flags & flag::UNTRACKED == 0;
        let full = (0..10_000).find(|&user| !fits(user)).unwrap();
        assert!(full >= CHUNKS / 2, "{full}");
        for entry in 1..RUNS {
            desk.wait_ms(1);
            let seen = desk.fresh(0);
            assert!(seen.allowed, "entry {entry}: {seen:?}");
        }
        desk.wait_ms(1);
        assert_eq!(desk.fresh(0).flags, flag::UNTRACKED);
    }
}

/// One key fills the pool; what it cannot keep is refused, and says when to come back.
#[test]
fn a_log_that_needs_more_than_the_pool_is_refused() {
    let desk = Desk::new("memory = 16k\ndefault = sliding-window,5000,10");
    for _ in 0..CHUNKS * RUNS {
        assert!(desk.fresh(0).allowed);
        desk.wait_ms(1);
    }
    let refused = desk.fresh(0);
    assert_eq!((refused.allowed, refused.flags), (false, flag::UNTRACKED));
    assert!(refused.retry_after_ms > 0);
    assert_eq!(desk.stats().log_entries, CHUNKS * RUNS);
    desk.wait_ms(10_000);
    assert!(desk.fresh(0).allowed);
}

/// After any past, as many logs of one chunk each can live at a time as there are
/// chunks: none was lost, and none is in two logs.
#[test]
fn every_chunk_can_be_used_again_when_all_logs_have_expired() {
    for on_full in ["deny", "evict"] {
        let desk = Desk::new(&format!(
            "memory = 16k\non-full = {on_full}\ndefault = sliding-window,40,10"
        ));
        let mut random = Random(2);
        for round in 1..=40u64 {
            for _ in 0..500 {
                desk.fresh(random.below(60));
                desk.wait_ms(random.below(3) * random.below(40));
            }
            desk.wait_ms(20_000);
            for user in 0..500 {
                desk.fresh(1000 * round + user);
            }
            let stats = desk.stats();
            assert_eq!(stats.keys, CHUNKS, "{on_full}, round {round}");
            assert_eq!(stats.log_entries, CHUNKS, "{on_full}, round {round}");
            desk.wait_ms(20_000);
        }
    }
}

/// Costs of the last window by when they passed.
#[derive(Default)]
struct Passed(VecDeque<u64>);

impl Passed {
    fn count(&mut self, now_ms: u64, window_ms: u64) -> u64 {
        while self
            .0
            .front()
            .is_some_and(|&then| then + window_ms <= now_ms)
        {
            self.0.pop_front();
        }
        self.0.len() as u64
    }
}

/// Nobody is sent away here, so every log is exact: no key gets more than its limit,
/// and none is refused below it but for want of room. Other counters fill the table,
/// so that logs move between buckets.
#[test]
fn no_key_gets_more_than_its_limit_however_short_the_pool_is() {
    let desk = Desk::new(
        "memory = 64k\non-full = deny\ndefault = sliding-window,20,2\napi.other = token-bucket,5,1000",
    );
    let mut random = Random(3);
    let mut passed = HashMap::<u64, Passed>::new();
    let (mut now_ms, mut moved) = (0, 0);
    for other in 0..40_000u64 {
        let user = random.below(150);
        let count = passed.entry(user).or_default().count(now_ms, 2000);
        let got = desk.fresh(user);
        if got.flags == flag::UNTRACKED {
            assert!(!got.allowed);
        } else {
            assert_eq!(
                got.allowed,
                count < 20,
                "user {user} after {count}: {got:?}"
            );
        }
        if got.allowed {
            passed.entry(user).or_default().0.push_back(now_ms);
        }
        if other % 20 == 0 {
            moved += u64::from(desk.check(&other.to_le_bytes(), b"other").allowed);
        }
        let ms = random.below(2);
        desk.wait_ms(ms);
        now_ms += ms;
    }
    let stats = desk.stats();
    assert_eq!(stats.evicted_live, 0);
    assert!(stats.refused_full > 0 && moved > 500, "{stats:?} {moved}");
}

/// A table whose pool has no chunk left, and one of those who have them.
fn out_of_chunks(on_full: &str) -> Desk {
    let desk = Desk::new(&format!(
        "memory = 16k\non-full = {on_full}\ndefault = sliding-window,5,10"
    ));
    (0..CHUNKS).for_each(|user| assert!(desk.take(&user.to_le_bytes(), 3).allowed));
    assert_eq!(desk.stats().log_entries, CHUNKS);
    desk
}

#[test]
fn to_give_back_needs_no_room() {
    for (on_full, cost, left) in [("deny", 2, 3), ("deny", 3, 4), ("evict", 2, 3)] {
        for set_back in [false, true] {
            let desk = out_of_chunks(on_full);
            if set_back {
                desk.set_back_ms(5000);
            }
            for user in 0..CHUNKS {
                desk.refund(&user.to_le_bytes(), cost);
                let seen = desk.peek(&user.to_le_bytes());
                assert_eq!((seen.flags, seen.remaining), (0, left), "{on_full} {user}");
            }
            let stats = desk.stats();
            assert_eq!(
                (stats.evicted_live, stats.evicted_idle),
                (0, 0),
                "{on_full}"
            );
        }
    }
}

#[test]
fn counts_that_end_at_what_a_run_can_hold_go_as_they_expire() {
    let desk = Desk::new("memory = 16k\ndefault = sliding-window,4000000000,10");
    desk.charge(b"u", 4_000_000_000);
    desk.charge(b"u", 4_000_000_000);
    desk.wait_ms(5000);
    desk.charge(b"u", 1);
    desk.wait_ms(5000);
    let seen = desk.peek(b"u");
    assert_eq!((seen.allowed, seen.remaining), (true, 3_999_999_998));
}
