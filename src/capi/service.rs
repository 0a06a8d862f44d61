//! The limiter: requests in, decisions out.

use std::ffi::{c_char, c_void};

use super::config::{lock, rl_config};
use super::decision::{refusals, rl_decision};
use super::error::rl_error;
use super::ffi::{
    Failure, borrow, catch, free, give, guard, guard_explained, name, not_null, status_of,
};
use super::request::{RL_NUL, rl_request};
use super::stats::rl_stats;
use super::status::rl_status;
use crate::error::{Error, ErrorKind};
use crate::service::{Decision, Request, Service};

/// A rate limiter: rules, and the counters of all who have asked. All its functions
/// but rl_service_free may run on any threads at the same time, without a lock of the
/// caller's.
pub struct rl_service(Service);

/// Makes a service of a configuration, whose rules and clock it copies: the
/// configuration may be changed or freed afterwards.
///
/// This sets aside the address space of the memory setting (32 MiB by default); the
/// system gives the memory itself as counters fill it. The service is written to *out
/// and belongs to the caller: rl_service_free.
///
/// Returns
///   RL_OK               the service is in *out
///   RL_ERR_ARGUMENT     config or out is NULL
///   RL_ERR_CONFIG       there is no default rule, or a setting does not fit the
///                       rules; *error says which
///   RL_ERR_MEMORY       the memory could not be had, or is too small to be of use
///   RL_ERR_UNSUPPORTED  the rules ask for what this version cannot do yet
///   RL_ERR_INTERNAL     a bug in the library
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rl_service_new(
    config: *const rl_config,
    out: *mut *mut rl_service,
    error: *mut rl_error,
) -> rl_status {
    // SAFETY: the caller's word on each pointer, as rl.h asks it.
    unsafe {
        guard_explained(error, || {
            let config = lock(config)?;
            give(out, || Ok(rl_service(Service::new(&config)?)))
        })
    }
}

/// May this user call this API once now? If so, one unit of the quota is taken; a
/// refusal takes nothing. user and api are C strings of up to 65,535 bytes; "" is a
/// name like any other.
///
/// The call does not allocate, and makes no system call but to read the clock, once.
/// Any threads may call it at the same time.
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
    let request = whole(user.cast(), RL_NUL, api.cast(), RL_NUL, 1);
    // SAFETY: the caller's word on each pointer, as rl.h asks it.
    unsafe { answer(service, &request, out, Service::check_into) }
}

/// The same for names of any bytes and for any cost. If the answer is yes, cost units
/// are taken at once; if it is no, none.
///
/// user and api are names as in rl_request: up to 65,535 bytes, RL_NUL for a C string,
/// length 0 for the empty name. cost is at least 1. A cost above what the limit ever
/// gives is refused with retry_after_ms == RL_NEVER.
///
/// The call does not allocate, and makes no system call but to read the clock, once.
/// Any threads may call it at the same time.
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
/// refusal of one does not touch the others. requests and out must not overlap.
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
            batch(service, requests, count, places)
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

/// Writes the rule that applies to a user and an API to buf, as the line of text that
/// makes it, with a NUL at its end. user and api are names as in rl_request.
///
/// size is the room in buf, in bytes, with the NUL. 256 is enough unless names are long
/// or need quotes.
///
/// Any threads may call it at the same time.
///
/// Returns
///   RL_OK            the line is in buf
///   RL_ERR_ARGUMENT  service or buf is NULL, a name is NULL and its length not 0, or a
///                    name is too long
///   RL_ERR_MEMORY    the line does not fit; buf is not touched
///   RL_ERR_INTERNAL  a bug in the library
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rl_explain(
    service: *mut rl_service,
    user: *const c_void,
    user_len: usize,
    api: *const c_void,
    api_len: usize,
    buf: *mut c_char,
    size: usize,
) -> rl_status {
    // SAFETY: the caller's word on each pointer, as rl.h asks it.
    guard(|| unsafe {
        not_null(buf)?;
        let service = borrow(service, NO_SERVICE)?;
        let line = service
            .0
            .explain(name(user, user_len)?, name(api, api_len)?)?;
        put_line(&line, buf, size)
    })
}

