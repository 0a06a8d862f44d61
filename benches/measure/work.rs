//! What is measured: calls, one after the other, by one thread or by two at once. The
//! programs in other languages know the same by its name.

use std::hint::black_box;

use super::limiters::Limiter;
use super::names::{HOT, Name, Users, share};
use super::team::{self, Task};

/// In so many slices all keys are asked for once, of whichever figure.
pub const SLICES: usize = 25;

#[derive(Clone, Copy)]
pub enum Work {
    Single,
    Closed,
    Keys,
    Zipf,
    Batch16,
    Batch64,
    Three,
}

pub struct Figure {
    pub name: &'static str,
    pub work: Work,
    pub threads: usize,
    /// By each thread in a slice.
    pub calls: usize,
}

const fn figure(name: &'static str, work: Work, threads: usize, calls: usize) -> Figure {
    Figure {
        name,
        work,
        threads,
        calls,
    }
}

pub const FIGURES: &[Figure] = &[
    figure("W1", Work::Single, 1, 100_000),
    figure("W2", Work::Closed, 1, 100_000),
    figure("W3", Work::Keys, 1, 40_000),
    figure("W4", Work::Single, 2, 100_000),
    figure("W5", Work::Closed, 2, 100_000),
    figure("W6", Work::Keys, 2, 20_000),
    figure("W8", Work::Zipf, 2, 20_000),
    figure("W9/16", Work::Batch16, 1, 40_000),
    figure("W9/64", Work::Batch64, 1, 40_000),
    figure("W10", Work::Three, 1, 100_000),
];

impl Figure {
    pub fn is_a_batch(&self) -> bool {
        matches!(self.work, Work::Batch16 | Work::Batch64)
    }

    /// Nanoseconds for a call, in a thread's own time.
    pub fn time(&self, limiter: &impl Limiter, users: &Users, slice: usize) -> f64 {
        let &Figure { threads, calls, .. } = self;
        let allowed = if let Work::Closed = self.work {
            0
        } else {
            calls
        };
        let task = Task {
            workers: threads,
            calls,
            allowed,
        };
        team::time(task, |thread| {
            let number = slice * threads + thread;
            let keys = || share(&users.keys, calls, number);
            match self.work {
                Work::Single => hot(calls, |user| limiter.single(user)),
                Work::Closed => hot(calls, |user| limiter.closed(user)),
                Work::Three => hot(calls, |user| limiter.three(user)),
                Work::Keys => each(keys(), |user| limiter.open(user)),
                Work::Zipf => each(share(&users.zipf, calls, number), |user| limiter.open(user)),
                Work::Batch16 => in_batches::<16>(keys(), |users| limiter.batch(users)),
                Work::Batch64 => in_batches::<64>(keys(), |users| limiter.batch(users)),
            }
        })
    }
}

/// How many of so many calls for one key are allowed.
pub fn hot(calls: usize, ask: impl Fn(&Name) -> bool) -> usize {
    (0..calls).filter(|_| ask(black_box(&HOT))).count()
}

pub fn each(users: &[Name], ask: impl Fn(&Name) -> bool) -> usize {
    users.iter().filter(|user| ask(user)).count()
}

pub fn in_batches<const N: usize>(users: &[Name], ask: impl Fn(&[Name; N]) -> usize) -> usize {
    let batches = users.chunks_exact(N);
    batches.map(|batch| ask(batch.try_into().unwrap())).sum()
}
