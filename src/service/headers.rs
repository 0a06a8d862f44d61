//! A decision as fields of an HTTP response.
//!
//! Who asked is not known here, so nothing of it gets into a response. A decision may
//! come from the memory of a C program, and so nothing in it is trusted: a name ends
//! where it could not go on, and numbers stay within what a field may hold.
//!
//! The draft is draft-ietf-httpapi-ratelimit-headers (11): `q` and `w` are the quota and
//! its window, `r` is what is left, and `t` the seconds for which no more than that can
//! be had. Of a refusal that is the wait, since Retry-After must not end before `t` does;
//! else it is the time until the limit is as if never used.

use super::{Decision, NEVER, flag};

/// Which fields say it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeaderStyle {
    /// `RateLimit-Policy` and `RateLimit`, of the IETF draft.
    Draft,
    /// `X-RateLimit-Limit`, `-Remaining` and `-Reset`, the last in seconds from now.
    Legacy,
}

/// As much as the longest text may have.
pub(crate) const MOST_HEADERS: usize = 192;

/// The most that an integer of a structured field may be: 15 digits (RFC 9651, 3.3.1).
const MOST_INTEGER: u64 = 999_999_999_999_999;

/// Header fields, with CRLF after each; none where there is nothing to say.
#[derive(Clone, Debug)]
pub struct Headers {
    bytes: [u8; MOST_HEADERS],
    len: usize,
}

impl Headers {
    /// The text, which is ASCII.
    pub fn as_bytes(&self) -> &[u8] {
        self.bytes.get(..self.len).unwrap_or_default()
    }
}

impl Headers {
    fn text(&mut self, text: &str) -> &mut Headers {
        let end = self.len + text.len();
        let place = self.bytes.get_mut(self.len..end);
        debug_assert!(place.is_some(), "the longest text fits");
        if let Some(place) = place {
            place.copy_from_slice(text.as_bytes());
            self.len = end;
        }
        self
    }

    fn number(&mut self, number: u64) -> &mut Headers {
        self.text(itoa::Buffer::new().format(number))
    }
}

/// The fields that tell a client of a decision.
///
/// A decision without limits (unlimited, deny, an error) has none. Where no counter was
/// kept, what is left of the limit is left out. `Retry-After` is there when the request
/// was refused and is worth another try.
pub fn headers(decision: &Decision, style: HeaderStyle) -> Headers {
    let mut headers = Headers {
        bytes: [0; MOST_HEADERS],
        len: 0,
    };
    match style {
        _ if decision.limit_count == 0 => {}
        HeaderStyle::Draft => write_draft(decision, &mut headers),
        HeaderStyle::Legacy => write_legacy(decision, &mut headers),
    }
    if let Some(wait) = wait_ms(decision) {
        let retry = headers.text("Retry-After: ");
        retry.number(seconds(wait)).text("\r\n");
    }
    headers
}

fn write_draft(decision: &Decision, to: &mut Headers) {
    let name = name(decision);
    let window = seconds(decision.window_ms).max(1);
    let policy = to.text("RateLimit-Policy: \"").text(name);
    let policy = policy.text("\";q=").number(integer(decision.limit));
    policy.text(";w=").number(window).text("\r\n");
    if is_tracked(decision) {
        let effective = seconds(wait_ms(decision).unwrap_or(decision.reset_after_ms));
        let limit = to.text("RateLimit: \"").text(name);
        let limit = limit.text("\";r=").number(integer(decision.remaining));
        limit.text(";t=").number(effective).text("\r\n");
    }
}

fn write_legacy(decision: &Decision, to: &mut Headers) {
    let mut field = |name, number| {
        to.text("X-RateLimit-").text(name);
        to.number(number).text("\r\n");
    };
    field("Limit: ", integer(decision.limit));
    if is_tracked(decision) {
        field("Remaining: ", integer(decision.remaining));
        field("Reset: ", seconds(decision.reset_after_ms));
    }
}

/// How long to wait before the same request is worth another try.
fn wait_ms(decision: &Decision) -> Option<u64> {
    let wait = decision.retry_after_ms;
    (!decision.allowed && wait != 0 && wait != NEVER).then_some(wait)
}

fn is_tracked(decision: &Decision) -> bool {
    decision.flags & flag::UNTRACKED == 0
}

/// The name of the limit, as far as it is made of what `name=` allows.
fn name(decision: &Decision) -> &str {
    let fits = |byte: &u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_');
    let len = decision
        .name
        .iter()
        .take(15)
        .take_while(|b| fits(b))
        .count();
    let name = decision.name.get(..len).unwrap_or_default();
    match std::str::from_utf8(name) {
        Ok(name) if !name.is_empty() => name,
        _ => "default",
    }
}

/// Whole seconds, rounded up: a hint must not be too short.
fn seconds(ms: u64) -> u64 {
    integer(ms.div_ceil(1000))
}

