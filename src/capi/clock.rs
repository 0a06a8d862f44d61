//! Where a service takes the time from, when not from the system.

use std::ffi::c_void;

use super::ffi::{Failure, borrow, free, give, guard};
use super::status::rl_status;
use crate::clock::Clock;

/// Nanoseconds in a millisecond.
#[allow(dead_code, reason = "only C uses it")]
pub const RL_NS_PER_MS: u64 = 1_000_000u64;
/// Nanoseconds in a second.
#[allow(dead_code, reason = "only C uses it")]
pub const RL_NS_PER_S: u64 = 1_000_000_000u64;

/// A source of time of the caller's: one to set by hand, for tests and for
/// replaying logs, or a function to ask. Without one, the setting clock of the
/// configuration decides, and that is the system's monotonic clock by default.
///
/// A clock is given to a configuration with rl_config_set_clock. One clock may
/// drive any number of services. All its functions but rl_clock_free may run on
/// any threads at the same time.
///
/// Times are nanoseconds since any fixed instant. A reading above 2^63 - 1 (292
/// years) counts as 2^63 - 1.
pub struct rl_clock(pub(super) Clock);

/// A function that says what time it is, in nanoseconds. It is called once for a
/// check, and once more whenever another thread changes a counter in between; on the
/// thread that checks, and so at the same time on several. It must not call back into
/// the service that asks, must not throw a C++ exception and must not leave by longjmp.
/// The time may stand still or go back.
pub type rl_clock_fn = Option<unsafe extern "C" fn(context: *mut c_void) -> u64>;

/// Makes a clock that shows now_ns until it is set or advanced.
///
/// The clock is written to *out and belongs to the caller: rl_clock_free.
///
/// Returns
///   RL_OK            the clock is in *out
///   RL_ERR_ARGUMENT  out is NULL
///   RL_ERR_INTERNAL  a bug in the library
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rl_clock_new_manual(now_ns: u64, out: *mut *mut rl_clock) -> rl_status {
    // SAFETY: the caller's word on `out`, as rl.h asks it.
    guard(|| unsafe { give(out, || Ok(rl_clock(Clock::manual(now_ns)))) })
}

/// Makes a clock that asks a function of the caller's.
///
/// context is handed to the function as it is; the library does not look at it,
/// and it may be NULL. Function and context must stay valid until the clock and
/// every service made with it are freed.
///
/// The clock is written to *out and belongs to the caller: rl_clock_free.
///
/// Returns
///   RL_OK            the clock is in *out
///   RL_ERR_ARGUMENT  now or out is NULL
///   RL_ERR_INTERNAL  a bug in the library
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rl_clock_new_callback(
    now: rl_clock_fn,
    context: *mut c_void,
    out: *mut *mut rl_clock,
) -> rl_status {
    guard(|| {
        let now = now.ok_or(Failure::Argument("the clock's function is NULL"))?;
        let callback = Callback { now, context };
        // SAFETY: the caller's word on `out`, as rl.h asks it.
        unsafe {
            give(out, || {
                Ok(rl_clock(Clock::callback(move || callback.read())))
            })
        }
    })
}

/// Sets a manual clock, forwards or backwards.
///
/// Returns
///   RL_OK               the clock shows now_ns
///   RL_ERR_ARGUMENT     clock is NULL
///   RL_ERR_UNSUPPORTED  clock is not a manual one
///   RL_ERR_INTERNAL     a bug in the library
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rl_clock_set_ns(clock: *mut rl_clock, now_ns: u64) -> rl_status {
    // SAFETY: the caller's word on `clock`, as rl.h asks it.
    guard(|| Ok(unsafe { clock_of(clock) }?.set_ns(now_ns)?))
}

/// Moves a manual clock forwards. It stops at the end of its range (2^64 - 1)
/// rather than starting again at 0. Of several threads that advance it at the same
/// time, each advance counts.
///
/// Returns
///   RL_OK               the clock has moved
///   RL_ERR_ARGUMENT     clock is NULL
///   RL_ERR_UNSUPPORTED  clock is not a manual one
///   RL_ERR_INTERNAL     a bug in the library
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rl_clock_advance_ns(clock: *mut rl_clock, by_ns: u64) -> rl_status {
    // SAFETY: the caller's word on `clock`, as rl.h asks it.
    guard(|| Ok(unsafe { clock_of(clock) }?.advance_ns(by_ns)?))
}

/// Frees a clock. Configurations and services that were given it keep a hold of
/// their own, and go on with the time it shows (or with the function it asks).
///
/// NULL is allowed and does nothing. It must be the last call with this clock.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rl_clock_free(clock: *mut rl_clock) {
    // SAFETY: the caller's word that this is the last call with it, as rl.h asks it.
    unsafe { free(clock) }
}

/// The clock behind a handle.
pub(super) unsafe fn clock_of<'a>(clock: *const rl_clock) -> Result<&'a Clock, Failure> {
    // SAFETY: NULL, or by the caller's word a live clock.
    Ok(&unsafe { borrow(clock, "clock is NULL") }?.0)
}

/// A function of the caller's and what it wants to be called with.
struct Callback {
    now: unsafe extern "C" fn(*mut c_void) -> u64,
    context: *mut c_void,
}

// SAFETY: the pointer is only handed to the function, of which rl.h asks that any
// thread may call it, several at a time.
unsafe impl Send for Callback {}
// SAFETY: as for Send.
unsafe impl Sync for Callback {}

impl Callback {
    fn read(&self) -> u64 {
        // SAFETY: rl.h asks that function and context stay valid, and that it does not unwind.
        unsafe { (self.now)(self.context) }
    }
}
