//! The logs of sliding windows: chains of fixed-size chunks from one pool.
//!
//! A log belongs to a counter, whose `data` is the log's [`Handle`]. It is read
//! like the counter: without a lock, and believed if the bucket is unchanged
//! afterwards. It is changed only under the claim of its counter's bucket. The pool
//! is shared by all logs and has no lock: its free chunks are a stack.
//!
//! Whatever the words hold, every chunk number is checked and every walk ends.

use super::Full;
use super::bucket::Seen;
use super::chunk::Chunk;
use crate::algorithm::{Edit, Run, Runs};
use crate::sync::{AtomicU64, Ordering, fence};

/// The part of the pool that is there once.
#[repr(C)]
#[derive(Debug)]
pub(crate) struct PoolHead {
    /// The top of the stack of free chunks in the low half; in the high half a
    /// number that changes with it, so that a stack that has come back to the
    /// same top is not taken for one that never moved.
    free: AtomicU64,
    /// Chunks that have ever been used; those beyond are still untouched memory.
    fresh: AtomicU64,
    /// Where the search for a log to forget goes on.
    hand: AtomicU64,
    /// Keeps the statistics off this cache line.
    _reserved: [AtomicU64; 5],
}

/// The first and last chunk of a log, by number: 1 is the first chunk of the pool,
/// 0 is none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Handle {
    first: u32,
    last: u32,
}

/// All chunks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pool<'t> {
    head: &'t PoolHead,
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

    /// How many runs it has.
    pub fn len(&self) -> u64 {
        self.chunks().map(|chunk| chunk.used().count() as u64).sum()
    }
}

