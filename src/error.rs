//! Why a call failed, in words for the person who has to mend it.

use thiserror::Error as ThisError;

/// What kind of failure an [`Error`] is; each has its own status in C.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorKind {
    /// An argument is out of its range.
    Argument,
    /// The text of a rule or setting is wrong.
    Config,
    /// Memory could not be had, or is too small.
    Memory,
    /// A file or a shared memory object could not be opened, read or mapped.
    Io,
    /// Shared memory is of another layout, clock, boot or owner, or damaged.
    Zone,
    /// This build or this clock cannot do that.
    Unsupported,
}

/// A failure: its kind, where in a text it lies, and what would be right.
#[derive(Clone, Debug, PartialEq, Eq, ThisError)]
#[error("{message}")]
pub struct Error {
    /// What kind of failure this is.
    pub kind: ErrorKind,
    /// The line of the text, counted from 1; 0 where there is none.
    pub line: u32,
    /// The column in bytes, counted from 1; 0 where there is none.
    pub column: u32,
    /// What was found, and what would be right.
    pub message: String,
}

impl Error {
    /// A failure that lies nowhere in a text.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Error {
        Error {
            kind,
            line: 0,
            column: 0,
            message: message.into(),
        }
    }
}
