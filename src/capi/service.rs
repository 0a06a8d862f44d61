//! The limiter as a thing: made, given other rules, looked at, freed. How it is asked is
//! in check.rs and charge.rs.

use std::ffi::{c_char, c_void};

use super::config::{lock, rl_config};
use super::error::rl_error;
use super::ffi::{borrow, free, give, guard, guard_explained, name, not_null, put};
use super::stats::rl_stats;
use super::status::rl_status;
use crate::service::Service;

/// A rate limiter: rules, and the counters of all who have asked. All its functions
/// but rl_service_free may run on any threads at the same time, without a lock of the
/// caller's. A forked child may go on using it (see MANY PROCESSES at the top of this
/// file).
pub struct rl_service(pub(super) Service);

/// Makes a service of a configuration, whose rules and clock it copies: the
/// configuration may be changed or freed afterwards.
///
/// This sets aside the address space of the memory setting (32 MiB by default); the
/// system gives the memory itself as counters fill it. The service is written to *out
/// and belongs to the caller: rl_service_free.
///
/// With the setting shared, or after rl_config_set_memory, the counters stand in a zone.
/// Where there is none it is made, and where there is one it is joined with all that was
/// counted in it: then the setting memory, and whether these rules keep logs, change
/// nothing. Any number of processes may do so at the same time.
///
/// Returns
///   RL_OK            the service is in *out
///   RL_ERR_ARGUMENT  config or out is NULL
///   RL_ERR_CONFIG    there is no default rule, or with match = all a request could
///                    meet more than 8 limits, or there is shared-mode without shared,
///                    or both shared and memory of the caller's; *error says which
///   RL_ERR_MEMORY    the memory could not be had, or that of rl_config_set_memory is
///                    too small: it takes 16,384 bytes
///   RL_ERR_IO        the system gives no random bytes, under which names are hashed,
///                    or shared memory could not be made, opened or mapped; *error says
///                    why
///   RL_ERR_ZONE      what is there cannot be joined: it has another layout version,
///                    another kind of clock, or is from before the last boot; it belongs
///                    to another user, where shared-mode lets in none, or is open to
///                    others than shared-mode says; or it is cut short or damaged.
///                    *error says which, and what to do
///   RL_ERR_INTERNAL  a bug in the library
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

/// Gives the service the rules of a configuration in place of those that it has. Of the
/// settings, on-full and match take effect; memory, clock, shared and memory of the
/// caller's are set once and for all by rl_service_new, and those of the new configuration
/// are ignored. Rules are this process's own: others that share the counters have theirs,
/// and are reloaded each by itself.
///
/// Every check has either the old rules or the new ones, never a mixture; so has each
/// request of a batch. A counter goes on where the algorithm, the window and the sharing
/// (per=) of its limit stay the same, and what it holds counts under the new limit at
/// once: a count stays that count, and a token bucket is full again when it would have
/// been. Other counters start anew. Limits of one rule that are alike in all three are
/// told apart by their order. Another match makes the counters of rules for users, APIs
/// and pairs start anew. The configuration is copied: it may be changed or freed
/// afterwards.
///
/// Half of the memory is for the logs of sliding windows if there was such a rule when
/// the service (or the zone, by whichever process) was made, else a 64th; a reload does
/// not change that. After the first
/// reload, the first check of each thread may allocate once, and a check that is the last
/// to use the old rules frees them.
///
/// Any threads may call it at the same time, also while others check.
///
/// Returns
///   RL_OK            the next checks have the new rules
///   RL_ERR_ARGUMENT  service or config is NULL
///   RL_ERR_CONFIG    there is no default rule, or with match = all a request could
///                    meet more than 8 limits, or there is shared-mode without shared;
///                    *error says which, and the old rules stay
///   RL_ERR_INTERNAL  a bug in the library
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rl_reload(
    service: *mut rl_service,
    config: *const rl_config,
    error: *mut rl_error,
) -> rl_status {
    // SAFETY: the caller's word on each pointer, as rl.h asks it.
    unsafe {
        guard_explained(error, || {
            let service = borrow(service, NO_SERVICE)?;
            Ok(service.0.reload(&*lock(config)?)?)
        })
    }
}

/// Writes the rule that applies to a user and an API to buf, as the line of text that
/// makes it, with a NUL at its end; with match = all a line for each rule that applies,
/// the most specific first, with newlines between. user and api are names as in
/// rl_request.
///
/// size is the room in buf, in bytes, with the NUL. 1024 is enough unless names are long
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
        put(&line, buf, size)
    })
}

/// Fills *out with what the service has done and holds. Its size must be set before:
/// rl_stats stats = RL_STATS_INIT. A larger size than this library knows is fine, what
/// lies beyond is not touched; of a smaller one the whole fields that it has are filled.
///
/// With a zone, they are those of the zone, summed over all its processes.
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

/// Writes the same statistics to buf as text for Prometheus (its text format 0.0.4), with
/// a NUL at its end. A server sends it, without the NUL, with the content type
/// "text/plain; version=0.0.4".
///
/// size is the room in buf, in bytes, with the NUL. 4096 is always enough. Where needed is
/// not NULL, the bytes that the text takes with its NUL are written there, also where they
/// are more than size: with size 0, buf may be NULL to ask for that alone. As numbers get
/// longer, a later text may take some bytes more.
///
/// Any threads may call it at the same time, also while others check.
///
/// Returns
///   RL_OK            the text is in buf, and its size in *needed
///   RL_ERR_ARGUMENT  service is NULL, or buf is NULL and size not 0
///   RL_ERR_MEMORY    the text does not fit; *needed is set, and buf is not touched
///   RL_ERR_INTERNAL  a bug in the library
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rl_stats_prometheus(
    service: *mut rl_service,
    buf: *mut c_char,
    size: usize,
    needed: *mut usize,
) -> rl_status {
    // SAFETY: the caller's word on each pointer, as rl.h asks it.
    guard(|| unsafe {
        let service = borrow(service, NO_SERVICE)?;
        if size > 0 {
            not_null(buf)?;
        }
        let text = service.0.prometheus();
        if !needed.is_null() {
            needed.write(text.len() + 1);
        }
        put(text.as_bytes(), buf, size)
    })
}

/// Frees a service and its counters. It must be the last call with this service: no
/// other may be running or follow. A zone stays, with what was counted: this process
/// leaves it. After a fork, parent and child each free their own.
///
/// NULL is allowed and does nothing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rl_service_free(service: *mut rl_service) {
    // SAFETY: the caller's word that this is the last call with it, as rl.h asks it.
    unsafe { free(service) }
}

pub(super) const NO_SERVICE: &str = "service is NULL";
