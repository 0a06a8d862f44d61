//! The answer to a request.

use std::ffi::c_char;

use crate::service::{Decision, NEVER, flag};

/// As rl_decision.retry_after_ms: the request can never pass, as its cost is more
/// than the limit ever gives, or as the rule says deny.
pub const RL_NEVER: u64 = u64::MAX;

/// In rl_decision.flags: a limit in shadow mode would have refused the request. No
/// rule of this version has that mode, so the flag is never set.
#[allow(dead_code, reason = "only C uses it")]
pub const RL_FLAG_SHADOW: u8 = 1;
/// In rl_decision.flags: the table was full of live counters, so that the setting
/// on-full decided and nothing was counted.
pub const RL_FLAG_UNTRACKED: u8 = 2;
/// In rl_decision.flags: the rule says unlimited.
pub const RL_FLAG_UNLIMITED: u8 = 4;

const _: () = assert!(RL_NEVER == NEVER);
const _: () = assert!(RL_FLAG_UNTRACKED == flag::UNTRACKED);
const _: () = assert!(RL_FLAG_UNLIMITED == flag::UNLIMITED);

/// The answer to a request. 64 bytes.
///
/// When a call returns an error, the decision is a refusal with everything else 0,
/// so that a caller who looks at nothing but allowed is on the safe side.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct rl_decision {
    /// Whether the request may go on.
    pub allowed: bool,
    /// Bits RL_FLAG_; later versions may set others.
    pub flags: u8,
    /// How many limits the rule has, 0 to 8; 0 for unlimited and deny.
    pub limit_count: u8,
    /// Which of them the fields below describe, counted from 0: the one that
    /// refuses longest, else the one with the least left.
    pub limit_index: u8,
    /// Bit i is set when limit i refuses.
    pub denied_by: u8,
    /// 0.
    pub reserved: [u8; 3],
    /// The limit's quota, or its burst where it has one.
    pub limit: u64,
    /// What is left of it after this request, in whole units.
    pub remaining: u64,
    /// 0 when allowed. Else the milliseconds after which the same request passes if
    /// nobody else asks; one less would not do. RL_NEVER when it can never pass.
    pub retry_after_ms: u64,
    /// Milliseconds until the counter is as if never used.
    pub reset_after_ms: u64,
    /// Length of the limit's window in milliseconds.
    pub window_ms: u64,
    /// The limit's name, always with a NUL at its end: what name= says in the rule,
    /// else "default".
    pub name: [c_char; 16],
}

const _: () = assert!(size_of::<rl_decision>() == 64);

impl rl_decision {
    /// What stands in the output of a call that failed.
    pub(super) const REFUSED: rl_decision = rl_decision {
        allowed: false,
        flags: 0,
        limit_count: 0,
        limit_index: 0,
        denied_by: 0,
        reserved: [0; 3],
        limit: 0,
        remaining: 0,
        retry_after_ms: 0,
        reset_after_ms: 0,
        window_ms: 0,
        name: [0; 16],
    };
}

/// Both are the same bytes: the core writes its answer straight into the caller's memory.
const _: () = {
    assert!(size_of::<rl_decision>() == size_of::<Decision>());
    assert!(align_of::<rl_decision>() == align_of::<Decision>());
    macro_rules! same_place {
        ($($field:ident)*) => {$(
            assert!(std::mem::offset_of!(rl_decision, $field) == std::mem::offset_of!(Decision, $field));
        )*};
    }
    same_place!(allowed flags limit_count limit_index denied_by reserved limit remaining
        retry_after_ms reset_after_ms window_ms name);
};

/// The caller's places for answers, which begin as refusals. There are none where
/// `out` is NULL or so many cannot lie in memory.
#[inline]
pub(super) unsafe fn refusals<'a>(out: *mut rl_decision, count: usize) -> &'a mut [Decision] {
    if out.is_null() || count > isize::MAX as usize / size_of::<rl_decision>() {
        return &mut [];
    }
    // SAFETY: by the caller's word `count` places for a decision, which are written
    // before they are read; the layouts are the same.
    unsafe {
        (0..count).for_each(|i| out.add(i).write(rl_decision::REFUSED));
        std::slice::from_raw_parts_mut(out.cast(), count)
    }
}
