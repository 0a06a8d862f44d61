//! The right side of the settings: `memory`, `clock`, `on-full`, `match`, `shared` and
//! `shared-mode`.
//!
//! Each setting is one function from the text of its value. What a setting
//! does is not known here.

use super::number::{Unit, quantity};
use super::span::Span;
use super::{Match, OnFull};
use crate::clock::SystemClock;
use crate::error::Error;
use crate::table::valid_zone_name;

/// Units of memory, in bytes.
const UNITS: [Unit; 4] = [("", 1), ("k", 1 << 10), ("m", 1 << 20), ("g", 1 << 30)];

/// Least and most memory, in bytes: 16k and 1024g.
const LEAST_MEMORY: u64 = 16 << 10;
const MOST_MEMORY: u64 = 1 << 40;

/// What `shared-mode` must and may hold: without reading and writing nobody can count.
const LEAST_MODE: u32 = 0o600;
const MOST_MODE: u32 = 0o666;

/// Reads `memory`: bytes, or with `k`, `m` or `g` for powers of 1024.
pub(super) fn memory(value: Span<'_>) -> Result<u64, Error> {
    quantity(value, &UNITS, LEAST_MEMORY..=MOST_MEMORY).ok_or_else(|| {
        value.expected(
            "memory must be whole bytes, or a whole number of k, m or g, from 16k to 1024g",
        )
    })
}

/// Reads `clock`.
pub(super) fn clock(value: Span<'_>) -> Result<SystemClock, Error> {
    match value.bytes {
        b"monotonic" => Ok(SystemClock::Monotonic),
        b"monotonic-vdso" => Ok(SystemClock::MonotonicVdso),
        b"monotonic-coarse" => Ok(SystemClock::MonotonicCoarse),
        b"realtime" => Ok(SystemClock::Realtime),
        _ => {
            Err(value
                .expected("clock must be monotonic, monotonic-vdso, monotonic-coarse or realtime"))
        }
    }
}

/// Reads `on-full`.
pub(super) fn on_full(value: Span<'_>) -> Result<OnFull, Error> {
    match value.bytes {
        b"evict" => Ok(OnFull::Evict),
        b"deny" => Ok(OnFull::Deny),
        b"allow" => Ok(OnFull::Allow),
        _ => Err(value.expected("on-full must be evict, deny or allow")),
    }
}

/// Reads `match`.
pub(super) fn matching(value: Span<'_>) -> Result<Match, Error> {
    match value.bytes {
        b"first" => Ok(Match::First),
        b"all" => Ok(Match::All),
        _ => Err(value.expected("match must be first or all")),
    }
}

/// Reads `shared`: the name of shared memory.
pub(super) fn shared(value: Span<'_>) -> Result<Box<[u8]>, Error> {
    match valid_zone_name(value.bytes) {
        true => Ok(value.bytes.into()),
        false => Err(value.expected(
            "shared must be a / and then 1 to 254 bytes without a /, not . or .., such as /shop",
        )),
    }
}

/// Reads `shared-mode`: a file's permissions in octal, with or without a 0 in front.
pub(super) fn shared_mode(value: Span<'_>) -> Result<u32, Error> {
    let digits = value.bytes.strip_prefix(b"0").unwrap_or(value.bytes);
    let fits = |mode: &u32| mode & LEAST_MODE == LEAST_MODE && mode | MOST_MODE == MOST_MODE;
    octal(digits).filter(fits).ok_or_else(|| {
        value.expected(
            "shared-mode must be octal, from 0600 (the owner alone) to 0666 (everybody), \
             without bits to execute",
        )
    })
}

/// Three octal digits as a number.
fn octal(digits: &[u8]) -> Option<u32> {
    let digits = <[u8; 3]>::try_from(digits).ok()?;
    let digits = digits.map(|digit| char::from(digit).to_digit(8));
    digits
        .into_iter()
        .try_fold(0, |number, digit| Some(number * 8 + digit?))
}
