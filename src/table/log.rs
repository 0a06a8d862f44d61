//! The logs of sliding windows: chains of fixed-size chunks from one pool.
//!
//! A log belongs to a counter, whose `data` is the log's [`Handle`]. It is read
//! like the counter: without a lock, and believed if the bucket is unchanged
//! afterwards. It is changed only under the claim of its counter's bucket.
//!
//! Who changes it may be killed at any instruction. So each store leaves a log that
//! counts for as much as before, or as after; only the sum may be wrong, which
//! [`mend`](Pool::mend) adds up again. What is beyond a log's last chunk is not part
//! of it, and a chunk that a log lets go is free only when the counter no longer
//! names it (`seat`).
//!
//! Whatever the words hold, every chunk number is checked and every walk ends.

use super::bucket::Seen;
use super::chunk::Chunk;
use crate::algorithm::{Edit, Run, Runs};

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
    chunks: &'t [Chunk],
}

/// What an edit will do to the chunks of a log.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plan {
    /// What the log keeps of its chunks.
    keeps: Handle,
    /// How many runs go from the first chunk that is kept, or stay in the last.
    runs: usize,
    /// The chunks that it lets go.
    pub lets_go: Handle,
    /// Whether it takes another one.
    pub takes: bool,
    /// Whether what is written over still counts.
    live: bool,
}

/// A counter's log, as it stands while the bucket is as it was seen.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Log<'t> {
    pool: Pool<'t>,
    handle: Handle,
    seen: Seen<'t>,
}

impl Plan {
    /// Whether the log's chunks stay what they are.
    pub fn is_in_place(&self) -> bool {
        !self.takes && self.lets_go.is_none()
    }

    /// Whether all of a log that counts is written over.
    pub fn restarts(&self) -> bool {
        self.live
    }

    /// The same by way of another chunk, so that it happens at once.
    pub fn afresh(self, log: Handle) -> Plan {
        Plan {
            keeps: Handle::default(),
            runs: 0,
            lets_go: log,
            takes: true,
            live: false,
        }
    }
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

    /// What an edit of a log will do.
    pub fn plan(self, log: Handle, edit: Edit, live: bool) -> Plan {
        let all = Plan {
            keeps: log,
            runs: 0,
            lets_go: Handle::default(),
            takes: false,
            live: false,
        };
        match edit {
            Edit::Clear => Plan {
                keeps: Handle::default(),
                lets_go: log,
                ..all
            },
            Edit::Restart(_) => match self.chunk(log.first) {
                Some(first) => Plan {
                    keeps: Handle::single(log.first),
                    lets_go: log.after(first, log.first),
                    live,
                    ..all
                },
                None => Plan { takes: true, ..all },
            },
            Edit::Slide { runs, add, .. } => {
                let last = self.chunk(log.last);
                let has_room = last.is_some_and(|last| last.has_room(add));
                let takes = add.count > 0 && !has_room;
                self.without_oldest(Plan { takes, ..all }, runs)
            }
            Edit::Truncate { runs, .. } => self.with_oldest(all, runs),
        }
    }

    /// The plan to drop the oldest `runs`; the last chunk stays.
    fn without_oldest(self, plan: Plan, mut runs: usize) -> Plan {
        let log = plan.keeps;
        let (mut first, mut before) = (log.first, 0);
        for _ in 0..self.chunks.len() {
            let Some(chunk) = self.chunk(first).filter(|_| first != log.last) else {
                break;
            };
            let held = chunk.len();
            if runs < held || self.chunk(chunk.next()).is_none() {
                break;
            }
            (before, first, runs) = (first, chunk.next(), runs - held);
        }
        let lets_go = Handle {
            first: if before == 0 { 0 } else { log.first },
            last: before,
        };
        let keeps = Handle { first, ..log };
        Plan {
            keeps,
            runs,
            lets_go,
            ..plan
        }
    }

    /// The plan to keep the oldest `runs` only.
    fn with_oldest(self, plan: Plan, mut runs: usize) -> Plan {
        let log = plan.keeps;
        let mut number = log.first;
        let mut lets_go = Handle::default();
        for _ in 0..self.chunks.len() {
            let Some(chunk) = self.chunk(number) else {
                break;
            };
            if runs > chunk.len() && number != log.last {
                (number, runs) = (chunk.next(), runs - chunk.len());
                continue;
            }
            lets_go = log.after(chunk, number);
            break;
        }
        let keeps = Handle {
            last: number,
            ..log
        };
        Plan {
            keeps,
            runs,
            lets_go,
            ..plan
        }
    }

