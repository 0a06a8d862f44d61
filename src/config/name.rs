//! The left side of a line: whom a rule is for, or which setting it is.
//!
//! Inside double quotes any byte may stand, and `\"`, `\\` and `\xNN` are
//! read; outside a name runs to the blank or `=`, and holds no control byte,
//! `"` or `#`. A bare name that ends in `*` is kept for prefixes; in quotes
//! `*` is a byte like any other. What [`scope_text`] writes, [`read`] reads.
//!
//! Invariant: a scope read here has no name longer than [`MAX_NAME`].

use super::span::{Span, is_blank, push_printable, shown};
use crate::error::Error;
use crate::rule::{MAX_NAME, Scope};

/// What a line gives a value to. A configuration has each at most once.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Name {
    Rule(Scope),
    Memory,
    Clock,
    OnFull,
}

impl Name {
    /// The name as a line begins with it.
    pub fn text(&self) -> Vec<u8> {
        match self {
            Name::Rule(scope) => scope_text(scope),
            Name::Memory => b"memory".to_vec(),
            Name::Clock => b"clock".to_vec(),
            Name::OnFull => b"on-full".to_vec(),
        }
    }
}

const KNOWN: &str = "known are default, user.NAME, api.NAME, user.NAME api.NAME, \
                     memory, clock and on-full";

/// Reads the name that `text` begins with; also gives what follows it.
pub(super) fn read(text: Span<'_>) -> Result<(Name, Span<'_>), Error> {
    let (name, rest) = match (text.strip(b"user."), text.strip(b"api.")) {
        (Some(user), _) => user_rule(user)?,
        (_, Some(api)) => api_rule(None, api)?,
        _ => keyword(text)?,
    };
    let rest = rest.trim_start();
    if rest.strip(b"user.").or(rest.strip(b"api.")).is_some() {
        let order = "a rule is for user.NAME, api.NAME, or user.NAME api.NAME in this order";
        return Err(rest.expected(order));
    }
    Ok((name, rest))
}

/// A scope as its line begins; names are quoted only where they must be.
pub(super) fn scope_text(scope: &Scope) -> Vec<u8> {
    match (&scope.user, &scope.api) {
        (None, None) => b"default".to_vec(),
        (Some(user), None) => part_text(b"user.", user),
        (None, Some(api)) => part_text(b"api.", api),
        (Some(user), Some(api)) => [part_text(b"user.", user), part_text(b"api.", api)].join(&b' '),
    }
}

fn user_rule(text: Span<'_>) -> Result<(Name, Span<'_>), Error> {
    let (user, rest) = part(text)?;
    match rest.trim_start().strip(b"api.") {
        Some(api) => api_rule(Some(user), api),
        None => Ok((scope(Some(user), None), rest)),
    }
}

fn api_rule(user: Option<Box<[u8]>>, text: Span<'_>) -> Result<(Name, Span<'_>), Error> {
    let (api, rest) = part(text)?;
    Ok((scope(user, Some(api)), rest))
}

fn scope(user: Option<Box<[u8]>>, api: Option<Box<[u8]>>) -> Name {
    Name::Rule(Scope { user, api })
}

/// Reads `default` or the name of a setting.
fn keyword(text: Span<'_>) -> Result<(Name, Span<'_>), Error> {
    let (word, rest) = bare(text)?;
    let name = match word.bytes {
        b"default" => scope(None, None),
        b"memory" => Name::Memory,
        b"clock" => Name::Clock,
        b"on-full" => Name::OnFull,
        b"match" | b"shared" | b"shared-mode" => {
            return Err(word.unsupported("the settings match, shared and shared-mode are"));
        }
        _ => return Err(word.error(format!("unknown name: {}; {KNOWN}", shown(word.bytes)))),
    };
    Ok((name, rest))
}

