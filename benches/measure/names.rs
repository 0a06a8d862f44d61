//! Who asks, in the order of asking. Names lie in that order, so that what misses the
//! caches is the limiter, not the reading of the names.

/// How many keys the figures of many keys have.
pub const KEYS: usize = 1_000_000;

/// How uneven the use of keys may be: the key of rank r is used as 1 / r^0.99.
const SKEW: f64 = 0.99;

/// "user" and eight digits.
pub type Name = [u8; 12];

/// One of whom the others ask nothing.
pub const HOT: Name = *b"user-hot-key";

/// That of user `n`.
pub fn name(mut n: usize) -> Name {
    let mut name = *b"user00000000";
    for digit in name[4..].iter_mut().rev() {
        *digit += (n % 10) as u8;
        n /= 10;
    }
    name
}

pub struct Users {
    /// Every key once, in an order that is random, and the same in each run.
    pub keys: Vec<Name>,
    /// As many draws of them, by Zipf's law.
    pub zipf: Vec<Name>,
}

impl Users {
    pub fn new() -> Users {
        let mut keys: Vec<Name> = (0..KEYS).map(name).collect();
        Random(1).shuffle(&mut keys);
        let zipf = zipf(&keys);
        Users { keys, zipf }
    }
}

/// What a worker asks for in a slice. Whatever the number of the slice, these are names
/// that there are: a number of calls divides that of the keys.
pub fn share(names: &[Name], calls: usize, number: usize) -> &[Name] {
    let first = number * calls % names.len();
    &names[first..first + calls]
}

/// Draws with an exact distribution, by its sums.
fn zipf(keys: &[Name]) -> Vec<Name> {
    let mut sum = 0.0;
    let weight = |rank: usize| {
        sum += (rank as f64).powf(-SKEW);
        sum
    };
    let sums: Vec<f64> = (1..=keys.len()).map(weight).collect();
    let mut random = Random(2);
    let draw = |_| {
        let fraction = random.next() as f64 / (1u64 << 31) as f64;
        let rank = sums.partition_point(|&below| below <= fraction * sum);
        keys[rank.min(keys.len() - 1)]
    };
    (0..keys.len()).map(draw).collect()
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

    pub fn below(&mut self, bound: usize) -> usize {
        self.next() as usize % bound
    }

    pub fn shuffle<T>(&mut self, all: &mut [T]) {
        for i in (1..all.len()).rev() {
            all.swap(i, self.below(i + 1));
        }
    }
}