fn integer(number: u64) -> u64 {
    number.min(MOST_INTEGER)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rule::book::padded;

    const ALLOWED: Decision = Decision {
        allowed: true,
        flags: 0,
        limit_count: 1,
        limit_index: 0,
        denied_by: 0,
        reserved: [0; 3],
        limit: 100,
        remaining: 42,
        retry_after_ms: 0,
        reset_after_ms: 29_001,
        window_ms: 60_000,
        name: *b"per-minute\0\0\0\0\0\0",
    };

    const REFUSED: Decision = Decision {
        allowed: false,
        denied_by: 1,
        remaining: 0,
        retry_after_ms: 600,
        reset_after_ms: 60_000,
        ..ALLOWED
    };

    fn draft(decision: Decision) -> String {
        text(decision, HeaderStyle::Draft)
    }

    fn legacy(decision: Decision) -> String {
        text(decision, HeaderStyle::Legacy)
    }

    fn text(decision: Decision, style: HeaderStyle) -> String {
        let headers = headers(&decision, style);
        String::from_utf8(headers.as_bytes().to_vec()).unwrap()
    }

    #[test]
    fn an_allowed_request_learns_what_is_left_and_until_when() {
        assert_eq!(
            draft(ALLOWED),
            "RateLimit-Policy: \"per-minute\";q=100;w=60\r\n\
             RateLimit: \"per-minute\";r=42;t=30\r\n"
        );
        assert_eq!(
            legacy(ALLOWED),
            "X-RateLimit-Limit: 100\r\nX-RateLimit-Remaining: 42\r\nX-RateLimit-Reset: 30\r\n"
        );
    }

    #[test]
    fn a_refused_request_learns_when_to_come_back() {
        assert_eq!(
            draft(REFUSED),
            "RateLimit-Policy: \"per-minute\";q=100;w=60\r\n\
             RateLimit: \"per-minute\";r=0;t=1\r\nRetry-After: 1\r\n"
        );
        assert_eq!(
            legacy(REFUSED),
            "X-RateLimit-Limit: 100\r\nX-RateLimit-Remaining: 0\r\nX-RateLimit-Reset: 60\r\n\
             Retry-After: 1\r\n"
        );
    }

    #[test]
    fn what_can_never_pass_has_no_time_to_come_back() {
        let never = Decision {
            retry_after_ms: NEVER,
            ..REFUSED
        };
        assert_eq!(
            draft(never),
            "RateLimit-Policy: \"per-minute\";q=100;w=60\r\nRateLimit: \"per-minute\";r=0;t=60\r\n"
        );
        assert!(!legacy(never).contains("Retry-After"));
    }

    #[test]
    fn decisions_without_a_limit_have_no_fields() {
        for decision in [Decision::unlimited(), Decision::deny(), Decision::default()] {
            assert_eq!((draft(decision), legacy(decision)), Default::default());
        }
    }

    #[test]
    fn where_nothing_was_counted_nothing_is_said_of_the_count() {
        let policy = "RateLimit-Policy: \"per-minute\";q=100;w=60\r\n";
        let untracked = |decision| Decision {
            flags: flag::UNTRACKED,
            ..decision
        };
        assert_eq!(draft(untracked(ALLOWED)), policy);
        assert_eq!(
            draft(untracked(REFUSED)),
            format!("{policy}Retry-After: 1\r\n")
        );
        assert_eq!(legacy(untracked(ALLOWED)), "X-RateLimit-Limit: 100\r\n");
    }

    #[test]
    fn seconds_are_rounded_up() {
        for (ms, s) in [(1, 1), (999, 1), (1000, 1), (1001, 2), (59_999, 60)] {
            let refused = Decision {
                retry_after_ms: ms,
                ..REFUSED
            };
            let end = format!(";t={s}\r\nRetry-After: {s}\r\n");
            assert!(draft(refused).ends_with(&end), "{ms} ms");
        }
    }

    /// A limit of 2^53 - 1 has 16 digits; a window that a rule cannot have is not 0.
    #[test]
    fn numbers_are_what_a_structured_field_may_hold() {
        let most = Decision {
            limit: (1 << 53) - 1,
            remaining: u64::MAX,
            reset_after_ms: NEVER,
            ..ALLOWED
        };
        let policy = "RateLimit-Policy: \"per-minute\";q=999999999999999;w=60\r\n";
        let rest = "RateLimit: \"per-minute\";r=999999999999999;t=999999999999999\r\n";
        assert_eq!(draft(most), format!("{policy}{rest}"));
        let least = Decision {
            window_ms: 0,
            ..ALLOWED
        };
        assert!(draft(least).contains(";w=1\r\n"));
    }

    #[test]
    fn a_name_ends_where_it_could_not_go_on() {
        for (name, shown) in [
            (*b"fifteen-bytes-x\0", "fifteen-bytes-x"),
            (*b"sixteen-bytes-xy", "sixteen-bytes-x"),
            (*b"a\r\nSet-Cookie: x", "a"),
            (*b"a\";q=0,\"b\0\0\0\0\0\0\0", "a"),
            (*b"back\\slash\0\0\0\0\0\0", "back"),
            (*b"\xff\xfe\xfd\0\0\0\0\0\0\0\0\0\0\0\0\0", "default"),
            (padded(""), "default"),
        ] {
            let policy = format!("RateLimit-Policy: \"{shown}\";q=100;");
            let decision = Decision { name, ..ALLOWED };
            assert!(draft(decision).starts_with(&policy), "{shown}");
        }
    }

    #[test]
    fn the_longest_text_fits() {
        let longest = Decision {
            limit: u64::MAX,
            remaining: u64::MAX,
            retry_after_ms: NEVER - 1,
            reset_after_ms: u64::MAX,
            window_ms: u64::MAX,
            name: [b'x'; 16],
            ..REFUSED
        };
        for text in [draft(longest), legacy(longest)] {
            assert!(
                text.len() < MOST_HEADERS && text.ends_with("Retry-After: 999999999999999\r\n")
            );
        }
    }
}
