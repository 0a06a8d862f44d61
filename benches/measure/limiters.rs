//! The limiters that a Rust program calls: librl by its C interface, and governor as its
//! users call it.
//!
//! All are asked for the same: a limit that nobody reaches, one that is used up, and
//! three limits at once, of which one is the pair's, one the user's and one everybody's.

use std::num::NonZeroU32;
use std::time::Duration;

use governor::{DefaultDirectRateLimiter, DefaultKeyedRateLimiter, Quota};

use super::library::{MEMORY, Place, Service};
use super::names::{self, HOT, Name};

pub const ORDERS: &[u8; 10] = b"/v1/orders";
pub const CLOSED: &[u8; 10] = b"/v1/closed";
const LIMITS: &[u8; 10] = b"/v1/limits";

/// Makes a limiter know its keys, in an order that is not that of their use: what it has
/// for each would else lie as the calls come, which flatters one that allocates.
pub fn fill(limiter: &impl Limiter, keys: usize) {
    limiter.closed(&HOT);
    for n in 0..keys {
        assert!(limiter.open(&names::name(n)));
    }
}

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
        Librl::with(MEMORY)
    }

    /// With so many bytes of memory.
    pub fn with(memory: usize) -> Librl {
        let rules = format!(
            "memory = {memory}\n\
            default = token-bucket,1000000000,1\n\
            api./v1/closed = token-bucket,1,36500d\n\
            api./v1/limits = token-bucket,1000000000,1 \
                + token-bucket,1000000000,60,per=user + token-bucket,1000000000,3600,per=all\n"
        );
        Librl(Service::new(&rules, Place::Private))
    }

    /// How many keys had to be forgotten while they counted.
    pub fn evicted_live(&self) -> u64 {
        self.0.evicted_live_and_memory().0
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
