//! The right side of the settings `memory`, `clock`, `on-full` and `match`.
//!
//! Each setting is one function from the text of its value. What a setting
//! does is not known here.

use super::number::{Unit, quantity};
use super::span::Span;
use super::{Match, OnFull};
use crate::clock::SystemClock;
use crate::error::Error;

/// Units of memory, in bytes.
const UNITS: [Unit; 4] = [("", 1), ("k", 1 << 10), ("m", 1 << 20), ("g", 1 << 30)];

/// Least and most memory, in bytes: 16k and 1024g.
const LEAST_MEMORY: u64 = 16 << 10;
const MOST_MEMORY: u64 = 1 << 40;

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
        b"monotonic-coarse" => Ok(SystemClock::MonotonicCoarse),
        b"realtime" => Ok(SystemClock::Realtime),
        _ => Err(value.expected("clock must be monotonic, monotonic-coarse or realtime")),
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
