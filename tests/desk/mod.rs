//! A service on a manual clock, with few words for what tests do with it.

#![allow(dead_code)]

use rl::clock::Clock;
use rl::config::Config;
use rl::service::{Decision, Request, Service, Stats};

pub const NS_PER_MS: u64 = 1_000_000;

pub struct Desk {
    pub service: Service,
    clock: Clock,
}

impl Desk {
    /// A service with the rules of `text`. Its clock stands at 1,000 s.
    pub fn new(text: &str) -> Desk {
        let clock = Clock::manual(1_000_000 * NS_PER_MS);
        let service = service(text, clock.clone());
        Desk { service, clock }
    }

    pub fn check(&self, user: &[u8], api: &[u8]) -> Decision {
        let request = Request { user, api, cost: 1 };
        self.service.check(request).unwrap()
    }

    pub fn take(&self, user: &[u8], cost: u64) -> Decision {
        let api = b"";
        self.service.check(Request { user, api, cost }).unwrap()
    }

    pub fn peek(&self, user: &[u8]) -> Decision {
        let request = Request {
            user,
            api: b"",
            cost: 1,
        };
        self.service.peek(request).unwrap()
    }

    pub fn charge(&self, user: &[u8], cost: u64) -> Decision {
        let api = b"";
        self.service.charge(Request { user, api, cost }).unwrap()
    }

    pub fn refund(&self, user: &[u8], cost: u64) {
        let api = b"";
        self.service.refund(Request { user, api, cost }).unwrap();
    }

    /// One request of a user who has a number for a name.
    pub fn fresh(&self, user: u64) -> Decision {
        self.check(&user.to_le_bytes(), b"")
    }

    pub fn wait_ms(&self, ms: u64) {
        self.clock.advance_ns(ms * NS_PER_MS).unwrap();
    }

    /// Sets the clock back.
    pub fn set_back_ms(&self, ms: u64) {
        let now = self.clock.now_ns() - ms * NS_PER_MS;
        self.clock.set_ns(now).unwrap();
    }

    pub fn stats(&self) -> Stats {
        self.service.stats()
    }
}

pub fn service(text: &str, clock: Clock) -> Service {
    let mut config = Config::new();
    config.parse(text.as_bytes()).unwrap();
    config.set_clock(clock);
    Service::new(&config).unwrap()
}

/// Reproducible random words (SplitMix64: Steele, Lea and Flood, 2014).
pub struct Random(pub u64);

impl Random {
    pub fn word(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let word = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        word ^ (word >> 31)
    }

    pub fn below(&mut self, end: u64) -> u64 {
        self.word() % end
    }
}
