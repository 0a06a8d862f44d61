//! A chunk: a piece of a log, two cache lines with up to 13 runs. Whatever its words
//! hold, no run outside them is looked at.
//!
//! Stores are `Release`, so that none moves before another: who writes may be killed
//! in between, and what is half done must be known.

use crate::algorithm::Run;
use crate::sync::{AtomicU64, Ordering};

/// Words in a chunk.
pub(crate) const CHUNK_WORDS: usize = 16;

/// Runs in a chunk.
pub(crate) const RUNS: usize = 13;

/// A piece of a log.
#[repr(C)]
#[derive(Debug)]
pub(crate) struct Chunk {
    /// The owner's bucket in the high half, the next chunk's number in the low.
    link: AtomicU64,
    /// Which runs are in use: the first in the low half, the end in the high.
    span: AtomicU64,
    /// The sum of the whole log's counts; kept in its first chunk only.
    total: AtomicU64,
    /// Tick in the high half, count in the low.
    runs: [AtomicU64; RUNS],
}

impl Chunk {
    /// The number of the next chunk of the log.
    pub fn next(&self) -> u32 {
        self.link.load(Ordering::Relaxed) as u32
    }

    /// The bucket of the counter whose log it is, if it is the log's first chunk.
    pub fn owner(&self) -> u32 {
        (self.link.load(Ordering::Relaxed) >> 32) as u32
    }

    pub fn set_next(&self, next: u32) {
        self.set_link(self.owner(), next);
    }

    pub fn set_link(&self, owner: u32, next: u32) {
        let link = u64::from(owner) << 32 | u64::from(next);
        self.link.store(link, Ordering::Release);
    }

    pub fn total(&self) -> u64 {
        self.total.load(Ordering::Relaxed)
    }

    pub fn set_total(&self, total: u64) {
        self.total.store(total, Ordering::Release);
    }

    /// Gives the last run in use another count.
    pub fn set_last_count(&self, count: u32) {
        if let Some((word, last)) = self.last() {
            word.store(pack(Run { count, ..last }), Ordering::Release);
        }
    }

    /// The last run in use, and where it stands.
    fn last(&self) -> Option<(&AtomicU64, Run)> {
        let (begin, end) = self.span();
        let index = end.checked_sub(1).filter(|_| begin < end)?;
        let word = self.runs.get(index)?;
        Some((word, unpack(word.load(Ordering::Relaxed))))
    }

    /// Where the runs in use begin and end.
    pub fn span(&self) -> (usize, usize) {
        let span = self.span.load(Ordering::Relaxed);
        let end = ((span >> 32) as usize).min(RUNS);
        ((span as u32 as usize).min(end), end)
    }

    pub fn set_span(&self, begin: usize, end: usize) {
        let span = (end as u64) << 32 | begin as u64;
        self.span.store(span, Ordering::Release);
    }

    /// The runs in use, oldest first.
    pub fn used(&self) -> impl Iterator<Item = Run> {
        let (begin, end) = self.span();
        let words = self.runs.get(begin..end).unwrap_or(&[]);
        words
            .iter()
            .map(|word| unpack(word.load(Ordering::Relaxed)))
    }

    /// How many runs are in use.
    pub fn len(&self) -> usize {
        let (begin, end) = self.span();
        end - begin
    }

    /// Becomes one run, at first beside the others. It stands where the oldest stood,
    /// so that it never counts for less in between.
    pub fn become_one(&self, run: Run) {
        let begin = self.span().0.min(RUNS - 1);
        if let Some(word) = self.runs.get(begin) {
            word.store(pack(run), Ordering::Release);
        }
        self.set_span(begin, begin + 1);
    }

    /// Starts over with one run and no next chunk.
    pub fn begin(&self, owner: u32, run: Run) {
        self.set_link(owner, 0);
        self.set_span(0, 0);
        self.push(run);
    }

    /// Whether a run can be added.
    pub fn has_room(&self, run: Run) -> bool {
        let (_, end) = self.span();
        end < RUNS || self.last().is_some_and(|(_, last)| last.tick == run.tick)
    }

    /// Adds a run, merged with the last if it has the same tick, whose count then
    /// may saturate. Says how much was added, and nothing where there is no room.
    pub fn push(&self, run: Run) -> Option<u32> {
        match self.last() {
            Some((word, last)) if last.tick == run.tick => {
                let count = last.count.saturating_add(run.count);
                word.store(pack(Run { count, ..run }), Ordering::Release);
                Some(count - last.count)
            }
            _ => {
                let (begin, end) = self.span();
                self.runs.get(end)?.store(pack(run), Ordering::Release);
                self.set_span(begin, end + 1);
                Some(run.count)
            }
        }
    }

    #[cfg(loom)]
    pub fn new() -> Chunk {
        let zero = || AtomicU64::new(0);
        Chunk {
            link: zero(),
            span: zero(),
            total: zero(),
            runs: std::array::from_fn(|_| zero()),
        }
    }
}

fn pack(run: Run) -> u64 {
    u64::from(run.tick) << 32 | u64::from(run.count)
}

fn unpack(word: u64) -> Run {
    Run {
        tick: (word >> 32) as u32,
        count: word as u32,
    }
}
