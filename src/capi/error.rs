//! Why a call failed, in words.

use std::ffi::c_char;

use super::ffi::Failure;
use super::status::rl_status;

/// Why a call failed, in words for the person who has to mend it.
///
/// Functions that read text or build something take a pointer to one as their
/// last argument. It may be NULL. It is filled when the call fails, and is not
/// touched when the call succeeds. 256 bytes.
#[repr(C)]
pub struct rl_error {
    /// What the call returned.
    pub status: rl_status,
    /// The line of the text, counted from 1; 0 where the failure lies in no text.
    pub line: u32,
    /// The column in bytes, counted from 1; 0 where there is none.
    pub column: u32,
    /// What was found and what would be right, in UTF-8, always with a NUL at its
    /// end. A longer message is cut between two characters.
    pub message: [c_char; 244],
}

const MESSAGE: usize = 244;
const _: () = assert!(size_of::<rl_error>() == 256);

impl From<&Failure> for rl_error {
    fn from(failure: &Failure) -> rl_error {
        let (line, column) = failure.place();
        rl_error {
            status: failure.status(),
            line,
            column,
            message: cut(failure.message()),
        }
    }
}

/// As many whole characters as fit with a NUL behind them. A NUL within the text
/// would hide what follows it, so it becomes a question mark.
fn cut(text: &str) -> [c_char; MESSAGE] {
    let mut message = [0; MESSAGE];
    let ends = text.char_indices().map(|(start, c)| start + c.len_utf8());
    let end = ends.take_while(|&end| end < MESSAGE).last().unwrap_or(0);
    for (to, from) in message.iter_mut().zip(text.bytes().take(end)) {
        *to = if from == 0 { b'?' } else { from } as c_char;
    }
    message
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(message: &[c_char]) -> String {
        let bytes = message.iter().map(|&c| c as u8).take_while(|&b| b != 0);
        String::from_utf8(bytes.collect()).unwrap()
    }

    #[test]
    fn a_short_message_is_whole() {
        assert_eq!(text(&cut("limit is 0")), "limit is 0");
    }

    #[test]
    fn a_long_message_ends_with_a_nul() {
        let message = cut(&"x".repeat(1000));
        assert_eq!(text(&message), "x".repeat(243));
        assert_eq!(message[243], 0);
    }

    #[test]
    fn a_long_message_is_cut_between_characters() {
        let message = cut(&"é".repeat(1000));
        assert_eq!(text(&message), "é".repeat(121));
    }

    #[test]
    fn a_nul_does_not_hide_the_rest() {
        assert_eq!(text(&cut("a\0b")), "a?b");
    }
}
