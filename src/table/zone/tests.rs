//! Who makes a zone, who joins it, and who is refused.

use std::thread;

use super::*;

const SIZE: usize = 16384;

fn wanted(clock: Kind) -> Wanted {
    Wanted {
        layout: Layout::of(SIZE, false),
        clock,
        secret: [1, 2, 3, 4],
    }
}

fn memory() -> Mapping {
    Mapping::private(SIZE).unwrap()
}

fn zone() -> Mapping {
    let memory = memory();
    enter(&memory, wanted(Kind::Manual)).unwrap();
    memory
}

fn set(memory: &Mapping, word: usize, value: u64) {
    memory.head()[word].store(value, Ordering::Relaxed);
}

fn refusal(memory: &Mapping, clock: Kind) -> String {
    let error = enter(memory, wanted(clock)).unwrap_err();
    assert_eq!(error.kind, ErrorKind::Zone);
    assert!(error.message.is_ascii() && error.message.len() <= 243);
    error.message
}

/// The claim of a process that had our number at another time.
fn dead_claim() -> u64 {
    let own = claim([0; 4]);
    let other_tag = if own >> 22 & 1023 == 1 { 2 } else { 1 };
    own & !(1023 << 22) | other_tag << 22
}

#[test]
fn who_comes_first_makes_it_and_others_take_what_is_there() {
    let zone = zone();
    let other = Wanted {
        layout: Layout::of(SIZE * 2, true),
        secret: [9; 4],
        ..wanted(Kind::Manual)
    };
    let entered = enter(&zone, other).unwrap();
    assert_eq!(entered.layout, Layout::of(SIZE, false));
    assert_eq!(entered.secret, [1, 2, 3, 4]);
    assert_ne!(entered.peers.own_id(), 0);
}

#[test]
fn many_at_once_agree() {
    for _ in 0..200 {
        let memory = memory();
        let enter = |secret| {
            let secret = [secret; 4];
            let wanted = wanted(Kind::Manual);
            enter(&memory, Wanted { secret, ..wanted }).unwrap().secret
        };
        let secrets = thread::scope(|scope| {
            let enter = &enter;
            let threads: Vec<_> = (1..5).map(|n| scope.spawn(move || enter(n))).collect();
            threads
                .into_iter()
                .map(|thread| thread.join().unwrap())
                .collect::<Vec<_>>()
        });
        assert!(
            secrets.iter().all(|secret| *secret == secrets[0]),
            "{secrets:?}"
        );
    }
}

#[test]
fn what_a_dead_process_began_is_begun_anew() {
    let memory = memory();
    (1..ZONE_BYTES / 8).for_each(|word| set(&memory, word, 77));
    set(&memory, 0, dead_claim());
    let entered = enter(&memory, wanted(Kind::Manual)).unwrap();
    assert_eq!(entered.secret, [1, 2, 3, 4]);
    assert_eq!(
        enter(&memory, wanted(Kind::Manual)).unwrap().layout,
        entered.layout
    );
}

#[test]
fn who_lives_is_waited_for() {
    let memory = memory();
    set(&memory, 0, claim([0; 4]));
    thread::scope(|scope| {
        let waiting = scope.spawn(|| enter(&memory, wanted(Kind::Manual)).unwrap().secret);
        thread::sleep(Duration::from_millis(50));
        assert!(!waiting.is_finished());
        set(&memory, 0, dead_claim());
        assert_eq!(waiting.join().unwrap(), [1, 2, 3, 4]);
    });
}

#[test]
fn nobody_is_waited_for_without_end() {
    let just = Duration::from_millis(1);
    for (holder, early, after_patience, after_limit) in [
        (Holder::Alive, Next::Wait, Next::Wait, Next::GiveUp),
        (Holder::Unknown, Next::Wait, Next::Make, Next::Make),
        (Holder::Dead, Next::Make, Next::Make, Next::Make),
    ] {
        assert_eq!(next(holder, PATIENCE), early);
        assert_eq!(next(holder, PATIENCE + just), after_patience);
        assert_eq!(next(holder, LIMIT + just), after_limit);
    }
}

#[test]
fn a_claim_is_nothing_else_and_tells_who() {
    let own = claim([7; 4]);
    assert_eq!(Progress::of(own), Progress::Claimed(own));
    assert_eq!(holder(own), Holder::Alive);
    assert_eq!(holder(dead_claim()), Holder::Dead);
    assert_eq!(holder(own ^ 1 << 32), Holder::Unknown);
    assert_eq!(Progress::of(MAGIC), Progress::Ready);
    assert_eq!(Progress::of(1), Progress::Foreign);
}

#[test]
fn memory_with_something_else_in_it_is_left_alone() {
    for (word, value) in [(0, 1), (1, 5), (200, 1), (511, u64::MAX)] {
        let memory = memory();
        set(&memory, word, value);
        let message = refusal(&memory, Kind::Manual);
        assert!(message.contains("neither zeroed nor a zone"), "{message}");
        let words = memory.words().iter().enumerate();
        for (place, found) in words.map(|(place, word)| (place, word.load(Ordering::Relaxed))) {
            assert_eq!(found, if place == word { value } else { 0 });
        }
    }
}

#[test]
fn what_only_looks_like_a_claim_is_refused_at_once() {
    let memory = memory();
    set(&memory, 0, claim([0; 4]));
    set(&memory, 300, 1);
    assert!(refusal(&memory, Kind::Manual).contains("neither zeroed nor a zone"));
}

#[test]
fn a_zone_of_another_kind_is_refused() {
    for (word, value, expected) in [
        (1, 1, "layout version 1, this library has 2"),
        (2, 0, "has 0 buckets"),
        (2, u64::from(u32::MAX), "has 4294967295 buckets"),
        (2, u64::MAX, "buckets"),
        (3, 1 << 32, "and 4294967296 chunks"),
        (3, u64::MAX, "chunks"),
        (
            4,
            2,
            "goes by clock = realtime, this service by a manual clock",
        ),
        (4, 77, "goes by an unknown clock (77)"),
        (5, 1, "made before this machine was started"),
    ] {
        let zone = zone();
        set(&zone, word, value);
        let message = refusal(&zone, Kind::Manual);
        assert!(message.contains(expected), "{message}");
    }
}

#[test]
fn kinds_of_clocks_do_not_mix() {
    for made in Kind::ALL {
        let memory = memory();
        enter(&memory, wanted(made)).unwrap();
        for joins in Kind::ALL {
            if joins == made {
                enter(&memory, wanted(joins)).unwrap();
            } else {
                let message = refusal(&memory, joins);
                assert!(message.contains(&format!("goes by {made}, this service by {joins}")));
            }
        }
    }
}

#[test]
fn another_time_namespace_matters_to_monotonic_clocks_alone() {
    for (clock, fits) in [
        (Kind::Monotonic, false),
        (Kind::MonotonicCoarse, false),
        (Kind::Realtime, true),
        (Kind::Manual, true),
    ] {
        let memory = memory();
        enter(&memory, wanted(clock)).unwrap();
        set(&memory, 8, 12345);
        if fits {
            // Start times cannot be compared, so ids are not.
            assert_eq!(enter(&memory, wanted(clock)).unwrap().peers.own_id(), 0);
        } else {
            assert!(refusal(&memory, clock).contains("another time namespace"));
        }
    }
}
