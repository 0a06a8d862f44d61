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

use super::{Ask, Decide, NEVER, State, Verdict};
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
    /// Its newest runs go: of the oldest so many stay, the last of them with this
    /// count, and all of them count for `total`.
    Truncate { runs: usize, last: u32, total: u64 },
    /// All of it goes.
    Clear,
}

/// A sliding log's limit.
#[derive(Clone, Debug)]
pub(crate) struct SlidingWindow {
    limit: u64,
    window: u64,
    /// Length of a tick in ns.
    tick: u64,
    /// By how many ticks two clocks may differ.
    skew: u64,
}

/// What a log comes to at some instant.
#[derive(Clone, Copy)]
struct Live {
    /// What still counts.
    count: u64,
    /// The oldest runs, which do not.
    expired_runs: usize,
    expired: u64,
    /// The tick of the newest run, or of the present if that is later.
    tick: u64,
    /// Whether the log is to be replaced by one run with the whole count: there is
    /// none yet, or the clock was set back. All that was logged then counts as if
    /// it were new, so that nothing is given twice, and no longer than a window.
    restarts: bool,
    stepped_back: bool,
}

impl SlidingWindow {
    pub fn new(limit: &Limit, skew: u64) -> SlidingWindow {
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
            skew: skew.div_ceil(tick),
        }
    }

    fn read<L: Runs>(&self, state: State, now: u64, log: impl Fn() -> L) -> Live {
        let tick = now.div_ceil(self.tick);
        let new = Live {
            count: 0,
            expired_runs: 0,
            expired: 0,
            tick,
            restarts: true,
            stepped_back: false,
        };
        if state.idle_at <= now {
            return new;
        }
        let log = log();
        let newest = self.newest(state);
        if newest.saturating_sub(tick) > self.skew {
            let count = log.total().min(u64::from(u32::MAX));
            return Live {
                count,
                stepped_back: true,
                ..new
            };
        }
        let mut live = Live {
            tick: tick.max(newest),
            restarts: false,
            ..new
        };
        for run in log.runs() {
            if self.expiry(full_tick(run.tick, newest)) > now {
                break;
            }
            live.expired_runs += 1;
            live.expired += u64::from(run.count);
        }
        live.count = log.total().saturating_sub(live.expired);
        live
    }

    /// How long until of `live.count` so much has expired that `cost` fits. Never
    /// nothing: it is asked when the cost does not fit.
    fn wait<L: Runs>(
        &self,
        state: State,
        now: u64,
        log: impl Fn() -> L,
        live: &Live,
        cost: u64,
    ) -> u64 {
        let Some(room) = self.limit.checked_sub(cost) else {
            return NEVER;
        };
        let mut to_go = live.count.saturating_sub(room);
        let mut opens_at = None;
        if !live.restarts {
            let (log, newest) = (log(), self.newest(state));
            for run in log.runs().skip(live.expired_runs) {
                to_go = to_go.saturating_sub(u64::from(run.count));
                if to_go == 0 {
                    opens_at = Some(self.expiry(full_tick(run.tick, newest)));
                    break;
                }
            }
        }
        let opens_at = opens_at.unwrap_or_else(|| self.expiry(live.tick));
        opens_at.saturating_sub(now).max(1)
    }

    /// The tick of the newest run.
    fn newest(&self, state: State) -> u64 {
        state.idle_at.saturating_sub(self.window) / self.tick
    }

    /// The instant from which an entry of this tick no longer counts.
    #[inline]
    fn expiry(&self, tick: u64) -> u64 {
        tick.saturating_mul(self.tick).saturating_add(self.window)
    }

    fn takes(&self, now: u64, live: Live, cost: u64, edit: &mut Option<Edit>) -> Verdict {
        *edit = Some(live.plus(cost));
        let idle_at = self.expiry(live.tick);
        Verdict {
            allowed: true,
            stepped_back: live.stepped_back,
            remaining: self.limit.saturating_sub(live.count.saturating_add(cost)),
            retry_ns: 0,
            reset_ns: idle_at - now,
            changes: true,
            next: State { idle_at, data: 0 },
        }
    }
}

impl Decide for SlidingWindow {
    #[inline(never)]
    fn decide<L: Runs>(&self, ask: Ask, log: impl Fn() -> L, edit: &mut Option<Edit>) -> Verdict {
        let Ask { state, now, cost } = ask;
        let live = self.read(state, now, &log);
        let left = self.limit.saturating_sub(live.count);
        if cost <= left {
            return self.takes(now, live, cost, edit);
        }
        let trims = live.stepped_back || live.expired_runs >= TRIM_RUNS;
        if trims {
            *edit = Some(live.plus(0));
        }
        let idle_at = if live.stepped_back {
            self.expiry(live.tick)
        } else {
            state.idle_at
        };
        Verdict {
            allowed: false,
            stepped_back: live.stepped_back,
            remaining: left,
            retry_ns: self.wait(state, now, log, &live, cost),
            reset_ns: idle_at.saturating_sub(now),
            changes: trims,
            next: State { idle_at, data: 0 },
        }
    }

    fn charge<L: Runs>(&self, ask: Ask, log: impl Fn() -> L, edit: &mut Option<Edit>) -> Verdict {
        let Ask { state, now, cost } = ask;
        let live = self.read(state, now, &log);
        let verdict = self.takes(now, live, cost, edit);
        let count = live.count.saturating_add(cost);
        if count < self.limit {
            return verdict;
        }
        let charged = Live { count, ..live };
        let retry_ns = self.wait(state, now, log, &charged, 1);
        Verdict {
            allowed: count <= self.limit,
            retry_ns,
            ..verdict
        }
    }

    fn refund<L: Runs>(
        &self,
        ask: Ask,
        log: impl Fn() -> L,
        edit: &mut Option<Edit>,
    ) -> (State, u64) {
        let Ask { state, now, cost } = ask;
        let live = self.read(state, now, &log);
        let stays = live.count.saturating_sub(cost);
        if stays == 0 {
            *edit = Some(Edit::Clear);
            return (State::default(), self.limit);
        }
        let left = self.limit.saturating_sub(stays);
        let newest_at = |tick| State {
            idle_at: self.expiry(tick),
            data: 0,
        };
        if live.restarts {
            *edit = Some(Edit::Restart(run(live.tick, stays)));
            return (newest_at(live.tick), left);
        }
        let (log, newest) = (log(), self.newest(state));
        let (mut runs, mut to_go, mut tick) = (live.expired_runs, stays, live.tick);
        let mut last = 0;
        for run in log.runs().skip(live.expired_runs) {
            (runs, tick, last) = (runs + 1, full_tick(run.tick, newest), run.count);
            if to_go <= u64::from(run.count) {
                last = to_go as u32;
                break;
            }
            to_go -= u64::from(run.count);
        }
        *edit = Some(Edit::Truncate {
            runs,
            last,
            total: live.expired + stays,
        });
        (newest_at(tick), left)
    }
}

impl Live {
    /// The log with `cost` more at the present tick.
    fn plus(&self, cost: u64) -> Edit {
        if self.restarts {
            return Edit::Restart(run(self.tick, self.count.saturating_add(cost)));
        }
        Edit::Slide {
            runs: self.expired_runs,
            count: self.expired,
            add: run(self.tick, cost),
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
