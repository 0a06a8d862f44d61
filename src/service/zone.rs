//! Shared memory by its name, where no service is needed.

use crate::error::Error;
use crate::table;

/// Removes the zone that the setting `shared` calls `name`.
///
/// Services that have it open go on with it, and those made later make a new one: until
/// all have come over, the two together give twice what a limit says. So it is for when
/// no process uses the zone, or all are about to be restarted.
///
/// # Errors
/// [`ErrorKind::Argument`] where `name` is not a zone's name; [`ErrorKind::Io`] where
/// there is none of this name, or it may not be removed.
///
/// [`ErrorKind::Argument`]: crate::error::ErrorKind::Argument
/// [`ErrorKind::Io`]: crate::error::ErrorKind::Io
pub fn unlink_zone(name: &[u8]) -> Result<(), Error> {
    table::unlink_zone(name)
}
