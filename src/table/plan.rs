//! How the log of a counter changes: what an edit will do to its chunks, and doing it.
//!
//! Who does it may be killed at any instruction. So each store leaves a log that counts
//! for as much as before, or as after; only the sum may be wrong, which
//! [`mend`](Pool::mend) adds up again. A chunk that a log lets go is free only when the
//! counter no longer names it (`seat`), and stays linked until then.

use super::chunk::Chunk;
use super::log::{Handle, Pool};
use crate::algorithm::{Edit, Run};

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

impl Pool<'_> {
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
        for _ in 0..self.len() {
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
        for _ in 0..self.len() {
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
