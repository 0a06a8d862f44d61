//! A counter and a clock that the tests move: how far readings stray, whatever happens to
//! either, and whatever stands in the anchor.

use std::cell::Cell;

use proptest::prelude::*;
use proptest::test_runner::Config;

use super::super::record::MEASURE_NS;
use super::*;

const MS: u64 = 1_000_000;

/// Less than this a reading may lie beside the clock.
const US: u64 = 1_000;

/// Something that grows with time: by so many millionths of a ns each ns.
#[derive(Clone, Copy)]
struct Line {
    since: u64,
    shown: u64,
    millionths: u64,
}

impl Line {
    fn at(self, time: u64) -> u64 {
        let gone = u128::from(time - self.since) * u128::from(self.millionths) / 1_000_000;
        self.shown.wrapping_add(gone as u64)
    }
}

/// A machine. Reading its counter takes 8 ns, its clock 24 ns and whatever comes between.
struct Machine {
    time: Cell<u64>,
    counter: Cell<Line>,
    clock: Cell<Line>,
    hold: Cell<u64>,
    looks: Cell<u64>,
}

impl Counters for Machine {
    fn ticks(&self) -> u64 {
        self.pass(8);
        self.counter.get().at(self.time.get())
    }

    fn monotonic_ns(&self) -> u64 {
        self.looks.set(self.looks.get() + 1);
        self.pass(12);
        let now = self.clock();
        self.pass(12 + self.hold.get());
        now
    }
}

impl Machine {
    fn new(mhz: u64) -> Machine {
        let line = |shown, millionths| Line {
            since: 0,
            shown,
            millionths,
        };
        Machine {
            time: Cell::new(0),
            counter: Cell::new(line(77_000_000_000_000, mhz * 1_000)),
            clock: Cell::new(line(5_000_000_000, 1_000_000)),
            hold: Cell::new(0),
            looks: Cell::new(0),
        }
    }

    fn pass(&self, ns: u64) {
        self.time.set(self.time.get() + ns);
    }

    fn clock(&self) -> u64 {
        self.clock.get().at(self.time.get())
    }

    /// Has a line go on from here by another rate, or from another place.
    fn bend(&self, line: &Cell<Line>, change: impl FnOnce(&mut Line)) {
        let since = self.time.get();
        let shown = line.get().at(since);
        let mut bent = Line {
            since,
            shown,
            ..line.get()
        };
        change(&mut bent);
        line.set(bent);
    }

    fn slew(&self, millionths: i64) {
        let rate = 1_000_000_u64.wrapping_add_signed(millionths);
        self.bend(&self.clock, |clock| clock.millionths = rate);
    }

    fn jump(&self, ticks: i64) {
        self.bend(&self.counter, |counter| {
            counter.shown = counter.shown.wrapping_add_signed(ticks);
        });
    }

    /// How far a reading lies from what the clock shows while it is made.
    fn stray(&self, anchor: &Anchor) -> u64 {
        let before = self.clock();
        let now = anchor.now_ns(self);
        let after = self.clock();
        before.saturating_sub(now).max(now.saturating_sub(after))
    }

    /// Whether a reading goes without a look at the clock.
    fn counts(&self, anchor: &Anchor) -> bool {
        let looks = self.looks.get();
        anchor.now_ns(self);
        self.looks.get() == looks
    }

    /// Asks for some time, every now and then; how far the readings stray at most.
    fn ask(&self, anchor: &Anchor, ns: u64, every: u64) -> u64 {
        let end = self.time.get() + ns;
        let mut most = 0;
        while self.time.get() < end {
            most = self.stray(anchor).max(most);
            self.pass(every);
        }
        most
    }

    fn counting(mhz: u64) -> (Machine, Anchor) {
        let (machine, anchor) = (Machine::new(mhz), Anchor::new());
        machine.counts_after(&anchor, 3 * MEASURE_NS);
        (machine, anchor)
    }

    /// Makes sure that after some time the counter is used, without having strayed.
    fn counts_after(&self, anchor: &Anchor, ns: u64) {
        assert!(self.ask(anchor, ns, 10 * US) < US);
        // The first may have come too late.
        assert!(self.counts(anchor) || self.counts(anchor));
    }
}

fn words(anchor: &Anchor) -> [u64; 3] {
    let Record {
        instant,
        ticks,
        rate,
    } = anchor.found();
    [instant, ticks, rate]
}

fn put(anchor: &Anchor, [instant, ticks, rate]: [u64; 3]) {
    anchor.instant.store(instant, Ordering::Relaxed);
    anchor.ticks.store(ticks, Ordering::Relaxed);
    anchor.rate.store(rate, Ordering::Relaxed);
}

#[test]
fn the_clock_is_read_until_two_measurements_agree() {
    let (machine, anchor) = (Machine::new(2_600), Anchor::new());
    while machine.time.get() < 2 * MEASURE_NS {
        let looks = machine.looks.get();
        assert_eq!(machine.stray(&anchor), 0);
        assert!(machine.looks.get() > looks);
        machine.pass(100 * US);
    }
    machine.counts_after(&anchor, MS);
}

