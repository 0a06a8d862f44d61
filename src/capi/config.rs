//! Rules and settings, gathered before a service is made of them.

use std::ffi::{OsStr, c_char, c_void};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr::NonNull;

use parking_lot::{Mutex, MutexGuard};

use super::clock::{clock_of, rl_clock};
use super::error::rl_error;
use super::ffi::{Failure, borrow, free, give, guard, guard_explained, name, string, text};
use super::status::rl_status;
use crate::config::{Config, Memory};
use crate::rule::{Apis, Scope};

/// Rules, settings and a clock, gathered before services are made of them. The
/// functions may be mixed in any order, and each adds to what is there. One that
/// fails leaves the configuration as it was.
///
/// All its functions but rl_config_free may run on any threads at the same time;
/// they wait for each other.
pub struct rl_config(Mutex<Config>);

/// Makes an empty configuration. It needs a default rule before a service can be
/// made of it.
///
/// The configuration is written to *out and belongs to the caller: rl_config_free.
///
/// Returns
///   RL_OK            the configuration is in *out
///   RL_ERR_ARGUMENT  out is NULL
///   RL_ERR_INTERNAL  a bug in the library
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rl_config_new(out: *mut *mut rl_config) -> rl_status {
    // SAFETY: the caller's word on `out`, as rl.h asks it.
    guard(|| unsafe { give(out, || Ok(rl_config(Mutex::new(Config::new())))) })
}

/// Adds a text of lines "name = value", as described at the top of this file.
///
/// The text is len bytes long, or ends with a NUL when len is RL_NUL. With len 0
/// it is empty, whatever the pointer. It is not needed after the call. All lines
/// are taken, or, when one is wrong, none.
///
/// Returns
///   RL_OK            the lines have been added
///   RL_ERR_ARGUMENT  config is NULL, or text is NULL and len is not 0
///   RL_ERR_CONFIG    a line is wrong; *error says which, and why
///   RL_ERR_INTERNAL  a bug in the library
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rl_config_parse(
    config: *mut rl_config,
    text: *const c_char,
    len: usize,
    error: *mut rl_error,
) -> rl_status {
    // SAFETY: the caller's word on each pointer, as rl.h asks it.
    unsafe {
        guard_explained(error, || {
            let text = self::text(text, len)?;
            Ok(lock(config)?.parse(text)?)
        })
    }
}

/// Adds the text of a file, as rl_config_parse does. path is a C string.
///
/// Returns
///   RL_OK            the lines have been added
///   RL_ERR_ARGUMENT  config or path is NULL
///   RL_ERR_IO        the file could not be read; *error says why
///   RL_ERR_CONFIG    a line is wrong; *error says which, and why
///   RL_ERR_INTERNAL  a bug in the library
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rl_config_load(
    config: *mut rl_config,
    path: *const c_char,
    error: *mut rl_error,
) -> rl_status {
    // SAFETY: the caller's word on each pointer, as rl.h asks it.
    unsafe {
        guard_explained(error, || {
            let path = Path::new(OsStr::from_bytes(string(path, "path is NULL")?));
            Ok(lock(config)?.load(path)?)
        })
    }
}

/// Adds one entry: rl_config_set(config, "user.vip-1", "token-bucket,8,10", NULL)
/// is the line "user.vip-1 = token-bucket,8,10". Both are C strings.
///
/// Returns
///   RL_OK            the entry has been added
///   RL_ERR_ARGUMENT  config, name or value is NULL
///   RL_ERR_CONFIG    the entry is wrong, or there already; *error says why
///   RL_ERR_INTERNAL  a bug in the library
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rl_config_set(
    config: *mut rl_config,
    name: *const c_char,
    value: *const c_char,
    error: *mut rl_error,
) -> rl_status {
    // SAFETY: the caller's word on each pointer, as rl.h asks it.
    unsafe {
        guard_explained(error, || {
            let name = string(name, "name is NULL")?;
            let value = string(value, "value is NULL")?;
            Ok(lock(config)?.set(name, value)?)
        })
    }
}

