//! The limiters that a Rust program calls: librl by its C interface, and governor as its
//! users call it.
//!
//! All are asked for the same: a limit that nobody reaches, one that is used up, and
//! three limits at once, of which one is the pair's, one the user's and one everybody's.
//! What is taken comes back so slowly that no counter becomes as good as new meanwhile:
//! librl would count that as free space.

use std::num::NonZeroU32;
use std::time::Duration;

use governor::{DefaultDirectRateLimiter, DefaultKeyedRateLimiter, Quota};

use super::library::{MEMORY, Place, Service};
use super::names::{self, HOT, Name};

pub const ORDERS: &[u8; 10] = b"/v1/orders";
pub const SINGLE: &[u8; 10] = b"/v1/single";
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
    /// By a limit that nobody reaches.
    fn open(&self, user: &Name) -> bool;
    /// By one that nobody reaches though all calls are for one user.
    fn single(&self, user: &Name) -> bool;
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

/// A service for each limit, as governor has a limiter for each: in both there is no rule
/// to be found.
pub struct Librl {
    keys: Service,
    single: Service,
    closed: Service,
    three: Service,
}

impl Librl {
    pub fn new() -> Librl {
        Librl::with(MEMORY)
    }

    /// With so many bytes of memory.
    pub fn with(memory: usize) -> Librl {
        let service = |memory: usize, rule: &str| {
            let rules = format!("memory = {memory}\ndefault = {rule}\n");
            Service::new(&rules, Place::Private)
        };
        let single = "token-bucket,1000,1,burst=1000000000";
        let three = format!("{single} + {single},per=user + {single},per=all");
        Librl {
            keys: service(memory, "token-bucket,1,600,burst=5000000"),
            single: service(1 << 20, single),
            closed: service(1 << 20, "token-bucket,1,86400"),
            three: service(1 << 20, &three),
        }
    }

    /// How many keys had to be forgotten while they counted.
    pub fn evicted_live(&self) -> u64 {
        self.keys.evicted_live_and_memory().0
    }
}

impl Limiter for Librl {
    fn open(&self, user: &Name) -> bool {
        self.keys.check(user, ORDERS)
    }

    fn single(&self, user: &Name) -> bool {
        self.single.check(user, SINGLE)
    }

    fn closed(&self, user: &Name) -> bool {
        self.closed.check(user, CLOSED)
    }

    fn three(&self, user: &Name) -> bool {
        self.three.check(user, LIMITS)
    }

    fn batch<const N: usize>(&self, users: &[Name; N]) -> usize {
        self.keys.check_batch(users, ORDERS)
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

impl Governor {
    pub fn new() -> Governor {
        let open = period(Duration::from_millis(1)).allow_burst(BILLION);
        let closed = period(Duration::from_secs(86_400));
        Governor {
            open: Keyed::keyed(open),
            closed: Keyed::keyed(closed),
            user: Keyed::keyed(open),
            all: DefaultDirectRateLimiter::direct(open),
        }
    }
}

const BILLION: NonZeroU32 = NonZeroU32::new(1_000_000_000).unwrap();

/// One in so much time.
fn period(time: Duration) -> Quota {
    Quota::with_period(time).unwrap()
}

impl Limiter for Governor {
    fn open(&self, user: &Name) -> bool {
        self.open.check_key(&key(user, ORDERS)).is_ok()
    }

    fn single(&self, user: &Name) -> bool {
        self.open.check_key(&key(user, SINGLE)).is_ok()
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