    /// Changes the log of a counter in bucket `owner`, which is held, as planned, with
    /// a chunk if it takes one. Says what the log is when the counter names that.
    pub fn edit(self, edit: Edit, plan: Plan, owner: u32, taken: Option<u32>) -> Handle {
        let log = plan.keeps;
        match edit {
            Edit::Clear => {}
            Edit::Restart(run) => return self.restart(plan, run, owner, taken),
            Edit::Slide { runs, count, add } => {
                if runs > 0 {
                    self.forget(plan, count);
                }
                self.hand_over(log, owner);
                if add.count > 0 {
                    return self.append(log, add, owner, taken);
                }
            }
            Edit::Truncate { last, total, .. } => self.truncate(plan, last, total),
        }
        log
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

    /// Drops the newest runs. Each store makes it count for less, to the end.
    fn truncate(self, plan: Plan, last: u32, total: u64) {
        if let Some(chunk) = self.chunk(plan.keeps.last) {
            let (begin, end) = chunk.span();
            chunk.set_span(begin, begin.saturating_add(plan.runs).min(end));
            chunk.set_last_count(last);
        }
        if let Some(first) = self.chunk(plan.keeps.first) {
            first.set_total(total);
        }
    }

    /// A log of one run, in the first chunk of the old one if there is no other. Killed in
    /// the middle, one that is live counts for what was logged and for the run, until they
    /// expire.
    fn restart(self, plan: Plan, run: Run, owner: u32, taken: Option<u32>) -> Handle {
        let log = plan.keeps;
        let Some(first) = self.chunk(log.first) else {
            return self.begin(run, owner, taken);
        };
        if plan.live {
            first.become_one(run);
        } else {
            // What follows stays linked: the counter names it until it has changed.
            first.set_span(0, 0);
            first.push(run);
        }
        self.hand_over(log, owner);
        first.set_total(u64::from(run.count));
        log
    }

    fn begin(self, run: Run, owner: u32, taken: Option<u32>) -> Handle {
        let Some((number, chunk)) = taken.and_then(|number| Some((number, self.chunk(number)?)))
        else {
            return Handle::default();
        };
        chunk.begin(owner, run);
        chunk.set_total(u64::from(run.count));
        Handle::single(number)
    }

    /// Drops the oldest runs, which count for `count`.
    fn forget(self, plan: Plan, count: u64) {
        let (old, new) = (plan.lets_go.first, plan.keeps.first);
        let Some(first) = self.chunk(new) else {
            return;
        };
        let had = self.chunk(if old == 0 { new } else { old });
        let total = had.map_or(0, Chunk::total).saturating_sub(count);
        let (begin, end) = first.span();
        first.set_span(begin.saturating_add(plan.runs).min(end), end);
        first.set_total(total);
    }

    fn append(self, log: Handle, run: Run, owner: u32, taken: Option<u32>) -> Handle {
        let (Some(first), Some(last)) = (self.chunk(log.first), self.chunk(log.last)) else {
            return self.begin(run, owner, taken);
        };
        let mut log = log;
        let added = match last.push(run) {
            Some(added) => added,
            None => {
                let taken = taken.and_then(|number| Some((number, self.chunk(number)?)));
                let Some((number, chunk)) = taken else {
                    return log;
                };
                chunk.begin(owner, run);
                last.set_next(number);
                log.last = number;
                run.count
            }
        };
        first.set_total(first.total().saturating_add(u64::from(added)));
        log
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

    pub fn last(self) -> u32 {
        self.last
    }

    pub fn is_none(self) -> bool {
        self == Handle::default()
    }

    pub fn data(self) -> u64 {
        u64::from(self.first) << 32 | u64::from(self.last)
    }

    /// What follows one of the log's chunks.
    fn after(self, chunk: &Chunk, number: u32) -> Handle {
        if number == self.last {
            return Handle::default();
        }
        Handle {
            first: chunk.next(),
            ..self
        }
    }
}
