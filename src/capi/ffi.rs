//! The border itself: panics stop here, and raw pointers become references,
//! slices and boxes here. Nothing in this file knows what a limit is.
//!
//! Helpers that take a raw pointer are `unsafe` with one common condition: the
//! pointer is NULL, or points at what its type (and length) says for as long as
//! the call lasts. `rl.h` asks exactly that of its callers.

use std::ffi::{c_char, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::slice;

use super::error::rl_error;
use super::request::RL_NUL;
use super::status::{RL_ERR_ARGUMENT, RL_ERR_INTERNAL, RL_OK, rl_status};
use crate::error::{Error, ErrorKind};
use crate::rule::MAX_NAME;

/// Why a call from C failed. What this layer finds itself needs no allocation,
/// as a check may not make one.
#[derive(Debug)]
pub(super) enum Failure {
    /// An argument is wrong; the text says which.
    Argument(&'static str),
    /// The core said no.
    Core(Error),
    /// A panic was caught.
    Panic,
}

/// A name is NULL or too long, or a cost is 0. It says no more, so that a check has the
/// request in registers.
#[derive(Clone, Copy, Debug)]
pub(super) struct WrongRequest;

impl From<WrongRequest> for Failure {
    fn from(_: WrongRequest) -> Failure {
        Failure::Argument("a name is NULL or longer than 65,535 bytes, or the cost is 0")
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Failure {
        Failure::Core(error)
    }
}

impl Failure {
    pub(super) fn status(&self) -> rl_status {
        match self {
            Failure::Argument(_) => RL_ERR_ARGUMENT,
            Failure::Core(error) => error.kind.status(),
            Failure::Panic => RL_ERR_INTERNAL,
        }
    }

    pub(super) fn message(&self) -> &str {
        match self {
            Failure::Argument(message) => message,
            Failure::Core(error) => &error.message,
            Failure::Panic => "a bug in the library; please report what you called",
        }
    }

    /// Line and column, 0 where there is none.
    pub(super) fn place(&self) -> (u32, u32) {
        match self {
            Failure::Core(error) => (error.line, error.column),
            Failure::Argument(_) | Failure::Panic => (0, 0),
        }
    }
}

/// Runs a call and turns a panic into an error.
///
/// What a panic leaves half done can be seen afterwards, hence the assertion: the
/// locks used here do not poison, and the core orders its writes so that half a
/// change errs on the strict side.
pub(super) fn catch<T>(call: impl FnOnce() -> Result<T, Failure>) -> Result<T, Failure> {
    catch_unwind(AssertUnwindSafe(call)).unwrap_or(Err(Failure::Panic))
}

/// Runs a call; says whether it ended without a panic. What it finds it writes where it
/// belongs: a result that came out of here would be copied on the way of every check.
#[inline(always)]
pub(super) fn finishes(call: impl FnOnce()) -> bool {
    catch_unwind(AssertUnwindSafe(call)).is_ok()
}

/// Runs a call; the result is its status.
pub(super) fn guard(call: impl FnOnce() -> Result<(), Failure>) -> rl_status {
    status_of(&catch(call))
}

/// Runs a call; says in `error` why it failed, where that is not NULL.
pub(super) unsafe fn guard_explained(
    error: *mut rl_error,
    call: impl FnOnce() -> Result<(), Failure>,
) -> rl_status {
    let result = catch(call);
    match &result {
        // SAFETY: not NULL, so by the caller's word a place for one rl_error.
        Err(failure) if !error.is_null() => unsafe { error.write(rl_error::from(failure)) },
        _ => {}
    }
    status_of(&result)
}

pub(super) fn status_of<T>(result: &Result<T, Failure>) -> rl_status {
    result.as_ref().err().map_or(RL_OK, Failure::status)
}

/// The object behind a handle.
pub(super) unsafe fn borrow<'a, T>(
    handle: *const T,
    if_null: &'static str,
) -> Result<&'a T, Failure> {
    // SAFETY: NULL, or by the caller's word a live object that is only ever shared.
    unsafe { handle.as_ref() }.ok_or(Failure::Argument(if_null))
}

/// Makes an object and hands it to C; makes none where there is no place for it.
pub(super) unsafe fn give<T>(
    out: *mut *mut T,
    make: impl FnOnce() -> Result<T, Failure>,
) -> Result<(), Failure> {
    not_null(out)?;
    let handle = Box::into_raw(Box::new(make()?));
    // SAFETY: not NULL, so by the caller's word a place for one pointer.
    unsafe { out.write(handle) };
    Ok(())
}

/// Takes an object back from C and drops it.
pub(super) unsafe fn free<T>(handle: *mut T) {
    if !handle.is_null() {
        // SAFETY: `give` made the handle, and by the caller's word nobody uses it any more.
        let object = unsafe { Box::from_raw(handle) };
        guard(|| {
            drop(object);
            Ok(())
        });
    }
}

/// Refuses a NULL where an output belongs.
pub(super) fn not_null<T>(out: *const T) -> Result<(), Failure> {
    if out.is_null() {
        return Err(Failure::Argument("the output is NULL"));
    }
    Ok(())
}

/// Copies a text and a NUL to the caller's buffer, if both fit.
pub(super) unsafe fn put(text: &[u8], buf: *mut c_char, size: usize) -> Result<(), Failure> {
    if text.len() >= size {
        return Err(Error::new(ErrorKind::Memory, "the text does not fit into the buffer").into());
    }
    // SAFETY: by the caller's word `size` bytes.
    unsafe { put_cut(text, buf, size) };
    Ok(())
}

/// Copies as much of a text as fits with a NUL behind it; nothing where size is 0.
pub(super) unsafe fn put_cut(text: &[u8], buf: *mut c_char, size: usize) {
    let Some(room) = size.checked_sub(1) else {
        return;
    };
    let len = text.len().min(room);
    // SAFETY: by the caller's word `size` bytes, which are more than `len`.
    unsafe {
        buf.cast::<u8>().copy_from(text.as_ptr(), len);
        buf.add(len).write(0);
    }
}

/// A user's or an API's name that is somewhere and has a length.
#[inline(always)]
pub(super) unsafe fn plain_name<'a>(name: *const c_void, len: usize) -> Option<&'a [u8]> {
    let is_plain = !name.is_null() && len <= MAX_NAME;
    // SAFETY: not NULL, so by the caller's word `len` bytes.
    is_plain.then(|| unsafe { slice::from_raw_parts(name.cast(), len) })
}

/// How long a C string is, as the length of a name: RL_NUL where there is none.
#[inline(always)]
pub(super) unsafe fn string_len(string: *const c_char) -> usize {
    if string.is_null() {
        return RL_NUL;
    }
    // SAFETY: not NULL, so by the caller's word a string, read no further than its NUL.
    unsafe { libc::strnlen(string, MAX_NAME + 1) }
}

/// A user's or an API's name; it may also end with its NUL, or be empty and nowhere.
pub(super) unsafe fn name<'a>(name: *const c_void, len: usize) -> Result<&'a [u8], WrongRequest> {
    let len = match len {
        // SAFETY: NULL, or by the caller's word a string.
        RL_NUL => unsafe { string_len(name.cast()) },
        len => len,
    };
    if len > MAX_NAME {
        return Err(WrongRequest);
    }
    // SAFETY: by the caller's word `len` bytes; a NULL is refused in there.
    unsafe { bytes(name.cast(), len, "a name is NULL") }.map_err(|_| WrongRequest)
}

/// A text of any length.
pub(super) unsafe fn text<'a>(text: *const c_char, len: usize) -> Result<&'a [u8], Failure> {
    match len {
        // SAFETY: by the caller's word a string; a NULL is refused in there.
        RL_NUL => unsafe { string(text, "the text is NULL") },
        // SAFETY: by the caller's word `len` bytes; a NULL is refused in there.
        len => unsafe { bytes(text.cast(), len, "the text is NULL") },
    }
}

/// A C string of any length.
pub(super) unsafe fn string<'a>(
    string: *const c_char,
    if_null: &'static str,
) -> Result<&'a [u8], Failure> {
    if string.is_null() {
        return Err(Failure::Argument(if_null));
    }
    // SAFETY: not NULL, so by the caller's word it ends with a NUL.
    Ok(unsafe { std::ffi::CStr::from_ptr(string) }.to_bytes())
}

