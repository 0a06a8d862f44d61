//! Whole numbers, alone or with a unit: `5`, `250ms`, `32m`.
//!
//! Only digits make a number: no sign, point, blank, hexadecimal or exponent.
//! However many digits there are, nothing wraps around: what is too large for
//! 64 bits counts as the largest number, and no digits count as 0; both are out
//! of every range here.

use super::span::Span;
use crate::error::Error;
use std::ops::RangeInclusive;

/// A unit's name, and how much one of it is.
pub(super) type Unit = (&'static str, u64);

/// Reads a number without a unit, from 1 to `most`. `what` names it in the error.
pub(super) fn whole(text: Span<'_>, what: &str, most: u64) -> Result<u64, Error> {
    quantity(text, &[("", 1)], 1..=most)
        .ok_or_else(|| text.expected(&format!("{what} must be a whole number from 1 to {most}")))
}

/// Reads a number and its unit, `None` where it is no such thing or out of `range`.
pub(super) fn quantity(text: Span<'_>, units: &[Unit], range: RangeInclusive<u64>) -> Option<u64> {
    let (digits, unit) = text.split_before(|byte| !byte.is_ascii_digit());
    let (_, size) = units
        .iter()
        .find(|(name, _)| name.as_bytes() == unit.bytes)?;
    let number = digits.bytes.iter().fold(0u64, |number, digit| {
        let digit = u64::from(digit.wrapping_sub(b'0'));
        number.saturating_mul(10).saturating_add(digit)
    });
    let number = number.saturating_mul(*size);
    range.contains(&number).then_some(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Option<u64> {
        let units = [("", 1), ("k", 1024)];
        quantity(Span::line(1, text.as_bytes()), &units, 1..=u64::MAX - 1)
    }

    #[test]
    fn digits_and_a_unit_make_a_number() {
        assert_eq!(read("7"), Some(7));
        assert_eq!(read("007"), Some(7));
        assert_eq!(read("2k"), Some(2048));
        assert_eq!(read("18446744073709551614"), Some(u64::MAX - 1));
    }

    #[test]
    fn nothing_else_does() {
        for text in [
            "", "k", "0", "0k", "-1", "+1", "1.5", "0x10", "1 k", " 1", "1kb", "1e3", "1_000",
        ] {
            assert_eq!(read(text), None, "{text:?}");
        }
    }

    #[test]
    fn no_string_of_digits_wraps_around() {
        assert_eq!(read("18446744073709551616"), None);
        assert_eq!(read("18014398509481984k"), None);
        assert_eq!(read(&"9".repeat(100_000)), None);
    }
}
