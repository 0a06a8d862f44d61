//! Memory for a region: mapped for this process alone, mapped for all that open the
//! same object, or given by the caller.
//!
//! Invariant: a mapping begins at a multiple of 8, holds a header at least, and stays
//! readable and writable until it is dropped.

#![allow(unsafe_code)]

use std::ffi::{c_int, c_void};
use std::os::fd::BorrowedFd;
use std::ptr::{NonNull, null_mut, without_provenance_mut};

use rustix::io::Errno;
use rustix::mm::{MapFlags, ProtFlags, mmap, mmap_anonymous, munmap};

use super::{HEADER_BYTES, Header, Memory};
use crate::error::{Error, ErrorKind};
use crate::sync::AtomicU64;

/// What the system can give as one page instead of 512, where it begins at a multiple of
/// that. A processor remembers where some thousand pages are, and has to look up others.
pub(crate) const HUGE_PAGE: usize = 2 << 20;

/// Above this size, huge pages are asked for in private memory. Each new key may take one
/// whole, so a few keys would fill what nobody has asked for: this much is the default.
const LARGE: usize = 32 << 20;

/// Memory that a region can stand in.
#[derive(Debug)]
pub(crate) struct Mapping {
    base: NonNull<u8>,
    size: usize,
    /// Whether it goes with this.
    ours: bool,
}

// SAFETY: the memory stays until the mapping is dropped, and is only ever given out as
// shared references to atomics.
unsafe impl Send for Mapping {}
// SAFETY: as above.
unsafe impl Sync for Mapping {}

impl Mapping {
    /// New, zeroed memory of this process alone, which the system provides as it is
    /// touched.
    pub fn private(size: usize) -> Result<Mapping, Error> {
        let (protection, flags) = (ProtFlags::READ | ProtFlags::WRITE, MapFlags::PRIVATE);
        // SAFETY: an anonymous mapping at an address of the system's choice touches no
        // memory that anybody else uses.
        let base = unsafe { mmap_anonymous(null_mut(), size, protection, flags) };
        let mapping = Mapping::mapped(base, size)?;
        if size > LARGE {
            mapping.advise(libc::MADV_HUGEPAGE);
        }
        Ok(mapping)
    }

    /// The first bytes of an object that any number of processes may map, where huge
    /// pages of it can be mapped as such.
    pub fn shared(object: BorrowedFd<'_>, size: usize) -> Result<Mapping, Error> {
        let (protection, flags) = (ProtFlags::READ | ProtFlags::WRITE, MapFlags::SHARED);
        let wish = free_place(size);
        // SAFETY: as in `private`; the wish is granted only where nothing is mapped. What
        // others write there meets atomics only.
        let base = unsafe { mmap(wish, size, protection, flags, object, 0) };
        Mapping::mapped(base, size)
    }

    /// Has the system make a huge page of each that lies in shared memory as a whole and
    /// has some memory already, where it can (Linux 6.1). What is in there stays.
    pub fn make_huge(&self) {
        self.advise(libc::MADV_COLLAPSE);
    }

    /// Advice that is not taken leaves all as it was.
    fn advise(&self, advice: c_int) {
        // SAFETY: the memory is mapped. What is advised here changes the size of its
        // pages, and nothing that they hold.
        let _ = unsafe { libc::madvise(self.base.as_ptr().cast(), self.size, advice) };
    }

    /// The caller's memory, if it holds a header.
    pub fn given(memory: Memory) -> Result<Mapping, Error> {
        let (base, size, ours) = (memory.address(), memory.size(), false);
        Mapping { base, size, ours }.long_enough()
    }

    fn mapped(base: Result<*mut c_void, Errno>, size: usize) -> Result<Mapping, Error> {
        let fault = |reason: Errno| {
            let message = format!("cannot have {size} bytes of memory: {reason}");
            Error::new(ErrorKind::Memory, message)
        };
        let base = NonNull::new(base.map_err(fault)?.cast());
        let base = base.ok_or_else(|| fault(Errno::FAULT))?;
        let ours = true;
        Mapping { base, size, ours }.long_enough()
    }

    fn long_enough(self) -> Result<Mapping, Error> {
        if self.size < HEADER_BYTES {
            let message = format!("{} bytes of memory hold no header", self.size);
            return Err(Error::new(ErrorKind::Memory, message));
        }
        Ok(self)
    }

    /// How many bytes it has.
    pub fn size(&self) -> usize {
        self.size
    }

    /// What is there once.
    #[inline]
    pub fn header(&self) -> &Header {
        // SAFETY: the memory holds a header and begins at a multiple of 8, more than
        // which no atomic asks; every pattern of bits is a valid atomic.
        unsafe { self.base.cast::<Header>().as_ref() }
    }

    /// The header's bytes as words, whatever they mean.
    pub fn head(&self) -> &[AtomicU64] {
        // SAFETY: the memory holds a header.
        unsafe { self.slice(0, HEADER_BYTES / 8) }
    }

    /// All of it, to be scrambled.
    #[cfg(test)]
    pub fn words(&self) -> &[AtomicU64] {
        // SAFETY: these are all its bytes.
        unsafe { self.slice(0, self.size / 8) }
    }

    /// `count` records from `offset` on.
    ///
    /// # Safety
    /// They lie in the memory, and `offset` is a multiple of 8.
    #[inline]
    pub(super) unsafe fn slice<T: Atomics>(&self, offset: usize, count: usize) -> &[T] {
        debug_assert!(offset % 8 == 0 && offset + count * size_of::<T>() <= self.size);
        // SAFETY: the caller's word on the range. The records ask for a multiple of 8
        // and no more, which the base and the offset are, and any bits are valid ones.
        unsafe { std::slice::from_raw_parts(self.base.add(offset).cast().as_ptr(), count) }
    }
}

impl Drop for Mapping {
    /// Memory of the caller's may be gone by now, and nothing here may look at it.
    fn drop(&mut self) {
        if self.ours {
            // SAFETY: it was mapped with this size, and no reference into it outlives
            // the mapping.
            let _ = unsafe { munmap(self.base.as_ptr().cast(), self.size) };
        }
    }
}

/// A multiple of [`HUGE_PAGE`] from which on so many bytes were free just now, or NULL for
/// anywhere. Who maps there may find it taken, and then gets another place.
fn free_place(size: usize) -> *mut c_void {
    let room = size.saturating_add(HUGE_PAGE);
    // SAFETY: as in `private`.
    let found = unsafe { mmap_anonymous(null_mut(), room, ProtFlags::empty(), MapFlags::PRIVATE) };
    let Ok(found) = found else {
        return null_mut();
    };
    // SAFETY: it was just mapped with this size, and nobody has been given it.
    let _ = unsafe { munmap(found, room) };
    without_provenance_mut(found.addr().next_multiple_of(HUGE_PAGE))
}

/// Records made of [`AtomicU64`] and nothing else, so any bits are one, and a multiple
/// of 8 is a good address.
///
/// # Safety
/// It is so.
pub(super) unsafe trait Atomics {}

// SAFETY: it is itself one.
unsafe impl Atomics for AtomicU64 {}
