//! The counter and the clock of the machine that the test runs on. What is asserted holds
//! however busy that is: each reading lies between two of the clock.

use std::thread;
use std::time::{Duration, Instant};

use super::super::tsc::{self, Machine};
use super::super::{Clock, SystemClock};
use super::*;

/// How far beside the clock a reading may lie.
const US: u64 = 1_000;

/// Asks until the counter is used.
fn anchored() -> Anchor {
    let (anchor, begun) = (Anchor::new(), Instant::now());
    while anchor.reckon(&Machine).is_none() {
        anchor.now_ns(&Machine);
        assert!(begun.elapsed() < Duration::from_secs(60), "{anchor:?}");
    }
    anchor
}

/// Reads the time for a while; how often by the counter.
fn read(anchor: &Anchor) -> u64 {
    let (begun, mut counted, mut latest) = (Instant::now(), 0, 0);
    while begun.elapsed() < Duration::from_millis(150) {
        let before = Machine.monotonic_ns();
        let reckoned = anchor.reckon(&Machine);
        let now = reckoned.unwrap_or_else(|| anchor.now_ns(&Machine));
        let after = Machine.monotonic_ns();
        assert!(
            before <= now + US && now <= after + US,
            "{before} {now} {after}"
        );
        assert!(latest < now + US, "{latest} {now}");
        counted += u64::from(reckoned.is_some());
        latest = now.max(latest);
    }
    counted
}

#[test]
fn readings_lie_within_a_microsecond_of_the_clock() {
    if !tsc::is_trusted() {
        // Nobody goes by the counter here: `a_service_counts_where_the_kernel_does`.
        return;
    }
    let anchor = anchored();
    let counted: u64 = thread::scope(|scope| {
        let readers = [(); 4].map(|()| scope.spawn(|| read(&anchor)));
        readers.map(|reader| reader.join().unwrap()).iter().sum()
    });
    assert!(counted > 0);
}

#[test]
fn a_service_counts_where_the_kernel_does() {
    let anchor = Anchor::new();
    let clock = Clock::system(SystemClock::Monotonic).counting();
    let begun = Machine.monotonic_ns();
    while Machine.monotonic_ns() - begun < 60_000_000_000 {
        let before = Machine.monotonic_ns();
        assert!(clock.now_by(&anchor) + US > before);
        if anchor.reckon(&Machine).is_some() || !tsc::is_trusted() {
            break;
        }
    }
    assert_eq!(anchor.reckon(&Machine).is_some(), tsc::is_trusted());
}

#[test]
fn no_other_clock_touches_the_anchor() {
    use SystemClock::{MonotonicCoarse, MonotonicVdso, Realtime};
    let systems = [MonotonicVdso, MonotonicCoarse, Realtime].map(Clock::system);
    for clock in systems.into_iter().chain([Clock::manual(5)]) {
        let (clock, anchor) = (clock.counting(), Anchor::new());
        let before = clock.now_ns();
        let now = clock.now_by(&anchor);
        assert!((before..=clock.now_ns()).contains(&now));
        assert_eq!(anchor.found(), Anchor::new().found());
    }
}
