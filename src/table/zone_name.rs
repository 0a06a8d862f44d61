//! The names of shared memory, and how one is removed.

use rustix::io::Errno;
use rustix::shm;

use crate::error::{Error, ErrorKind};

/// The longest name after its `/`, so that the system can still put something before it.
const MOST: usize = 254;

/// Whether shared memory may have this name: a `/` and 1 to 254 bytes, none of them
/// another `/` or a NUL, and not `/.` or `/..`.
pub(crate) fn valid_zone_name(name: &[u8]) -> bool {
    let Some(word) = name.strip_prefix(b"/") else {
        return false;
    };
    (1..=MOST).contains(&word.len())
        && !word.iter().any(|byte| matches!(byte, b'/' | 0))
        && !matches!(word, b"." | b"..")
}

/// Removes the shared memory of this name; who has it open keeps it.
pub(crate) fn unlink_zone(name: &[u8]) -> Result<(), Error> {
    if !valid_zone_name(name) {
        let message = "the name of a zone is a / and 1 to 254 bytes without another /";
        return Err(Error::new(ErrorKind::Argument, message));
    }
    shm::unlink(name).map_err(|reason| failed("remove", name, reason))
}

/// That something cannot be done to shared memory, and why.
pub(super) fn failed(what: &str, name: &[u8], reason: Errno) -> Error {
    let message = format!("cannot {what} shared memory {}: {reason}", shown(name));
    Error::new(ErrorKind::Io, message)
}

/// A name as a message shows it: printable, and not long.
pub(super) fn shown(name: &[u8]) -> String {
    const SHOWN: usize = 48;
    let mut text = name.escape_ascii().to_string();
    if text.len() > SHOWN {
        text.truncate(SHOWN);
        text.push_str("...");
    }
    text
}
