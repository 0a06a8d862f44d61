//! Token bucket: a bucket of `capacity` tokens that gains `limit` tokens a window,
//! evenly. A request takes its cost in tokens, or is refused.
//!
//! Kept as the generic cell rate algorithm keeps it (ITU-T I.371, "virtual
//! scheduling"): by the instant at which the bucket will be full again, its
//! theoretical arrival time. A cost moves that instant by `cost * window / limit`,
//! which is seldom whole, so it is stored as `idle_at - data / limit`: a whole
//! number of ns less a fraction. No part of a token is ever lost or made up, and
//! the state means the same after the limit has changed.
//!
//! What is charged after the fact may overdraw the bucket, by one window's worth at
//! most. `data` then carries a mark, so that the debt is not taken for a clock that
//! was set back.

use std::cmp::Reverse;
use std::num::NonZeroU64;

use super::{Ask, Decide, Edit, NEVER, Runs, State, Verdict};
use crate::rule::Limit;

/// A token bucket's limit, with its capacity and the price of one token as times.
#[derive(Clone, Debug)]
pub(crate) struct TokenBucket {
    limit: u64,
    window: NonZeroU64,
    capacity: u64,
    /// How long an empty bucket takes to fill.
    depth: Span,
    /// How long one token takes.
    token: Span,
    /// How far ahead a bucket can be full that is not in debt, by clocks that differ.
    farthest: u64,
}

/// The mark of a bucket that is overdrawn.
const OVERDRAWN: u64 = 1 << 63;

/// A time of `whole + part / limit` ns, `part < limit`.
#[derive(Clone, Copy, Debug)]
struct Span {
    whole: u64,
    part: u64,
}

/// When the bucket will be full: `whole - early / limit`, `early < limit`.
#[derive(Clone, Copy, Debug)]
struct FullAt {
    whole: u64,
    early: u64,
}

impl TokenBucket {
    pub fn new(limit: &Limit, skew: u64) -> TokenBucket {
        let mut bucket = TokenBucket {
            limit: limit.limit.max(1),
            window: NonZeroU64::new(limit.window_ns).unwrap_or(NonZeroU64::MIN),
            capacity: limit.capacity(),
            depth: Span { whole: 0, part: 0 },
            token: Span { whole: 0, part: 0 },
            farthest: 0,
        };
        bucket.depth = bucket.time_of(bucket.capacity);
        bucket.token = bucket.time_of(1);
        bucket.farthest = bucket.depth.whole.saturating_add(1 + skew);
        bucket
    }

    /// When the bucket of a stored state is full, never before `now`; and whether
    /// the state lies further ahead than an empty bucket at `now`.
    #[inline]
    fn read(&self, state: State, now: u64) -> (FullAt, bool) {
        let full_now = FullAt {
            whole: now,
            early: 0,
        };
        if state.idle_at <= now {
            return (full_now, false);
        }
        if state.idle_at - now > self.farthest && self.is_too_far(state, now) {
            return (full_now.plus(self.depth, self.limit), true);
        }
        let full_at = FullAt {
            whole: state.idle_at,
            early: if state.data < self.limit {
                state.data
            } else {
                self.early_of_marked(state.data)
            },
        };
        (full_at, false)
    }

    /// What is behind the mark of a bucket that is overdrawn.
    #[cold]
    fn early_of_marked(&self, data: u64) -> u64 {
        let early = data & !OVERDRAWN;
        if early < self.limit { early } else { 0 }
    }

    /// Whether a state lies further ahead than a bucket that is not in debt can, and is
    /// not in debt, or further than even one that is.
    #[cold]
    fn is_too_far(&self, state: State, now: u64) -> bool {
        let in_debt = state.data & OVERDRAWN != 0;
        !in_debt || state.idle_at - now - self.farthest > self.window.get()
    }

    /// How long a bucket that is full at `full_at` is overdrawn.
    #[inline]
    fn debt_ns(&self, full_at: FullAt, now: u64) -> u64 {
        let carry = u64::from(self.depth.part + full_at.early >= self.limit);
        (full_at.whole - now).saturating_sub(self.depth.whole + carry)
    }

    /// The whole tokens in the bucket.
    #[inline(always)]
    fn tokens(&self, full_at: FullAt, now: u64) -> u64 {
        let missing_ns = full_at.whole - now;
        let used = match missing_ns.checked_mul(self.limit) {
            Some(missing) => missing
                .saturating_sub(full_at.early)
                .div_ceil(self.window.get()),
            None => self.tokens_of(missing_ns, full_at.early),
        };
        self.capacity.saturating_sub(used)
    }

