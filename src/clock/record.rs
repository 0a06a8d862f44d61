//! What an anchor holds, and what comes of one: pure arithmetic on readings that were
//! made before, which sees no counter, no clock and no memory that others write.
//!
//! An anchor is an instant of `CLOCK_MONOTONIC`, the ticks of that instant, and the rate
//! at which one goes with the other. Its rate is believed when two measurements in a row
//! agree, and for as long as each reading of the clock is where the anchor before it
//! foretold. So whatever becomes of the counter (it jumps, it begins anew, the machine
//! sleeps or moves to another host), the next look at the clock shows it.
//!
//! Invariant: of any words, as another process may write them, comes a record, and no
//! overflow.

/// For how many ticks an anchor is used: 0.5 ms where the counter goes at 1 GHz, which is
/// the slowest that is used, 0.17 ms at 3 GHz. The kernel slews the clock by 500 parts in
/// a million at most, so in that time two slews that differ most come to 0.52 µs.
pub(super) const SPAN_TICKS: u64 = 1 << 19;

/// How many ticks a reading of the clock may take to be a place for an anchor, so that
/// its middle is off by no more than 0.26 µs. Who loses the processor in between, or asks
/// a kernel that has no quick answer, takes longer.
const MOST_TICKS: u64 = 512;

/// How long a rate is measured, at least: errors of the two readings come to 51 parts in
/// a million. Also how long a claim counts whose owner does not come to an end.
pub(super) const MEASURE_NS: u64 = 10_000_000;

/// How old an anchor is, at least, before another takes its place: of all who find one
/// expired at the same time, the first makes the next, and the others leave it alone.
const LEAST_NS: u64 = 20_000;

/// How far from the clock a foretold reading may lie, beside one part in 2048 of the time
/// since: with the error of the reading that it is held against, less than 1 µs.
const OFF_NS: u64 = 400;

/// The bit of an instant that says that the anchor may be used. It is taken from the
/// instant, which is then 1 ns off.
pub(super) const USABLE: u64 = 1;

/// A reading of the clock, and of the counter at the same time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Pair {
    pub ns: u64,
    pub ticks: u64,
}

/// The words of an anchor. All zero is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Record {
    /// When it was made, in ns of `CLOCK_MONOTONIC`, and the bit [`USABLE`].
    pub instant: u64,
    /// What the counter showed then.
    pub ticks: u64,
    /// The ns of a tick in units of 2^-32, or 0: the lower half. The upper one is that of
    /// the instant, so that no two records have the same word.
    pub rate: u64,
}

impl Pair {
    /// A reading of the clock that lay between two of the counter; `None` where it cannot
    /// be told well enough when.
    pub fn between(before: u64, ns: u64, after: u64) -> Option<Pair> {
        let width = after.wrapping_sub(before);
        let ticks = before.wrapping_add(width / 2);
        (width <= MOST_TICKS).then_some(Pair { ns, ticks })
    }
}

impl Record {
    pub fn new(Pair { ns, ticks }: Pair, rate: u32, usable: bool) -> Record {
        let instant = ns & !USABLE;
        Record {
            instant: instant | u64::from(usable),
            ticks,
            rate: instant << 32 | u64::from(rate),
        }
    }

    /// Whether it is time for another, if the clock shows `now`. One that lies ahead, as
    /// no clock can have put it, counts as long past.
    pub fn is_due(self, now: u64) -> bool {
        let least = if self.is_usable() {
            LEAST_NS
        } else {
            MEASURE_NS
        };
        self.instant.abs_diff(now) >= least
    }

    /// What follows, at a reading that was made later.
    pub fn next(self, pair: Pair) -> Record {
        if !self.is_usable() {
            let rate = self.measured(pair);
            return Record::new(pair, rate, agree(rate, self.rate()));
        }
        match self.foretold(pair) {
            true => Record::new(pair, self.rate(), true),
            false => Record::new(pair, 0, false),
        }
    }

    fn is_usable(self) -> bool {
        self.instant & USABLE != 0
    }

    fn rate(self) -> u32 {
        self.rate as u32
    }

    /// The rate from this record to a reading; 0 where it cannot be, or the counter is
    /// slower than 1 GHz.
    fn measured(self, pair: Pair) -> u32 {
        let (ns, ticks) = self.until(pair).unwrap_or((0, 0));
        let rate = (u128::from(ns) << 32).checked_div(u128::from(ticks));
        rate.and_then(|rate| u32::try_from(rate).ok()).unwrap_or(0)
    }

    /// Whether the clock is where the counter says.
    fn foretold(self, pair: Pair) -> bool {
        self.until(pair).is_some_and(|(ns, ticks)| {
            let foretold = (u128::from(ticks) * u128::from(self.rate())) >> 32;
            foretold.abs_diff(u128::from(ns)) <= u128::from(OFF_NS + ns / 2048)
        })
    }

    /// What has gone by since, in ns and in ticks, if neither has gone back.
    fn until(self, pair: Pair) -> Option<(u64, u64)> {
        let ns = pair.ns.checked_sub(self.instant)?;
        Some((ns, pair.ticks.checked_sub(self.ticks)?))
    }
}

/// Whether two measurements are the same but for the errors of their readings.
fn agree(one: u32, other: u32) -> bool {
    one != 0 && one.abs_diff(other) <= one >> 13
}
