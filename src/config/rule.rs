//! The right side of a rule: `ALGORITHM,LIMIT,WINDOW[,OPTION]...` or several
//! such joined by `+`, `unlimited` or `deny`, read and written.
//!
//! Blanks may stand around a comma and a `+`. Names of algorithms are read
//! whatever their case and with `_` for `-`; options are lower case.
//!
//! Invariant: a limit read here is in the ranges that [`Limit`] states and
//! its algorithm can count it; an empty bucket fills within [`MAX_WINDOW_NS`]; no
//! two limits of a rule have the same `name=`. What [`fmt::Display`] writes
//! reads as the same rule.

use super::number::{Unit, quantity, whole};
use super::span::{Span, is_blank, shown};
use crate::algorithm::Algorithm;
use crate::error::Error;
use crate::rule::{Limit, MAX_LIMIT, MAX_LIMITS, MAX_WINDOW_NS, Rule, Sharing};
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

const OPTIONS: &str = "an option must be burst=N, per=pair|user|api|all, name=WORD or shadow";

/// Reads a rule.
pub(super) fn read(value: Span<'_>) -> Result<Rule, Error> {
    if says(value, "unlimited") {
        return Ok(Rule::Unlimited);
    }
    if says(value, "deny") {
        return Ok(Rule::Deny);
    }
    let mut limits = Vec::new();
    for text in joined(value) {
        if limits.len() == MAX_LIMITS {
            let most = format!("a rule has at most {MAX_LIMITS} limits joined by +");
            return Err(text.expected(&most));
        }
        let limit = limit(text, &limits)?;
        limits.push(limit);
    }
    Ok(Rule::Limits(limits))
}

/// Whether a word is `name`, whatever its case and with `_` for `-`.
fn says(word: Span<'_>, name: &str) -> bool {
    let plain = |byte: &u8| match byte {
        b'_' => b'-',
        byte => byte.to_ascii_lowercase(),
    };
    word.bytes.iter().map(plain).eq(name.bytes())
}

/// The limits of a rule, trimmed; at least one.
fn joined(value: Span<'_>) -> impl Iterator<Item = Span<'_>> {
    let mut rest = Some(value);
    std::iter::from_fn(move || {
        let (limit, tail) = rest?.split_before(is_joint());
        rest = tail.strip(b"+");
        Some(limit.trim())
    })
}

/// Tells the `+` that joins from one that begins a field or a value: that is a
/// sign, and for the reader of the number to refuse.
fn is_joint() -> impl FnMut(u8) -> bool {
    let mut last = None;
    move |byte| {
        let joins = byte == b'+' && !matches!(last, Some(b',' | b'='));
        if !is_blank(byte) {
            last = Some(byte);
        }
        joins
    }
}

/// Reads a limit that is joined to those `before` it.
fn limit(value: Span<'_>, before: &[Limit]) -> Result<Limit, Error> {
    if value.is_empty() {
        return Err(value.expected("a limit must stand on either side of +"));
    }
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
        per: Sharing::Pair,
        shadow: false,
    };
    let mut given = Vec::new();
    for option in fields {
        let key = add_option(&mut limit, before, option)?;
        if given.contains(&key.bytes) {
            let message = format!("the option {} is given twice", shown(key.bytes));
            return Err(key.error(message));
        }
        given.push(key.bytes);
    }
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
    if let Some(word) = ["unlimited", "deny"]
        .into_iter()
        .find(|word| says(text, word))
    {
        let message = format!("{word} is a whole rule: write it alone, without options and +");
        return Err(text.error(message));
    }
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

/// Reads an option of a limit that is joined to those `before` it; gives its key.
fn add_option<'a>(
    limit: &mut Limit,
    before: &[Limit],
    option: Span<'a>,
) -> Result<Span<'a>, Error> {
    let (key, rest) = option.split_before(|byte| byte == b'=');
    let value = rest.strip(b"=").unwrap_or(rest);
    match key.bytes {
        b"burst" => limit.burst = Some(burst(limit, key, value)?),
        b"per" => limit.per = sharing(value)?,
        b"name" => limit.name = Some(name(value, before)?),
        b"shadow" if rest.is_empty() => limit.shadow = true,
        b"shadow" => return Err(rest.expected("shadow takes no value")),
        _ => return Err(option.expected(OPTIONS)),
    }
    Ok(key)
}

fn sharing(value: Span<'_>) -> Result<Sharing, Error> {
    let mut all = Sharing::ALL.into_iter();
    all.find(|sharing| value.bytes == sharing.name().as_bytes())
        .ok_or_else(|| value.expected("per= must be pair, user, api or all"))
}

/// Reads a name that none of the limits `before` has.
fn name(value: Span<'_>, before: &[Limit]) -> Result<Box<str>, Error> {
    let word = word(value)?;
    match before
        .iter()
        .any(|limit| limit.name.as_ref() == Some(&word))
    {
        false => Ok(word),
        true => Err(value.error(format!(
            "an earlier limit of this rule has the name {}; give each its own",
            shown(value.bytes)
        ))),
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
        let joints = std::iter::once("").chain(std::iter::repeat(" + "));
        match self {
            Rule::Unlimited => f.write_str("unlimited"),
            Rule::Deny => f.write_str("deny"),
            Rule::Limits(limits) => (limits.iter().zip(joints))
                .try_for_each(|(limit, joint)| write!(f, "{joint}{limit}")),
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
        if self.per != Sharing::Pair {
            write!(f, ",per={}", self.per.name())?;
        }
        if let Some(name) = &self.name {
            write!(f, ",name={name}")?;
        }
        match self.shadow {
            true => f.write_str(",shadow"),
            false => Ok(()),
        }
    }
}
