//! Which services read the time by the processor's counter, as their zones show: an
//! anchor stands in the header, whose first word has its lowest bit set when it is used.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, unsafe_code)]

use std::fs;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use rl::config::{Config, Memory};
use rl::service::{Request, Service};

/// Where the anchor's instant stands, in words: `src/machine/mod.rs`.
const INSTANT: usize = 488;

/// Memory for a zone, which is never freed.
fn zone() -> &'static [AtomicU64] {
    (0..8192)
        .map(|_| AtomicU64::new(0))
        .collect::<Vec<_>>()
        .leak()
}

fn service(zone: &'static [AtomicU64], clock: &str) -> Service {
    let mut config = Config::new();
    let text = format!("default = fixed-window,1000000000,1000d\nclock = {clock}");
    config.parse(text.as_bytes()).unwrap();
    let address = NonNull::from(zone).cast();
    // SAFETY: it is there for ever, as words that nothing else writes to.
    let memory = unsafe { Memory::new(address, size_of_val(zone)) }.unwrap();
    config.set_memory(memory);
    Service::new(&config).unwrap()
}

fn ask(service: &Service) -> u64 {
    let (user, api, cost) = (b"u".as_slice(), b"a".as_slice(), 1);
    let decision = service.check(Request { user, api, cost }).unwrap();
    assert!(decision.allowed);
    decision.remaining
}

fn instant(zone: &[AtomicU64]) -> u64 {
    zone[INSTANT].load(Ordering::Relaxed)
}

/// Whether the kernel takes the time from the counter.
fn kernel_counts() -> bool {
    let source = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
    let source = fs::read_to_string(source).unwrap_or_default();
    cfg!(target_arch = "x86_64") && source == "tsc\n"
}

#[test]
fn monotonic_counts_where_the_kernel_does() {
    let (zone, begun) = (zone(), Instant::now());
    let service = service(zone, "monotonic");
    if kernel_counts() {
        while instant(zone) & 1 == 0 {
            ask(&service);
            assert!(begun.elapsed() < Duration::from_secs(60));
        }
    } else {
        while begun.elapsed() < Duration::from_millis(100) {
            ask(&service);
        }
        assert_eq!(instant(zone), 0);
    }
}

#[test]
fn monotonic_vdso_never_counts() {
    let (zone, begun) = (zone(), Instant::now());
    let service = service(zone, "monotonic-vdso");
    while begun.elapsed() < Duration::from_millis(100) {
        ask(&service);
    }
    assert_eq!(instant(zone), 0);
}

#[test]
fn a_zone_may_have_services_of_both_kinds() {
    let zone = zone();
    let [first, second] = ["monotonic-vdso", "monotonic"].map(|clock| service(zone, clock));
    for asked in 0..10 {
        assert_eq!(ask(&first), 999_999_999 - 2 * asked);
        assert_eq!(ask(&second), 999_999_998 - 2 * asked);
    }
}
