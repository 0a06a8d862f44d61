//! Who asks for what, and how much it takes.

use std::ffi::c_void;

use super::ffi::{WrongRequest, name};
use crate::service::Request;

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

impl rl_request {
    /// The request with its names as slices; they must live for `'a`.
    #[inline(always)]
    pub(super) unsafe fn read<'a>(&self) -> Result<Request<'a>, WrongRequest> {
        if self.cost == 0 {
            return Err(WrongRequest);
        }
        // SAFETY: NULL, or by the caller's word names of these lengths.
        let (user, api) = unsafe {
            (
                name(self.user, self.user_len)?,
                name(self.api, self.api_len)?,
            )
        };
        let cost = self.cost;
        Ok(Request { user, api, cost })
    }
}
