//! What a counter holds, changed whatever the answer: charges after the fact, refunds,
//! and a fresh start.

use std::ffi::c_void;

use super::answer::{answer, checked};
use super::decision::rl_decision;
use super::ffi::{name, status_of};
use super::request::whole;
use super::service::rl_service;
use super::status::rl_status;
use crate::service::Service;

/// Takes the cost whatever the answer, for a cost that is known only afterwards, such as
/// the bytes of a response. allowed is what rl_check_bytes would have said: false when the
/// charge went over a limit. The arguments are those of rl_check_bytes.
///
/// What goes over is owed: a token bucket goes into debt by up to one window's worth, and
/// a window's count goes over its limit. remaining is then 0, and retry_after_ms the time
/// until a cost of 1 passes. A limit in shadow mode is charged too. Where the rule is
/// unlimited or deny there is nothing to charge; with RL_FLAG_UNTRACKED and allowed false
/// there was no room, and nothing was taken. A charge is not counted in the statistics.
///
/// The call does not allocate. Any threads may call it at the same time.
///
/// Returns
///   RL_OK            the cost is taken, but for what is said above; *out says whether it
///                    was over
///   RL_ERR_ARGUMENT  as rl_check_bytes; nothing is taken, and *out (if any) is a refusal
///   RL_ERR_INTERNAL  a bug in the library; *out is a refusal
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rl_charge(
    service: *mut rl_service,
    user: *const c_void,
    user_len: usize,
    api: *const c_void,
    api_len: usize,
    cost: u64,
    out: *mut rl_decision,
) -> rl_status {
    let request = whole(user, user_len, api, api_len, cost);
    // SAFETY: the caller's word on each pointer, as rl.h asks it.
    unsafe { answer(service, &request, out, Service::charge_into) }
}

/// Gives cost units back to every limit that applies, for a request that was allowed and
/// then came to nothing. They come off what counts now, whoever took it: a limit is never
/// more than full afterwards, and of the log of a sliding window the newest entries go.
/// The arguments are those of rl_check_bytes. Not counted in the statistics (but errors).
///
/// The call does not allocate. Any threads may call it at the same time.
///
/// Returns
///   RL_OK            the cost is given back, as far as it had been taken
///   RL_ERR_ARGUMENT  service is NULL, a name is NULL and its length not 0, a name is too
///                    long, or cost is 0; nothing is given back
///   RL_ERR_INTERNAL  a bug in the library
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rl_refund(
    service: *mut rl_service,
    user: *const c_void,
    user_len: usize,
    api: *const c_void,
    api_len: usize,
    cost: u64,
) -> rl_status {
    let request = whole(user, user_len, api, api_len, cost);
    // SAFETY: the caller's word on each pointer, as rl.h asks it.
    let result = unsafe { checked(service, |service| Ok(service.refund(request.read()?)?)) };
    status_of(&result)
}

/// Forgets the counters that are this pair's own: its next request meets full limits.
/// Counters that it shares with others (per=user, per=api, per=all) stay as they are.
/// user and api are names as in rl_request.
///
/// The call does not allocate. Any threads may call it at the same time.
///
/// Returns
///   RL_OK            the counters are forgotten, if there were any
///   RL_ERR_ARGUMENT  service is NULL, a name is NULL and its length not 0, or a name is
///                    too long
///   RL_ERR_INTERNAL  a bug in the library
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rl_reset(
    service: *mut rl_service,
    user: *const c_void,
    user_len: usize,
    api: *const c_void,
    api_len: usize,
) -> rl_status {
    // SAFETY: the caller's word on each pointer, as rl.h asks it.
    let result = unsafe {
        checked(service, |service| {
            Ok(service.reset(name(user, user_len)?, name(api, api_len)?)?)
        })
    };
    status_of(&result)
}
