//! What the machine gives: the memory that everything shared stands in, which is divided
//! `[header | buckets | chunks]`, and instructions that Rust has no safe name for (`cpu`).
//!
//! This folder is the one place in the core with `unsafe`: it gets the memory and hands
//! it out as slices of atomics, which any number of threads and processes may read and
//! write at once. Nothing here knows what is stored. All zero is a valid, empty region.
//!
//! Invariant: how a region is divided is known to this process alone, and has been held
//! against the memory that there is, so nothing that is written there leads outside.

#![allow(unsafe_code)]

pub(crate) mod cpu;
#[cfg(not(loom))]
mod mapping;
mod memory;
#[cfg(not(loom))]
pub(crate) mod wiped;

use crate::clock::Anchor;
use crate::error::Error;
#[cfg(not(loom))]
use crate::error::ErrorKind;
use crate::sync::AtomicU64;
#[cfg(not(loom))]
use crate::table::Zone;
use crate::table::{Bucket, CHUNK_WORDS, Chunk, Seats, Stripes};

#[cfg(not(loom))]
pub(crate) use mapping::{HUGE_PAGE, Mapping};
pub use memory::Memory;

/// The part of the region that is there once.
#[repr(C)]
#[derive(Debug)]
pub(crate) struct Header {
    #[cfg(not(loom))]
    pub zone: Zone,
    /// Who takes over what a process has left that was killed.
    pub recovering: AtomicU64,
    /// Where the search for a log to forget goes on.
    pub hand: AtomicU64,
    /// Keeps the statistics off this cache line.
    _reserved: [AtomicU64; 6],
    pub stripes: Stripes,
    pub seats: Seats,
    /// What the clock is read by, on a cache line of its own.
    pub anchor: Anchor,
}

/// How the memory is divided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Layout {
    pub buckets: usize,
    pub chunks: usize,
}

const BUCKET_BYTES: usize = 128;
const CHUNK_BYTES: usize = CHUNK_WORDS * 8;
pub(crate) const HEADER_BYTES: usize = 4096;

/// Numbers of buckets are of 32 bits, and one of these is none.
const MAX_BUCKETS: usize = u32::MAX as usize - 1;
const MAX_CHUNKS: usize = u32::MAX as usize;

impl Layout {
    /// Divides `memory` bytes: half for logs if any rule keeps them, else a 64th,
    /// so that a rule that comes later finds room for some.
    pub fn of(memory: usize, logs: bool) -> Layout {
        let room = memory.saturating_sub(HEADER_BYTES);
        let chunks = (room / if logs { 2 } else { 64 } / CHUNK_BYTES).min(MAX_CHUNKS);
        let buckets = (room - chunks * CHUNK_BYTES) / BUCKET_BYTES;
        Layout {
            buckets: buckets.clamp(1, MAX_BUCKETS),
            chunks,
        }
    }

    /// A layout of any numbers, if there can be such a one.
    pub fn checked(buckets: u64, chunks: u64) -> Option<Layout> {
        let buckets = usize::try_from(buckets).ok()?;
        let chunks = usize::try_from(chunks).ok()?;
        let layout = Layout { buckets, chunks };
        let in_range = (1..=MAX_BUCKETS).contains(&buckets) && chunks <= MAX_CHUNKS;
        (in_range && layout.checked_bytes().is_some()).then_some(layout)
    }

    /// The number of a bucket, by a random word: less than there are buckets.
    #[inline]
    fn home(self, word: u64) -> u32 {
        ((u128::from(word) * self.buckets as u128) >> 64) as u32
    }

    /// The numbers of two buckets, by a random word and by one that gives their sum: both
    /// less than there are buckets.
    #[inline]
    fn homes(self, word: u64, sum: u64) -> [u32; 2] {
        let first = self.home(word);
        [first, self.other_home(first, sum)]
    }

    /// The other of two buckets: their numbers add up to that of a random word, modulo the
    /// number of buckets. It is less than that if `home` is.
    #[inline]
    pub fn other_home(self, home: u32, word: u64) -> u32 {
        let sum = self.home(word);
        if sum >= home {
            sum - home
        } else {
            sum + (self.buckets as u32 - home)
        }
    }

    /// The bytes that the whole region takes.
    pub fn bytes(self) -> usize {
        HEADER_BYTES + self.buckets * BUCKET_BYTES + self.chunks * CHUNK_BYTES
    }

    fn checked_bytes(self) -> Option<usize> {
        let buckets = self.buckets.checked_mul(BUCKET_BYTES)?;
        let chunks = self.chunks.checked_mul(CHUNK_BYTES)?;
        buckets.checked_add(chunks)?.checked_add(HEADER_BYTES)
    }
}

/// Which of the buckets it is.
#[inline]
fn number(buckets: &[Bucket], bucket: &Bucket) -> u32 {
    let offset = std::ptr::from_ref(bucket)
        .addr()
        .wrapping_sub(buckets.as_ptr().addr());
    (offset / size_of::<Bucket>()) as u32
}

#[cfg(not(loom))]
pub(crate) use mapped::Region;

#[cfg(not(loom))]
mod mapped {
    use super::mapping::Atomics;
    use super::*;

    const _: () = assert!(size_of::<Header>() <= HEADER_BYTES);
    const _: () = assert!(std::mem::offset_of!(Header, anchor) % 64 == 0);
    const _: () = assert!(size_of::<Bucket>() == BUCKET_BYTES);
    const _: () = assert!(size_of::<Chunk>() == CHUNK_BYTES);