/// Fills *out with what the service has done and holds. Its size must be set before:
/// rl_stats stats = RL_STATS_INIT. A larger size than this library knows is fine, what
/// lies beyond is not touched; of a smaller one the whole fields that it has are filled.
///
/// Any threads may call it at the same time, also while others check. Each number is
/// right by itself; together they are no snapshot while checks go on.
///
/// Returns
///   RL_OK            *out is filled
///   RL_ERR_ARGUMENT  service or out is NULL, or out->size is less than 8
///   RL_ERR_INTERNAL  a bug in the library
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rl_service_stats(
    service: *mut rl_service,
    out: *mut rl_stats,
) -> rl_status {
    // SAFETY: the caller's word on each pointer, as rl.h asks it.
    guard(|| unsafe { rl_stats::fill(out, borrow(service, NO_SERVICE)?.0.stats()) })
}

/// Frees a service and its counters. It must be the last call with this service: no
/// other may be running or follow.
///
/// NULL is allowed and does nothing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rl_service_free(service: *mut rl_service) {
    // SAFETY: the caller's word that this is the last call with it, as rl.h asks it.
    unsafe { free(service) }
}

const NO_SERVICE: &str = "service is NULL";

/// A request from its parts.
fn whole(
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

/// Asks the service one question; the answer is a refusal where it has none.
#[inline]
unsafe fn answer(
    service: *const rl_service,
    request: &rl_request,
    out: *mut rl_decision,
    ask: impl FnOnce(&Service, Request<'_>, &mut Decision) -> Result<(), Error>,
) -> rl_status {
    // SAFETY: the caller's word on each pointer, as rl.h asks it.
    unsafe {
        answer_all(service, out, 1, |service, places| {
            let place = places.first_mut();
            let place = place.ok_or(Failure::Argument("the output is NULL"))?;
            Ok(ask(service, request.read()?, place)?)
        })
    }
}

/// Has `count` answers written to `out`, which are refusals where that fails.
#[inline]
unsafe fn answer_all(
    service: *const rl_service,
    out: *mut rl_decision,
    count: usize,
    ask: impl FnOnce(&Service, &mut [Decision]) -> Result<(), Failure>,
) -> rl_status {
    // SAFETY: the caller's word on each pointer, as rl.h asks it.
    unsafe {
        let places = refusals(out, count);
        let result = checked(service, |service| ask(service, places));
        if result.is_err() {
            refusals(out, count);
        }
        status_of(&result)
    }
}

/// Runs a check. One that fails here on a service that is there counts as an error of
/// it; what the core refuses, the core has counted.
#[inline]
unsafe fn checked<T>(
    service: *const rl_service,
    call: impl FnOnce(&Service) -> Result<T, Failure>,
) -> Result<T, Failure> {
    // SAFETY: NULL, or by the caller's word a live service.
    let service = &unsafe { borrow(service, NO_SERVICE) }?.0;
    let result = catch(|| call(service));
    if matches!(result, Err(Failure::Argument(_) | Failure::Panic)) {
        service.count_error();
    }
    result
}

/// The requests are read twice: first to find a wrong one, then to be answered. Nothing
/// is copied, however many there are.
unsafe fn batch(
    service: &Service,
    requests: *const rl_request,
    count: usize,
    places: &mut [Decision],
) -> Result<(), Failure> {
    if count == 0 {
        return Ok(());
    }
    if requests.is_null() || places.len() != count {
        return Err(Failure::Argument(
            "requests or out is NULL, or count is too large",
        ));
    }
    // SAFETY: not NULL, so by the caller's word `count` requests with their names.
    let read = move |i| unsafe { (*requests.add(i)).read() };
    (0..count).try_for_each(|i| read(i).map(drop))?;
    let good = (0..count).filter_map(move |i| read(i).ok());
    Ok(service.check_batch(good, places)?)
}

/// Copies a line and a NUL to the caller's buffer.
unsafe fn put_line(line: &[u8], buf: *mut c_char, size: usize) -> Result<(), Failure> {
    if line.len() >= size {
        return Err(Error::new(ErrorKind::Memory, "the line does not fit into the buffer").into());
    }
    // SAFETY: by the caller's word `size` bytes, which are more than the line has.
    unsafe {
        buf.cast::<u8>().copy_from(line.as_ptr(), line.len());
        buf.add(line.len()).write(0);
    }
    Ok(())
}
