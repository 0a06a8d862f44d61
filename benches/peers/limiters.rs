//! The limiters that a Rust program calls: librl by its C interface, governor as its
//! users call it, and the floor, which is no limiter but what none can do without.
//!
//! All are asked for the same: a limit that nobody reaches, one that is used up, and
//! three limits at once, of which one is the pair's, one the user's and one everybody's.

use std::hint::black_box;
use std::num::NonZeroU32;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use governor::{DefaultDirectRateLimiter, DefaultKeyedRateLimiter, Quota};
use rl::clock::{Clock, SystemClock};
use siphasher::sip::SipHasher13;

use super::interface::Service;
use super::names::Name;

const ORDERS: &[u8] = b"/v1/orders";
const CLOSED: &[u8] = b"/v1/closed";
const LIMITS: &[u8] = b"/v1/limits";

pub trait Limiter: Sync {
    /// By the limit that nobody reaches.
    fn open(&self, user: &Name) -> bool;
    /// By the one that is used up after one request.
    fn closed(&self, user: &Name) -> bool;
    /// By three limits that nobody reaches.
    fn three(&self, user: &Name) -> bool;

    /// How many are allowed by the limit that nobody reaches. Only librl has a call for
    /// many.
    fn batch<const N: usize>(&self, users: &[Name; N]) -> usize {
        users.iter().filter(|user| self.open(user)).count()
    }
}

pub struct Librl(Service);

impl Librl {
    pub fn new() -> Librl {
        let rules = "memory = 64m\n\
            default = token-bucket,1000000000,1\n\
            api./v1/closed = token-bucket,1,36500d\n\
            api./v1/limits = token-bucket,1000000000,1 \
                + token-bucket,1000000000,60,per=user + token-bucket,1000000000,3600,per=all\n";
        Librl(Service::new(rules, None))
    }
}

impl Limiter for Librl {
    fn open(&self, user: &Name) -> bool {
        self.0.check(user, ORDERS)
    }

    fn closed(&self, user: &Name) -> bool {
        self.0.check(user, CLOSED)
    }

    fn three(&self, user: &Name) -> bool {
        self.0.check(user, LIMITS)
    }

    fn batch<const N: usize>(&self, users: &[Name; N]) -> usize {
        self.0.check_batch(users, ORDERS)
    }
}

type Keyed = DefaultKeyedRateLimiter<String>;

/// Keyed limiters with the default clock, one for each limit, and for each call a key
/// made of the two names. Three limits are asked one after the other.
pub struct Governor {
    open: Keyed,
    closed: Keyed,
    user: Keyed,
    all: DefaultDirectRateLimiter,
}

const BILLION: NonZeroU32 = NonZeroU32::new(1_000_000_000).unwrap();

/// A billion in so many seconds.
fn quota(seconds: u64) -> Quota {
    let period = Duration::from_nanos(seconds);
    Quota::with_period(period).unwrap().allow_burst(BILLION)
}

impl Governor {
    pub fn new() -> Governor {
        let century = Duration::from_secs(36_500 * 86_400);
        Governor {
            open: Keyed::keyed(quota(1)),
            closed: Keyed::keyed(Quota::with_period(century).unwrap()),
            user: Keyed::keyed(quota(60)),
            all: DefaultDirectRateLimiter::direct(quota(3600)),
        }
    }
}

impl Limiter for Governor {
    fn open(&self, user: &Name) -> bool {
        self.open.check_key(&key(user, ORDERS)).is_ok()
    }

    fn closed(&self, user: &Name) -> bool {
        self.closed.check_key(&key(user, CLOSED)).is_ok()
    }

    fn three(&self, user: &Name) -> bool {
        self.open.check_key(&key(user, LIMITS)).is_ok()
            && self.user.check_key(&text(user).to_owned()).is_ok()
            && self.all.check().is_ok()
    }
}

/// "user\0api", in one allocation.
fn key(user: &Name, api: &[u8]) -> String {
    let mut key = String::with_capacity(user.len() + 1 + api.len());
    key.push_str(text(user));
    key.push('\0');
    key.push_str(text(api));
    key
}

/// A user of governor has text already, so its check must not be in the time.
fn text(name: &[u8]) -> &str {
    // SAFETY: all names here are ASCII.
    unsafe { std::str::from_utf8_unchecked(name) }
}

#[repr(align(64))]
struct Line([AtomicU64; 8]);

/// Two names hashed, the clock read, and a cache line touched: one of as many as the
/// counters of a million keys take in librl, 32 MiB. The clock is the library's, by the
/// vDSO of the kernel.
pub struct Floor {
    lines: Vec<Line>,
    hasher: SipHasher13,
    clock: Clock,
}

impl Floor {
    pub fn new() -> Floor {
        let line = |_| Line([const { AtomicU64::new(0) }; 8]);
        Floor {
            lines: (0..(32 << 20) / size_of::<Line>()).map(line).collect(),
            hasher: SipHasher13::new_with_keys(1, 2),
            clock: Clock::system(SystemClock::Monotonic),
        }
    }

    #[inline]
    fn find(&self, user: &Name, api: &[u8]) -> (&AtomicU64, u64) {
        let hash = self.hasher.hash(user) ^ self.hasher.hash(black_box(api));
        let Line(words) = &self.lines[hash as usize % self.lines.len()];
        (&words[0], self.clock.now_ns())
    }
}

impl Limiter for Floor {
    /// Changes the line, as a counter that is charged.
    fn open(&self, user: &Name) -> bool {
        let (word, now) = self.find(user, ORDERS);
        word.store((word.load(Relaxed) ^ now) | 1, Relaxed);
        true
    }

    /// Only reads it: no word that is read is greater than the last.
    fn closed(&self, user: &Name) -> bool {
        let (word, now) = self.find(user, CLOSED);
        word.load(Relaxed) == now
    }

    fn three(&self, user: &Name) -> bool {
        self.open(user)
    }
}
