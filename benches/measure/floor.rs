//! The floor: no limiter, but what none can do without. Both names, of any length, are
//! hashed in one go each; the time stamp counter is the clock; and one cache line is
//! touched, of as many as librl has memory. Nothing is looked up, compared or answered.

use std::hint::black_box;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use siphasher::sip::SipHasher13;

use super::library::MEMORY;
use super::limiters::{CLOSED, Limiter, ORDERS, SINGLE};
use super::names::Name;

#[repr(align(64))]
struct Line([AtomicU64; 8]);

pub struct Floor {
    lines: Vec<Line>,
    hasher: SipHasher13,
}

impl Floor {
    pub fn new() -> Floor {
        let line = |_| Line([const { AtomicU64::new(0) }; 8]);
        Floor {
            lines: (0..MEMORY / size_of::<Line>()).map(line).collect(),
            hasher: SipHasher13::new_with_keys(1, 2),
        }
    }

    #[inline(always)]
    fn find(&self, user: &[u8], api: &[u8]) -> &AtomicU64 {
        let hash = self.hasher.hash(user) ^ self.hasher.hash(api);
        // The upper bits of a product, in place of a division.
        let place = u128::from(hash) * self.lines.len() as u128;
        let Line(words) = &self.lines[(place >> 64) as usize];
        &words[0]
    }
}

// Functions that are called, and know no more of the names than a library's do.

/// Changes the line, as a counter that is charged.
#[inline(never)]
fn open(floor: &Floor, user: &[u8], api: &[u8]) -> bool {
    change(floor.find(user, api), ticks())
}

/// Only reads it: no word there is a time to come.
#[inline(never)]
fn closed(floor: &Floor, user: &[u8], api: &[u8]) -> bool {
    floor.find(user, api).load(Relaxed) > ticks()
}

/// Has all lines brought near, and then touches them.
#[inline(never)]
fn batch<const N: usize>(floor: &Floor, users: [&[u8]; N], api: &[u8]) -> usize {
    let words = users.map(|user| floor.find(user, api));
    words.into_iter().for_each(prefetch);
    let now = ticks();
    words.into_iter().filter(|word| change(word, now)).count()
}

impl Limiter for Floor {
    fn open(&self, user: &Name) -> bool {
        open(self, black_box(&user[..]), black_box(&ORDERS[..]))
    }

    fn single(&self, user: &Name) -> bool {
        open(self, black_box(&user[..]), black_box(&SINGLE[..]))
    }

    fn closed(&self, user: &Name) -> bool {
        closed(self, black_box(&user[..]), black_box(&CLOSED[..]))
    }

    fn three(&self, user: &Name) -> bool {
        self.open(user)
    }

    fn batch<const N: usize>(&self, users: &[Name; N]) -> usize {
        let users = users.each_ref().map(|user| black_box(&user[..]));
        batch(self, users, black_box(&ORDERS[..]))
    }
}

#[inline(always)]
fn change(word: &AtomicU64, now: u64) -> bool {
    word.store((word.load(Relaxed) ^ now) >> 1, Relaxed);
    true
}

#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub fn ticks() -> u64 {
    unsafe { std::arch::x86_64::_rdtsc() }
}

#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn prefetch(word: &AtomicU64) {
    use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
    unsafe { _mm_prefetch::<_MM_HINT_T0>((&raw const *word).cast()) };
}
