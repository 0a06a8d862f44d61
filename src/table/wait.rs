//! How to wait for a writer, or after somebody else was faster: nearly always it is
//! a matter of some nanoseconds, but a writer may have lost the processor, so first
//! spin, then yield, then nap.

use std::time::{Duration, Instant};

use crate::sync::yield_now;

/// Who holds a word for so long, and cannot be asked whether it lives, is taken for lost.
const LOST_AFTER: Duration = Duration::from_secs(10);

const SPINS: u32 = 6;
const YIELDS: u32 = 16;

/// How many of the yields go by before it is asked whether who is waited for lives. Where
/// many want the processor, each may take some 10 ms.
const YIELDS_BEFORE_ASKING: u32 = 2;

/// Waits a little longer at each pause.
pub(crate) struct Backoff {
    pauses: u32,
}

impl Backoff {
    pub fn new() -> Backoff {
        Backoff { pauses: 0 }
    }

    /// Waits a little: 1 to 32 spins, then a turn of the scheduler, then naps that
    /// double from 16 us to 1 ms.
    #[cold]
    pub fn pause(&mut self) {
        let pauses = self.pauses;
        self.pauses = pauses.saturating_add(1);
        if cfg!(loom) || (SPINS..SPINS + YIELDS).contains(&pauses) {
            yield_now();
        } else if pauses < SPINS {
            (0..1 << pauses).for_each(|_| std::hint::spin_loop());
        } else {
            let doublings = (pauses - SPINS - YIELDS).min(6);
            std::thread::sleep(Duration::from_micros(16 << doublings));
        }
    }

    /// Whether it has waited for so long that who is waited for may be dead. To ask costs
    /// less than a turn of the scheduler.
    pub fn is_time_to_ask(&self) -> bool {
        !cfg!(loom) && self.pauses > SPINS + YIELDS_BEFORE_ASKING
    }

    /// Whether who is waited for, though it lives, is not worth more waiting.
    pub fn is_long(&self) -> bool {
        !cfg!(loom) && self.pauses > SPINS + YIELDS
    }
}

/// How long a word stays the same.
#[derive(Default)]
pub(crate) struct Watch {
    word: u64,
    since: Option<Instant>,
}

/// What is watched by who waits for somebody that may be lost: what that one holds, and
/// whose turn it is to take it over.
#[derive(Default)]
pub(crate) struct Vigil {
    pub held: Watch,
    pub turn: Watch,
}

impl Watch {
    /// Whether the word has been this one for [`LOST_AFTER`].
    pub fn is_stuck(&mut self, word: u64) -> bool {
        match self.since {
            Some(since) if self.word == word => since.elapsed() >= LOST_AFTER,
            _ => {
                (self.word, self.since) = (word, Some(Instant::now()));
                false
            }
        }
    }
}
