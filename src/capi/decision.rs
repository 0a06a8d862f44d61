//! The answer to a request.

use std::ffi::c_char;
use std::mem::MaybeUninit;

use super::ffi::{Failure, catch, put_cut};
use crate::service::{Decision, HeaderStyle, NEVER, flag, headers};

/// As rl_decision.retry_after_ms: the request can never pass, as its cost is more
/// than the limit ever gives, or as the rule says deny.
pub const RL_NEVER: u64 = u64::MAX;

/// In rl_decision.flags: a limit in shadow mode would have refused the request;
/// denied_by says which.
pub const RL_FLAG_SHADOW: u8 = 1;
/// In rl_decision.flags: there was no room for a counter or for an entry of a log, so
/// that the request was refused, or allowed without being counted there; the setting
/// on-full says which.
pub const RL_FLAG_UNTRACKED: u8 = 2;
/// In rl_decision.flags: the rule says unlimited. limit and remaining are UINT64_MAX.
pub const RL_FLAG_UNLIMITED: u8 = 4;

const _: () = assert!(RL_NEVER == NEVER);
const _: () = assert!(RL_FLAG_SHADOW == flag::SHADOW);
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
    /// How many limits apply, 0 to 8: those of the rule, with match = all those of all
    /// the rules that apply, the most specific first. 0 for unlimited and deny.
    pub limit_count: u8,
    /// Which of them the fields below describe, counted from 0: the one that
    /// refuses longest, else the one with the least left; one in shadow mode only
    /// where there is no other.
    pub limit_index: u8,
    /// Bit i is set when limit i refuses; of a limit in shadow mode, when it would.
    pub denied_by: u8,
    /// 0.
    pub reserved: [u8; 3],
    /// The limit's quota, or its burst where it has one.
    pub limit: u64,
    /// What is left of it after this request, in whole units; as it was before, if
    /// nothing was taken.
    pub remaining: u64,
    /// 0 when allowed. Else the milliseconds after which the same request passes if
    /// nobody else asks; one less would not do. RL_NEVER when it can never pass. Of
    /// rl_charge, the milliseconds after which a cost of 1 passes.
    pub retry_after_ms: u64,
    /// Milliseconds until the counter is as if never used.
    pub reset_after_ms: u64,
    /// Length of the limit's window in milliseconds.
    pub window_ms: u64,
    /// The limit's name, always with a NUL at its end: what name= says in the rule,
    /// else "default", or "limit-1" to "limit-8" where several apply.
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

/// The caller's place for an answer, if there is one, which begins as a refusal.
#[inline(always)]
pub(super) unsafe fn refusal<'a>(out: *mut rl_decision) -> Option<&'a mut Decision> {
    // SAFETY: NULL, or by the caller's word a place for a decision, which is written
    // before it is read; the layouts are the same.
    unsafe {
        if !out.is_null() {
            out.write(rl_decision::REFUSED);
        }
        out.cast::<Decision>().as_mut()
    }
}

/// The caller's places for answers, which begin as refusals. There are none where
/// `out` is NULL or so many cannot lie in memory.
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

/// For rl_decision_headers: RateLimit-Policy and RateLimit, as the IETF has drafted them.
pub const RL_HEADERS_DRAFT: u32 = 0;
/// For rl_decision_headers: X-RateLimit-Limit, X-RateLimit-Remaining and
/// X-RateLimit-Reset, the last in seconds from now.
pub const RL_HEADERS_LEGACY: u32 = 1;

/// Writes a decision to buf as fields of an HTTP response, with CRLF after each and a NUL
/// at the end. No name of a user or an API is in them; the name is that of the limit.
///
///   RL_HEADERS_DRAFT                             RL_HEADERS_LEGACY
///   RateLimit-Policy: "default";q=100;w=60       X-RateLimit-Limit: 100
///   RateLimit: "default";r=0;t=2                 X-RateLimit-Remaining: 0
///   Retry-After: 2                               X-RateLimit-Reset: 60
///                                                Retry-After: 2
///
/// q is limit and w is window_ms; r is remaining. t is retry_after_ms of a refusal that is
/// worth another try, else reset_after_ms; X-RateLimit-Reset is always reset_after_ms.
/// Retry-After is there only in such a refusal. Times are whole seconds, rounded up.
/// Numbers above 999999999999999, the most that these fields can hold, are written as it.
///
/// A decision without limits (unlimited, deny, or of a call that failed) makes the empty
/// text. With RL_FLAG_UNTRACKED, what tells of the count is left out: RateLimit,
/// X-RateLimit-Remaining and X-RateLimit-Reset.
///
/// The decision need not come from this library: whatever its bytes are, the text has
/// these lines and no others. A name ends where name= in a rule could not go on.
///
/// Returns, as snprintf does, the length of the whole text without its NUL, of which
/// size - 1 bytes at most have been written: it is cut where the result is size or more,
/// and then not fit to be sent. 192 bytes are always enough. With size 0 nothing is
/// written, and buf may be NULL. Returns 0 with the empty text (where there is room) when
/// decision is NULL, style is neither of the two, or buf is NULL and size not 0.
///
/// The call does not allocate. Any thread may call it at any time.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rl_decision_headers(
    decision: *const rl_decision,
    style: u32,
    buf: *mut c_char,
    size: usize,
) -> usize {
    if buf.is_null() && size > 0 {
        return 0;
    }
    let text = catch(|| {
        // SAFETY: the caller's word on `decision`, as rl.h asks it.
        let decision = unsafe { read(decision) }?;
        Ok(headers(&decision, style_of(style)?))
    });
    let text = text.as_ref().map_or(&[][..], |text| text.as_bytes());
    // SAFETY: not NULL unless size is 0, and by the caller's word `size` bytes.
    unsafe { put_cut(text, buf, size) };
    text.len()
}

fn style_of(style: u32) -> Result<HeaderStyle, Failure> {
    match style {
        RL_HEADERS_DRAFT => Ok(HeaderStyle::Draft),
        RL_HEADERS_LEGACY => Ok(HeaderStyle::Legacy),
        _ => Err(Failure::Argument("unknown style of headers")),
    }
}

/// The caller's decision, of which nothing is sure, not even that allowed is 0 or 1.
unsafe fn read(decision: *const rl_decision) -> Result<Decision, Failure> {
    if decision.is_null() {
        return Err(Failure::Argument("decision is NULL"));
    }
    let mut copy = MaybeUninit::<Decision>::uninit();
    let place = copy.as_mut_ptr();
    // SAFETY: not NULL, so by the caller's word 64 bytes; the layouts are the same, and
    // any bytes make a Decision once allowed is one of the two that a bool may be.
    unsafe {
        place
            .cast::<u8>()
            .copy_from(decision.cast(), size_of::<Decision>());
        let allowed = (&raw mut (*place).allowed).cast::<u8>();
        allowed.write(u8::from(allowed.read() != 0));
        Ok(copy.assume_init())
    }
}
