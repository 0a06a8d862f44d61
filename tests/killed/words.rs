//! The bytes of a zone, as words: read, compared and put back.

use std::ffi::CString;
use std::io::Error;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicU64, Ordering};

/// Bytes before the first bucket, and in a bucket or chunk.
const HEADER: usize = 4096;
const LINES: usize = 128;
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

/// How many of the first `buckets` buckets are held.
pub fn held(words: &[u64], buckets: usize) -> u64 {
    let versions = words[HEADER / WORD..].iter().step_by(LINES / WORD);
    versions
        .take(buckets)
        .filter(|&version| version & 1 == 1)
        .count() as u64
}

/// Which buckets, and behind them chunks, are other ones in two copies.
pub fn changed_lines(one: &[u64], other: &[u64]) -> Vec<usize> {
    let lines = |words| -> std::slice::Chunks<'_, u64> { <[u64]>::chunks(words, LINES / WORD) };
    let both = lines(&one[HEADER / WORD..]).zip(lines(&other[HEADER / WORD..]));
    let changed = both.enumerate().filter(|(_, (one, other))| one != other);
    changed.map(|(line, _)| line).collect()
}
