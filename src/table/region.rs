//! The memory that everything shared stands in: `[header | buckets | chunks]`.
//!
//! This is the one place in the core with `unsafe`: it gets the memory and hands
//! it out as slices of atomics, which any number of threads may read and write at
//! once. Nothing here knows what is stored. All zero is a valid, empty region.

#![allow(unsafe_code)]

use std::ptr::NonNull;

use super::bucket::Bucket;
use super::chunk::{CHUNK_WORDS, Chunk};
use super::seat::Seats;
use super::stats::Stripes;
use crate::error::{Error, ErrorKind};
use crate::sync::AtomicU64;

/// The part of the region that is there once.
#[repr(C)]
#[derive(Debug)]
pub(crate) struct Header {
    /// Who takes over what a process has left that was killed.
    pub recovering: AtomicU64,
    /// Where the search for a log to forget goes on.
    pub hand: AtomicU64,
    /// Keeps the statistics off this cache line.
    _reserved: [AtomicU64; 6],
    pub stripes: Stripes,
    pub seats: Seats,
}

/// How the memory is divided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Layout {
    pub buckets: usize,
    pub chunks: usize,
}

/// Memory of the caller's, for the counters to stand in.
#[derive(Clone, Copy, Debug)]
pub struct Memory {
    address: NonNull<u8>,
    size: usize,
}

// SAFETY: it is only a place and a size; whoever made it has promised that the memory
// stays, and what is read and written there are atomics.
unsafe impl Send for Memory {}
// SAFETY: as above.
unsafe impl Sync for Memory {}

impl Memory {
    /// `size` bytes at `address`, which is a multiple of 8.
    ///
    /// Fails with [`ErrorKind::Argument`] where it is not.
    ///
    /// # Safety
    /// The bytes can be read and written, from now on until the last service that is
    /// made with them has been dropped, and nothing else writes there.
    pub unsafe fn new(address: NonNull<u8>, size: usize) -> Result<Memory, Error> {
        if !address.cast::<u64>().is_aligned() {
            let message = "the memory's address is not a multiple of 8";
            return Err(Error::new(ErrorKind::Argument, message));
        }
        Ok(Memory { address, size })
    }

    /// How many bytes it has.
    pub fn size(self) -> usize {
        self.size
    }

    /// Where it begins.
    pub fn address(self) -> NonNull<u8> {
        self.address
    }
}

const BUCKET_BYTES: usize = 128;
const CHUNK_BYTES: usize = CHUNK_WORDS * 8;
const HEADER_BYTES: usize = 4096;

impl Layout {
    /// Divides `memory` bytes: half for logs if any rule keeps them, else a 64th,
    /// so that a rule that comes later finds room for some.
    pub fn of(memory: usize, logs: bool) -> Layout {
        let room = memory.saturating_sub(HEADER_BYTES);
        let chunks = room / if logs { 2 } else { 64 } / CHUNK_BYTES;
        let buckets = (room - chunks * CHUNK_BYTES) / BUCKET_BYTES;
        Layout {
            buckets: buckets.clamp(1, u32::MAX as usize),
            chunks,
        }
    }

    /// The bytes that the whole region takes.
    pub fn bytes(self) -> usize {
        HEADER_BYTES + self.buckets * BUCKET_BYTES + self.chunks * CHUNK_BYTES
    }
}

#[cfg(not(loom))]
pub(crate) use mapped::Region;

#[cfg(not(loom))]
mod mapped {
    use super::*;

    const _: () = assert!(size_of::<Header>() <= HEADER_BYTES);
    const _: () = assert!(size_of::<Bucket>() == BUCKET_BYTES);
    const _: () = assert!(size_of::<Chunk>() == CHUNK_BYTES);

    /// A region in memory of this process alone, which goes with it.
    #[derive(Debug)]
    pub(crate) struct Region {
        base: NonNull<u8>,
        layout: Layout,
    }

    // SAFETY: the mapping belongs to the region until it is dropped, and is only
    // ever given out as shared references to atomics.
    unsafe impl Send for Region {}
    // SAFETY: as above.
    unsafe impl Sync for Region {}

