//! Where the time comes from. Nothing else in the library asks for the time,
//! so a test that hands in a manual clock controls all of it.
//!
//! A reading is whole nanoseconds. Readings above [`MAX_NS`] count as `MAX_NS`,
//! which leaves room to add any two windows without overflow.
//!
//! A service reads `CLOCK_MONOTONIC` by the processor's counter (`tsc`) where it can,
//! from an `anchor` that stands beside its counters and is kept as `record` says.

mod anchor;
mod record;
mod tsc;

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::{self, Thread};
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

use crate::error::{Error, ErrorKind};
use crate::fork::PerProcess;

pub(crate) use anchor::Anchor;

/// The last instant a clock can show: 2^63-1 ns, 292 years.
pub const MAX_NS: u64 = i64::MAX as u64;

/// A clock of the operating system.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SystemClock {
    /// `CLOCK_MONOTONIC`: never steps; stands still while the machine sleeps. A service
    /// reads it by the processor's time stamp counter, to less than 1 µs, where the
    /// kernel takes the time from that.
    #[default]
    Monotonic,
    /// `CLOCK_MONOTONIC`, always as the kernel gives it.
    MonotonicVdso,
    /// `CLOCK_MONOTONIC_COARSE`: the same to some milliseconds, and cheaper.
    MonotonicCoarse,
    /// `CLOCK_REALTIME`: the time of day; steps when somebody sets it.
    Realtime,
}

impl SystemClock {
    fn id(self) -> ClockId {
        match self {
            SystemClock::Monotonic | SystemClock::MonotonicVdso => ClockId::Monotonic,
            SystemClock::MonotonicCoarse => ClockId::MonotonicCoarse,
            SystemClock::Realtime => ClockId::Realtime,
        }
    }
}

/// A source of time. Clones are the same clock.
#[derive(Clone)]
pub struct Clock(Source);

#[derive(Clone)]
enum Source {
    System(SystemClock, ClockId),
    /// `CLOCK_MONOTONIC`, by the counter where there is an anchor.
    Counter,
    Manual(Arc<Manual>),
    Callback(Arc<dyn Fn() -> u64 + Send + Sync>),
}

/// What times of a clock can be compared with: those of the same kind, and no others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Monotonic,
    MonotonicCoarse,
    Realtime,
    Manual,
    Callback,
}

/// A time that somebody sets, and who waits for it to change.
#[derive(Default)]
struct Manual {
    now: AtomicU64,
    sleepers: PerProcess<Vec<Thread>>,
}

impl Clock {
    /// A clock of the operating system.
    pub fn system(clock: SystemClock) -> Clock {
        Clock(Source::System(clock, clock.id()))
    }

    /// A clock that stands at `now_ns` until it is set.
    pub fn manual(now_ns: u64) -> Clock {
        let manual = Manual::default();
        manual.now.store(now_ns, Ordering::Release);
        Clock(Source::Manual(Arc::new(manual)))
    }

    /// A clock that asks `now` each time, from any thread.
    pub fn callback(now: impl Fn() -> u64 + Send + Sync + 'static) -> Clock {
        Clock(Source::Callback(Arc::new(now)))
    }

    /// The same clock, read by the counter where the kernel does so. Asks the kernel.
    pub(crate) fn counting(self) -> Clock {
        match self.0 {
            Source::System(SystemClock::Monotonic, _) if tsc::is_trusted() => {
                Clock(Source::Counter)
            }
            _ => self,
        }
    }

    /// The time now, in nanoseconds, at most [`MAX_NS`], by an anchor if the clock goes
    /// by one.
    #[inline(always)]
    pub(crate) fn now_by(&self, anchor: &Anchor) -> u64 {
        match &self.0 {
            Source::Counter => anchor.now_ns(&tsc::Machine).min(MAX_NS),
            Source::System(_, id) => read(*id),
            _ => self.now_ns(),
        }
    }

    /// The time now, in nanoseconds, at most [`MAX_NS`].
    #[inline]
    pub fn now_ns(&self) -> u64 {
        let now = match &self.0 {
            Source::System(_, id) => read(*id),
            Source::Counter => read(ClockId::Monotonic),
            // Acquire: whoever sees the new time also sees what was done before it was set.
            Source::Manual(manual) => manual.now.load(Ordering::Acquire),
            Source::Callback(now) => now(),
        };
        now.min(MAX_NS)
    }

    /// Sets a manual clock, forwards or backwards, and wakes who sleeps by it.
    pub fn set_ns(&self, now_ns: u64) -> Result<(), Error> {
        let manual = self.as_manual()?;
        manual.now.store(now_ns, Ordering::Release);
        manual.wake();
        Ok(())
    }

    /// Moves a manual clock forwards; it stops at the end of its range. Wakes who
    /// sleeps by it.
    pub fn advance_ns(&self, by_ns: u64) -> Result<(), Error> {
        let manual = self.as_manual()?;
        let mut seen = manual.now.load(Ordering::Relaxed);
        while let Err(moved) = manual.now.compare_exchange_weak(
            seen,
            seen.saturating_add(by_ns),
            Ordering::Release,
            Ordering::Relaxed,
        ) {
            seen = moved;
        }
        manual.wake();
        Ok(())
    }

