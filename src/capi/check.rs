//! May it go on? The calls that decide, and take what they allow.

use std::ffi::{c_char, c_void};

use super::answer::{answer, answer_all, checked, read_all};
use super::decision::rl_decision;
use super::ffi::{Failure, string_len};
use super::request::{RL_NUL, rl_request, whole};
use super::service::rl_service;
use super::status::rl_status;
use crate::service::Service;

/// May this user call this API once now? If so, one unit of the quota is taken; a
/// refusal takes nothing. user and api are C strings of up to 65,535 bytes; "" is a
/// name like any other.
///
/// The call does not allocate. It reads the clock once, and once more whenever another
/// thread changes a counter in between. It makes no other system call, unless a thread
/// that is writing to the same small part of the table has lost the processor, or others
/// are faster time and again: then it yields, and after some turns naps for up to 1 ms at
/// a time. Any threads may call it at the same time.
///
/// Returns
///   RL_OK            the answer is in *out, be it yes or no
///   RL_ERR_ARGUMENT  service, user, api or out is NULL, or a name is too long;
///                    nothing is taken, and *out (if any) is a refusal
///   RL_ERR_INTERNAL  a bug in the library; *out is a refusal
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rl_check(
    service: *mut rl_service,
    user: *const c_char,
    api: *const c_char,
    out: *mut rl_decision,
) -> rl_status {
    // SAFETY: the caller's word on each pointer, as rl.h asks it.
    unsafe {
        let (user_len, api_len) = (string_len(user), string_len(api));
        let (user, api) = (user.cast(), api.cast());
        rl_check_bytes(service, user, user_len, api, api_len, 1, out)
    }
}

/// The same for names of any bytes and for any cost. If the answer is yes, cost units
/// are taken at once; if it is no, none.
///
/// user and api are names as in rl_request: up to 65,535 bytes, RL_NUL for a C string,
/// length 0 for the empty name. cost is at least 1. A cost above what the limit ever
/// gives is refused with retry_after_ms == RL_NEVER.
///
/// The call does not allocate, and reads the clock and waits as rl_check does. Any
/// threads may call it at the same time.
///
/// Returns
///   RL_OK            the answer is in *out, be it yes or no
///   RL_ERR_ARGUMENT  service or out is NULL, a name is NULL and its length not 0,
///                    a name is too long, or cost is 0; nothing is taken, and *out
///                    (if any) is a refusal
///   RL_ERR_INTERNAL  a bug in the library; *out is a refusal
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rl_check_bytes(
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
    unsafe { answer(service, &request, out, Service::check_into) }
}

/// Answers count requests as if they were made one after the other, all at one reading
/// of the clock: out[i] is the answer to requests[i]. Each is charged on its own; the
/// refusal of one does not touch the others. The clock is read again for a request whose
/// counter somebody else has used since. requests and out must not overlap.
///
/// All requests are looked at before the first is answered, so that a wrong one among
/// them leaves all uncharged. With count 0 nothing is done, and both pointers may be
/// NULL.
///
/// The call does not allocate. Any threads may call it at the same time; requests of
/// other threads may come in between those of a batch.
///
/// Returns
///   RL_OK            the answers are in out
///   RL_ERR_ARGUMENT  service is NULL, or requests or out is NULL and count not 0, or
///                    a request is wrong as described at rl_check_bytes; nothing is
///                    taken, and every out[i] (if any) is a refusal. Or count is
///                    larger than any memory, and out is not touched
///   RL_ERR_INTERNAL  a bug in the library; every out[i] is a refusal
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rl_check_batch(
    service: *mut rl_service,
    requests: *const rl_request,
    count: usize,
    out: *mut rl_decision,
) -> rl_status {
    // SAFETY: the caller's word on each pointer, as rl.h asks it.
    unsafe {
        answer_all(service, out, count, |service, places| {
            if count == 0 {
                return Ok(());
            }
            let requests = read_all(requests, count, places)?;
            service.check_batch_into(requests.filter_map(|request| request.valid().ok()), places);
            Ok(())
        })
    }
}

