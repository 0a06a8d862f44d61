//! The answer to a request, in the units that a caller wants: whole units of the
//! quota, and milliseconds.

use super::joint::Joint;
use super::part::Part;
use crate::algorithm::Verdict;
use crate::rule::book::Limited;

/// The wait for what can never pass.
pub const NEVER: u64 = crate::algorithm::NEVER;

/// Bits of [`Decision::flags`].
pub mod flag {
    /// A limit in shadow mode would have refused.
    pub const SHADOW: u8 = 1 << 0;
    /// The table was full, and no counter was kept.
    pub const UNTRACKED: u8 = 1 << 1;
    /// The rule says unlimited.
    pub const UNLIMITED: u8 = 1 << 2;
}

/// The answer to a request. In C it is `struct rl_decision`, byte for byte, so that
/// an answer is written once, where the caller wants it.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Decision {
    /// Whether the request may go on.
    pub allowed: bool,
    /// Bits of [`flag`].
    pub flags: u8,
    /// Limits in the rule that applies: 0 for `unlimited` and `deny`.
    pub limit_count: u8,
    /// Which of them the rest describes, from 0: that which refuses longest, else
    /// that which has the least left.
    pub limit_index: u8,
    /// Bit i: limit i refuses, or in shadow mode would.
    pub denied_by: u8,
    /// 0.
    pub reserved: [u8; 3],
    /// Its quota: the burst, where it has one. [`NEVER`] for `unlimited`.
    pub limit: u64,
    /// What is left of it, in whole units. [`NEVER`] for `unlimited`.
    pub remaining: u64,
    /// Milliseconds after which the same request passes, if nobody else takes
    /// from the counter: 0 when allowed, [`NEVER`] when it never can.
    pub retry_after_ms: u64,
    /// Milliseconds until the counter is as if never used.
    pub reset_after_ms: u64,
    /// Length of the window in ms.
    pub window_ms: u64,
    /// The limit's name, with NULs behind it: its `name=`, else `default`, or
    /// `limit-1` and so on where the rule has several.
    pub name: [u8; 16],
}

impl Decision {
    /// What the one limit of a rule says that allows. Field by field, since the whole would
    /// be put together elsewhere first.
    #[inline(always)]
    pub(super) fn allow(&mut self, limit: &Limited, verdict: &Verdict) {
        self.allowed = true;
        self.denied_by = 0;
        self.retry_after_ms = 0;
        self.fill(limit, verdict);
    }

    /// The same of one that refuses.
    #[inline(always)]
    pub(super) fn refuse(&mut self, limit: &Limited, verdict: &Verdict) {
        self.allowed = false;
        self.denied_by = 1;
        self.retry_after_ms = whole_ms(verdict.retry_ns);
        self.fill(limit, verdict);
    }

    #[inline(always)]
    fn fill(&mut self, limit: &Limited, verdict: &Verdict) {
        self.flags = 0;
        self.limit_count = 1;
        self.limit_index = 0;
        self.limit = limit.capacity;
        self.remaining = verdict.remaining;
        self.reset_after_ms = up_to_ms(verdict.reset_ns);
        self.window_ms = limit.window_ms;
        self.name = limit.name_alone;
    }

    /// An answer without a counter: allowed, or refused until there may be room.
    pub(super) fn untracked(limit: &Limited, wait_ns: Option<u64>) -> Decision {
        Decision {
            allowed: wait_ns.is_none(),
            flags: flag::UNTRACKED,
            denied_by: u8::from(wait_ns.is_some()),
            retry_after_ms: wait_ns.map_or(0, whole_ms),
            ..Decision::about(limit)
        }
    }

