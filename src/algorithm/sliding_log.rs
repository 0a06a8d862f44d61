//! Sliding window log: what passed and when, for as long as it counts. Exact for
//! every window that can be laid over time, at the price of memory.
//!
//! The log is runs `(tick, count)`, oldest first, equal ticks merged. A tick is
//! 1 ms for windows from a second to 24 days (1 us below, more above), and an
//! entry's time is rounded up to one, so that it never counts for less than a
//! window. Ticks are stored modulo 2^32; the newest is known in full from
//! `idle_at`, the instant at which it expires, and no window has more than 2^31.
//!
//! `data` belongs to whoever stores the log: here it is only read as runs and
//! changed by an [`Edit`].

use super::{Decide, NEVER, SKEW_NS, State, Verdict};
use crate::rule::Limit;

/// So many expired runs are worth a write, also when the answer is a refusal.
const TRIM_RUNS: usize = 16;

/// Requests of one tick.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Run {
    pub tick: u32,
    pub count: u32,
}

/// A log to be read.
pub(crate) trait Runs {
    /// The sum of all counts.
    fn total(&self) -> u64;
    /// The runs, oldest first.
    fn runs(&self) -> impl Iterator<Item = Run>;
}

/// How a log changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Edit {
    /// It becomes this one run.
    Restart(Run),
    /// Its oldest runs go, which counted for so much; then one is added, unless
    /// its count is 0.
    Slide { runs: usize, count: u64, add: Run },
}

/// A sliding log's limit.
#[derive(Clone, Debug)]
pub(crate) struct SlidingWindow {
    limit: u64,
    window: u64,
    /// Length of a tick in ns.
    tick: u64,
}

/// What of the log still counts.
struct Live {
    expired_runs: usize,
    expired: u64,
    count: u64,
}

impl SlidingWindow {
    pub fn new(limit: &Limit) -> SlidingWindow {
        const MS: u64 = 1_000_000;
        let window = limit.window_ns.max(1);
        let tick = if window < 1000 * MS {
            1000
        } else {
            window.div_ceil(1 << 31).div_ceil(MS) * MS
        };
        SlidingWindow {
            limit: limit.limit.min(u64::from(u32::MAX)),
            window,
            tick,
        }
    }

    /// Nothing is logged that still counts.
    fn decide_new(&self, now: u64, tick: u64, cost: u64, edit: &mut Option<Edit>) -> Verdict {
        let Some(left) = self.fits(0, cost) else {
            return Verdict {
                retry_ns: NEVER,
                ..self.refused(now, now, 0)
            };
        };
        *edit = Some(Edit::Restart(run(tick, cost)));
        self.allowed(now, tick, left)
    }

    /// The clock was set back: all that is logged counts as if it were new, so
    /// that nothing is given twice, and no longer than a window from now.
    #[cold]
    fn decide_stepped_back(
        &self,
        log: &impl Runs,
        now: u64,
        tick: u64,
        cost: u64,
        edit: &mut Option<Edit>,
    ) -> Verdict {
        let count = log.total().min(u64::from(u32::MAX));
        let verdict = match self.fits(count, cost) {
            Some(left) => {
                *edit = Some(Edit::Restart(run(tick, count + cost)));
                self.allowed(now, tick, left)
            }
            None => {
                *edit = Some(Edit::Restart(run(tick, count)));
                let wait = self.expiry(tick) - now;
                Verdict {
                    changes: true,
                    retry_ns: if cost > self.limit { NEVER } else { wait },
                    ..self.refused(now, self.expiry(tick), count)
                }
            }
        };
        Verdict {
            stepped_back: true,
            ..verdict
        }
    }

    /// What is left of the limit after `cost`, if it fits beside what is logged.
    #[inline]
    fn fits(&self, logged: u64, cost: u64) -> Option<u64> {
        self.limit.saturating_sub(logged).checked_sub(cost)
    }