unsafe fn bytes<'a>(
    start: *const u8,
    len: usize,
    if_null: &'static str,
) -> Result<&'a [u8], Failure> {
    if len == 0 {
        return Ok(&[]);
    }
    if start.is_null() {
        return Err(Failure::Argument(if_null));
    }
    if isize::try_from(len).is_err() {
        return Err(Failure::Argument("a length is larger than any memory"));
    }
    // SAFETY: not NULL, so by the caller's word `len` bytes, which are no more than a
    // slice may have.
    Ok(unsafe { slice::from_raw_parts(start, len) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_becomes_a_status() {
        assert_eq!(
            guard(|| panic!("seen in the test's output")),
            RL_ERR_INTERNAL
        );
    }

    #[test]
    fn the_error_is_left_alone_on_success() {
        let mut error = rl_error {
            status: 7,
            line: 8,
            column: 9,
            message: [1; 244],
        };
        // SAFETY: a live rl_error.
        assert_eq!(unsafe { guard_explained(&mut error, || Ok(())) }, RL_OK);
        assert_eq!((error.status, error.line, error.column), (7, 8, 9));
    }

    #[test]
    fn a_name_is_not_read_past_its_nul() {
        let text = c"alice";
        // SAFETY: a live string.
        let name = unsafe { name(text.as_ptr().cast(), RL_NUL) }.unwrap();
        assert_eq!(name, b"alice");
    }

    #[test]
    fn a_string_without_a_near_nul_is_no_name() {
        let text = [b'x'; MAX_NAME + 1];
        // SAFETY: the helper reads no more than these bytes.
        assert!(unsafe { name(text.as_ptr().cast(), RL_NUL) }.is_err());
    }

    #[test]
    fn the_longest_name_passes() {
        let mut text = [b'x'; MAX_NAME + 1];
        text[MAX_NAME] = 0;
        for len in [RL_NUL, MAX_NAME] {
            // SAFETY: as many bytes, and a NUL behind them.
            let name = unsafe { name(text.as_ptr().cast(), len) };
            assert_eq!(name.unwrap().len(), MAX_NAME);
        }
    }

    #[test]
    fn length_0_is_the_empty_name_wherever_it_points() {
        // SAFETY: with length 0 the pointer is not looked at.
        let name = unsafe { name(std::ptr::dangling(), 0) }.unwrap();
        assert!(name.is_empty());
    }
}
