//! What a check is made of, each part alone: the clock, the hash; and the making of a
//! service.

use std::hint::black_box;
use std::time::Instant;

use rustix::time::{ClockId, clock_gettime};
use siphasher::sip::SipHasher13;

use super::floor::ticks;
use super::library::{Config, Place, Zone};
use super::limiters::ORDERS;
use super::names::HOT;

const CALLS: usize = 100_000;

/// Hands on the nanoseconds of each part, in each way that there is.
pub fn measure(mut keep: impl FnMut(&str, &str, f64)) {
    let hasher = SipHasher13::new_with_keys(1, 2);
    let hash = |name: &[u8]| hasher.hash(black_box(name));
    let both = || hash(&HOT) ^ hash(ORDERS);
    let read = || clock_gettime(ClockId::Monotonic);
    keep("clock", "vDSO", repeated(read));
    keep("clock", "TSC", repeated(ticks));
    keep("two names hashed", "SipHash-1-3", repeated(both));
    let zone = Zone::new("making");
    keep("rl_service_new, 32 MiB", "private", making(Place::Private));
    keep("rl_service_new, 32 MiB", "zone", making(Place::Zone(&zone)));
}

fn repeated<T>(part: impl Fn() -> T) -> f64 {
    let began = Instant::now();
    (0..CALLS).for_each(|_| drop(black_box(part())));
    began.elapsed().as_nanos() as f64 / CALLS as f64
}

/// How long it takes to make one service.
fn making(place: Place) -> f64 {
    let rules = "memory = 32m\ndefault = token-bucket,10,1\n";
    let config = Config::new(rules, place).expect("rules");
    let began = Instant::now();
    let service = config.service();
    let elapsed = began.elapsed();
    drop(service);
    elapsed.as_nanos() as f64
}