/// Adds one rule whose names are given as raw bytes, so that they need no quotes.
///
/// A NULL pointer means any user or any API, whatever its length; both NULL make
/// the default rule. Another pointer with length 0 is the empty name. A name has up
/// to 65,535 bytes; with RL_NUL as its length it ends at its first NUL. A * in it is a
/// byte like any other: prefixes are for text. rule is a C string, such as
/// "token-bucket,8,10".
///
/// Returns
///   RL_OK            the rule has been added
///   RL_ERR_ARGUMENT  config or rule is NULL, or a name is too long
///   RL_ERR_CONFIG    the rule is wrong, or there is one for these names; *error says
///                    why
///   RL_ERR_INTERNAL  a bug in the library
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rl_config_set_rule(
    config: *mut rl_config,
    user: *const c_void,
    user_len: usize,
    api: *const c_void,
    api_len: usize,
    rule: *const c_char,
    error: *mut rl_error,
) -> rl_status {
    // SAFETY: the caller's word on each pointer, as rl.h asks it.
    unsafe {
        guard_explained(error, || {
            let rule = string(rule, "rule is NULL")?;
            let user = name_or_any(user, user_len)?;
            let api = name_or_any(api, api_len)?.map(Apis::Exactly);
            Ok(lock(config)?.set_rule(Scope { user, api }, rule)?)
        })
    }
}

/// Makes services of this configuration take their time from clock, whatever the
/// setting clock says. The configuration keeps a hold of its own: the clock may be
/// freed right after the call. A second call replaces the clock of the first.
///
/// Returns
///   RL_OK            services made from now on use the clock
///   RL_ERR_ARGUMENT  config or clock is NULL
///   RL_ERR_INTERNAL  a bug in the library
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rl_config_set_clock(
    config: *mut rl_config,
    clock: *mut rl_clock,
) -> rl_status {
    guard(|| {
        // SAFETY: the caller's word on both pointers, as rl.h asks it.
        let (mut config, clock) = unsafe { (lock(config)?, clock_of(clock)?) };
        config.set_clock(clock.clone());
        Ok(())
    })
}

/// Puts the counters of services of this configuration into memory of the caller's, such
/// as a mapping that several processes have, each at an address of its own. A second call
/// replaces the memory of the first. With the setting shared beside it, no service can be
/// made.
///
/// All of it must be zero, and becomes a zone, or it holds a zone already, of the same
/// size, and that is joined; several processes may try at the same time. rl_service_new
/// says whether it fits. The setting memory is ignored then. address must be a multiple of
/// 8; best is one of 128. Any size is taken here, but it takes 16,384 bytes at least to
/// make a service (RL_ERR_MEMORY of rl_service_new).
///
/// The memory stays the caller's: it must be there, for reading and writing, until the
/// last call with a service that uses it but rl_service_free, which does not touch it, in
/// every process that does, and nothing but the library may write to it. The library never frees or unmaps it. Zeros start it anew,
/// when no service uses it.
///
/// Returns
///   RL_OK            services made from now on have their counters there
///   RL_ERR_ARGUMENT  config or address is NULL, or address is not a multiple of 8
///   RL_ERR_INTERNAL  a bug in the library
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rl_config_set_memory(
    config: *mut rl_config,
    address: *mut c_void,
    size: usize,
) -> rl_status {
    guard(|| {
        // SAFETY: the caller's word on the configuration, as rl.h asks it.
        let mut config = unsafe { lock(config)? };
        let address = NonNull::new(address.cast());
        let address = address.ok_or(Failure::Argument("the address is NULL"))?;
        // SAFETY: the caller's word that these bytes stay until the last service is freed,
        // and that the library alone writes to them, as rl.h asks it.
        config.set_memory(unsafe { Memory::new(address, size) }?);
        Ok(())
    })
}

/// Frees a configuration. Services made of it need it no more.
///
/// NULL is allowed and does nothing. It must be the last call with this
/// configuration.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rl_config_free(config: *mut rl_config) {
    // SAFETY: the caller's word that this is the last call with it, as rl.h asks it.
    unsafe { free(config) }
}

/// The configuration behind a handle, for one thread at a time.
pub(super) unsafe fn lock<'a>(config: *const rl_config) -> Result<MutexGuard<'a, Config>, Failure> {
    // SAFETY: NULL, or by the caller's word a live configuration.
    Ok(unsafe { borrow(config, "config is NULL") }?.0.lock())
}

unsafe fn name_or_any(start: *const c_void, len: usize) -> Result<Option<Box<[u8]>>, Failure> {
    if start.is_null() {
        return Ok(None);
    }
    // SAFETY: not NULL, so by the caller's word a name of that length.
    Ok(Some(unsafe { name(start, len) }?.into()))
}