    /// The tokens that come in `ns - early / limit`, rounded up.
    #[cold]
    fn tokens_of(&self, ns: u64, early: u64) -> u64 {
        let missing = u128::from(ns) * u128::from(self.limit) - u128::from(early);
        let tokens = missing.div_ceil(u128::from(self.window.get()));
        u64::try_from(tokens).unwrap_or(u64::MAX)
    }

    /// How long `cost` tokens take to come.
    #[inline]
    fn price(&self, cost: u64) -> Span {
        if cost == 1 {
            self.token
        } else {
            self.time_of(cost)
        }
    }

    fn time_of(&self, tokens: u64) -> Span {
        let limit = u128::from(self.limit);
        let time = u128::from(tokens) * u128::from(self.window.get());
        Span {
            whole: u64::try_from(time / limit).unwrap_or(u64::MAX),
            part: (time % limit) as u64,
        }
    }
}

impl Decide for TokenBucket {
    #[inline(always)]
    fn decide<L: Runs>(&self, ask: Ask, _log: impl Fn() -> L, _edit: &mut Option<Edit>) -> Verdict {
        let Ask { state, now, cost } = ask;
        let (full_at, stepped_back) = self.read(state, now);
        let refused = |retry_ns| Verdict {
            allowed: false,
            // Who is refused a single token has none.
            remaining: match cost {
                1 => 0,
                _ => self.tokens(full_at, now),
            },
            retry_ns,
            reset_ns: full_at.whole - now,
            stepped_back,
            changes: stepped_back,
            next: full_at.state(),
        };
        if cost > self.capacity {
            return refused(NEVER);
        }
        let charged = full_at.plus(self.price(cost), self.limit);
        let debt_ns = self.debt_ns(charged, now);
        if debt_ns > 0 {
            return refused(debt_ns);
        }
        Verdict {
            allowed: true,
            remaining: self.tokens(charged, now),
            retry_ns: 0,
            reset_ns: charged.whole - now,
            stepped_back,
            changes: true,
            next: charged.state(),
        }
    }

    fn charge<L: Runs>(&self, ask: Ask, log: impl Fn() -> L, edit: &mut Option<Edit>) -> Verdict {
        let Ask { state, now, cost } = ask;
        let verdict = self.decide(ask, log, edit);
        if verdict.remaining > 0 && verdict.allowed {
            return verdict;
        }
        let (full_at, _) = self.read(state, now);
        let empty = FullAt {
            whole: now,
            early: 0,
        }
        .plus(self.depth, self.limit);
        let deepest = FullAt {
            whole: empty.whole + self.window.get(),
            ..empty
        };
        let charged = full_at.plus(self.price(cost), self.limit);
        // A clock that is ahead may have charged more than is deepest here: that stays.
        let charged = charged.min(deepest).max(full_at);
        let State { idle_at, data } = charged.state();
        Verdict {
            remaining: self.tokens(charged, now),
            retry_ns: self.debt_ns(charged.plus(self.token, self.limit), now),
            reset_ns: charged.whole - now,
            changes: true,
            next: State {
                idle_at,
                data: if verdict.allowed {
                    data
                } else {
                    data | OVERDRAWN
                },
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
        let (full_at, _) = self.read(state, now);
        let refunded = full_at.minus(self.price(cost), self.limit, now);
        let State { idle_at, data } = refunded.state();
        let next = State {
            idle_at,
            data: data | state.data & OVERDRAWN,
        };
        (next, self.tokens(refunded, now))
    }
}

impl FullAt {
    /// The sooner of two.
    fn min(self, other: FullAt) -> FullAt {
        if other.order() < self.order() {
            other
        } else {
            self
        }
    }

    /// The later of two.
    fn max(self, other: FullAt) -> FullAt {
        if other.order() > self.order() {
            other
        } else {
            self
        }
    }

    fn order(self) -> (u64, Reverse<u64>) {
        (self.whole, Reverse(self.early))
    }

    /// The other way round; never before `now`.
    fn minus(self, span: Span, limit: u64, now: u64) -> FullAt {
        let early = self.early + span.part;
        let carry = u64::from(early >= limit);
        let whole = self.whole.saturating_sub(span.whole.saturating_add(carry));
        if whole <= now {
            return FullAt {
                whole: now,
                early: 0,
            };
        }
        FullAt {
            whole,
            early: early - carry * limit,
        }
    }

    #[inline]
    fn plus(self, span: Span, limit: u64) -> FullAt {
        let whole = self.whole.saturating_add(span.whole);
        if span.part > self.early {
            FullAt {
                whole: whole.saturating_add(1),
                early: limit - (span.part - self.early),
            }
        } else {
            FullAt {
                whole,
                early: self.early - span.part,
            }
        }
    }

    #[inline]
    fn state(self) -> State {
        State {
            idle_at: self.whole,
            data: self.early,
        }
    }
}
