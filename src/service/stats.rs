//! What a service says of itself.

use super::Service;
use crate::error::{Error, ErrorKind};
use crate::table::Event;

/// What a service has done since it was made, and what it holds now.
///
/// Counts of events are exact once no call is under way; under way they may be
/// some events apart from each other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Requests allowed.
    pub allowed: u64,
    /// Requests refused.
    pub denied: u64,
    /// Calls that ended in an error.
    pub errors: u64,
    /// Counters that cannot be told from new ones yet.
    pub keys: u64,
    /// Counters that there is room for.
    pub capacity: u64,
    /// Counters overwritten when they were as good as new.
    pub evicted_idle: u64,
    /// Counters forgotten while they still counted.
    pub evicted_live: u64,
    /// Requests that found no room for their counter.
    pub refused_full: u64,
    /// Locks taken over from a process that died.
    pub recovered_locks: u64,
    /// Bytes that the counters may take.
    pub memory_bytes: u64,
    /// Entries in sliding logs.
    pub log_entries: u64,
    /// Entries in sliding logs that there is room for.
    pub log_capacity: u64,
}

impl Service {
    /// Whether all that its memory holds fits together: a walk over all of it. It does
    /// so whenever no call is under way, in any process, whoever has been killed in the
    /// middle of one; while one is, it may be said not to.
    ///
    /// Fails with [`ErrorKind::Zone`], and says what does not fit.
    pub fn audit(&self) -> Result<(), Error> {
        let fault = |what| Error::new(ErrorKind::Zone, what);
        self.table.audit().map_err(fault)
    }

    /// What the service has done, and what it holds. Walks over the whole table,
    /// bucket by bucket, and keeps no check waiting.
    pub fn stats(&self) -> Stats {
        let table = &self.table;
        let sum = |event| table.counted(event);
        let census = table.census(self.now_ns());
        Stats {
            allowed: sum(Event::Allowed),
            denied: sum(Event::Denied),
            errors: sum(Event::Error),
            keys: census.keys,
            capacity: table.capacity(),
            evicted_idle: sum(Event::EvictedIdle),
            evicted_live: sum(Event::EvictedLive),
            refused_full: sum(Event::RefusedFull),
            recovered_locks: sum(Event::RecoveredLock),
            memory_bytes: table.bytes(),
            log_entries: census.log_entries,
            log_capacity: table.log_capacity(),
        }
    }
}
