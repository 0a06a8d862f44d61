//! A forked child goes on with its parent's service, whatever the threads of the parent
//! were doing at that moment.
#![allow(clippy::unwrap_used, clippy::panic, clippy::expect_used, unsafe_code)]

use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rl::clock::Clock;
use rl::config::{Config, Memory};
use rl::service::{Request, Service};

/// Runs in a forked child, which must come to the end of it in 10 seconds; says whether
/// it has and all was well.
#[must_use]
fn in_child(check: impl FnOnce() -> bool) -> bool {
    // SAFETY: what the child uses of the library is meant to stand a fork, which is what
    // is tested; allocation in a child is safe with the C libraries there are.
    let child = unsafe { libc::fork() };
    if child == 0 {
        // SAFETY: it asks for a signal, and nothing more.
        unsafe { libc::alarm(10) };
        let passed = std::panic::catch_unwind(std::panic::AssertUnwindSafe(check));
        // SAFETY: it ends the child, here and now.
        unsafe { libc::_exit(i32::from(!passed.unwrap_or(false))) };
    }
    let mut status = 1;
    // SAFETY: it waits for the child and writes how that ended.
    assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
    status == 0
}

fn service(clock: Option<&Clock>, memory: Option<Memory>) -> Service {
    let mut config = Config::new();
    config.parse(b"default = fixed-window,5,10").unwrap();
    if let Some(clock) = clock {
        config.set_clock(clock.clone());
    }
    if let Some(memory) = memory {
        config.set_memory(memory);
    }
    Service::new(&config).unwrap()
}

/// Memory that children share.
fn shared_memory() -> Memory {
    use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous};
    let protection = ProtFlags::READ | ProtFlags::WRITE;
    let null = std::ptr::null_mut();
    // SAFETY: an anonymous mapping, which stays until the program ends.
    let base = unsafe { mmap_anonymous(null, 65536, protection, MapFlags::SHARED) };
    let base = NonNull::new(base.unwrap().cast()).unwrap();
    // SAFETY: as above; only services use it.
    unsafe { Memory::new(base, 65536) }.unwrap()
}

fn ask(cost: u64) -> Request<'static> {
    let (user, api) = (b"alice", b"/orders");
    Request { user, api, cost }
}

fn take(service: &Service) -> u64 {
    service.check(ask(1)).unwrap().remaining
}

#[test]
fn a_child_has_a_copy_of_private_counters() {
    let service = service(Some(&Clock::manual(0)), None);
    assert_eq!(take(&service), 4);
    assert!(in_child(|| [take(&service), take(&service)] == [3, 2]));
    assert_eq!(take(&service), 3);
}

#[test]
fn a_child_shares_the_counters_in_shared_memory() {
    let service = service(Some(&Clock::manual(0)), Some(shared_memory()));
    assert_eq!(take(&service), 4);
    assert!(in_child(|| [take(&service), take(&service)] == [3, 2]));
    assert!(in_child(|| take(&service) == 1));
    assert_eq!(take(&service), 0);
    assert_eq!(service.stats().allowed, 5);
}

#[test]
fn a_child_does_not_stand_behind_the_threads_of_its_parent() {
    let clock = Clock::manual(0);
    let service = service(Some(&clock), None);
    assert!(service.check(ask(5)).unwrap().allowed);
    thread::scope(|scope| {
        let waiting = [1, 2].map(|_| scope.spawn(|| service.acquire(ask(1), 60_000)));
        thread::sleep(Duration::from_millis(50));
        let passed = in_child(|| {
            // Nobody but the child itself could set its clock.
            let too_late = service.acquire(ask(1), 1_000).unwrap();
            clock.set_ns(10_000_000_000).unwrap();
            let in_time = service.acquire(ask(1), 1_000).unwrap();
            service.refund(ask(1)).unwrap();
            !too_late.allowed && in_time.allowed && take(&service) == 4
        });
        let still_wait = waiting.iter().all(|waiting| !waiting.is_finished());
        clock.set_ns(10_000_000_000).unwrap();
        assert!(passed && still_wait);
        for waiting in waiting {
            assert!(waiting.join().unwrap().unwrap().allowed);
        }
    });
}

#[test]
fn threads_of_a_child_wait_for_their_turn() {
    let service = service(None, None);
    assert!(service.check(ask(5)).unwrap().allowed);
    assert!(in_child(|| {
        let clock = Clock::manual(0);
        let own = self::service(Some(&clock), None);
        own.check(ask(5)).unwrap();
        thread::scope(|scope| {
            let waiting = scope.spawn(|| own.acquire(ask(5), 60_000).unwrap().allowed);
            thread::sleep(Duration::from_millis(20));
            clock.advance_ns(10_000_000_000).unwrap();
            waiting.join().unwrap()
        })
    }));
}

#[test]
fn children_of_a_busy_parent_do_all_there_is() {
    let clock = Clock::manual(0);
    for service in [
        service(Some(&clock), None),
        service(Some(&clock), Some(shared_memory())),
    ] {
        let ends = AtomicBool::new(false);
        let mut rules = Config::new();
        rules.parse(b"default = fixed-window,7,10").unwrap();
        thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    while !ends.load(Ordering::Relaxed) {
                        service.acquire(ask(1), 1).unwrap();
                        service.refund(ask(1)).unwrap();
                        service.reload(&rules).unwrap();
                        clock.advance_ns(1_000).unwrap();
                    }
                });
            }
            let begun = Instant::now();
            let mut passed = true;
            while passed && begun.elapsed() < Duration::from_millis(400) {
                passed = in_child(|| {
                    // Of other names, since the parent may hold the bucket of its own.
                    let other = Request {
                        user: b"bob",
                        api: b"",
                        cost: 1,
                    };
                    let allowed = service.acquire(other, 1).unwrap().allowed;
                    service.refund(other).unwrap();
                    service.reload(&rules).unwrap();
                    clock.advance_ns(1_000).unwrap();
                    allowed
                });
            }
            ends.store(true, Ordering::Relaxed);
            assert!(passed);
        });
    }
}

#[test]
fn a_child_may_free_the_service() {
    let clock = Clock::manual(0);
    let service = service(Some(&clock), None);
    service.check(ask(5)).unwrap();
    thread::scope(|scope| {
        let waiting = scope.spawn(|| service.acquire(ask(1), 60_000).unwrap().allowed);
        thread::sleep(Duration::from_millis(20));
        let passed = in_child(|| {
            // SAFETY: it is the child's own copy, which nobody else drops: the child ends.
            drop(unsafe { std::ptr::read(&raw const service) });
            true
        });
        clock.advance_ns(10_000_000_000).unwrap();
        assert!(passed && waiting.join().unwrap());
    });
}
