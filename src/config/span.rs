//! A piece of a text that knows where it stands.
//!
//! The readers cut spans into smaller spans and never count anything
//! themselves, so whatever a reader complains about, the error points at the
//! first byte of exactly that. A span knows nothing of the grammar.
//!
//! Invariant: a message made with [`shown`] is printable ASCII, and shows so
//! little of the text that it fits in the 243 bytes that a C caller gets.

use crate::error::{Error, ErrorKind};

/// How many bytes of a text a message shows.
const SHOWN: usize = 40;

/// Some bytes of one line, and the line and column of the first of them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Span<'a> {
    pub bytes: &'a [u8],
    pub line: usize,
    column: usize,
}

impl<'a> Span<'a> {
    /// A whole line; line 0 is text that came without lines.
    pub fn line(line: usize, bytes: &'a [u8]) -> Span<'a> {
        Span {
            bytes,
            line,
            column: 1,
        }
    }

    /// No text at all, for what was not given as text.
    pub fn nowhere() -> Span<'a> {
        Span {
            bytes: &[],
            line: 0,
            column: 0,
        }
    }

    pub fn is_empty(self) -> bool {
        self.bytes.is_empty()
    }

    /// The first `at` bytes, and the rest.
    pub fn split_at(self, at: usize) -> (Span<'a>, Span<'a>) {
        let at = at.min(self.bytes.len());
        let (bytes, rest) = self.bytes.split_at(at);
        let column = self.column.saturating_add(at);
        let rest = Span {
            bytes: rest,
            column,
            ..self
        };
        (Span { bytes, ..self }, rest)
    }

    /// What stands before the first byte that `stops`, and the rest from that byte on.
    pub fn split_before(self, mut stops: impl FnMut(u8) -> bool) -> (Span<'a>, Span<'a>) {
        let at = self.bytes.iter().position(|&byte| stops(byte));
        self.split_at(at.unwrap_or(self.bytes.len()))
    }

    /// What follows `prefix`, if it begins with that.
    pub fn strip(self, prefix: &[u8]) -> Option<Span<'a>> {
        let rest = self.split_at(prefix.len()).1;
        self.bytes.starts_with(prefix).then_some(rest)
    }

    /// The empty span after its last byte.
    pub fn end(self) -> Span<'a> {
        self.split_at(self.bytes.len()).1
    }

    pub fn trim_start(self) -> Span<'a> {
        self.split_before(|byte| !is_blank(byte)).1
    }

    pub fn trim(self) -> Span<'a> {
        let last = self.bytes.iter().rposition(|&byte| !is_blank(byte));
        let (kept, _) = self.split_at(last.map_or(0, |last| last + 1));
        kept.trim_start()
    }

    /// Its parts between commas, trimmed; at least one.
    pub fn fields(self) -> impl Iterator<Item = Span<'a>> {
        let mut rest = Some(self);
        std::iter::from_fn(move || {
            let (field, tail) = rest?.split_before(|byte| byte == b',');
            rest = tail.strip(b",");
            Some(field.trim())
        })
    }

    /// An error that points at its first byte.
    pub fn error(self, message: impl Into<String>) -> Error {
        Error {
            kind: ErrorKind::Config,
            line: u32::try_from(self.line).unwrap_or(u32::MAX),
            column: u32::try_from(self.column).unwrap_or(u32::MAX),
            message: message.into(),
        }
    }

    /// An error that says what is right here, and shows what was found.
    pub fn expected(self, what: &str) -> Error {
        self.error(format!("{what}, found {}", shown(self.bytes)))
    }
}

/// What separates words in a line.
pub(super) fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t')
}

/// Appends a byte as it stands if it is printable ASCII, else as `\xNN`.
pub(super) fn push_printable(out: &mut String, byte: u8) {
    match byte {
        b' '..=b'~' => out.push(char::from(byte)),
        _ => out.push_str(&format!("\\x{byte:02x}")),
    }
}

/// Bytes of a text as a message shows them: quoted, printable and short.
pub(super) fn shown(bytes: &[u8]) -> String {
    shown_to(bytes, SHOWN)
}

/// The same, with at most `room` bytes between the quotes.
pub(super) fn shown_to(bytes: &[u8], room: usize) -> String {
    if bytes.is_empty() {
        return "nothing".to_owned();
    }
    let mut out = String::from("`");
    for &byte in bytes {
        let before = out.len();
        push_printable(&mut out, byte);
        if out.len() > room {
            out.truncate(before);
            out.push_str("...");
            break;
        }
    }
    out.push('`');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cut_knows_its_column() {
        let line = Span::line(3, b" ab , c ,");
        let columns: Vec<_> = line.fields().map(|f| (f.column, f.bytes)).collect();
        let expected: [(usize, &[u8]); 3] = [(2, b"ab"), (7, b"c"), (10, b"")];
        assert_eq!(columns, expected);
        assert_eq!(line.end().error("").column, 10);
    }

    #[test]
    fn what_is_shown_is_short_and_printable() {
        assert_eq!(shown(b""), "nothing");
        assert_eq!(shown(b"a\0\xff\""), "`a\\x00\\xff\"`");
        assert_eq!(shown(&[b'a'; 40]), format!("`{}...`", "a".repeat(39)));
        assert_eq!(shown(&[0; 4000]).len(), 2 + 36 + 3);
    }
}
