//! What is measured: calls, one after the other, by one worker of one or two.

use std::hint::black_box;
use std::ops::Range;

use rl::clock::{Clock, SystemClock};
use siphasher::sip::SipHasher13;

use super::interface::{Service, Zone};
use super::names::{self, KEYS, Name};

/// Calls of each worker in a round.
pub const CALLS: usize = 1_000_000;

const ORDERS: &[u8] = b"/v1/orders";

/// Rules of which the benchmark never comes to the end of one, and one it does. The
/// limit of `noted` does not divide its window, so both words of its counter change.
const RULES: &str = "\
    memory = 64m\n\
    default = token-bucket,1000000000,1\n\
    api./v1/closed = token-bucket,1,36500d\n\
    api./v1/noted = token-bucket,999999,60,burst=9000000000\n\
    api./v1/three = token-bucket,1000000000,1 \
        + token-bucket,1000000000,3600,per=user + fixed-window,1000000000,60,per=all\n\
    api./v1/three-closed = token-bucket,1000000000,1 \
        + token-bucket,1,36500d,per=user + fixed-window,1000000000,60,per=all\n";

/// The same, and ten thousand rules for others.
fn ten_thousand_rules() -> String {
    let users = (0..5000).map(|n| format!("user.customer-{n} = token-bucket,{},10\n", n + 1));
    let apis = (0..5000).map(|n| format!("api./v2/{n} = fixed-window,{},60\n", n + 1));
    RULES.to_owned() + &users.chain(apis).collect::<String>()
}

/// Whom the calls are made for, and how they are answered.
#[derive(Clone, Copy)]
pub enum Work {
    Clock,
    Hashes,
    Allowed(&'static [u8]),
    Refused(&'static [u8]),
    ManyRules,
    Keys,
}

/// A part of a round: of so many equal ones, and of the workers in it.
#[derive(Clone, Copy)]
pub struct Part {
    pub index: usize,
    pub of: usize,
    pub worker: usize,
    pub workers: usize,
}

impl Work {
    pub fn needs_a_service(self) -> bool {
        !matches!(self, Work::Clock | Work::Hashes)
    }

    /// How many calls each worker makes in a part.
    pub fn calls(self, part: Part) -> usize {
        match self {
            Work::Keys => KEYS / part.of / part.workers,
            _ => CALLS / part.of,
        }
    }
}

/// Two services in the same memory, one of which has many rules.
pub struct Services {
    few: Service,
    many: Service,
}

impl Services {
    pub fn new(zone: Option<&Zone>) -> Services {
        let few = Service::new(RULES, zone);
        let many = Service::new(&ten_thousand_rules(), zone);
        Services { few, many }
    }
}

/// What the work is done with.
pub struct Tools {
    users: Vec<Name>,
    clock: Clock,
    hasher: SipHasher13,
}

impl Tools {
    pub fn new() -> Tools {
        Tools {
            users: names::in_random_order(),
            clock: Clock::system(SystemClock::Monotonic),
            hasher: SipHasher13::new_with_keys(1, 2),
        }
    }

    pub fn run(&self, work: Work, services: &Services, part: Part) {
        let calls = 0..work.calls(part);
        let Services { few, many } = services;
        match work {
            Work::Clock => calls.for_each(|_| {
                black_box(self.clock.now_ns());
            }),
            Work::Hashes => calls.for_each(|_| {
                black_box(self.hasher.hash(black_box(b"user-1234567")));
                black_box(self.hasher.hash(black_box(ORDERS)));
            }),
            Work::Allowed(api) => hot(few, api, true, calls),
            Work::Refused(api) => {
                few.check(b"user-1234567", api);
                hot(few, api, false, calls);
            }
            Work::ManyRules => hot(many, ORDERS, true, calls),
            Work::Keys => {
                let first = (part.index * part.workers + part.worker) * calls.len();
                self.users[first..][calls].iter().for_each(|user| {
                    few.check(user, ORDERS);
                });
            }
        }
    }
}

fn hot(service: &Service, api: &[u8], allowed: bool, calls: Range<usize>) {
    for _ in calls {
        assert_eq!(service.check(black_box(b"user-1234567"), api), allowed);
    }
}

/// Bytes of memory for each key when the first live counter has to go.
pub fn memory_per_key(zone: Option<&Zone>) -> (f64, u64) {
    let service = Service::new("memory = 32m\ndefault = token-bucket,1,36500d\n", zone);
    let step = 1000;
    for batch in 0u64.. {
        for n in batch * step..(batch + 1) * step {
            service.check(format!("user-{n:07}").as_bytes(), ORDERS);
        }
        if batch > 700 {
            let (evicted_live, memory) = service.evicted_live_and_memory();
            let keys = batch * step;
            if evicted_live > 0 {
                return (memory as f64 / keys as f64, keys);
            }
        }
    }
    unreachable!("a table of 32 MB has room for so many keys")
}
