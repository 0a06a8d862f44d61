//! Shared memory by its name, where no service is needed.

use std::ffi::c_char;

use super::ffi::{guard, string};
use super::status::rl_status;
use crate::service::unlink_zone;

/// Removes the zone of this name, that of the setting shared, with all that was counted in
/// it. name is a C string, such as "/shop".
///
/// This is safe when no process uses the zone, or when all that do are about to be
/// restarted. Those that have it open go on with the old one, and those that come later
/// make a new one: until all have come over, the two together give twice what a limit
/// says. A zone need not be removed, and comes to its end with the machine. It is removed
/// to make a new one of another size, or with another setting clock, or when a new version
/// of the library has another layout: where rl_service_new says RL_ERR_ZONE.
///
/// Any thread may call it at any time. As a rule it takes the zone's owner or root.
///
/// Returns
///   RL_OK            there is no zone of this name any more
///   RL_ERR_ARGUMENT  name is NULL, or not a / and 1 to 254 bytes without another /, or it
///                    is "/." or "/.."
///   RL_ERR_IO        there is none of this name, or this process may not remove it
///   RL_ERR_INTERNAL  a bug in the library
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rl_zone_unlink(name: *const c_char) -> rl_status {
    // SAFETY: the caller's word that it is a C string, as rl.h asks it.
    guard(|| Ok(unlink_zone(unsafe { string(name, "name is NULL") }?)?))
}