/// Answers up to 8 requests as one decision: every one of them is charged, or none. Such
/// are a client's address, its account and its API key, each with its own cost. Each has
/// the rule for its names; two that meet in one counter add up there.
///
/// out[i] says what requests[i] met. If all may pass, allowed is true in every one. If
/// not, allowed is false in those that refuse and true in the others, so the answer to
/// the whole is yes when every one says yes. In the statistics each request counts, all of
/// them as allowed or all as refused. requests and out must not overlap.
///
/// The call does not allocate. Any threads may call it at the same time.
///
/// Returns
///   RL_OK            the answers are in out
///   RL_ERR_ARGUMENT  service, requests or out is NULL, count is not 1 to 8, or a request
///                    is wrong as described at rl_check_bytes; nothing is taken, and every
///                    out[i] (if any) is a refusal. Or count is larger than any memory,
///                    and out is not touched
///   RL_ERR_INTERNAL  a bug in the library; every out[i] is a refusal
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rl_check_all(
    service: *mut rl_service,
    requests: *const rl_request,
    count: usize,
    out: *mut rl_decision,
) -> rl_status {
    // SAFETY: the caller's word on each pointer, as rl.h asks it.
    unsafe {
        answer_all(service, out, count, |service, places| {
            let requests = read_all(requests, count, places)?;
            Ok(service.check_all(requests, places)?)
        })
    }
}

/// The shortest form of rl_check: one user, the empty API, yes or no. user is a C string
/// of up to 65,535 bytes.
///
/// Returns true when the request is allowed, and one unit is taken. Returns false when
/// it is refused, and on any error: service or user is NULL, or the name is too long.
/// Any threads may call it at the same time.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rl_allow(service: *mut rl_service, user: *const c_char) -> bool {
    let request = whole(user.cast(), RL_NUL, std::ptr::null(), 0, 1);
    // SAFETY: the caller's word on each pointer, as rl.h asks it.
    let decision = unsafe { checked(service, |service| Ok(service.check(request.read()?)?)) };
    decision.is_ok_and(|decision| decision.allowed)
}

/// What rl_check_bytes would answer now, with the same arguments. Nothing is taken and
/// nothing is counted in the statistics (but errors); remaining is what would be left.
/// Whether there is room for a new counter shows only when one is made.
///
/// The call does not allocate. Any threads may call it at the same time.
///
/// Returns
///   RL_OK            the answer is in *out, be it yes or no
///   RL_ERR_ARGUMENT  as rl_check_bytes; *out (if any) is a refusal
///   RL_ERR_INTERNAL  a bug in the library; *out is a refusal
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rl_peek(
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
    unsafe { answer(service, &request, out, Service::peek_into) }
}

/// Waits until the request passes, and takes its cost. Where that is sure to take longer
/// than timeout_ms, it says no at once rather than wait in vain, and takes nothing. The
/// other arguments are those of rl_check_bytes. RL_NEVER as timeout_ms sets no limit, and
/// a cost that can never pass is refused at once all the same.
///
/// Those who wait for the same counter, that of the first limit that applies, are served
/// in the order in which they came. How long those in front will take is not known, so a
/// place in the queue may end with the timeout. With timeout_ms 0 the answer is there at
/// once. Other calls do not queue, and may take what was waited for. After rl_refund,
/// rl_reset and rl_reload the first in each queue looks again. A queue is one process's
/// own: where others share the counters, the first of each queue stands beside theirs, and
/// what they give back is found at the next look.
///
/// The time is that of the service's clock: a manual clock wakes the waiting when it is
/// set or advanced. A wait is no busy one, and cannot be broken off: rl_service_free has
/// to come after it. The call may allocate. It counts in the statistics as one request.
///
/// Any threads may call it at the same time.
///
/// Returns
///   RL_OK               the answer is in *out, be it yes or no
///   RL_ERR_ARGUMENT     as rl_check_bytes; *out (if any) is a refusal
///   RL_ERR_UNSUPPORTED  the service's clock is a function of the caller's, which cannot
///                       wake anybody; *out is a refusal
///   RL_ERR_INTERNAL     a bug in the library; *out is a refusal
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rl_acquire(
    service: *mut rl_service,
    user: *const c_void,
    user_len: usize,
    api: *const c_void,
    api_len: usize,
    cost: u64,
    timeout_ms: u64,
    out: *mut rl_decision,
) -> rl_status {
    let request = whole(user, user_len, api, api_len, cost);
    // SAFETY: the caller's word on each pointer, as rl.h asks it.
    unsafe {
        answer_all(service, out, 1, |service, places| {
            let place = places.first_mut();
            let place = place.ok_or(Failure::Argument("the output is NULL"))?;
            Ok(service.acquire_into(request.read()?, timeout_ms, place)?)
        })
    }
}