    /// Which kind of clock it is: however it is read, `CLOCK_MONOTONIC` is one.
    pub(crate) fn kind(&self) -> Kind {
        use SystemClock::{Monotonic, MonotonicCoarse, MonotonicVdso, Realtime};
        match &self.0 {
            Source::Counter | Source::System(Monotonic | MonotonicVdso, _) => Kind::Monotonic,
            Source::System(MonotonicCoarse, _) => Kind::MonotonicCoarse,
            Source::System(Realtime, _) => Kind::Realtime,
            Source::Manual(_) => Kind::Manual,
            Source::Callback(_) => Kind::Callback,
        }
    }

    /// Whether one can sleep by this clock: not where only a callback knows the time.
    pub(crate) fn can_sleep(&self) -> bool {
        !matches!(self.0, Source::Callback(_))
    }

    /// Sleeps until the clock shows `until_ns`, or the thread is unparked, or for no
    /// reason: the caller looks what has come.
    pub(crate) fn sleep_until(&self, until_ns: u64) {
        let wait = Duration::from_nanos(until_ns.saturating_sub(self.now_ns()));
        match &self.0 {
            Source::System(SystemClock::Realtime, _) => {
                // It may be set meanwhile.
                thread::park_timeout(wait.min(Duration::from_secs(1)));
            }
            Source::System(..) | Source::Counter => thread::park_timeout(wait),
            Source::Manual(manual) => manual.sleep_until(until_ns),
            Source::Callback(_) => {}
        }
    }

    fn as_manual(&self) -> Result<&Manual, Error> {
        match &self.0 {
            Source::Manual(manual) => Ok(manual),
            _ => Err(Error::new(
                ErrorKind::Unsupported,
                "only a manual clock can be set",
            )),
        }
    }
}

impl Kind {
    /// All kinds. In shared memory, each is known by its place here.
    pub const ALL: [Kind; 5] = [
        Kind::Monotonic,
        Kind::MonotonicCoarse,
        Kind::Realtime,
        Kind::Manual,
        Kind::Callback,
    ];

    /// Whether its times depend on the time namespace.
    pub fn is_monotonic(self) -> bool {
        matches!(self, Kind::Monotonic | Kind::MonotonicCoarse)
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Kind::Monotonic => "clock = monotonic",
            Kind::MonotonicCoarse => "clock = monotonic-coarse",
            Kind::Realtime => "clock = realtime",
            Kind::Manual => "a manual clock",
            Kind::Callback => "a clock function",
        })
    }
}

impl Manual {
    fn wake(&self) {
        if let Some(sleepers) = self.sleepers.get_if_begun() {
            let sleepers = std::mem::take(&mut *sleepers.lock());
            sleepers.iter().for_each(Thread::unpark);
        }
    }

    fn sleep_until(&self, until_ns: u64) {
        let hold = self.sleepers.get();
        let mut sleepers = hold.lock();
        // Under the lock, so that a change after this look wakes us.
        if self.now.load(Ordering::Acquire) >= until_ns {
            return;
        }
        let own = thread::current().id();
        sleepers.push(thread::current());
        drop(sleepers);
        thread::park();
        hold.lock().retain(|sleeper| sleeper.id() != own);
    }
}

impl fmt::Debug for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Source::System(clock, _) => clock.fmt(f),
            Source::Counter => SystemClock::Monotonic.fmt(f),
            Source::Manual(manual) => write!(f, "Manual({})", manual.now.load(Ordering::Relaxed)),
            Source::Callback(_) => f.write_str("Callback"),
        }
    }
}

/// Reads a clock of the system, up to [`MAX_NS`]; a time before 1970 counts as 0.
#[inline(never)]
fn read(clock: ClockId) -> u64 {
    let time = clock_gettime(clock);
    ns_of(time.tv_sec, time.tv_nsec)
}

/// One comparison, where the time is one that clocks show.
#[inline(always)]
fn ns_of(seconds: i64, ns: i64) -> u64 {
    if (seconds as u64) < MAX_NS / 1_000_000_000 {
        seconds as u64 * 1_000_000_000 + ns as u64
    } else if seconds < 0 {
        0
    } else {
        MAX_NS
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_that_is_no_reading_is_the_nearest_that_is() {
        assert_eq!(ns_of(0, 0), 0);
        assert_eq!(ns_of(1, 999_999_999), 1_999_999_999);
        for before_1970 in [-1, i64::MIN] {
            assert_eq!(ns_of(before_1970, 999_999_999), 0);
        }
        let last = (MAX_NS / 1_000_000_000) as i64;
        assert_eq!(
            ns_of(last - 1, 999_999_999),
            last as u64 * 1_000_000_000 - 1
        );
        for too_late in [last, last + 1, i64::MAX] {
            assert_eq!(ns_of(too_late, 999_999_999), MAX_NS);
        }
    }
}
