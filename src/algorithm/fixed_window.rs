//! Fixed window: a count that starts anew with every window. Windows are aligned
//! to whole multiples of their length on the service's clock.
//!
//! `idle_at` is the end of the window, `data` the count.

use super::{Ask, Decide, Edit, NEVER, Runs, State, Verdict};
use crate::rule::Limit;

/// A fixed window's limit.
#[derive(Clone, Debug)]
pub(crate) struct FixedWindow {
    limit: u64,
    window: u64,
    /// By how much two clocks may differ.
    skew: u64,
}

impl FixedWindow {
    pub fn new(limit: &Limit, skew: u64) -> FixedWindow {
        FixedWindow {
            limit: limit.limit,
            window: limit.window_ns.max(1),
            skew,
        }
    }

    /// The window that counts at `now`, and whether the one stored begins after it.
    #[inline]
    fn read(&self, state: State, now: u64) -> (State, bool) {
        let end = |time: u64| time - time % self.window + self.window;
        if state.idle_at <= now {
            (
                State {
                    idle_at: end(now),
                    data: 0,
                },
                false,
            )
        } else if state.idle_at - now > self.window + self.skew {
            (
                State {
                    // A window of its own, so that no border lies between the step
                    // and where the count was: crossing it again would start anew.
                    idle_at: match state.data {
                        0 => end(now),
                        _ => now + self.window,
                    },
                    data: state.data,
                },
                true,
            )
        } else {
            (state, false)
        }
    }
}

impl Decide for FixedWindow {
    #[inline(always)]
    fn decide<L: Runs>(&self, ask: Ask, _log: impl Fn() -> L, _edit: &mut Option<Edit>) -> Verdict {
        let Ask { state, now, cost } = ask;
        let (window, stepped_back) = self.read(state, now);
        let left = self.limit.saturating_sub(window.data);
        let wait = window.idle_at - now;
        if cost <= left {
            return Verdict {
                allowed: true,
                remaining: left - cost,
                retry_ns: 0,
                reset_ns: wait,
                stepped_back,
                changes: true,
                next: State {
                    data: window.data + cost,
                    ..window
                },
            };
        }
        Verdict {
            allowed: false,
            remaining: left,
            retry_ns: if cost > self.limit { NEVER } else { wait },
            reset_ns: if window.data == 0 { 0 } else { wait },
            stepped_back,
            changes: stepped_back,
            next: window,
        }
    }

    fn charge<L: Runs>(&self, ask: Ask, log: impl Fn() -> L, edit: &mut Option<Edit>) -> Verdict {
        let Ask { state, now, cost } = ask;
        let verdict = self.decide(ask, log, edit);
        if verdict.remaining > 0 && verdict.allowed {
            return verdict;
        }
        let (window, _) = self.read(state, now);
        let wait = window.idle_at - now;
        Verdict {
            remaining: 0,
            retry_ns: wait,
            reset_ns: wait,
            changes: true,
            next: State {
                data: window.data.saturating_add(cost),
                ..window
            },
            ..verdict
        }
    }

    fn refund<L: Runs>(
        &self,
        ask: Ask,
        _log: impl Fn() -> L,
        _edit: &mut Option<Edit>,
    ) -> (State, u64) {
        let Ask { state, now, cost } = ask;
        let (window, stepped_back) = self.read(state, now);
        if window.data == 0 && !stepped_back {
            return (state, self.limit);
        }
        let data = window.data.saturating_sub(cost);
        // Who is behind may still be in the window before, whose count is not known
        // any more: this one is kept for them to count in. One that began with a step
        // of the clock is not: the next is to be aligned again.
        let all_are_in_it = window.idle_at - now + self.skew <= self.window;
        let is_aligned = window.idle_at % self.window == 0;
        let next = if data == 0 && (all_are_in_it || !is_aligned) {
            State::default()
        } else {
            State { data, ..window }
        };
        (next, self.limit.saturating_sub(data))
    }
}
