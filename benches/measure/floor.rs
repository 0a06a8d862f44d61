//! The floor: no limiter, but what none can do without. The bytes of both names are
//! hashed together, in one go; the time stamp counter is the clock; and one cache line is
//! touched, of as many as librl has memory. Nothing is looked up, compared or answered.

use std::hint::black_box;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use siphasher::sip::SipHasher13;

use super::library::MEMORY;
use super::limiters::{CLOSED, Limiter, ORDERS};
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

    #[inline]
    fn find(&self, user: &Name, api: &[u8; 10]) -> &AtomicU64 {
        let hash = self.hasher.hash(&together(user, api));
        // The upper bits of a product, in place of a division.
        let place = u128::from(hash) * self.lines.len() as u128;
        let Line(words) = &self.lines[(place >> 64) as usize];
        &words[0]
    }
}

impl Limiter for Floor {
    /// Changes the line, as a counter that is charged.
    #[inline]
    fn open(&self, user: &Name) -> bool {
        change(self.find(user, ORDERS), ticks())
    }

    /// Only reads it: no word there is a time to come.
    #[inline]
    fn closed(&self, user: &Name) -> bool {
        self.find(user, CLOSED).load(Relaxed) > ticks()
    }

    fn three(&self, user: &Name) -> bool {
        self.open(user)
    }

    /// Brings all lines near, and then touches them.
    #[inline]
    fn batch<const N: usize>(&self, users: &[Name; N]) -> usize {
        let words = users.each_ref().map(|user| self.find(user, ORDERS));
        words.into_iter().for_each(prefetch);
        let now = ticks();
        words.into_iter().filter(|word| change(word, now)).count()
    }
}

/// The bytes of both names. They are put together in registers: a copy of one beside the
/// other would be read again before it is written, at some ns.
#[inline]
pub fn together(user: &Name, api: &[u8; 10]) -> [u8; 22] {
    let word = |bytes: &[u8]| {
        let mut word = [0; 8];
        word[..bytes.len()].copy_from_slice(bytes);
        u64::from_le_bytes(word)
    };
    let api = black_box(api);
    let (begin, end) = (word(&api[..8]), word(&api[8..]));
    let words = [
        word(&user[..8]),
        word(&user[8..]) | begin << 32,
        begin >> 32 | end << 32,
    ];
    let mut both = [0; 22];
    both[..8].copy_from_slice(&words[0].to_le_bytes());
    both[8..16].copy_from_slice(&words[1].to_le_bytes());
    both[16..].copy_from_slice(&words[2].to_le_bytes()[..6]);
    both
}

#[inline]
fn change(word: &AtomicU64, now: u64) -> bool {
    word.store((word.load(Relaxed) ^ now) >> 1, Relaxed);
    true
}

#[cfg(target_arch = "x86_64")]
pub fn ticks() -> u64 {
    unsafe { std::arch::x86_64::_rdtsc() }
}

#[cfg(target_arch = "x86_64")]
fn prefetch(word: &AtomicU64) {
    use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
    unsafe { _mm_prefetch::<_MM_HINT_T0>((&raw const *word).cast()) };
}
