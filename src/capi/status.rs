//! What a call came to, as a number.

use std::ffi::{CStr, c_char};

use crate::error::ErrorKind;

/// What a call came to: RL_OK, or one of the negative RL_ERR_ numbers. A request
/// that is refused is not an error; it is RL_OK with allowed == false.
///
/// Later versions may add numbers: treat any other negative one as an error too.
pub type rl_status = i32;

/// Done.
pub const RL_OK: rl_status = 0;
/// An argument is NULL where it must not be, a length or a number is out of its
/// range, or a cost is 0. Nothing has been changed or charged.
pub const RL_ERR_ARGUMENT: rl_status = -1;
/// The text of a rule or of a setting is wrong, or rules do not go together; rl_error
/// says where, what was found there and what would be right.
pub const RL_ERR_CONFIG: rl_status = -2;
/// Memory could not be had, or the buffer or memory handed in is too small.
pub const RL_ERR_MEMORY: rl_status = -3;
/// A file or shared memory could not be made, opened, read, mapped or removed, or the
/// system gave no random bytes.
pub const RL_ERR_IO: rl_status = -4;
/// Shared memory, or memory of the caller's, holds what cannot be joined: a zone of
/// another layout version, of another kind of clock or from before the last boot; one that
/// belongs to another user, where shared-mode lets in none, or that is open to others than
/// shared-mode says; or no whole zone, cut short or damaged. rl_error says which, and what to do. Nothing in it has been
/// changed.
pub const RL_ERR_ZONE: rl_status = -5;
/// The remote store did not answer in time. No function of this version returns it.
pub const RL_ERR_STORE: rl_status = -6;
/// This kind of clock cannot do that.
pub const RL_ERR_UNSUPPORTED: rl_status = -7;
/// A bug in the library, caught before it could do harm. Please report it.
pub const RL_ERR_INTERNAL: rl_status = -8;

/// A status in words, such as "bug in the library".
///
/// Returns static text, never NULL: a number that is no status has a text too.
/// Any thread may call it at any time.
#[unsafe(no_mangle)]
pub extern "C" fn rl_status_message(status: rl_status) -> *const c_char {
    message(status).as_ptr()
}

fn message(status: rl_status) -> &'static CStr {
    match status {
        RL_OK => c"done",
        RL_ERR_ARGUMENT => c"argument is NULL or out of range",
        RL_ERR_CONFIG => c"wrong text in a rule or setting",
        RL_ERR_MEMORY => c"out of memory, or buffer or memory too small",
        RL_ERR_IO => c"file or shared memory could not be opened",
        RL_ERR_ZONE => c"shared memory of another layout, clock, boot or owner, or damaged",
        RL_ERR_STORE => c"remote store did not answer in time",
        RL_ERR_UNSUPPORTED => c"not supported by this build or clock",
        RL_ERR_INTERNAL => c"bug in the library",
        _ => c"unknown status",
    }
}

impl ErrorKind {
    /// Its number in C.
    pub(super) fn status(self) -> rl_status {
        match self {
            ErrorKind::Argument => RL_ERR_ARGUMENT,
            ErrorKind::Config => RL_ERR_CONFIG,
            ErrorKind::Memory => RL_ERR_MEMORY,
            ErrorKind::Io => RL_ERR_IO,
            ErrorKind::Zone => RL_ERR_ZONE,
            ErrorKind::Unsupported => RL_ERR_UNSUPPORTED,
        }
    }
}
