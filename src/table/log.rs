//! The logs of sliding windows: chains of fixed-size chunks from one pool.
//!
//! A log belongs to a counter, whose `data` is the log's [`Handle`]. It is read
//! like the counter: without a lock, and believed if the bucket is unchanged
//! afterwards. It is changed only under the claim of its counter's bucket.
//!
//! What is beyond a log's last chunk is not part of it.
//!
//! Whatever the words hold, every chunk number is checked and every walk ends.

use super::bucket::Seen;
use super::chunk::Chunk;
use crate::algorithm::{Run, Runs};

/// The first and last chunk of a log, by number: 1 is the first chunk of the pool,
/// 0 is none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Handle {
    pub first: u32,
    pub last: u32,
}

/// All chunks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pool<'t> {
    chunks: &'t [Chunk],
}

/// A counter's log, as it stands while the bucket is as it was seen.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Log<'t> {
    pool: Pool<'t>,
    handle: Handle,
    seen: Seen<'t>,
}

impl Runs for Log<'_> {
    fn total(&self) -> u64 {
        let first = self.pool.chunk(self.handle.first);
        first.map_or(0, Chunk::total)
    }

    fn runs(&self) -> impl Iterator<Item = Run> {
        self.chunks().flat_map(Chunk::used)
    }
}

impl<'t> Log<'t> {
    pub fn new(pool: Pool<'t>, data: u64, seen: Seen<'t>) -> Log<'t> {
        Log {
            pool,
            handle: Handle::of(data),
            seen,
        }
    }

    /// Its chunks, as far as they hang together: a chain that somebody changes
    /// while it is walked could lead anywhere.
    fn chunks(&self) -> impl Iterator<Item = &'t Chunk> {
        let Log { pool, handle, seen } = *self;
        std::iter::successors(Some(handle.first), move |&number| {
            let next = pool.chunk(number)?.next();
            (number != handle.last && seen.unchanged()).then_some(next)
        })
        .map_while(move |number| pool.chunk(number))
        .take(pool.chunks.len())
    }

    /// How many runs it has. Looks at no more chunks than are `left` to be looked at.
    pub fn len(&self, left: &mut usize) -> u64 {
        let chunks = self.chunks().take(*left);
        let runs = chunks.map(|chunk| {
            *left -= 1;
            chunk.len() as u64
        });
        runs.sum()
    }
}

impl<'t> Pool<'t> {
    pub fn new(chunks: &'t [Chunk]) -> Pool<'t> {
        Pool { chunks }
    }

    pub fn chunk(self, number: u32) -> Option<&'t Chunk> {
        self.chunks.get((number as usize).checked_sub(1)?)
    }

    /// How many chunks there are.
    pub fn len(self) -> usize {
        self.chunks.len()
    }

    /// The bucket that last owned the next chunk in turn. Turns are spread over the
    /// pool by the golden ratio: chunks side by side were mostly taken one after
    /// the other, and their logs may well be alike.
    pub fn owner_in_turn(self, turn: u64) -> Option<u32> {
        const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;
        let place = u128::from(turn.wrapping_mul(GOLDEN)) * self.chunks.len() as u128;
        Some(self.chunks.get((place >> 64) as usize)?.owner())
    }

    /// Notes that a log's counter stands in bucket `owner`: its first chunk is
    /// where the search for a log to forget learns it.
    pub fn hand_over(self, log: Handle, owner: u32) {
        if let Some(first) = self.chunk(log.first) {
            first.set_link(owner, first.next());
        }
    }

    /// Sums up a log that somebody was killed at, which is the counter's in bucket `owner`.
    /// Looks at no more chunks than are `left` to be looked at.
    pub fn mend(self, log: Handle, owner: u32, left: &mut usize) {
        let Some(first) = self.chunk(log.first) else {
            return;
        };
        let chunks = self.walk(log).take(*left).inspect(|_| *left -= 1);
        let counts = chunks.flat_map(Chunk::used);
        let total = counts.fold(0, |sum: u64, run| sum.saturating_add(u64::from(run.count)));
        first.set_total(total);
        self.hand_over(log, owner);
    }

    /// The chunks of a log that nobody changes.
    pub fn walk(self, log: Handle) -> impl Iterator<Item = &'t Chunk> {
        self.numbers(log)
            .filter_map(move |number| self.chunk(number))
    }

    /// Their numbers.
    pub fn numbers(self, log: Handle) -> impl Iterator<Item = u32> + use<'t> {
        let next = move |&number: &u32| {
            let next = self.chunk(number)?.next();
            (number != log.last).then_some(next)
        };
        let numbers = std::iter::successors(Some(log.first), next);
        let exists = move |number: &u32| self.chunk(*number).is_some();
        numbers.take_while(exists).take(self.chunks.len())
    }
}

impl Handle {
    pub fn of(data: u64) -> Handle {
        Handle {
            first: (data >> 32) as u32,
            last: data as u32,
        }
    }

    /// A log of one chunk.
    pub fn single(number: u32) -> Handle {
        Handle {
            first: number,
            last: number,
        }
    }

    pub fn is_none(self) -> bool {
        self == Handle::default()
    }

    pub fn data(self) -> u64 {
        u64::from(self.first) << 32 | u64::from(self.last)
    }

    /// What follows one of the log's chunks.
    pub fn after(self, chunk: &Chunk, number: u32) -> Handle {
        if number == self.last {
            return Handle::default();
        }
        Handle {
            first: chunk.next(),
            ..self
        }
    }
}
