//! The left side of a line: whom a rule is for, or which setting it is.
//!
//! Inside double quotes any byte may stand, and `\"`, `\\` and `\xNN` are
//! read; outside a name runs to the blank or `=`, and holds no control byte,
//! `"` or `#`. A `*` at the end of a bare name or after the closing quote makes
//! an API's name a prefix; elsewhere, and in quotes, `*` is a byte like any
//! other. What [`scope_text`] writes, [`read`] reads.
//!
//! Invariant: a scope read here has no name or prefix longer than [`MAX_NAME`].

use super::span::{Span, is_blank, push_printable, shown};
use crate::error::Error;
use crate::rule::{Apis, MAX_NAME, Scope};

/// What a line gives a value to. A configuration has each at most once.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Name {
    Rule(Scope),
    Memory,
    Clock,
    OnFull,
    Match,
    Shared,
    SharedMode,
}

/// What stands after `user.` or `api.`, and what follows it.
struct Part<'a> {
    name: Box<[u8]>,
    /// The `*` that makes it a prefix.
    star: Option<Span<'a>>,
    rest: Span<'a>,
}

impl Name {
    /// The name as a line begins with it.
    pub fn text(&self) -> Vec<u8> {
        match self {
            Name::Rule(scope) => scope_text(scope),
            Name::Memory => b"memory".to_vec(),
            Name::Clock => b"clock".to_vec(),
            Name::OnFull => b"on-full".to_vec(),
            Name::Match => b"match".to_vec(),
            Name::Shared => b"shared".to_vec(),
            Name::SharedMode => b"shared-mode".to_vec(),
        }
    }
}

const KNOWN: &str = "known are default, user.NAME, api.NAME, user.NAME api.NAME, \
                     memory, clock, on-full, match, shared and shared-mode";

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
        (Some(user), None) => user_text(user),
        (None, Some(api)) => api_text(api),
        (Some(user), Some(api)) => [user_text(user), api_text(api)].join(&b' '),
    }
}

fn user_rule(text: Span<'_>) -> Result<(Name, Span<'_>), Error> {
    let Part { name, star, rest } = part(text)?;
    if let Some(star) = star {
        return Err(star.error(
            "prefixes are for APIs only; a user's name that ends in * is written in quotes",
        ));
    }
    match rest.trim_start().strip(b"api.") {
        Some(api) => api_rule(Some(name), api),
        None => Ok((scope(Some(name), None), rest)),
    }
}

fn api_rule(user: Option<Box<[u8]>>, text: Span<'_>) -> Result<(Name, Span<'_>), Error> {
    let Part { name, star, rest } = part(text)?;
    let apis = match star {
        None => Apis::Exactly(name),
        Some(_) => Apis::Under(name),
    };
    Ok((scope(user, Some(apis)), rest))
}

fn scope(user: Option<Box<[u8]>>, api: Option<Apis>) -> Name {
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
        b"match" => Name::Match,
        b"shared" => Name::Shared,
        b"shared-mode" => Name::SharedMode,
        _ => return Err(word.error(format!("unknown name: {}; {KNOWN}", shown(word.bytes)))),
    };
    Ok((name, rest))
}

/// Reads a NAME, bare or quoted, with a `*` or without.
fn part(text: Span<'_>) -> Result<Part<'_>, Error> {
    let part = match text.strip(b"\"") {
        Some(inside) => quoted_part(text, inside)?,
        None => bare_part(text)?,
    };
    match part.name.len() {
        0..=MAX_NAME => Ok(part),
        n => Err(text.error(format!("a name has at most {MAX_NAME} bytes, this one {n}"))),
    }
}

fn bare_part(text: Span<'_>) -> Result<Part<'_>, Error> {
    let (word, rest) = bare(text)?;
    let (name, star) = match word.bytes {
        [] => return Err(text.error("the NAME is missing; the empty name is written \"\"")),
        [prefix @ .., b'*'] => (prefix, Some(word.split_at(prefix.len()).1)),
        name => (name, None),
    };
    let name = name.into();
    Ok(Part { name, star, rest })
}

/// A closing quote, or the `*` after it, ends the name: nothing may stick to it.
fn quoted_part<'a>(open: Span<'a>, inside: Span<'a>) -> Result<Part<'a>, Error> {
    let (name, after) = quoted(open, inside)?;
    let (star, rest, last) = match after.strip(b"*") {
        Some(rest) => (Some(after), rest, "* of a prefix"),
        None => (None, after, "closing quote"),
    };
    match rest.bytes {
        [] | [b' ' | b'\t' | b'=', ..] => {
            let name = name.into();
            Ok(Part { name, star, rest })
        }
        _ => Err(rest.expected(&format!("a blank or = must follow the {last}"))),
    }
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
            return Ok((name, after));
        }
        if tail.is_empty() {
            return Err(open.error("this double quote is never closed"));
        }
        let (byte, after) = escape(tail)?;
        name.push(byte);
        rest = after;
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

fn user_text(name: &[u8]) -> Vec<u8> {
    [b"user.".to_vec(), name_text(name)].concat()
}

fn api_text(apis: &Apis) -> Vec<u8> {
    match apis {
        Apis::Exactly(name) => [b"api.".to_vec(), name_text(name)].concat(),
        Apis::Under(prefix) => [b"api.".to_vec(), bytes_text(prefix), b"*".to_vec()].concat(),
    }
}

/// A whole name: neither nothing nor what ends like a prefix stands bare.
fn name_text(name: &[u8]) -> Vec<u8> {
    match name {
        [] | [.., b'*'] => quote(name),
        _ => bytes_text(name),
    }
}

fn bytes_text(bytes: &[u8]) -> Vec<u8> {
    match bytes.iter().all(|&byte| is_bare(byte)) {
        true => bytes.to_vec(),
        false => quote(bytes),
    }
}

fn quote(name: &[u8]) -> Vec<u8> {
    let mut out = String::from("\"");
    for &byte in name {
        if matches!(byte, b'"' | b'\\') {
            out.push('\\');
        }
        push_printable(&mut out, byte);
    }
    out.push('"');
    out.into_bytes()
}
