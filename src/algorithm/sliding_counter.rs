//! Sliding window counter: the count of this window, and that of the last weighed
//! by how much of it the sliding window still covers. An approximation of the
//! sliding log in one word, as if the last window's requests had come evenly.
//!
//! The weighing is an exact inequality, `e` being the time since the window began:
//! `last * (window - e) + (count + cost) * window <= limit * window`.
//!
//! `idle_at` is the end of the next window, `data` the two counts in 32 bits each.

use super::{Ask, Decide, Edit, NEVER, Runs, State, Verdict};
use crate::rule::Limit;

/// A sliding window counter's limit.
#[derive(Clone, Debug)]
pub(crate) struct SlidingWindowCounter {
    limit: u64,
    window: u64,
    /// By how much two clocks may differ.
    skew: u64,
    /// Whether `(2^32 - 1) * window` fits 64 bits.
    narrow: bool,
}

/// The counts that hold in the window that ends at `end`.
#[derive(Clone, Copy, Debug)]
struct Counts {
    end: u64,
    count: u64,
    last: u64,
}

impl SlidingWindowCounter {
    pub fn new(limit: &Limit, skew: u64) -> SlidingWindowCounter {
        let window = limit.window_ns.max(1);
        SlidingWindowCounter {
            limit: limit.limit.min(u64::from(u32::MAX)),
            window,
            skew,
            narrow: window.checked_mul(u64::from(u32::MAX)).is_some(),
        }
    }

    /// The counts as they stand in the window of `now`, and whether those stored
    /// are of a later one.
    #[inline]
    fn read(&self, state: State, now: u64) -> (Counts, bool) {
        let (count, last) = (state.data & 0xffff_ffff, state.data >> 32);
        let end = |time: u64| time - time % self.window + self.window;
        let stored_end = state.idle_at.saturating_sub(self.window);
        if state.idle_at <= now {
            (
                Counts {
                    end: end(now),
                    count: 0,
                    last: 0,
                },
                false,
            )
        } else if stored_end <= now {
            (
                Counts {
                    end: state.idle_at,
                    count: 0,
                    last: count,
                },
                false,
            )
        } else if stored_end - now > self.window + self.skew {
            // Where in its window the step back lands says nothing of how much the
            // last one weighed, so that counts in full.
            (
                Counts {
                    end: end(now),
                    count: (count + last).min(self.limit),
                    last: 0,
                },
                true,
            )
        } else {
            (
                Counts {
                    end: stored_end,
                    count,
                    last,
                },
                false,
            )
        }
    }

    /// How long until `cost` fits: in this window as the last one fades, else in
    /// the next as this one does.
    fn wait(&self, counts: Counts, now: u64, cost: u64) -> u64 {
        if cost > self.limit {
            return NEVER;
        }
        let room = self.limit - cost;
        let opens_at = if counts.count <= room {
            counts
                .end
                .saturating_sub(self.overlap_for(room - counts.count, counts.last))
        } else {
            counts.end + (self.window - self.overlap_for(room, counts.count))
        };
        opens_at.saturating_sub(now)
    }

    /// The longest overlap with a window of `count` that weighs no more than `room`.
    fn overlap_for(&self, room: u64, count: u64) -> u64 {
        let overlap = u128::from(room) * u128::from(self.window) / u128::from(count.max(1));
        u64::try_from(overlap).map_or(self.window, |overlap| overlap.min(self.window))
    }

    /// What counts at `now`, rounded up.
    #[inline]
    fn used(&self, counts: Counts, now: u64) -> u64 {
        let until_end = (counts.end - now).min(self.window);
        self.scale_up(counts.last, until_end) + counts.count
    }

    /// `count * overlap / window`, rounded up.
    #[inline]
    fn scale_up(&self, count: u64, overlap: u64) -> u64 {
        if count == 0 {
            0
        } else if self.narrow {
            (count * overlap).div_ceil(self.window)
        } else {
            let product = u128::from(count) * u128::from(overlap);
            product.div_ceil(u128::from(self.window)) as u64
        }
    }

    #[inline]
    fn idle_at(&self, counts: Counts) -> u64 {
        if counts.count == 0 {
            counts.end
        } else {
            counts.end + self.window
        }
    }

    #[inline]
    fn state(&self, counts: Counts) -> State {
        // A count above 32 bits can only come from a damaged counter.
        let half = |count: u64| count.min(u64::from(u32::MAX));
        State {
            idle_at: counts.end + self.window,
            data: half(counts.last) << 32 | half(counts.count),
        }
    }
}

impl Decide for SlidingWindowCounter {
    #[inline(always)]
    fn decide<L: Runs>(&self, ask: Ask, _log: impl Fn() -> L, _edit: &mut Option<Edit>) -> Verdict {
        let Ask { state, now, cost } = ask;
        let (counts, stepped_back) = self.read(state, now);
        let left = self.limit.saturating_sub(self.used(counts, now));
        if cost <= left {
            let charged = Counts {
                count: counts.count + cost,
                ..counts
            };
            return Verdict {
                allowed: true,
                remaining: left - cost,
                retry_ns: 0,
                reset_ns: self.idle_at(charged) - now,
                stepped_back,
                changes: true,
                next: self.state(charged),
            };
        }
        let unused = counts.count == 0 && counts.last == 0;
        Verdict {
            allowed: false,
            remaining: left,
            retry_ns: self.wait(counts, now, cost),
            reset_ns: if unused {
                0
            } else {
                self.idle_at(counts) - now
            },
            stepped_back,
            changes: stepped_back,
            next: self.state(counts),
        }
    }

    fn charge<L: Runs>(&self, ask: Ask, log: impl Fn() -> L, edit: &mut Option<Edit>) -> Verdict {
        let Ask { state, now, cost } = ask;
        let verdict = self.decide(ask, log, edit);
        if verdict.remaining > 0 && verdict.allowed {
            return verdict;
        }
        let (counts, _) = self.read(state, now);
        let count = counts.count.saturating_add(cost).min(u64::from(u32::MAX));
        let charged = Counts { count, ..counts };
        Verdict {
            remaining: 0,
            retry_ns: self.wait(charged, now, 1),
            reset_ns: self.idle_at(charged) - now,
            changes: true,
            next: self.state(charged),
            ..verdict
        }
    }

    /// What this window does not hold goes off the last one.
    fn refund<L: Runs>(
        &self,
        ask: Ask,
        _log: impl Fn() -> L,
        _edit: &mut Option<Edit>,
    ) -> (State, u64) {
        let Ask { state, now, cost } = ask;
        let (counts, stepped_back) = self.read(state, now);
        if counts.count == 0 && counts.last == 0 && !stepped_back {
            return (state, self.limit);
        }
        let rest = cost.saturating_sub(counts.count);
        let count = counts.count.saturating_sub(cost);
        let last = counts.last.saturating_sub(rest);
        // Who is behind may still be in the window before, whose counts are not known
        // any more: this one is kept for them to count in.
        let all_are_in_it = counts.end - now + self.skew <= self.window;
        if count == 0 && last == 0 && all_are_in_it {
            return (State::default(), self.limit);
        }
        let refunded = Counts {
            count,
            last,
            ..counts
        };
        let left = self.limit.saturating_sub(self.used(refunded, now));
        (self.state(refunded), left)
    }
}
