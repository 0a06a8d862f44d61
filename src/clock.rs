//! Where the time comes from. Nothing else in the library asks for the time,
//! so a test that hands in a manual clock controls all of it.
//!
//! A reading is whole nanoseconds. Readings above [`MAX_NS`] count as `MAX_NS`,
//! which leaves room to add any two windows without overflow.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::time::{ClockId, clock_gettime};

use crate::error::{Error, ErrorKind};

/// The last instant a clock can show: 2^63-1 ns, 292 years.
pub const MAX_NS: u64 = i64::MAX as u64;

/// A clock of the operating system.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SystemClock {
    /// `CLOCK_MONOTONIC`: never steps; stands still while the machine sleeps.
    #[default]
    Monotonic,
    /// `CLOCK_MONOTONIC_COARSE`: the same to some milliseconds, and cheaper.
    MonotonicCoarse,
    /// `CLOCK_REALTIME`: the time of day; steps when somebody sets it.
    Realtime,
}

/// A source of time. Clones are the same clock.
#[derive(Clone)]
pub struct Clock(Source);

#[derive(Clone)]
enum Source {
    System(SystemClock),
    Manual(Arc<AtomicU64>),
    Callback(Arc<dyn Fn() -> u64 + Send + Sync>),
}

impl Clock {
    /// A clock of the operating system.
    pub fn system(clock: SystemClock) -> Clock {
        Clock(Source::System(clock))
    }

    /// A clock that stands at `now_ns` until it is set.
    pub fn manual(now_ns: u64) -> Clock {
        Clock(Source::Manual(Arc::new(AtomicU64::new(now_ns))))
    }

    /// A clock that asks `now` each time, from any thread.
    pub fn callback(now: impl Fn() -> u64 + Send + Sync + 'static) -> Clock {
        Clock(Source::Callback(Arc::new(now)))
    }

    /// The time now, in nanoseconds, at most [`MAX_NS`].
    #[inline]
    pub fn now_ns(&self) -> u64 {
        let now = match &self.0 {
            Source::System(SystemClock::Monotonic) => read(ClockId::Monotonic),
            Source::System(SystemClock::MonotonicCoarse) => read(ClockId::MonotonicCoarse),
            Source::System(SystemClock::Realtime) => read(ClockId::Realtime),
            // Acquire: whoever sees the new time also sees what was done before it was set.
            Source::Manual(now) => now.load(Ordering::Acquire),
            Source::Callback(now) => now(),
        };
        now.min(MAX_NS)
    }

    /// Sets a manual clock, forwards or backwards.
    pub fn set_ns(&self, now_ns: u64) -> Result<(), Error> {
        self.manual_time()?.store(now_ns, Ordering::Release);
        Ok(())
    }

    /// Moves a manual clock forwards; it stops at the end of its range.
    pub fn advance_ns(&self, by_ns: u64) -> Result<(), Error> {
        let now = self.manual_time()?;
        let mut seen = now.load(Ordering::Relaxed);
        while let Err(moved) = now.compare_exchange_weak(
            seen,
            seen.saturating_add(by_ns),
            Ordering::Release,
            Ordering::Relaxed,
        ) {
            seen = moved;
        }
        Ok(())
    }

    fn manual_time(&self) -> Result<&AtomicU64, Error> {
        match &self.0 {
            Source::Manual(now) => Ok(now),
            _ => Err(Error::new(
                ErrorKind::Unsupported,
                "only a manual clock can be set",
            )),
        }
    }
}

impl fmt::Debug for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Source::System(clock) => clock.fmt(f),
            Source::Manual(now) => write!(f, "Manual({})", now.load(Ordering::Relaxed)),
            Source::Callback(_) => f.write_str("Callback"),
        }
    }
}

/// Reads a clock of the system; a time before 1970 counts as 0.
#[inline]
fn read(clock: ClockId) -> u64 {
    let time = clock_gettime(clock);
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    let nanos = u64::try_from(time.tv_nsec).unwrap_or(0);
    seconds.saturating_mul(1_000_000_000).saturating_add(nanos)
}