    /// What the request of that index met in a decision about several counters.
    pub(super) fn of_request(joint: &Joint<'_>, request: usize, taken: bool) -> Decision {
        if joint.denied.get(request) == Some(&true) {
            return Decision::deny();
        }
        let parts = || joint.parts.iter().filter(|part| part.request == request);
        let mut met = Limits::default();
        parts().for_each(|part| met.add(part, taken));
        let Some((_, index, part)) = met.described else {
            return Decision::unlimited();
        };
        let full = joint.full.filter(|&(of, _)| of == request);
        let retry_ns = match full {
            _ if part.refuses() => longest_wait(parts()),
            Some((_, wait_ns)) => wait_ns,
            None => 0,
        };
        let full = full.is_some();
        Decision {
            allowed: !part.refuses() && !full,
            flags: met.flags | if full { flag::UNTRACKED } else { 0 },
            limit_count: met.count,
            limit_index: index,
            denied_by: met.denied_by,
            remaining: part.remaining(taken),
            retry_after_ms: whole_ms(retry_ns),
            reset_after_ms: whole_ms(part.reset_ns(taken, joint.now)),
            name: match met.count {
                1 => part.limit.name_alone,
                _ => part.limit.name.unwrap_or(numbered(index)),
            },
            ..Decision::about(part.limit)
        }
    }

    pub(super) fn unlimited() -> Decision {
        Decision {
            allowed: true,
            flags: flag::UNLIMITED,
            limit: NEVER,
            remaining: NEVER,
            name: DEFAULT_NAME,
            ..Decision::default()
        }
    }

    pub(super) fn deny() -> Decision {
        Decision {
            retry_after_ms: NEVER,
            name: DEFAULT_NAME,
            ..Decision::default()
        }
    }

    #[inline(always)]
    fn about(limit: &Limited) -> Decision {
        Decision {
            limit_count: 1,
            limit: limit.capacity,
            window_ms: limit.window_ms,
            name: limit.name_alone,
            ..Decision::default()
        }
    }
}

/// What the limits of a request come to, taken together in one pass.
#[derive(Default)]
struct Limits<'p, 'a> {
    flags: u8,
    denied_by: u8,
    count: u8,
    /// The one to describe, its index, and its rank.
    described: Option<((u8, u64), u8, &'p Part<'a>)>,
}

impl<'p, 'a> Limits<'p, 'a> {
    #[inline(always)]
    fn add(&mut self, part: &'p Part<'a>, taken: bool) {
        if part.untracked {
            self.flags |= flag::UNTRACKED;
        } else if !part.verdict.allowed {
            self.denied_by |= 1 << self.count;
        }
        if part.limit.shadow && !part.verdict.allowed {
            self.flags |= flag::SHADOW;
        }
        let rank = rank(part, taken);
        // Of equals the first.
        if self.described.is_none_or(|(first, ..)| rank < first) {
            self.described = Some((rank, self.count, part));
        }
        self.count += 1;
    }
}

/// Of a request's limits the one is described that comes first in this order: that which
/// refuses longest, else that which has the least left. One in shadow mode only where
/// there is no other.
#[inline(always)]
fn rank(part: &Part<'_>, taken: bool) -> (u8, u64) {
    if part.refuses() {
        (0, u64::MAX - part.verdict.retry_ns)
    } else {
        (1 + u8::from(part.limit.shadow), part.remaining(taken))
    }
}

/// How long a request that is refused has to wait. After a charge also a limit that is not
/// over it may have nothing left.
fn longest_wait<'p, 'a: 'p>(parts: impl Iterator<Item = &'p Part<'a>>) -> u64 {
    let waits = parts.filter(|part| !part.limit.shadow && !part.untracked);
    let longest = waits.map(|part| part.verdict.retry_ns).max();
    longest.unwrap_or(0)
}

const DEFAULT_NAME: [u8; 16] = *b"default\0\0\0\0\0\0\0\0\0";

/// The name of one of several limits that has none: `limit-1` and so on.
fn numbered(index: u8) -> [u8; 16] {
    let first = u128::from_le_bytes(*b"limit-1\0\0\0\0\0\0\0\0\0");
    (first + (u128::from(index) << 48)).to_le_bytes()
}

/// Whole milliseconds, rounded up: a hint must not be too short.
#[inline]
fn whole_ms(ns: u64) -> u64 {
    if ns == NEVER { NEVER } else { up_to_ms(ns) }
}

#[inline]
fn up_to_ms(ns: u64) -> u64 {
    ns.saturating_add(999_999) / 1_000_000
}
