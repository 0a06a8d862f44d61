//! The answer to a request, in the units that a caller wants: whole units of the
//! quota, and milliseconds.

use super::joint::{Joint, Part};
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
    /// What the one limit of a rule says. Field by field, since the whole would be put
    /// together elsewhere first.
    #[inline(always)]
    pub(super) fn fill(&mut self, limit: &Limited, verdict: &Verdict) {
        let refused = !verdict.allowed;
        self.allowed = verdict.allowed;
        self.flags = 0;
        self.limit_count = 1;
        self.limit_index = 0;
        self.denied_by = u8::from(refused);
        self.reserved = [0; 3];
        self.limit = limit.capacity;
        self.remaining = verdict.remaining;
        self.retry_after_ms = if refused {
            whole_ms(verdict.retry_ns)
        } else {
            0
        };
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
        let parts = || joint.parts.iter().filter(|part| part.request == request);
        if joint.denied.get(request) == Some(&true) {
            return Decision::deny();
        }
        let Some((index, part)) = describing(parts(), taken) else {
            return Decision::unlimited();
        };
        let full = joint
            .full
            .filter(|&(of, _)| of == request)
            .map(|(_, wait)| wait);
        let bits = parts()
            .enumerate()
            .filter(|(_, part)| !part.verdict.allowed && !part.untracked);
        let flags = [
            (
                flag::SHADOW,
                parts().any(|part| part.limit.shadow && !part.verdict.allowed),
            ),
            (
                flag::UNTRACKED,
                full.is_some() || parts().any(|part| part.untracked),
            ),
        ];
        let refused = parts().any(Part::refuses);
        // After a charge also a limit that is not over it may have nothing left.
        let waits = parts().filter(|part| !part.limit.shadow && !part.untracked);
        let longest = waits.map(|part| part.verdict.retry_ns).max();
        let retry_ns = if refused { longest } else { full };
        Decision {
            allowed: !refused && full.is_none(),
            flags: flags
                .iter()
                .fold(0, |all, &(flag, set)| if set { all | flag } else { all }),
            limit_count: parts().count() as u8,
            limit_index: index as u8,
            denied_by: bits.fold(0, |all, (index, _)| all | 1 << index),
            remaining: part.remaining(taken),
            retry_after_ms: whole_ms(retry_ns.unwrap_or(0)),
            reset_after_ms: whole_ms(part.reset_ns(taken, joint.now)),
            name: match parts().count() {
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

/// Of a request's limits the one to describe: that which refuses longest, else that
/// which has the least left. One in shadow mode only where there is no other.
fn describing<'p, 'a: 'p>(
    parts: impl Iterator<Item = &'p Part<'a>> + Clone,
    taken: bool,
) -> Option<(usize, &'p Part<'a>)> {
    let refusing = parts.clone().enumerate().filter(|(_, part)| part.refuses());
    // Of equals the first, which `max_by_key` would not take.
    let longest = refusing.min_by_key(|(_, part)| u64::MAX - part.verdict.retry_ns);
    longest.or_else(|| {
        let order = |part: &Part<'_>| (part.limit.shadow, part.remaining(taken));
        parts.enumerate().min_by_key(|(_, part)| order(part))
    })
}

const DEFAULT_NAME: [u8; 16] = *b"default\0\0\0\0\0\0\0\0\0";

/// The name of one of several limits that has none: `limit-1` and so on.
fn numbered(index: usize) -> [u8; 16] {
    let mut name = *b"limit-1\0\0\0\0\0\0\0\0\0";
    if let Some(digit) = name.get_mut(6) {
        *digit = b'1'.saturating_add(index as u8);
    }
    name
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
