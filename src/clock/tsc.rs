//! The time stamp counter, and whether it may be gone by: only where the kernel itself
//! takes the time from it. The kernel has looked then whether the counter stops or
//! differs between cores, and watches it; it knows far more of the machine than we do.

use rustix::time::ClockId;

use crate::machine::cpu;

/// What a reading is made of.
pub(crate) trait Counters {
    /// The ticks of the processor's counter.
    fn ticks(&self) -> u64;

    /// `CLOCK_MONOTONIC`, in nanoseconds.
    fn monotonic_ns(&self) -> u64;
}

/// The counters of this machine.
pub(super) struct Machine;

impl Counters for Machine {
    #[inline(always)]
    fn ticks(&self) -> u64 {
        cpu::ticks()
    }

    fn monotonic_ns(&self) -> u64 {
        super::read(ClockId::Monotonic)
    }
}

/// Where the kernel says what it takes the time from.
const SOURCE: &str = "/sys/devices/system/clocksource/clocksource0/current_clocksource";

/// Whether the kernel takes the time from the counter now. Where it does not say, it
/// does not.
pub(super) fn is_trusted() -> bool {
    cfg!(target_arch = "x86_64") && std::fs::read(SOURCE).is_ok_and(|source| is_tsc(&source))
}

fn is_tsc(source: &[u8]) -> bool {
    source.trim_ascii() == b"tsc"
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn only_the_counter_itself_is_trusted() {
        assert!(is_tsc(b"tsc\n"));
        for other in [
            "kvm-clock\n",
            "hpet\n",
            "tsc-early\n",
            "tsc kvm-clock\n",
            "",
        ] {
            assert!(!is_tsc(other.as_bytes()), "{other}");
        }
    }
}
