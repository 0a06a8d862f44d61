//! Many threads on one service: what they get together is exactly the limit, and
//! what the service says of itself adds up.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic
)]

mod desk;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

use desk::{Desk, service};
use rl::clock::Clock;
use rl::service::{Decision, Request, Service};

const ALGORITHMS: [&str; 4] = [
    "token-bucket",
    "fixed-window",
    "sliding-window",
    "sliding-window-counter",
];

const KEY: Request<'static> = Request {
    user: b"alice",
    api: b"/orders",
    cost: 1,
};

fn singles(service: &Service, count: usize) -> u64 {
    let allowed = |_| u64::from(service.check(KEY).unwrap().allowed);
    (0..count).map(allowed).sum()
}

fn batches(service: &Service, count: usize, size: usize) -> u64 {
    let mut allowed = 0;
    for _ in 0..count {
        let requests = std::iter::repeat_n(KEY, size);
        let mut out = vec![Decision::default(); size];
        service.check_batch(requests, &mut out).unwrap();
        allowed += out.iter().filter(|decision| decision.allowed).count() as u64;
    }
    allowed
}

#[test]
fn batches_and_singles_together_get_exactly_the_limit() {
    for algorithm in ALGORITHMS {
        for round in 0..20 {
            let desk = Desk::new(&format!("memory = 1m\ndefault = {algorithm},500,10"));
            let service = &desk.service;
            let allowed: u64 = thread::scope(|scope| {
                let threads = [
                    scope.spawn(|| singles(service, 200)),
                    scope.spawn(|| batches(service, 30, 7)),
                    scope.spawn(|| singles(service, 200)),
                    scope.spawn(|| batches(service, 4, 50)),
                ];
                threads
                    .into_iter()
                    .map(|thread| thread.join().unwrap())
                    .sum()
            });
            assert_eq!(allowed, 500, "{algorithm}, round {round}");
            let stats = desk.stats();
            assert_eq!((stats.allowed, stats.denied), (500, 310));
        }
    }
}

#[test]
fn one_check_reads_the_clock_once_and_so_does_a_batch() {
    for algorithm in ALGORITHMS {
        let reads = Arc::new(AtomicU64::new(0));
        let count = Arc::clone(&reads);
        let clock = Clock::callback(move || 1_000_000 + count.fetch_add(1, Ordering::Relaxed));
        let service = service(&format!("default = {algorithm},2,10"), clock);
        let mut before = 0;
        let mut read_once = |what: &str| {
            let now = reads.load(Ordering::Relaxed);
            assert_eq!(now - before, 1, "{algorithm}, {what}");
            before = now;
        };
        for what in ["new", "known", "refused"] {
            assert_eq!(service.peek(KEY).unwrap().allowed, what != "refused");
            read_once("peek");
            assert_eq!(service.check(KEY).unwrap().allowed, what != "refused");
            read_once(what);
        }
        assert!(!service.check(Request { cost: 3, ..KEY }).unwrap().allowed);
        read_once("over the limit");
        batches(&service, 1, 10);
        read_once("batch");
    }
}

/// Every request of every thread is counted once, whatever became of it.
#[test]
fn statistics_add_up_once_the_threads_are_done() {
    const THREADS: u64 = 4;
    let desk = Desk::new("memory = 1m\ndefault = fixed-window,3,10\nuser.none = deny");
    let run = |thread: u64| {
        for i in 0..2000u64 {
            let user = (i % 100 + 100 * thread).to_le_bytes();
            desk.check(&user, b"own");
            desk.check(&(i % 50).to_le_bytes(), b"shared");
            desk.check(b"none", b"");
            let bad = Request { cost: 0, ..KEY };
            assert!(desk.service.check(bad).is_err());
            assert!(desk.service.peek(KEY).unwrap().allowed);
        }
    };
    thread::scope(|scope| {
        for thread in 0..THREADS {
            scope.spawn(move || run(thread));
        }
    });
    let stats = desk.stats();
    assert_eq!(stats.allowed, 3 * (THREADS * 100 + 50));
    assert_eq!(stats.allowed + stats.denied, 3 * 2000 * THREADS);
    assert_eq!(stats.errors, 2000 * THREADS);
    assert_eq!(stats.keys, THREADS * 100 + 50);
    assert_eq!((stats.evicted_idle, stats.evicted_live), (0, 0));
}

/// On a clock that stands still a counter only empties, and so it looks to whoever
/// reads while others write.
#[test]
fn readers_see_counters_that_only_empty() {
    for algorithm in ALGORITHMS {
        let desk = Desk::new(&format!("memory = 1m\ndefault = {algorithm},3000,10"));
        let done = AtomicBool::new(false);
        let (service, done) = (&desk.service, &done);
        let peeks = || {
            let (mut left, mut allowed) = (3000, 0);
            while !done.load(Ordering::Acquire) {
                let seen = service.peek(KEY).unwrap();
                assert!(seen.remaining <= left, "{algorithm}: {seen:?} after {left}");
                left = seen.remaining;
                let stats = service.stats();
                assert!(allowed <= stats.allowed && stats.allowed <= 3000);
                assert!(stats.keys <= 1 && stats.evicted_live == 0);
                allowed = stats.allowed;
            }
        };
        thread::scope(|scope| {
            let readers = [scope.spawn(peeks), scope.spawn(peeks)];
            let writers = [
                scope.spawn(|| singles(service, 2000)),
                scope.spawn(|| singles(service, 2000)),
            ];
            let allowed: u64 = writers
                .into_iter()
                .map(|writer| writer.join().unwrap())
                .sum();
            done.store(true, Ordering::Release);
            assert_eq!(allowed, 3000, "{algorithm}");
            readers
                .into_iter()
                .for_each(|reader| reader.join().unwrap());
        });
        assert!(!service.peek(KEY).unwrap().allowed);
    }
}
