//! The right side of a rule: `ALGORITHM,LIMIT,WINDOW[,OPTION]...`,
//! `unlimited` or `deny`, read and written.
//!
//! Blanks may stand around a comma. Names of algorithms are read whatever
//! their case and with `_` for `-`; options are lower case.
//!
//! Invariant: a limit read here is in the ranges that [`Limit`] states and
//! its algorithm can count it; an empty bucket fills within [`MAX_WINDOW_NS`].
//! What [`fmt::Display`] writes reads as the same rule.

use super::number::{Unit, quantity, whole};
use super::span::{Span, is_blank, shown};
use crate::algorithm::Algorithm;
use crate::error::Error;
use crate::rule::{Limit, MAX_LIMIT, MAX_WINDOW_NS, Rule};
use std::fmt;

const NS_PER_MS: u64 = 1_000_000;
const NS_PER_S: u64 = 1_000 * NS_PER_MS;

/// Units of a window, in nanoseconds. Without one it is seconds.
const UNITS: [Unit; 6] = [
    ("", NS_PER_S),
    ("ms", NS_PER_MS),
    ("s", NS_PER_S),
    ("m", 60 * NS_PER_S),
    ("h", 3_600 * NS_PER_S),
    ("d", 86_400 * NS_PER_S),
];

/// Longest `name=` in bytes.
const MAX_WORD: usize = 15;

/// Reads a rule.
pub(super) fn read(value: Span<'_>) -> Result<Rule, Error> {
    if says(value, "unlimited") {
        return Ok(Rule::Unlimited);
    }
    if says(value, "deny") {
        return Ok(Rule::Deny);
    }
    refuse_joined(value)?;
    limit(value).map(Rule::Limited)
}

/// Whether a word is `name`, whatever its case and with `_` for `-`.
fn says(word: Span<'_>, name: &str) -> bool {
    let plain = |byte: &u8| match byte {
        b'_' => b'-',
        byte => byte.to_ascii_lowercase(),
    };
    word.bytes.iter().map(plain).eq(name.bytes())
}

/// A `+` between blanks joins limits.
fn refuse_joined(value: Span<'_>) -> Result<(), Error> {
    let is_joint = |bytes: &[u8]| matches!(bytes, [a, b'+', b] if is_blank(*a) && is_blank(*b));
    let Some(at) = value.bytes.windows(3).position(is_joint) else {
        return Ok(());
    };
    let (_, plus) = value.split_at(at + 1);
    Err(plus.unsupported("several limits joined by + are"))
}

fn limit(value: Span<'_>) -> Result<Limit, Error> {
    let mut fields = value.fields();
    let mut next = |what| field(fields.next().unwrap_or(value.end()), what);
    let algorithm = algorithm(next("algorithm")?)?;
    let limit = quota(next("limit")?, algorithm)?;
    let window_ns = window(next("window")?)?;
    let mut limit = Limit {
        algorithm,
        limit,
        window_ns,
        burst: None,
        name: None,
    };
    fields.try_for_each(|option| add_option(&mut limit, option))?;
    Ok(limit)
}

/// A field that must not be empty.
fn field<'a>(field: Span<'a>, what: &str) -> Result<Span<'a>, Error> {
    match field.is_empty() {
        false => Ok(field),
        true => Err(field.error(format!(
            "the {what} is missing; a rule is ALGORITHM,LIMIT,WINDOW, such as token-bucket,5,10"
        ))),
    }
}

fn algorithm(text: Span<'_>) -> Result<Algorithm, Error> {
    if says(text, "sliding-window-log") {
        return Ok(Algorithm::SlidingWindow);
    }
    let known = Algorithm::ALL.into_iter().find(|a| says(text, a.name()));
    known.ok_or_else(|| {
        let names = Algorithm::ALL.map(Algorithm::name).join(", ");
        let found = shown(text.bytes);
        text.error(format!(
            "unknown algorithm {found}; known are {names} (and, alone, unlimited and deny)"
        ))
    })
}

fn quota(text: Span<'_>, algorithm: Algorithm) -> Result<u64, Error> {
    let what = format!("the limit of a {}", algorithm.name());
    whole(text, &what, algorithm.max_limit())
}

fn window(text: Span<'_>) -> Result<u64, Error> {
    quantity(text, &UNITS, NS_PER_MS..=MAX_WINDOW_NS).ok_or_else(|| {
        text.expected(
            "the window must be whole seconds, or a whole number of ms, s, m, h or d, \
             from 1ms to 36525d",
        )
    })
}

fn add_option(limit: &mut Limit, option: Span<'_>) -> Result<(), Error> {
    let (key, rest) = option.split_before(|byte| byte == b'=');
    let value = rest.strip(b"=").unwrap_or(rest);
    let again = match key.bytes {
        b"burst" => limit.burst.replace(burst(limit, key, value)?).is_some(),
        b"name" => limit.name.replace(word(value)?).is_some(),
        b"per" | b"shadow" => return Err(key.unsupported("the options per= and shadow are")),
        _ => return Err(option.expected("an option must be burst=N or name=WORD")),
    };
    match again {
        false => Ok(()),
        true => Err(key.error(format!("the option {} is given twice", shown(key.bytes)))),
    }
}

fn burst(limit: &Limit, key: Span<'_>, value: Span<'_>) -> Result<u64, Error> {
    if limit.algorithm != Algorithm::TokenBucket {
        let name = limit.algorithm.name();
        return Err(key.error(format!("{name} has no burst; burst= is for token-bucket")));
    }
    let burst = whole(value, "the burst", MAX_LIMIT)?;
    let most = u128::from(MAX_WINDOW_NS) * u128::from(limit.limit) / u128::from(limit.window_ns);
    match u128::from(burst) <= most {
        true => Ok(burst),
        false => Err(value.expected(&format!(
            "the burst must be at most {most}, which takes 100 years to fill at this rate"
        ))),
    }
}

fn word(value: Span<'_>) -> Result<Box<str>, Error> {
    let fits = |byte: &u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_');
    let good = (1..=MAX_WORD).contains(&value.bytes.len()) && value.bytes.iter().all(fits);
    match std::str::from_utf8(value.bytes) {
        Ok(word) if good => Ok(word.into()),
        _ => Err(value.expected("name= must be 1 to 15 of a-z 0-9 - _")),
    }
}

/// The text of the rule.
impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Rule::Unlimited => f.write_str("unlimited"),
            Rule::Deny => f.write_str("deny"),
            Rule::Limited(limit) => limit.fmt(f),
        }
    }
}

/// The text of the limit; the window in seconds where it is whole seconds, else in `ms`.
impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{},{},", self.algorithm.name(), self.limit)?;
        match self.window_ns % NS_PER_S {
            0 => write!(f, "{}", self.window_ns / NS_PER_S)?,
            _ => write!(f, "{}ms", self.window_ns / NS_PER_MS)?,
        }
        if let Some(burst) = self.burst {
            write!(f, ",burst={burst}")?;
        }
        if let Some(name) = &self.name {
            write!(f, ",name={name}")?;
        }
        Ok(())
    }
}