    impl Region {
        /// New, zeroed memory, which the system provides as it is touched.
        pub fn private(layout: Layout) -> Result<Region, Error> {
            // SAFETY: an anonymous mapping at an address of the system's choice
            // touches no memory that anybody else uses.
            let base = unsafe {
                libc::mmap(
                    std::ptr::null_mut(),
                    layout.bytes(),
                    libc::PROT_READ | libc::PROT_WRITE,
                    libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
                    -1,
                    0,
                )
            };
            if base == libc::MAP_FAILED {
                let reason = std::io::Error::last_os_error();
                let message = format!("cannot have {} bytes of memory: {reason}", layout.bytes());
                return Err(Error::new(ErrorKind::Memory, message));
            }
            match NonNull::new(base.cast::<u8>()) {
                Some(base) => Ok(Region { base, layout }),
                None => Err(Error::new(
                    ErrorKind::Memory,
                    "the system mapped memory at 0",
                )),
            }
        }

        pub fn layout(&self) -> Layout {
            self.layout
        }

        pub fn header(&self) -> &Header {
            // SAFETY: the mapping begins with a header, is aligned to a page, and
            // holds bits (zero at first) of which every pattern is a valid atomic.
            unsafe { self.base.cast::<Header>().as_ref() }
        }

        #[inline]
        pub fn buckets(&self) -> &[Bucket] {
            self.slice(HEADER_BYTES, self.layout.buckets)
        }

        /// The bucket of a number; a number out of range means the last one.
        #[inline]
        pub fn bucket(&self, number: u32) -> &Bucket {
            let index = (number as usize).min(self.layout.buckets - 1);
            // SAFETY: there is at least one bucket (`Layout::of`), so the index is
            // in range of the slice.
            unsafe { self.buckets().get_unchecked(index) }
        }

        #[inline]
        pub fn chunks(&self) -> &[Chunk] {
            let offset = HEADER_BYTES + self.layout.buckets * BUCKET_BYTES;
            self.slice(offset, self.layout.chunks)
        }

        /// All of it, to be scrambled.
        #[cfg(test)]
        pub fn words(&self) -> &[crate::sync::AtomicU64] {
            let bytes = self.layout.bytes();
            // SAFETY: the mapping is so long, aligned to a page, and every pattern
            // of bits is a valid atomic.
            unsafe { std::slice::from_raw_parts(self.base.cast().as_ptr(), bytes / 8) }
        }

        /// `count` records of atomics at a multiple of 128 bytes in the mapping.
        #[inline]
        fn slice<T>(&self, offset: usize, count: usize) -> &[T] {
            debug_assert!(offset + count * size_of::<T>() <= self.layout.bytes());
            // SAFETY: only called by the two functions above, whose ranges lie in
            // the mapping by `Layout::bytes`; offsets are aligned, and every
            // pattern of bits is a valid record of atomics.
            unsafe { std::slice::from_raw_parts(self.base.add(offset).cast().as_ptr(), count) }
        }
    }

    impl Drop for Region {
        fn drop(&mut self) {
            // SAFETY: the mapping was made by `private` with this size, and no
            // reference into it outlives the region.
            unsafe { libc::munmap(self.base.as_ptr().cast(), self.layout.bytes()) };
        }
    }
}

#[cfg(loom)]
pub(crate) use modelled::Region;

/// Loom's atomics cannot be conjured out of zeroed memory.
#[cfg(loom)]
#[allow(clippy::indexing_slicing)]
mod modelled {
    use super::super::seat::Seat;
    use super::*;

    #[derive(Debug)]
    pub(crate) struct Region {
        layout: Layout,
        header: Header,
        buckets: Box<[Bucket]>,
        chunks: Box<[Chunk]>,
    }

    impl Region {
        pub fn private(layout: Layout) -> Result<Region, Error> {
            Ok(Region {
                layout,
                header: Header {
                    recovering: AtomicU64::new(0),
                    hand: AtomicU64::new(0),
                    _reserved: std::array::from_fn(|_| AtomicU64::new(0)),
                    stripes: Stripes::new(),
                    seats: std::array::from_fn(|_| Seat::new()),
                },
                buckets: (0..layout.buckets).map(|_| Bucket::new()).collect(),
                chunks: (0..layout.chunks).map(|_| Chunk::new()).collect(),
            })
        }

        pub fn layout(&self) -> Layout {
            self.layout
        }

        pub fn header(&self) -> &Header {
            &self.header
        }

        pub fn buckets(&self) -> &[Bucket] {
            &self.buckets
        }

        pub fn bucket(&self, number: u32) -> &Bucket {
            &self.buckets[number as usize]
        }

        pub fn chunks(&self) -> &[Chunk] {
            &self.chunks
        }
    }
}
