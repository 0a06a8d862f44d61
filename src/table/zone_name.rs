//! The names of shared memory, and how one is removed.

use rustix::io::Errno;
use rustix::shm;

use crate::error::{Error, ErrorKind};

/// Whether shared memory can be called so: a `/`, then 1 to 254 bytes.
pub(crate) fn valid_zone_name(name: &[u8]) -> bool {
    match name.split_first() {
        Some((b'/', rest)) => {
            (1..=254).contains(&rest.len())
                && !rest.iter().any(|&byte| byte == b'/' || byte == 0)
                && !matches!(rest, b"." | b"..")
        }
        _ => false,
    }
}

/// Removes the name of shared memory. Who has it goes on with it; who comes next makes
/// a new one.
///
/// Fails with [`ErrorKind::Argument`] where it is no name for shared memory, and with
/// [`ErrorKind::Io`] where there is none of that name, or it may not be removed.
pub(crate) fn unlink_zone(name: &[u8]) -> Result<(), Error> {
    if !valid_zone_name(name) {
        let message = "the name of shared memory is a /, then 1 to 254 bytes without another /";
        return Err(Error::new(ErrorKind::Argument, message));
    }
    shm::unlink(name).map_err(|reason| failed("remove", name, reason))
}

pub(super) fn failed(what: &str, name: &[u8], reason: Errno) -> Error {
    let name = shown(name);
    let message = format!("cannot {what} shared memory {name}: {reason}");
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
