//! The three kinds of memory that a table can stand in.

use super::Table;
use super::peers::Peers;
#[cfg(not(loom))]
use super::{shm, zone};
use crate::clock::Kind;
use crate::config::Shared;
use crate::error::{Error, ErrorKind};
use crate::hash::Secret;
use crate::machine::{Layout, Region};
#[cfg(not(loom))]
use crate::machine::{Mapping, Memory};

/// The least memory that counters can be given.
pub(crate) const LEAST_BYTES: usize = 16 << 10;

/// What a zone is made with by whoever comes first. Who joins it has to have the same
/// kind of clock; layout and secret are taken from the zone.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wanted {
    pub layout: Layout,
    pub clock: Kind,
    pub secret: Secret,
}

impl Table {
    /// In memory of this process alone. A child that is forked has a copy of its own.
    pub fn private(layout: Layout) -> Result<Table, Error> {
        let (region, peers) = (Region::private(layout)?, Peers::private());
        Ok(Table { region, peers })
    }

    /// In shared memory, which is made if there is none of that name. Names are hashed
    /// under the secret that comes back.
    #[cfg(not(loom))]
    pub fn shared(shared: &Shared, wanted: Wanted) -> Result<(Table, Secret), Error> {
        let (region, zone::Entered { peers, secret, .. }) = shm::enter_named(shared, wanted)?;
        Ok((Table { region, peers }, secret))
    }

    /// In memory of the caller's. The same memory may be given at the same time to any
    /// number of tables in any processes.
    #[cfg(not(loom))]
    pub fn given(memory: Memory, wanted: Wanted) -> Result<(Table, Secret), Error> {
        let size = memory.size();
        if size < LEAST_BYTES {
            return too_small(LEAST_BYTES, size);
        }
        let mapping = Mapping::given(memory)?;
        let zone::Entered {
            layout,
            secret,
            peers,
        } = zone::enter(&mapping, wanted)?;
        if layout.bytes() > size {
            return too_small(layout.bytes(), size);
        }
        let region = Region::divided(mapping, layout)?;
        Ok((Table { region, peers }, secret))
    }

    #[cfg(loom)]
    pub fn shared(_: &Shared, _: Wanted) -> Result<(Table, Secret), Error> {
        Err(Error::new(ErrorKind::Unsupported, "not in a model"))
    }

    #[cfg(loom)]
    pub fn given(_: super::Memory, _: Wanted) -> Result<(Table, Secret), Error> {
        Err(Error::new(ErrorKind::Unsupported, "not in a model"))
    }
}

#[cfg(not(loom))]
fn too_small<T>(least: usize, found: usize) -> Result<T, Error> {
    let message = format!("the memory given has {found} bytes; it takes {least} at least");
    Err(Error::new(ErrorKind::Memory, message))
}
