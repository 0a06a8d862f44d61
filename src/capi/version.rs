//! Which release this is, and which programs may run with it.

use std::ffi::{CStr, c_char};

/// Number in the name of the shared library (librl.so.0). It changes when a
/// program built with an earlier header could no longer run with the library;
/// functions and fields may be added without a change.
#[allow(dead_code, reason = "only C uses it")]
pub const LIBRL_ABI: i32 = 0;

const VERSION: &CStr =
    match CStr::from_bytes_with_nul(concat!(env!("CARGO_PKG_VERSION"), "\0").as_bytes()) {
        Ok(version) => version,
        Err(_) => c"",
    };

/// The version of the library that is loaded, such as "0.1.0". Where that
/// matters, compare it with LIBRL_VERSION, the version of this header.
///
/// Returns static text, never NULL. Any thread may call it at any time.
#[unsafe(no_mangle)]
pub extern "C" fn rl_version() -> *const c_char {
    VERSION.as_ptr()
}
