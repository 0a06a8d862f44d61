//! The bytes of a zone, as words: read, compared and put back.

use std::ffi::CString;
use std::io::Error;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicU64, Ordering};

/// Bytes before the first bucket, and in a bucket.
const HEADER: usize = 4096;
const BUCKET: usize = 128;
const WORD: usize = 8;

/// A zone that is mapped here, until the process ends.
pub struct Words(&'static [AtomicU64]);

impl Words {
    pub fn of_zone(name: &str, bytes: usize) -> Result<Words, String> {
        let c_name = CString::new(name).unwrap();
        // SAFETY: a string that ends; what is mapped is as long as is said, of words that
        // any bytes are values of, and never unmapped.
        let words = unsafe {
            let file = libc::shm_open(c_name.as_ptr(), libc::O_RDWR, 0);
            let rights = libc::PROT_READ | libc::PROT_WRITE;
            let place = libc::mmap(null_mut(), bytes, rights, libc::MAP_SHARED, file, 0);
            if place == libc::MAP_FAILED {
                return Err(format!("mapping {name}: {}", Error::last_os_error()));
            }
            libc::close(file);
            std::slice::from_raw_parts(place.cast(), bytes / WORD)
        };
        Ok(Words(words))
    }

    pub fn copy(&self) -> Vec<u64> {
        self.0
            .iter()
            .map(|word| word.load(Ordering::Relaxed))
            .collect()
    }

    pub fn restore(&self, words: &[u64]) {
        for (word, value) in self.0.iter().zip(words) {
            word.store(*value, Ordering::SeqCst);
        }
    }

    /// Takes over what is new here; says whether anything was.
    pub fn update(&self, words: &mut [u64]) -> bool {
        let mut changed = false;
        for (word, known) in self.0.iter().zip(words) {
            let value = word.load(Ordering::Relaxed);
            changed |= value != *known;
            *known = value;
        }
        changed
    }
}

/// The lock words of the first `buckets` buckets.
pub fn versions(words: &[u64], buckets: usize) -> impl Iterator<Item = u64> {
    let versions = words[HEADER / WORD..].iter().step_by(BUCKET / WORD);
    versions.take(buckets).copied()
}

/// How many of these buckets are held.
pub fn held(words: &[u64], buckets: usize) -> u64 {
    versions(words, buckets)
        .filter(|version| version & 1 == 1)
        .count() as u64
}