impl<'t> Pool<'t> {
    pub fn new(head: &'t PoolHead, chunks: &'t [Chunk]) -> Pool<'t> {
        Pool { head, chunks }
    }

    /// A chunk for a log of its own, if one is free.
    pub fn take(self) -> Option<u32> {
        self.pop().or_else(|| {
            let room = self.chunks.len() as u64;
            let fresh = &self.head.fresh;
            let mut used = fresh.load(Ordering::Relaxed);
            while used < room {
                // Relaxed: the chunk is untouched memory, nobody has written there.
                match fresh.compare_exchange_weak(
                    used,
                    used + 1,
                    Ordering::Relaxed,
                    Ordering::Relaxed,
                ) {
                    Ok(_) => return u32::try_from(used + 1).ok(),
                    Err(moved) => used = moved,
                }
            }
            None
        })
    }

    fn pop(self) -> Option<u32> {
        // Acquire: the link of the top chunk was written before it became the top.
        let mut top = self.head.free.load(Ordering::Acquire);
        loop {
            let number = top as u32;
            let next = self.chunk(number)?.next();
            match self.replace_top(top, next) {
                Ok(()) => {
                    // Whoever sees what the new owner writes into the chunk also sees
                    // that the old one's bucket was claimed; the fence of the new
                    // owner's own claim came before it took the chunk.
                    fence(Ordering::Release);
                    return Some(number);
                }
                Err(moved) => top = moved,
            }
        }
    }

    /// Gives the chunks of a log back, in one step however many they are.
    pub fn give_back(self, log: Handle) {
        let Some(last) = self.chunk(log.last) else {
            return;
        };
        let mut top = self.head.free.load(Ordering::Relaxed);
        loop {
            last.set_next(top as u32);
            match self.replace_top(top, log.first) {
                Ok(()) => return,
                Err(moved) => top = moved,
            }
        }
    }

    fn replace_top(self, top: u64, number: u32) -> Result<(), u64> {
        let turn = (top >> 32).wrapping_add(1) << 32;
        // Release: the links written before are seen by whoever takes the top.
        // Acquire: so are those of the stack that the failure shows.
        self.head
            .free
            .compare_exchange_weak(
                top,
                turn | u64::from(number),
                Ordering::AcqRel,
                Ordering::Acquire,
            )
            .map(|_| ())
    }

    /// The bucket that last owned the next chunk in turn. Turns are spread over the
    /// pool by the golden ratio: chunks side by side were mostly taken one after
    /// the other, and their logs may well be alike.
    pub fn next_owner(self) -> Option<u32> {
        const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;
        let turn = self.head.hand.fetch_add(1, Ordering::Relaxed);
        let place = u128::from(turn.wrapping_mul(GOLDEN)) * self.chunks.len() as u128;
        Some(self.chunks.get((place >> 64) as usize)?.owner())
    }

    /// Notes that a log's counter now stands in bucket `owner`: its first chunk is
    /// where the search for a log to forget learns it.
    pub fn hand_over(self, log: Handle, owner: u32) {
        if let Some(first) = self.chunk(log.first) {
            first.set_link(owner, first.next());
        }
    }

    /// Whether an edit of a log needs no further chunk.
    pub fn has_room(self, log: Handle, edit: Edit) -> bool {
        match edit {
            Edit::Restart(_) => self.chunk(log.first).is_some(),
            Edit::Slide { add, .. } => {
                let last = self.chunk(log.last);
                add.count == 0 || last.is_some_and(|last| last.has_room(add))
            }
            Edit::Truncate { .. } | Edit::Clear => true,
        }
    }

    /// Changes the log of a counter in bucket `owner`, which must be claimed. Where
    /// no chunk can be had for the new run, what had expired is gone all the same.
    pub fn edit(
        self,
        log: Handle,
        edit: Edit,
        owner: u32,
        take: impl FnOnce() -> Result<u32, Full>,
    ) -> (Handle, Result<(), Full>) {
        let edited = match edit {
            Edit::Restart(run) => self.restart(log, run, owner, take),
            Edit::Slide { runs, count, add } => {
                let log = self.forget(log, runs, count);
                self.hand_over(log, owner);
                if add.count == 0 {
                    return (log, Ok(()));
                }
                return match self.append(log, add, owner, take) {
                    Ok(edited) => (edited, Ok(())),
                    Err(full) => (log, Err(full)),
                };
            }
            Edit::Truncate { runs, last, total } => Ok(self.truncate(log, runs, last, total)),
            Edit::Clear => {
                self.give_back(log);
                Ok(Handle::default())
            }
        };
        match edited {
            Ok(edited) => (edited, Ok(())),
            Err(full) => (log, Err(full)),
        }
    }

    /// Drops all but the oldest `runs`, the last of which then has the count `last`.
    fn truncate(self, log: Handle, mut runs: usize, last: u32, total: u64) -> Handle {
        if let Some(first) = self.chunk(log.first) {
            first.set_total(total);
        }
        let mut number = log.first;
        for _ in 0..self.chunks.len() {
            let Some(chunk) = self.chunk(number) else {
                break;
            };
            let (begin, end) = chunk.span();
            let held = end.saturating_sub(begin);
            if runs > held && number != log.last {
                (number, runs) = (chunk.next(), runs - held);
                continue;
            }
            let end = (begin + runs).min(end);
            chunk.set_span(begin, end);
            chunk.set_last_count(last);
            if number != log.last {
                self.give_back(Handle {
                    first: chunk.next(),
                    ..log
                });
            }
            return Handle {
                last: number,
                ..log
            };
        }
        log
    }

    /// A log of one run. The first chunk of the old one is used again.
    fn restart(
        self,
        old: Handle,
        run: Run,
        owner: u32,
        take: impl FnOnce() -> Result<u32, Full>,
    ) -> Result<Handle, Full> {
        let number = match self.chunk(old.first) {
            Some(first) => {
                if old.first != old.last {
                    self.give_back(Handle {
                        first: first.next(),
                        ..old
                    });
                }
                old.first
            }
            None => take()?,
        };
        if let Some(chunk) = self.chunk(number) {
            chunk.begin(owner, run);
            chunk.set_total(u64::from(run.count));
        }
        Ok(Handle::single(number))
    }

    /// Drops the oldest `runs`, which count for `count`.
    fn forget(self, mut log: Handle, mut runs: usize, count: u64) -> Handle {
        let Some(mut chunk) = self.chunk(log.first) else {
            return log;
        };
        let total = chunk.total().saturating_sub(count);
        for _ in 0..self.chunks.len() {
            let (begin, end) = chunk.span();
            let held = end.saturating_sub(begin);
            if runs < held || log.first == log.last {
                chunk.set_span((begin + runs).min(end), end);
                break;
            }
            let Some(next) = self.chunk(chunk.next()) else {
                break;
            };
            let emptied = Handle::single(log.first);
            log.first = chunk.next();
            self.give_back(emptied);
            (chunk, runs) = (next, runs - held);
        }
        chunk.set_total(total);
        log
    }

    fn append(
        self,
        log: Handle,
        run: Run,
        owner: u32,
        take: impl FnOnce() -> Result<u32, Full>,
    ) -> Result<Handle, Full> {
        let (Some(first), Some(last)) = (self.chunk(log.first), self.chunk(log.last)) else {
            // Only a damaged counter has no log here.
            return self.restart(Handle::default(), run, owner, take);
        };
        let mut last_number = log.last;
        let added = match last.push(run) {
            Some(added) => added,
            None => {
                last_number = take()?;
                if let Some(chunk) = self.chunk(last_number) {
                    chunk.begin(owner, run);
                }
                last.set_next(last_number);
                run.count
            }
        };
        let total = first.total();
        let total = total.saturating_add(u64::from(added));
        first.set_total(total);
        Ok(Handle {
            last: last_number,
            ..log
        })
    }

    fn chunk(self, number: u32) -> Option<&'t Chunk> {
        self.chunks.get((number as usize).checked_sub(1)?)
    }
}

impl PoolHead {
    #[cfg(loom)]
    pub fn new() -> PoolHead {
        let zero = || AtomicU64::new(0);
        PoolHead {
            free: zero(),
            fresh: zero(),
            hand: zero(),
            _reserved: std::array::from_fn(|_| zero()),
        }
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

    pub fn first(self) -> u32 {
        self.first
    }

    pub fn data(self) -> u64 {
        u64::from(self.first) << 32 | u64::from(self.last)
    }
}
