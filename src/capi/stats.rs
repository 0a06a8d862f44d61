//! What a service has done, and what it holds.

use super::ffi::{Failure, not_null};
use crate::service::Stats;

/// What a service has done since it was made, and what it holds now. With shared memory,
/// or memory of the caller's, these are the numbers of the zone: of all processes that use
/// it or have used it, since it was made.
///
/// The struct begins with its own size, so that it can grow: begin with
/// rl_stats stats = RL_STATS_INIT, and a later library fills no more of it than this
/// header knows. Without a zone, all counts are of the one service, and start at 0.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct rl_stats {
    /// sizeof(rl_stats), set by the caller. The call makes it the number of bytes that
    /// it has filled, which is less when the library is older than the header.
    pub size: usize,
    /// Requests allowed: those of checks of every kind, and of rl_acquire. Of an
    /// rl_check_all each request counts, all as allowed or all as refused. rl_peek and
    /// rl_charge are not counted.
    pub allowed: u64,
    /// Requests refused, likewise.
    pub denied: u64,
    /// Calls that ended in an error.
    pub errors: u64,
    /// Live counters.
    pub keys: u64,
    /// Counters that the table has room for.
    pub capacity: u64,
    /// Counters whose place was taken when they were as good as new: nothing was lost.
    pub evicted_idle: u64,
    /// Counters forgotten while they still counted. If this rises, raise memory.
    pub evicted_live: u64,
    /// Requests that found no room for a counter or for an entry of a log: under
    /// on-full = deny or allow, and for logs that need more than all the room there is.
    pub refused_full: u64,
    /// Locks taken over from a process that died while it wrote.
    pub recovered_locks: u64,
    /// Bytes of memory that the counters may take.
    pub memory_bytes: u64,
    /// Entries in the logs of sliding windows.
    pub log_entries: u64,
    /// Entries that those logs have room for.
    pub log_capacity: u64,
}

const WORD: usize = size_of::<u64>();
const _: () = assert!(size_of::<usize>() <= WORD && size_of::<rl_stats>() == 13 * WORD);

impl rl_stats {
    /// Fills as many whole fields of the caller's struct as its size says it has.
    ///
    /// # Safety
    ///
    /// `out` is NULL, or begins with a size and has as many bytes.
    pub(super) unsafe fn fill(out: *mut rl_stats, stats: Stats) -> Result<(), Failure> {
        not_null(out)?;
        // SAFETY: not NULL, so by the caller's word at least the size is there.
        let size = unsafe { (&raw const (*out).size).read() };
        if size < WORD {
            return Err(Failure::Argument(
                "stats.size is not set: use RL_STATS_INIT",
            ));
        }
        let filled = size.min(size_of::<rl_stats>()) / WORD * WORD;
        let known = rl_stats::new(filled, stats);
        // SAFETY: the caller has `size` bytes there, and `filled` is no more.
        unsafe {
            out.cast::<u8>()
                .copy_from((&raw const known).cast(), filled)
        };
        Ok(())
    }

    fn new(size: usize, stats: Stats) -> rl_stats {
        rl_stats {
            size,
            allowed: stats.allowed,
            denied: stats.denied,
            errors: stats.errors,
            keys: stats.keys,
            capacity: stats.capacity,
            evicted_idle: stats.evicted_idle,
            evicted_live: stats.evicted_live,
            refused_full: stats.refused_full,
            recovered_locks: stats.recovered_locks,
            memory_bytes: stats.memory_bytes,
            log_entries: stats.log_entries,
            log_capacity: stats.log_capacity,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STATS: Stats = Stats {
        allowed: 1,
        denied: 2,
        errors: 3,
        keys: 4,
        capacity: 5,
        evicted_idle: 6,
        evicted_live: 7,
        refused_full: 8,
        recovered_locks: 9,
        memory_bytes: 10,
        log_entries: 11,
        log_capacity: 12,
    };

    /// A struct filled with 99 but for its size, after the call.
    fn fill(size: usize) -> Result<[u64; 16], Failure> {
        let mut memory = [99_u64; 16];
        memory[0] = size as u64;
        // SAFETY: as many bytes as any size of these tests, or more than are filled.
        unsafe { rl_stats::fill(memory.as_mut_ptr().cast(), STATS) }.map(|()| memory)
    }

    #[test]
    fn a_struct_of_our_size_is_filled() {
        let filled = fill(13 * 8).unwrap();
        assert_eq!(
            filled,
            [104, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 99, 99, 99]
        );
    }

    #[test]
    fn of_a_smaller_struct_only_whole_fields_are_written() {
        assert_eq!(fill(31).unwrap()[..4], [24, 1, 2, 99]);
    }

    #[test]
    fn of_a_larger_struct_only_the_known_fields_are_written() {
        assert_eq!(fill(usize::MAX).unwrap(), fill(13 * 8).unwrap());
    }

    #[test]
    fn a_size_that_was_never_set_is_refused() {
        assert!(fill(0).is_err() && fill(7).is_err());
    }
}