    const _: () = assert!(align_of::<Header>() == 8);
    const _: () = assert!(align_of::<Bucket>() == 8 && align_of::<Chunk>() == 8);

    /// Memory, and how it is divided.
    #[derive(Debug)]
    pub(crate) struct Region {
        mapping: Mapping,
        layout: Layout,
    }

    // SAFETY: made of words that are all `AtomicU64`.
    unsafe impl Atomics for Bucket {}
    // SAFETY: as above.
    unsafe impl Atomics for Chunk {}

    impl Region {
        /// New, empty memory of this process alone.
        pub fn private(layout: Layout) -> Result<Region, Error> {
            Region::divided(Mapping::private(layout.bytes())?, layout)
        }

        /// Memory that is divided so.
        pub fn divided(mapping: Mapping, layout: Layout) -> Result<Region, Error> {
            let fits = layout
                .checked_bytes()
                .is_some_and(|bytes| bytes <= mapping.size());
            if !fits || layout.buckets == 0 {
                let message = format!("{} bytes do not hold the counters", mapping.size());
                return Err(Error::new(ErrorKind::Memory, message));
            }
            Ok(Region { mapping, layout })
        }

        pub fn layout(&self) -> Layout {
            self.layout
        }

        #[inline]
        pub fn header(&self) -> &Header {
            self.mapping.header()
        }

        #[inline]
        pub fn buckets(&self) -> &[Bucket] {
            // SAFETY: they lie in the memory, by `divided` and `Layout::bytes`.
            unsafe { self.mapping.slice(HEADER_BYTES, self.layout.buckets) }
        }

        /// Two buckets, by a random word and by one that gives the sum of their numbers.
        #[inline]
        pub fn homes(&self, word: u64, sum: u64) -> [&Bucket; 2] {
            let homes = self.layout.homes(word, sum);
            // SAFETY: both numbers are less than that of the buckets, see `Layout::homes`.
            homes.map(|number| unsafe { self.buckets().get_unchecked(number as usize) })
        }

        /// The bucket of a number; a number out of range means the last one.
        #[inline]
        pub fn bucket(&self, number: u32) -> &Bucket {
            let index = (number as usize).min(self.layout.buckets - 1);
            // SAFETY: there is at least one bucket (`divided`), so the index is in
            // range of the slice.
            unsafe { self.buckets().get_unchecked(index) }
        }

        /// The number of one of its buckets.
        #[inline]
        pub fn number(&self, bucket: &Bucket) -> u32 {
            number(self.buckets(), bucket)
        }

        #[inline]
        pub fn chunks(&self) -> &[Chunk] {
            let offset = HEADER_BYTES + self.layout.buckets * BUCKET_BYTES;
            // SAFETY: they lie in the memory, as the buckets do.
            unsafe { self.mapping.slice(offset, self.layout.chunks) }
        }

        /// All of it, to be scrambled.
        #[cfg(test)]
        pub fn words(&self) -> &[crate::sync::AtomicU64] {
            self.mapping.words()
        }
    }
}

#[cfg(loom)]
pub(crate) use modelled::Region;

/// Loom's atomics cannot be conjured out of zeroed memory.
#[cfg(loom)]
#[allow(clippy::indexing_slicing)]
mod modelled {
    use super::*;
    use crate::table::Seat;

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
                    anchor: Anchor::new(),
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

        pub fn homes(&self, word: u64, sum: u64) -> [&Bucket; 2] {
            let homes = self.layout.homes(word, sum);
            homes.map(|number| self.bucket(number))
        }

        pub fn number(&self, bucket: &Bucket) -> u32 {
            number(&self.buckets, bucket)
        }

        pub fn chunks(&self) -> &[Chunk] {
            &self.chunks
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn what_a_layout_of_any_size_says_can_be_read_back() {
        for memory in [0, 16384, 32 << 20, 1 << 40, 1 << 50] {
            for logs in [false, true] {
                let Layout { buckets, chunks } = Layout::of(memory, logs);
                let checked = Layout::checked(buckets as u64, chunks as u64);
                assert_eq!(checked, Some(Layout { buckets, chunks }), "{memory}");
                assert!(checked.unwrap().bytes() <= memory.max(HEADER_BYTES + BUCKET_BYTES));
            }
        }
    }

    /// No bound is checked where two homes become buckets.
    #[test]
    fn homes_are_among_the_buckets_and_lead_to_each_other() {
        let words = [
            0,
            1,
            1 << 32,
            u64::MAX / 3,
            u64::MAX / 2,
            u64::MAX - 1,
            u64::MAX,
        ];
        for buckets in [1, 2, 3, 97, 1 << 20, MAX_BUCKETS - 1, MAX_BUCKETS] {
            let layout = Layout { buckets, chunks: 0 };
            for (word, sum) in words.iter().flat_map(|&a| words.map(|b| (a, b))) {
                let [first, second] = layout.homes(word, sum);
                assert!((first as usize) < buckets && (second as usize) < buckets);
                assert_eq!(layout.other_home(second, sum), first);
            }
        }
    }

    #[test]
    fn a_layout_that_does_not_fit_its_memory_is_refused() {
        for (buckets, chunks) in [(0, 0), (97, 0), (96, 1), (usize::MAX / 128, 2)] {
            let mapping = Mapping::private(16384).unwrap();
            assert!(Region::divided(mapping, Layout { buckets, chunks }).is_err());
        }
        let layout = Layout {
            buckets: 95,
            chunks: 1,
        };
        let region = Region::divided(Mapping::private(16384).unwrap(), layout).unwrap();
        assert_eq!((region.buckets().len(), region.chunks().len()), (95, 1));
    }
}
