//! Instructions of the processor. Where it has none of the kind, they do nothing, or say
//! that there is none.

#[cfg(target_arch = "x86_64")]
use std::arch::x86_64;

/// Has the cache lines of a value brought near, if they are not: whoever reads it soon
/// need not wait for them. Unlike a load it holds nothing up, so any number may be on
/// their way at once.
#[inline(always)]
pub(crate) fn prefetch<T>(value: &T) {
    #[cfg(target_arch = "x86_64")]
    for offset in (0..size_of::<T>()).step_by(64) {
        let line = (&raw const *value).cast::<i8>().wrapping_add(offset);
        // SAFETY: a hint: it reads nothing that the program sees, and faults nowhere.
        unsafe { x86_64::_mm_prefetch::<{ x86_64::_MM_HINT_T0 }>(line) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = value;
}

/// The time stamp counter: cycles of a clock that never stops and is the same on all
/// cores, where the kernel trusts it. The processor may read it a little before what
/// stands above it in the program is done.
#[inline(always)]
#[cfg(target_arch = "x86_64")]
pub(crate) fn ticks() -> u64 {
    // SAFETY: every x86-64 processor has it. Where the kernel forbids it (prctl
    // PR_SET_TSC), it does so to the clock that it hands out by the vDSO as well.
    unsafe { x86_64::_rdtsc() }
}

/// No counter.
#[cfg(not(target_arch = "x86_64"))]
pub(crate) fn ticks() -> u64 {
    0
}
