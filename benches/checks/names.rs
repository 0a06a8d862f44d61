//! Names of users, laid out in the order of their use: what misses the caches is the
//! limiter, not the reading of the names.

pub const KEYS: usize = 1_000_000;

/// "user-" and seven digits.
pub type Name = [u8; 12];

/// That of user `n`.
pub fn name(n: usize) -> Name {
    format!("user-{n:07}").into_bytes().try_into().unwrap()
}

/// Every name once, in an order that is random, and the same in each run.
pub fn in_random_order() -> Vec<Name> {
    let mut users: Vec<Name> = (0..KEYS).map(name).collect();
    let mut random = Random(1);
    for i in (1..users.len()).rev() {
        users.swap(i, random.next() as usize % (i + 1));
    }
    users
}

/// A linear congruential generator, Knuth's.
pub struct Random(pub u64);

impl Random {
    /// 31 bits.
    pub fn next(&mut self) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        self.0 >> 33
    }
}