/// Reads a NAME, bare or quoted.
fn part(text: Span<'_>) -> Result<(Box<[u8]>, Span<'_>), Error> {
    let (name, rest) = match text.strip(b"\"") {
        Some(inside) => quoted(text, inside)?,
        None => bare_part(text)?,
    };
    match name.len() {
        0..=MAX_NAME => Ok((name.into(), rest)),
        n => Err(text.error(format!("a name has at most {MAX_NAME} bytes, this one {n}"))),
    }
}

fn bare_part(text: Span<'_>) -> Result<(Vec<u8>, Span<'_>), Error> {
    let (name, rest) = bare(text)?;
    match name.bytes {
        [] => Err(text.error("the NAME is missing; the empty name is written \"\"")),
        [.., b'*'] => Err(prefix(name)),
        bytes => Ok((bytes.to_vec(), rest)),
    }
}

fn prefix(at: Span<'_>) -> Error {
    at.unsupported("a bare * at the end means a prefix (in quotes it is a plain byte); that is")
}

/// Reads up to the blank or `=`.
fn bare(text: Span<'_>) -> Result<(Span<'_>, Span<'_>), Error> {
    let (word, rest) = text.split_before(|byte| is_blank(byte) || byte == b'=');
    let (_, wrong) = word.split_before(|byte| !is_bare(byte));
    if wrong.is_empty() {
        return Ok((word, rest));
    }
    let byte = shown(wrong.split_at(1).0.bytes);
    Err(wrong.error(format!("a name with {byte} in it must be in quotes")))
}

fn is_bare(byte: u8) -> bool {
    !byte.is_ascii_control() && !matches!(byte, b' ' | b'=' | b'"' | b'#')
}

/// Reads to the closing quote; `open` begins with the opening one, `rest` after it.
fn quoted<'a>(open: Span<'a>, mut rest: Span<'a>) -> Result<(Vec<u8>, Span<'a>), Error> {
    let mut name = Vec::new();
    loop {
        let (plain, tail) = rest.split_before(|byte| matches!(byte, b'"' | b'\\'));
        name.extend(plain.bytes);
        if let Some(after) = tail.strip(b"\"") {
            return end_of_quoted(after).map(|rest| (name, rest));
        }
        if tail.is_empty() {
            return Err(open.error("this double quote is never closed"));
        }
        let (byte, after) = escape(tail)?;
        name.push(byte);
        rest = after;
    }
}

/// A closing quote ends the name: nothing may stick to it.
fn end_of_quoted(after: Span<'_>) -> Result<Span<'_>, Error> {
    match after.bytes {
        [] | [b' ' | b'\t' | b'=', ..] => Ok(after),
        [b'*', ..] => Err(prefix(after)),
        _ => Err(after.expected("a blank or = must follow the closing quote")),
    }
}

/// Reads one of `\"`, `\\` and `\xNN`.
fn escape(text: Span<'_>) -> Result<(u8, Span<'_>), Error> {
    let (byte, length) = match text.bytes {
        [_, byte @ (b'"' | b'\\'), ..] => (Some(*byte), 2),
        [_, b'x', high, low, ..] => (hex(*high, *low), 4),
        _ => (None, 0),
    };
    let (found, _) = text.split_at(4);
    let error = || found.expected("write \\\", \\\\ or \\xNN with two hex digits");
    Ok((byte.ok_or_else(error)?, text.split_at(length).1))
}

fn hex(high: u8, low: u8) -> Option<u8> {
    let digit = |byte: u8| char::from(byte).to_digit(16);
    u8::try_from(digit(high)? * 16 + digit(low)?).ok()
}

fn part_text(kind: &[u8], name: &[u8]) -> Vec<u8> {
    let must_quote = name.is_empty() || name.ends_with(b"*") || !name.iter().all(|&b| is_bare(b));
    match must_quote {
        true => [kind, quote(name).as_bytes()].concat(),
        false => [kind, name].concat(),
    }
}

fn quote(name: &[u8]) -> String {
    let mut out = String::from("\"");
    for &byte in name {
        if matches!(byte, b'"' | b'\\') {
            out.push('\\');
        }
        push_printable(&mut out, byte);
    }
    out.push('"');
    out
}