#[test]
fn the_clock_is_seldom_read_after_that() {
    let (machine, anchor) = Machine::counting(2_600);
    let looks = machine.looks.replace(0);
    machine.ask(&anchor, 100 * MS, 100);
    // Two for each anchor, which lasts for 2^19 ticks, 0.2 ms.
    assert!(
        looks > 0 && machine.looks.get() < 1_100,
        "{:?}",
        machine.looks
    );
}

#[test]
fn the_slowest_counter_that_is_used_goes_at_1_ghz() {
    for mhz in [0, 1, 32, 900, 999] {
        let (machine, anchor) = (Machine::new(mhz), Anchor::new());
        assert_eq!(machine.ask(&anchor, 100 * MS, 10 * US), 0);
        assert!(!machine.counts(&anchor), "{mhz}");
    }
    Machine::counting(1_010);
}

#[test]
fn a_step_in_the_counter_that_leaves_the_span_is_seen_at_once() {
    for far in [1 << 19, 1 << 32, i64::MAX] {
        for ticks in [far, -far] {
            let (machine, anchor) = Machine::counting(2_600);
            machine.jump(ticks);
            assert_eq!(machine.stray(&anchor), 0, "{ticks}");
            machine.counts_after(&anchor, 5 * MEASURE_NS);
        }
    }
}

#[test]
fn a_smaller_step_in_the_counter_is_seen_at_the_next_anchor() {
    for ticks in [-500_000, -50_000, -5_000, 5_000, 50_000, 500_000_i64] {
        let (machine, anchor) = Machine::counting(2_600);
        machine.jump(ticks);
        let most = machine.ask(&anchor, MS, 10);
        assert!(
            most < ticks.unsigned_abs() * 10 / 26 + US,
            "{ticks}: {most}"
        );
        machine.counts_after(&anchor, 5 * MEASURE_NS);
    }
}

#[test]
fn a_machine_that_sleeps_is_no_trouble() {
    for slept in [MS, 1_000 * MS, 3_600_000 * MS] {
        for anew in [false, true] {
            let (machine, anchor) = Machine::counting(2_600);
            let clock = machine.clock();
            machine.pass(slept);
            machine.bend(&machine.clock, |line| line.shown = clock);
            if anew {
                machine.bend(&machine.counter, |line| line.shown = 0);
            }
            assert_eq!(machine.stray(&anchor), 0);
            machine.counts_after(&anchor, 5 * MEASURE_NS);
        }
    }
}

#[test]
fn a_machine_that_moves_to_a_faster_one_is_no_trouble() {
    let (machine, anchor) = Machine::counting(2_100);
    machine.bend(&machine.counter, |line| line.millionths = 3_300_000);
    // For the rest of one span the counter gains half as much again.
    assert!(machine.ask(&anchor, MS, 10) < 100 * US);
    machine.counts_after(&anchor, 5 * MEASURE_NS);
}

#[test]
fn a_service_that_nobody_asks_finds_the_time_again() {
    for idle in [MS, 1_000 * MS, 86_400_000 * MS] {
        let (machine, anchor) = Machine::counting(2_600);
        machine.slew(500);
        machine.pass(idle);
        assert_eq!(machine.stray(&anchor), 0);
        machine.counts_after(&anchor, 3 * MEASURE_NS);
    }
}

#[test]
fn who_is_held_up_makes_no_anchor() {
    let (machine, anchor) = Machine::counting(2_600);
    machine.pass(MS);
    machine.hold.set(200);
    let before = words(&anchor);
    assert_eq!(machine.ask(&anchor, MS, US), 0);
    assert_eq!(words(&anchor), before);
    machine.hold.set(0);
    machine.counts_after(&anchor, MS);
}

#[test]
fn where_the_kernel_gives_the_counter_up_so_do_we() {
    let (machine, anchor) = Machine::counting(2_600);
    machine.pass(MS);
    // No vDSO any more.
    machine.hold.set(300);
    assert_eq!(machine.ask(&anchor, 1_000 * MS, 10 * US), 0);
    assert!(!machine.counts(&anchor));
}

#[test]
fn of_two_who_make_an_anchor_at_once_one_does() {
    let (machine, anchor) = Machine::counting(2_600);
    let found = anchor.found();
    let record = |later| {
        let (ns, ticks) = (machine.clock() + later, machine.ticks());
        found.next(Pair { ns, ticks })
    };
    let (one, other) = (record(0), record(100));
    assert_eq!(anchor.replace(found, one), Some(()));
    assert_eq!(anchor.replace(found, other), None);
    assert_eq!(anchor.found(), one);
}

