//! Memory of the caller's: a place and a size, and the promise that comes with them.

#![allow(unsafe_code)]

use std::ptr::NonNull;

use crate::error::{Error, ErrorKind};

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
    /// All of them are zero, or they hold a zone already, made by any process that the
    /// memory is mapped in. A service takes 16,384 bytes at least.
    ///
    /// Fails with [`ErrorKind::Argument`] where the address is not a multiple of 8.
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
