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

use super::{Change, NEVER, SKEW_NS, State, Verdict};
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

    #[inline]
    pub fn decide(&self, state: State, log: &impl Runs, now: u64, cost: u64) -> Verdict {
        let tick = now.div_ceil(self.tick);
        if state.idle_at <= now {
            let live = Live {
                expired_runs: 0,
                expired: 0,
                count: 0,
            };
            return match self.fits(&live, cost) {
                Some(left) => self.allow(now, left, tick, self.restart(tick, cost)),
                None => refusal(self.limit, NEVER, 0, Change::Keep),
            };
        }
        let newest = state.idle_at.saturating_sub(self.window) / self.tick;
        if newest.saturating_sub(tick) > SKEW_NS.div_ceil(self.tick) {
            return self.decide_stepped_back(log, now, tick, cost);
        }
        let live = self.live(log, newest, now);
        let Some(left) = self.fits(&live, cost) else {
            let left = self.limit.saturating_sub(live.count);
            let wait = self.wait(log, newest, now, &live, cost);
            let trimmed = if live.expired_runs < TRIM_RUNS {
                Change::Keep
            } else {
                Change::Log(state.idle_at, live.slide(Run::default()))
            };
            return refusal(left, wait, state.idle_at - now, trimmed);
        };
        let tick = tick.max(newest);
        self.allow(now, left, tick, live.slide(run(tick, cost)))
    }

    /// The clock was set back: all that is logged counts as if it were new, so
    /// that nothing is given twice, and no longer than a window from now.
    #[cold]
    fn decide_stepped_back(&self, log: &impl Runs, now: u64, tick: u64, cost: u64) -> Verdict {
        let count = log.total();
        let live = Live {
            expired_runs: 0,
            expired: 0,
            count,
        };
        let verdict = match self.fits(&live, cost) {
            Some(left) => self.allow(now, left, tick, self.restart(tick, count + cost)),
            None => {
                let kept = Change::Log(self.expiry(tick), self.restart(tick, count));
                let wait = self.expiry(tick) - now;
                let retry = if cost > self.limit { NEVER } else { wait };
                refusal(self.limit.saturating_sub(count), retry, wait, kept)
            }
        };
        Verdict {
            stepped_back: true,
            ..verdict
        }
    }

    /// What is left of the limit after `cost`, if it fits.
    #[inline]
    fn fits(&self, live: &Live, cost: u64) -> Option<u64> {
        self.limit.saturating_sub(live.count).checked_sub(cost)
    }

    fn allow(&self, now: u64, remaining: u64, tick: u64, edit: Edit) -> Verdict {
        let idle_at = self.expiry(tick);
        Verdict {
            allowed: true,
            remaining,
            retry_ns: 0,
            reset_ns: idle_at - now,
            stepped_back: false,
            change: Change::Log(idle_at, edit),
        }
    }

    fn restart(&self, tick: u64, count: u64) -> Edit {
        Edit::Restart(run(tick, count.min(self.limit)))
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
        opens_at.saturating_sub(now)
    }

    /// The instant from which an entry of this tick no longer counts.
    #[inline]
    fn expiry(&self, tick: u64) -> u64 {
        tick.saturating_mul(self.tick).saturating_add(self.window)
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

fn refusal(remaining: u64, retry_ns: u64, reset_ns: u64, change: Change) -> Verdict {
    Verdict {
        allowed: false,
        remaining,
        retry_ns,
        reset_ns,
        stepped_back: false,
        change,
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
