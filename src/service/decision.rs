//! The answer to a request, in the units that a caller wants: whole units of the
//! quota, and milliseconds.

use crate::algorithm::Verdict;
use crate::rule::book::{Limited, padded};

/// The wait for what can never pass.
pub const NEVER: u64 = crate::algorithm::NEVER;

/// Bits of [`Decision::flags`].
pub mod flag {
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
    /// Which of them the rest describes, from 0.
    pub limit_index: u8,
    /// Bit i: limit i refuses.
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
    /// The limit's name, with NULs behind it: its `name=`, else `default`.
    pub name: [u8; 16],
}

impl Decision {
    #[inline(always)]
    pub(super) fn fill(&mut self, limit: &Limited, verdict: &Verdict) {
        *self = Decision {
            allowed: verdict.allowed,
            denied_by: u8::from(!verdict.allowed),
            remaining: verdict.remaining,
            retry_after_ms: whole_ms(verdict.retry_ns),
            reset_after_ms: whole_ms(verdict.reset_ns),
            ..Decision::about(limit)
        }
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

    pub(super) fn unlimited() -> Decision {
        Decision {
            allowed: true,
            flags: flag::UNLIMITED,
            limit: NEVER,
            remaining: NEVER,
            name: padded("default"),
            ..Decision::default()
        }
    }

    pub(super) fn deny() -> Decision {
        Decision {
            retry_after_ms: NEVER,
            name: padded("default"),
            ..Decision::default()
        }
    }

    #[inline]
    fn about(limit: &Limited) -> Decision {
        Decision {
            limit_count: 1,
            limit: limit.capacity,
            window_ms: limit.window_ms,
            name: limit.name,
            ..Decision::default()
        }
    }
}

/// Whole milliseconds, rounded up: a hint must not be too short.
#[inline]
fn whole_ms(ns: u64) -> u64 {
    if ns == NEVER {
        NEVER
    } else {
        ns.saturating_add(999_999) / 1_000_000
    }
}
