//! Who asks for what, and how much it takes.

use std::ffi::c_void;

use super::ffi::{WrongRequest, name, plain_name};
use crate::service::{Request, Valid};

/// As the length of a name or text: it ends at its first NUL. A name is searched for
/// it no further than 65,536 bytes.
pub const RL_NUL: usize = usize::MAX;

/// One request, for rl_check_batch and rl_check_all.
///
/// Names may hold any bytes, NUL too. A name has up to 65,535 bytes; with RL_NUL as
/// its length it ends at its first NUL; with length 0 it is the empty name, and the
/// pointer is not looked at. The library keeps no pointer after the call.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct rl_request {
    /// Who asks.
    pub user: *const c_void,
    /// Bytes of the user's name, or RL_NUL.
    pub user_len: usize,
    /// What for.
    pub api: *const c_void,
    /// Bytes of the API's name, or RL_NUL.
    pub api_len: usize,
    /// Units of the quota that it takes, at least 1.
    pub cost: u64,
}

/// A request from its parts.
#[inline(always)]
pub(super) fn whole(
    user: *const c_void,
    user_len: usize,
    api: *const c_void,
    api_len: usize,
    cost: u64,
) -> rl_request {
    rl_request {
        user,
        user_len,
        api,
        api_len,
        cost,
    }
}

impl rl_request {
    /// The request with its names as slices; they must live for `'a`.
    pub(super) unsafe fn read<'a>(&self) -> Result<Request<'a>, WrongRequest> {
        let cost = self.cost;
        if cost == 0 {
            return Err(WrongRequest);
        }
        // SAFETY: NULL, or by the caller's word names of these lengths.
        let (user, api) = unsafe {
            (
                name(self.user, self.user_len)?,
                name(self.api, self.api_len)?,
            )
        };
        Ok(Request { user, api, cost })
    }

    /// The same, found to make sense, on the way of a check: names that are given by
    /// their lengths are not looked at any further.
    #[inline(always)]
    pub(super) unsafe fn read_valid<'a>(&self) -> Result<Valid<'a>, WrongRequest> {
        let &rl_request {
            user,
            user_len,
            api,
            api_len,
            cost,
        } = self;
        // SAFETY: NULL, or by the caller's word names of these lengths.
        let names = unsafe { (plain_name(user, user_len), plain_name(api, api_len)) };
        let (Some(user), Some(api)) = names else {
            // SAFETY: as above.
            return unsafe { read_unusual(user, user_len, api, api_len, cost) };
        };
        let request = Request { user, api, cost };
        request.valid().map_err(|_| WrongRequest)
    }
}

/// Apart, and by its parts, so that the others stay in registers.
#[inline(never)]
unsafe fn read_unusual<'a>(
    user: *const c_void,
    user_len: usize,
    api: *const c_void,
    api_len: usize,
    cost: u64,
) -> Result<Valid<'a>, WrongRequest> {
    let request = whole(user, user_len, api, api_len, cost);
    // SAFETY: NULL, or by the caller's word names of these lengths.
    let request = unsafe { request.read() }?;
    request.valid().map_err(|_| WrongRequest)
}
