//! Words that a forked child finds zero, so that what a process remembers of itself
//! is forgotten by its children, without a handler that runs at a fork.
//!
//! They lie in a page that the system zeroes in a child (MADV_WIPEONFORK). There is one
//! for the whole process. Where there can be none, nothing is ever remembered.

#![allow(unsafe_code)]

use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering};

use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap_anonymous, munmap};

/// What a process remembers of itself; 0 is not known yet.
#[repr(C)]
#[derive(Debug)]
pub(crate) struct Wiped {
    /// Who it is for others: see `peers`.
    pub identity: AtomicU64,
    /// A number that none of its ancestors had.
    pub generation: AtomicU64,
}

/// Stands in where there is no such page, and stays zero.
static FORGETFUL: Wiped = Wiped {
    identity: AtomicU64::new(0),
    generation: AtomicU64::new(0),
};

static PAGE: AtomicPtr<Wiped> = AtomicPtr::new(null_mut());

const PAGE_BYTES: usize = 4096;

impl Wiped {
    /// The words of this process. The first call makes them; no other waits for it,
    /// since a child may be forked meanwhile.
    pub fn get() -> &'static Wiped {
        // Acquire: whoever sees the address sees the advice taken.
        let page = PAGE.load(Ordering::Acquire);
        // SAFETY: NULL, or a page that is never unmapped, long enough and aligned, of
        // which every pattern of bits is a valid record of atomics.
        match unsafe { page.as_ref() } {
            Some(wiped) => wiped,
            None => Wiped::make(),
        }
    }

    /// Keeps what was found out in one of the words, unless somebody was faster or a
    /// child would find it too. Says what holds.
    pub fn keep(&'static self, word: &AtomicU64, value: u64) -> u64 {
        if !self.remembers() {
            return value;
        }
        match word.compare_exchange(0, value, Ordering::Relaxed, Ordering::Relaxed) {
            Ok(_) => value,
            Err(faster) => faster,
        }
    }

    /// Whether anything can be kept here.
    pub fn remembers(&self) -> bool {
        !std::ptr::eq(self, &FORGETFUL)
    }

    #[cold]
    fn make() -> &'static Wiped {
        let Some(page) = wiped_page() else {
            return &FORGETFUL;
        };
        match PAGE.compare_exchange(null_mut(), page, Ordering::AcqRel, Ordering::Acquire) {
            // SAFETY: as in `get`.
            Ok(_) => unsafe { &*page },
            Err(faster) => {
                // SAFETY: it was just mapped, and nobody else has been given it.
                let _ = unsafe { munmap(page.cast(), PAGE_BYTES) };
                // SAFETY: as in `get`; it is no longer NULL.
                unsafe { &*faster }
            }
        }
    }
}

fn wiped_page() -> Option<*mut Wiped> {
    let (protection, flags) = (ProtFlags::READ | ProtFlags::WRITE, MapFlags::PRIVATE);
    // SAFETY: an anonymous mapping at an address of the system's choice touches no
    // memory that anybody else uses.
    let page = unsafe { mmap_anonymous(null_mut(), PAGE_BYTES, protection, flags) }.ok()?;
    // SAFETY: the page was just mapped and nobody uses it; the advice changes what a
    // child finds there, nothing else.
    match unsafe { madvise(page, PAGE_BYTES, Advice::LinuxWipeOnFork) } {
        Ok(()) => Some(page.cast()),
        Err(_) => {
            // SAFETY: as above.
            let _ = unsafe { munmap(page, PAGE_BYTES) };
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_one_page_for_all() {
        let first = Wiped::get();
        assert!(std::ptr::eq(first, Wiped::get()));
        assert!(first.remembers());
    }

    #[test]
    fn without_a_page_nothing_is_kept() {
        assert_eq!(FORGETFUL.keep(&FORGETFUL.generation, 7), 7);
        assert_eq!(FORGETFUL.generation.load(Ordering::Relaxed), 0);
    }

    #[test]
    fn a_forked_child_finds_its_own() {
        use crate::table::{Peers, generation};

        let peers = Peers::private();
        let (id, number) = (peers.own_id(), generation());
        // SAFETY: the child reads /proc into its stack, touches the page and ends; what
        // other threads of the tests held at the fork it does not need.
        let child = unsafe { libc::fork() };
        if child == 0 {
            let forgotten = Wiped::get().identity.load(Ordering::Relaxed) == 0;
            let (own, other) = (peers.own_id(), generation());
            let is_anew = own != id && own != 0 && other != number && other != 0;
            let lasts = own == peers.own_id() && other == generation();
            // SAFETY: it ends the child, here and now.
            unsafe { libc::_exit(i32::from(!(forgotten && is_anew && lasts))) };
        }
        let mut status = 1;
        // SAFETY: it waits for the child and writes how that ended.
        assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
        assert_eq!(status, 0);
        assert_eq!((peers.own_id(), generation()), (id, number));
    }
}