#[test]
fn of_all_who_find_an_anchor_expired_the_first_replaces_it() {
    let (machine, anchor) = Machine::counting(2_600);
    machine.pass(MS);
    let expired = anchor.found();
    anchor.look(&machine);
    let replaced = anchor.found();
    assert_ne!(replaced, expired);
    for _ in 0..64 {
        anchor.look(&machine);
        assert_eq!(anchor.found(), replaced);
    }
}

/// The steps of `replace` from one on, up to another.
fn steps(anchor: &Anchor, found: Record, next: Record, range: std::ops::Range<usize>) {
    let claim = next.instant & !USABLE;
    let all = [
        (&anchor.instant, found.instant, claim),
        (&anchor.ticks, found.ticks, next.ticks),
        (&anchor.rate, found.rate, next.rate),
        (&anchor.instant, claim, next.instant),
    ];
    for (word, found, next) in all.iter().take(range.end).skip(range.start) {
        if swap(word, *found, *next).is_none() {
            return;
        }
    }
}

/// A machine at each stage of its way to an anchor, and what somebody is about to write.
fn stages() -> impl Iterator<Item = (Machine, Anchor, Record, Record)> {
    [0, MEASURE_NS / 2, MEASURE_NS * 3 / 2, 3 * MEASURE_NS]
        .into_iter()
        .flat_map(|age| [0, 1_000_000].map(|jump| (age, jump)))
        .map(|(age, jump)| {
            let (machine, anchor) = (Machine::new(2_600), Anchor::new());
            machine.ask(&anchor, age, 10 * US);
            machine.pass(MEASURE_NS);
            machine.jump(jump);
            let found = anchor.found();
            let (ns, ticks) = (machine.clock(), machine.ticks());
            let next = found.next(Pair { ns, ticks });
            (machine, anchor, found, next)
        })
}

#[test]
fn who_is_killed_half_way_leaves_no_wrong_time() {
    for killed in 0..=4 {
        for (machine, anchor, found, next) in stages() {
            steps(&anchor, found, next, 0..killed);
            machine.counts_after(&anchor, 6 * MEASURE_NS);
        }
    }
}

#[test]
fn who_comes_back_after_a_long_stop_changes_nothing() {
    for stopped in 1..=3 {
        for (machine, anchor, found, next) in stages() {
            steps(&anchor, found, next, 0..stopped);
            machine.counts_after(&anchor, 6 * MEASURE_NS);
            let before = words(&anchor);
            steps(&anchor, found, next, stopped..4);
            assert_eq!(words(&anchor), before);
        }
    }
}

#[test]
fn who_comes_back_to_the_rate_that_it_knew_changes_nothing() {
    let (machine, anchor) = Machine::counting(2_000);
    machine.pass(MS);
    let found = anchor.found();
    let (ns, ticks) = (machine.clock(), machine.ticks());
    // The counter seems to have jumped: the rate is not believed any more.
    let next = found.next(Pair {
        ns,
        ticks: ticks + 1_000_000,
    });
    steps(&anchor, found, next, 0..2);
    machine.counts_after(&anchor, 6 * MEASURE_NS);
    let before = anchor.found();
    steps(&anchor, found, next, 2..4);
    assert_eq!(anchor.found(), before);
}

fn word() -> impl Strategy<Value = u64> {
    prop_oneof![
        any::<u64>(),
        any::<u32>().prop_map(u64::from),
        Just(0),
        Just(u64::MAX)
    ]
}

proptest! {
    #![proptest_config(Config::with_cases(500))]

    #[test]
    fn readings_stray_by_less_than_a_microsecond(
        mhz in 1_010..6_000_u64,
        legs in prop::collection::vec((-500..=500_i64, 1..50_u64, 1..400_000_u64), 1..20),
    ) {
        let (machine, anchor) = Machine::counting(mhz);
        for (slew, ms, every) in legs {
            machine.slew(slew);
            prop_assert!(machine.ask(&anchor, ms * MS, every) < US);
        }
    }

    #[test]
    fn no_reading_is_behind_another_by_a_microsecond(
        mhz in 1_010..6_000_u64,
        slew in -500..=500_i64,
        pauses in prop::collection::vec(1..100_000_u64, 1..1_000),
    ) {
        let (machine, anchor) = Machine::counting(mhz);
        machine.slew(slew);
        let mut latest = 0;
        for pause in pauses {
            let now = anchor.now_ns(&machine);
            prop_assert!(now + US > latest);
            latest = now.max(latest);
            machine.pass(pause);
        }
    }

    #[test]
    fn any_words_are_right_again_within_a_millisecond(
        garbage in [word(), word(), word()],
        kept in [any::<bool>(), any::<bool>(), any::<bool>()],
        near in -1_000_000..1_000_000_i64,
    ) {
        let (machine, anchor) = Machine::counting(2_600);
        let good = words(&anchor);
        put(&anchor, std::array::from_fn(|i| if kept[i] {
            good[i].wrapping_add_signed(near)
        } else {
            garbage[i]
        }));
        machine.ask(&anchor, MS, 10 * US);
        machine.counts_after(&anchor, 6 * MEASURE_NS);
    }
}
