//! A text as entries: lines, comments, and `name = value` taken apart.
//!
//! Lines end with LF or CRLF, the last one with either or neither. A UTF-8
//! byte-order mark before the first line is skipped and not counted. What a
//! value means is not known here.
//!
//! Invariant: the value of an entry is not empty, begins and ends without
//! blanks, and holds no control byte and no `#`.

use super::name::{self, Name};
use super::span::{Span, shown};
use crate::error::{Error, ErrorKind};
use crate::rule::{Apis, MAX_NAME, Scope};

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// One `name = value`.
pub(super) struct Entry<'a> {
    pub name: Name,
    /// Where the name stands.
    pub at: Span<'a>,
    pub value: Span<'a>,
}

/// The entries of a text, up to the first error.
pub(super) fn entries(text: &[u8]) -> impl Iterator<Item = Result<Entry<'_>, Error>> {
    let text = text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text);
    let lines = text.split(|&byte| byte == b'\n').zip(1..);
    lines
        .map(|(line, number)| Span::line(number, line.strip_suffix(b"\r").unwrap_or(line)).trim())
        .filter(|line| !line.is_empty() && line.strip(b"#").is_none())
        .map(entry)
}

/// The entry of a name and a value that were given apart. They are one line: a
/// newline in either is an error.
pub(super) fn pair<'a>(name: &'a [u8], value: &'a [u8]) -> Result<Entry<'a>, Error> {
    let at = Span::line(0, name).trim();
    let (_, newline) = at.split_before(|byte| byte == b'\n');
    if !newline.is_empty() {
        return Err(newline.error("a newline in a name; in quotes it is written \\x0a"));
    }
    let (name, rest) = name::read(at)?;
    if !rest.is_empty() {
        return Err(rest.expected("nothing may follow the name"));
    }
    let value = checked(Span::line(0, value))?;
    Ok(Entry { name, at, value })
}

/// The entry of a rule whose scope was not given as text.
pub(super) fn rule_of(scope: Scope, rule: &[u8]) -> Result<Entry<'_>, Error> {
    let names = [scope.user.as_deref(), scope.api.as_ref().map(Apis::bytes)];
    if names
        .into_iter()
        .flatten()
        .any(|name| name.len() > MAX_NAME)
    {
        let message = format!("a name has at most {MAX_NAME} bytes");
        return Err(Error::new(ErrorKind::Argument, message));
    }
    let (name, at) = (Name::Rule(scope), Span::nowhere());
    let value = checked(Span::line(0, rule))?;
    Ok(Entry { name, at, value })
}

/// The text of a value: the part of a line after `=`.
fn checked(value: Span<'_>) -> Result<Span<'_>, Error> {
    let value = value.trim();
    if value.is_empty() {
        return Err(value.error("the value is missing; write name = value"));
    }
    let (_, wrong) = value.split_before(|byte| byte == b'#' || is_control(byte));
    let (found, _) = wrong.split_at(1);
    match found.bytes {
        [] => Ok(value),
        [b'#'] => Err(wrong.error("a comment must have a line of its own")),
        byte => Err(wrong.error(format!("the byte {} may not stand in a value", shown(byte)))),
    }
}

fn is_control(byte: u8) -> bool {
    byte.is_ascii_control() && byte != b'\t'
}

fn entry(at: Span<'_>) -> Result<Entry<'_>, Error> {
    let (name, rest) = name::read(at)?;
    let value = rest
        .strip(b"=")
        .ok_or_else(|| rest.expected("a name must be followed by = and a value"))?;
    let value = checked(value)?;
    Ok(Entry { name, at, value })
}