    fn allowed(&self, now: u64, tick: u64, remaining: u64) -> Verdict {
        let idle_at = self.expiry(tick);
        Verdict {
            allowed: true,
            stepped_back: false,
            remaining,
            retry_ns: 0,
            reset_ns: idle_at - now,
            changes: true,
            next: State { idle_at, data: 0 },
        }
    }

    /// A refusal that says nothing yet of when to try again.
    fn refused(&self, now: u64, idle_at: u64, logged: u64) -> Verdict {
        Verdict {
            allowed: false,
            stepped_back: false,
            remaining: self.limit.saturating_sub(logged),
            retry_ns: 0,
            reset_ns: idle_at - now,
            changes: false,
            next: State { idle_at, data: 0 },
        }
    }

    fn live(&self, log: &impl Runs, newest: u64, now: u64) -> Live {
        let mut live = Live {
            expired_runs: 0,
            expired: 0,
            count: log.total(),
        };
        for run in log.runs() {
            if self.expiry(full_tick(run.tick, newest)) > now {
                break;
            }
            live.expired_runs += 1;
            live.expired += u64::from(run.count);
        }
        live.count = live.count.saturating_sub(live.expired);
        live
    }

    /// How long until so many of the live entries have expired that `cost` fits.
    fn wait(&self, log: &impl Runs, newest: u64, now: u64, live: &Live, cost: u64) -> u64 {
        let Some(room) = self.limit.checked_sub(cost) else {
            return NEVER;
        };
        let mut to_go = live.count.saturating_sub(room);
        let mut opens_at = self.expiry(newest);
        for run in log.runs().skip(live.expired_runs) {
            opens_at = self.expiry(full_tick(run.tick, newest));
            to_go = to_go.saturating_sub(u64::from(run.count));
            if to_go == 0 {
                break;
            }
        }
        // Only a damaged log refuses with nothing to wait for.
        opens_at.saturating_sub(now).max(1)
    }

    /// The instant from which an entry of this tick no longer counts.
    #[inline]
    fn expiry(&self, tick: u64) -> u64 {
        tick.saturating_mul(self.tick).saturating_add(self.window)
    }
}

impl Decide for SlidingWindow {
    #[inline(never)]
    fn decide<L: Runs>(
        &self,
        state: State,
        now: u64,
        cost: u64,
        log: impl FnOnce() -> L,
        edit: &mut Option<Edit>,
    ) -> Verdict {
        let tick = now.div_ceil(self.tick);
        if state.idle_at <= now {
            return self.decide_new(now, tick, cost, edit);
        }
        let log = log();
        let newest = state.idle_at.saturating_sub(self.window) / self.tick;
        if newest.saturating_sub(tick) > SKEW_NS.div_ceil(self.tick) {
            return self.decide_stepped_back(&log, now, tick, cost, edit);
        }
        let live = self.live(&log, newest, now);
        if let Some(left) = self.fits(live.count, cost) {
            let tick = tick.max(newest);
            *edit = Some(live.slide(run(tick, cost)));
            return self.allowed(now, tick, left);
        }
        let trims = live.expired_runs >= TRIM_RUNS;
        if trims {
            *edit = Some(live.slide(Run::default()));
        }
        Verdict {
            changes: trims,
            retry_ns: self.wait(&log, newest, now, &live, cost),
            ..self.refused(now, state.idle_at, live.count)
        }
    }
}

impl Live {
    fn slide(&self, add: Run) -> Edit {
        Edit::Slide {
            runs: self.expired_runs,
            count: self.expired,
            add,
        }
    }
}

/// A run of `count`, which the limit keeps below 2^32.
fn run(tick: u64, count: u64) -> Run {
    Run {
        tick: tick as u32,
        count: u32::try_from(count).unwrap_or(u32::MAX),
    }
}

/// The tick of which only the low half is stored, from the newest of its log.
#[inline]
fn full_tick(tick: u32, newest: u64) -> u64 {
    newest.saturating_sub(u64::from((newest as u32).wrapping_sub(tick)))
}
