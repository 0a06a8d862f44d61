//! What is measured: calls, one after the other, by one thread or by two at once. The
//! programs in other languages know the same by its name.

use std::hint::black_box;
use std::sync::Barrier;
use std::time::Instant;

use super::limiters::Limiter;
use super::names::{self, KEYS, Name, Random};

/// Calls of each thread for one key.
const CALLS: usize = 1_000_000;

/// How uneven the use of keys is: the key of rank r is used as 1 / r^0.99.
const SKEW: f64 = 0.99;

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Work {
    Open,
    Closed,
    Keys,
    Zipf,
    Batch16,
    Batch64,
    Three,
}

pub struct Figure {
    /// What it is called by the programs in other languages too.
    pub name: &'static str,
    pub what: &'static str,
    pub work: Work,
    pub threads: usize,
}

const fn figure(name: &'static str, what: &'static str, work: Work, threads: usize) -> Figure {
    Figure {
        name,
        what,
        work,
        threads,
    }
}

pub const FIGURES: &[Figure] = &[
    figure("W1", "hot key, allowed", Work::Open, 1),
    figure("W2", "hot key, refused", Work::Closed, 1),
    figure("W3", "1,000,000 keys", Work::Keys, 1),
    figure("W4", "hot key, allowed, by 2", Work::Open, 2),
    figure("W5", "hot key, refused, by 2", Work::Closed, 2),
    figure("W6", "1,000,000 keys, by 2", Work::Keys, 2),
    figure("W8", "Zipf 0.99, by 2", Work::Zipf, 2),
    figure("W9", "W3, batches of 16", Work::Batch16, 1),
    figure("W9", "W3, batches of 64", Work::Batch64, 1),
    figure("W10", "three limits", Work::Three, 1),
];

impl Figure {
    pub fn is_a_batch(&self) -> bool {
        matches!(self.work, Work::Batch16 | Work::Batch64)
    }

    /// What the floor is compared with.
    pub fn has_a_floor(&self) -> bool {
        matches!(self.name, "W1" | "W2" | "W3" | "W6")
    }

    /// Nanoseconds for a call, in a thread's own time: the mean of the threads'.
    pub fn time(&self, limiter: &impl Limiter, users: &Users) -> f64 {
        limiter.closed(&Users::HOT);
        let (keys, zipf) = (&users.keys, &users.zipf);
        let share = |of: &[Name], thread| of.len() / self.threads * thread;
        let start = Barrier::new(self.threads);
        let run = |thread| {
            let each = |names: &[Name], ask: &dyn Fn(&[Name]) -> usize| {
                let first = share(names, thread);
                let own = &names[first..first + names.len() / self.threads];
                timed(&start, own.len(), own.len(), || ask(own))
            };
            match self.work {
                Work::Open => timed(&start, CALLS, CALLS, || hot(|user| limiter.open(user))),
                Work::Closed => timed(&start, CALLS, 0, || hot(|user| limiter.closed(user))),
                Work::Three => timed(&start, CALLS, CALLS, || hot(|user| limiter.three(user))),
                Work::Keys => each(keys, &|own| one_by_one(limiter, own)),
                Work::Zipf => each(zipf, &|own| one_by_one(limiter, own)),
                Work::Batch16 => each(keys, &|own| in_batches::<16>(limiter, own)),
                Work::Batch64 => each(keys, &|own| in_batches::<64>(limiter, own)),
            }
        };
        std::thread::scope(|scope| {
            let start = |thread| scope.spawn(move || run(thread));
            let threads: Vec<_> = (0..self.threads).map(start).collect();
            let times = threads.into_iter().map(|thread| thread.join().unwrap());
            times.sum::<f64>() / self.threads as f64
        })
    }
}

/// Makes a limiter know so many keys, in an order that is not that of their use: what
/// it has for each would else lie as the calls come, which flatters one that allocates.
pub fn fill(limiter: &impl Limiter, keys: usize) {
    for n in 0..keys {
        assert!(limiter.open(&names::name(n)));
    }
}

/// Nanoseconds for each of so many calls, of which so many are allowed.
fn timed(start: &Barrier, calls: usize, allowed: usize, work: impl FnOnce() -> usize) -> f64 {
    start.wait();
    let began = Instant::now();
    let answer = work();
    let elapsed = began.elapsed();
    assert_eq!(answer, allowed);
    elapsed.as_nanos() as f64 / calls as f64
}

fn hot(ask: impl Fn(&Name) -> bool) -> usize {
    let allowed = (0..CALLS).filter(|_| ask(black_box(&Users::HOT)));
    allowed.count()
}

fn one_by_one(limiter: &impl Limiter, users: &[Name]) -> usize {
    users.iter().filter(|user| limiter.open(user)).count()
}

fn in_batches<const N: usize>(limiter: &impl Limiter, users: &[Name]) -> usize {
    let batches = users.chunks_exact(N);
    let batches = batches.map(|batch| limiter.batch::<N>(batch.try_into().unwrap()));
    batches.sum()
}

/// Who asks, in the order of asking.
pub struct Users {
    pub keys: Vec<Name>,
    pub zipf: Vec<Name>,
}

impl Users {
    /// One of whom the others ask nothing.
    pub const HOT: Name = *b"user-hot-key";

    pub fn new() -> Users {
        let keys = names::in_random_order();
        let zipf = zipf(&keys);
        Users { keys, zipf }
    }
}

/// As many draws as there are keys, with an exact distribution.
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
        keys[rank.min(KEYS - 1)]
    };
    (0..KEYS).map(draw).collect()
}
