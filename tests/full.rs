//! A zone that has been flooded with keys, from several threads and services at once,
//! still fits together.

#![allow(clippy::unwrap_used, clippy::panic)]

use std::thread;

use rl::clock::Clock;
use rl::config::Config;
use rl::service::{Request, Service, unlink_zone};

const KEYS: u64 = 300_000;
const THREADS: u64 = 4;

/// A service of the zone, with limits of 64 in an hour.
fn service(zone: &str, algorithm: &str, on_full: &str) -> Service {
    let mut config = Config::new();
    let text =
        format!("shared = {zone}\nmemory = 1m\non-full = {on_full}\ndefault = {algorithm},64,1h");
    config.parse(text.as_bytes()).unwrap();
    config.set_clock(Clock::manual(0));
    Service::new(&config).unwrap()
}

fn passes(service: &Service, user: &[u8]) -> bool {
    let (api, cost) = (b"/a", 1);
    service.check(Request { user, api, cost }).unwrap().allowed
}

fn flood(service: &Service, thread: u64, keys: u64) {
    for key in 0..keys {
        passes(service, format!("{thread}-{key}").as_bytes());
        assert!(key % 100 > 0 || !passes(service, b"watched"), "key {key}");
    }
}

#[test]
fn a_flooded_zone_fits_together() {
    for algorithm in [
        "token-bucket",
        "fixed-window",
        "sliding-window",
        "sliding-window-counter",
    ] {
        for (on_full, keys) in [("evict", KEYS), ("deny", KEYS / 3), ("allow", KEYS / 3)] {
            let zone = format!("/librl-full-{}", std::process::id());
            let services = [(); 2].map(|()| service(&zone, algorithm, on_full));
            let [first, second] = &services;
            (0..64).for_each(|_| assert!(passes(first, b"watched")));
            thread::scope(|scope| {
                for thread in 0..THREADS {
                    let service = if thread % 2 == 0 { first } else { second };
                    scope.spawn(move || flood(service, thread, keys / THREADS));
                }
            });
            unlink_zone(zone.as_bytes()).unwrap();
            let stats = first.stats();
            if let Err(fault) = second.audit() {
                panic!("{algorithm}, on-full = {on_full}: {}", fault.message);
            }
            assert_eq!(stats.evicted_live > 0, on_full == "evict");
            assert!(stats.keys <= stats.capacity && stats.log_entries <= stats.log_capacity);
        }
    }
}
