//! Two processes with one counter, of which one has a clock that is behind.
//!
//! Neither knows the other's clock, only the counter. So what the late one takes first
//! counts as taken when its clock says: the counter's words are then the same as if a
//! single process had taken it earlier by the difference, and no algorithm that gives
//! that process all that it may have can give the early one less. What can be held,
//! and is held here: all that is given is what the rule gives if every request came at
//! the later of its own reading and the readings that the counter shows; the late one
//! gets nothing that the early one would not get at that instant; and what it does
//! never gives the early one more, or sooner.
//!
//! The models are the definitions, in whole numbers; they know no words of a counter.

use proptest::prelude::*;
use proptest::test_runner::TestCaseResult;

use super::{Algorithm, Ask, Clocks, Counter, Decide, Edit, Run, Runs, State, Verdict};
use crate::rule::{Limit, Sharing};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Call {
    Check,
    Charge,
    Refund,
}

/// A call: how long after the one before, what, for how much, and how far behind the
/// clock is that it is made by, in eighths of the most.
type Step = (u64, Call, u64, u64);

impl Runs for &[Run] {
    fn total(&self) -> u64 {
        self.iter().map(|run| u64::from(run.count)).sum()
    }

    fn runs(&self) -> impl Iterator<Item = Run> {
        self.iter().copied()
    }
}

/// A counter and its log, as the table would keep them.
#[derive(Clone)]
struct Kept {
    counter: Counter,
    state: State,
    log: Vec<Run>,
}

impl Kept {
    fn new(limit: &Limit) -> Kept {
        Kept {
            counter: Counter::new(limit, Clocks::Several),
            state: State::default(),
            log: Vec::new(),
        }
    }

    fn call(&mut self, call: Call, now: u64, cost: u64) -> Verdict {
        let (state, mut edit) = (self.state, None);
        let (ask, log) = (Ask { state, now, cost }, || self.log.as_slice());
        let verdict = match call {
            Call::Check => self.counter.decide(ask, log, &mut edit),
            Call::Charge => self.counter.charge(ask, log, &mut edit),
            Call::Refund => Verdict {
                next: self.counter.refund(ask, log, &mut edit).0,
                changes: true,
                ..Verdict::default()
            },
        };
        if verdict.changes {
            self.state = verdict.next;
            edit.into_iter().for_each(|edit| self.edit(edit));
        }
        verdict
    }

    fn edit(&mut self, edit: Edit) {
        match edit {
            Edit::Restart(run) => self.log = vec![run],
            Edit::Slide { runs, count, add } => {
                let gone: u64 = self.log.drain(..runs).map(|run| u64::from(run.count)).sum();
                assert_eq!(gone, count);
                match self.log.last_mut() {
                    Some(last) if last.tick == add.tick => last.count += add.count,
                    _ if add.count > 0 => self.log.push(add),
                    _ => {}
                }
            }
            Edit::Truncate { runs, last, total } => {
                self.log.truncate(runs);
                self.log
                    .last_mut()
                    .into_iter()
                    .for_each(|run| run.count = last);
                assert_eq!(self.log.as_slice().total(), total);
            }
            Edit::Clear => self.log.clear(),
        }
    }

    /// What somebody sees at `now`: whether a cost of 1 passes, what is left then, and
    /// how long until one passes.
    fn seen(&self, now: u64) -> Verdict {
        self.clone().call(Call::Check, now, 1)
    }
}

/// What an algorithm is by its definition.
enum Model {
    /// When the bucket is full, in units of 1/limit ns.
    Bucket { full_at: i128 },
    /// What was counted in each window, and the last of them; whether the one before
    /// weighs too.
    Windows {
        counts: Vec<(u64, u64)>,
        last: u64,
        sliding: bool,
    },
    /// Until when something counts, and for how much.
    Log(Vec<(u64, u64)>),
}

impl Model {
    fn new(algorithm: Algorithm) -> Model {
        match algorithm {
            Algorithm::TokenBucket => Model::Bucket { full_at: 0 },
            Algorithm::SlidingWindow => Model::Log(Vec::new()),
            _ => Model::Windows {
                counts: Vec::new(),
                last: 0,
                sliding: algorithm == Algorithm::SlidingWindowCounter,
            },
        }
    }

    /// Whether the cost fits.
    fn call(&mut self, limit: &Limit, call: Call, now: u64, cost: u64) -> bool {
        let (most, window) = (limit.limit, limit.window_ns);
        match self {
            Model::Bucket { full_at } => {
                let [of_window, price] = [most, cost].map(|n| i128::from(n) * i128::from(window));
                let at = i128::from(now) * i128::from(most);
                let depth = i128::from(limit.capacity()) * i128::from(window);
                let before = at.max(*full_at);
                let fits = before + price <= at + depth;
                *full_at = match call {
                    Call::Check if fits => before + price,
                    Call::Check => *full_at,
                    Call::Charge => (before + price).min(at + depth + of_window).max(before),
                    Call::Refund => at.max(before - price),
                };
                fits
            }
            Model::Windows {
                counts,
                last,
                sliding,
            } => {
                let own = (now / window).max(*last);
                let count = |window| {
                    let of_window = counts.iter().find(|count| count.0 == window);
                    of_window.map_or(0, |count| count.1)
                };
                let (this, before) = (count(own), own.checked_sub(1).map_or(0, count));
                let before = if *sliding { before } else { 0 };
                let ahead = window - (now.max(own * window) - own * window);
                let used = (before * ahead).div_ceil(window) + this;
                let fits = used + cost <= most;
                let (this, before) = match call {
                    Call::Check if !fits => return false,
                    Call::Refund if used == 0 => return fits,
                    Call::Refund => (
                        this.saturating_sub(cost),
                        before.saturating_sub(cost.saturating_sub(this)),
                    ),
                    _ => (this + cost, before),
                };
                *last = own;
                counts.retain(|count| count.0 + 1 < own || !*sliding && count.0 < own);
                counts.push((own, this));
                counts.extend(own.checked_sub(1).map(|window| (window, before)));
                fits
            }
            Model::Log(entries) => {
                let tick = if window < 1_000_000_000 {
                    1_000
                } else {
                    1_000_000
                };
                let live = |entry: &&(u64, u64)| entry.0 > now;
                let count: u64 = entries.iter().filter(live).map(|entry| entry.1).sum();
                let fits = count + cost <= most;
                match call {
                    Call::Check if !fits => {}
                    Call::Check | Call::Charge => {
                        entries.retain(|entry| entry.0 > now);
                        let newest = entries.last().map_or(0, |entry| entry.0);
                        let until = now.next_multiple_of(tick) + window;
                        entries.push((until.max(newest), cost));
                    }
                    Call::Refund if count <= cost => entries.clear(),
                    Call::Refund => {
                        let mut to_go = cost;
                        while to_go > 0 {
                            let Some(newest) = entries.last_mut() else {
                                break;
                            };
                            let goes = to_go.min(newest.1);
                            (newest.1, to_go) = (newest.1 - goes, to_go - goes);
                            entries.retain(|entry| entry.1 > 0);
                        }
                    }
                }
                fits
            }
        }
    }
}

fn limit() -> impl Strategy<Value = Limit> {
    let algorithm = prop::sample::select(Algorithm::ALL.to_vec());
    let window_ms = prop::sample::select(vec![1, 7, 100, 999, 1_000, 1_500, 10_000]);
    (algorithm, 1..=12u64, window_ms, 1..=20u64).prop_map(|(algorithm, limit, window_ms, burst)| {
        let has_burst = algorithm == Algorithm::TokenBucket && burst <= 12;
        Limit {
            algorithm,
            limit,
            window_ns: window_ms * 1_000_000,
            burst: has_burst.then_some(burst),
            name: None,
            per: Sharing::Pair,
            shadow: false,
        }
    })
}

/// Calls for a limit, with times in eighths of its window or its tolerance, and some ns.
fn steps(limit: &Limit, calls: &[Call], most: usize) -> impl Strategy<Value = Vec<Step>> + use<> {
    let (window, skew) = (limit.window_ns, Clocks::Several.skew_ns(limit.window_ns));
    let go = prop_oneof![
        4 => Just(0),
        2 => (0..=8u64).prop_map(move |eighths| skew / 8 * eighths),
        3 => (0..=20u64, 0..=2u64).prop_map(move |(eighths, ns)| window / 8 * eighths + ns),
        1 => 0..=2u64,
    ];
    let cost = prop_oneof![4 => 1..=3u64, 2 => 1..=limit.limit, 1 => 1..=2 * limit.limit];
    let behind = prop_oneof![2 => Just(0), 2 => Just(8), 1 => 0..=8u64];
    prop::collection::vec(
        (go, prop::sample::select(calls.to_vec()), cost, behind),
        1..most,
    )
}

fn past(calls: &'static [Call], most: usize) -> impl Strategy<Value = (Limit, u64, Vec<Step>)> {
    limit().prop_flat_map(move |limit| {
        let window = limit.window_ns;
        let start = (2..=5u64, 0..=8u64).prop_map(move |(n, eighths)| {
            // About the border of a window, which is where clocks matter most.
            (n + 1_000) * window - window / 8 * eighths
        });
        let steps = steps(&limit, calls, most);
        (Just(limit), start, steps)
    })
}

/// Makes the calls; each is told with the counter before it, the early clock and its own.
fn play(
    (limit, start, steps): &(Limit, u64, Vec<Step>),
    mut told: impl FnMut(&mut Kept, [u64; 2], &Step) -> TestCaseResult,
) -> TestCaseResult {
    let skew = Clocks::Several.skew_ns(limit.window_ns);
    let (mut kept, mut early) = (Kept::new(limit), *start);
    steps.iter().try_for_each(|step| {
        early += step.0;
        // Rounded so that eight eighths are all of it.
        let late = early - skew * step.3 / 8;
        told(&mut kept, [early, late], step)
    })
}

const ALL: &[Call] = &[Call::Check, Call::Charge, Call::Refund];

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::with_cases(20_000)
    })]

    /// Fewer calls than there are runs in a log that a refusal would trim.
    #[test]
    fn what_is_given_is_what_the_rule_gives_at_the_later_reading(past in past(ALL, 16)) {
        let limit = &past.0;
        let mut model = Model::new(limit.algorithm);
        play(&past, |kept, [_, now], &(_, call, cost, _)| {
            let verdict = kept.call(call, now, cost);
            let fits = model.call(limit, call, now, cost);
            prop_assert!(!verdict.stepped_back);
            prop_assert!(call == Call::Refund || verdict.allowed == fits, "{:?}", verdict);
            Ok(())
        })?;
    }

    #[test]
    fn the_late_one_earns_nothing_and_moves_nothing_back(past in past(ALL, 60)) {
        play(&past, |kept, [early, late], &(_, call, cost, _)| {
            let before = kept.clone();
            let verdict = kept.call(call, late, cost);
            let mut other = before.clone();
            let by_early = other.call(call, early, cost);
            prop_assert!(!verdict.allowed || by_early.allowed);
            if call != Call::Refund {
                other = before.clone();
                prop_assert!(kept.state.idle_at >= before.state.idle_at);
            }
            let (seen, at_best) = (kept.seen(early), other.seen(early));
            prop_assert!(!seen.stepped_back);
            prop_assert!(seen.remaining <= at_best.remaining && seen.allowed <= at_best.allowed);
            prop_assert!(seen.retry_ns >= at_best.retry_ns, "{:?} {:?}", seen, at_best);
            Ok(())
        })?;
    }

    /// By the early clock, and with no thought of the late one: a window of it, without
    /// its first so many ns as the clocks differ, holds no more than the limit; a bucket
    /// gives no more than in a span that is longer by as much.
    #[test]
    fn the_early_clock_sees_no_more_than_the_limit(past in past(&[Call::Check], 60)) {
        let (limit, window) = (&past.0, past.0.window_ns);
        let skew = Clocks::Several.skew_ns(window);
        let mut given: Vec<[u64; 3]> = Vec::new();
        play(&past, |kept, [early, now], &(_, call, cost, _)| {
            if !kept.call(call, now, cost).allowed {
                return Ok(());
            }
            given.push([early, now, cost]);
            for (index, &[since, was, _]) in given.iter().enumerate() {
                let sum: u64 = given.iter().skip(index).map(|given| given[2]).sum();
                let counts = match limit.algorithm {
                    Algorithm::TokenBucket => {
                        let gained = i128::from(limit.limit) * (i128::from(now) - i128::from(was));
                        let all = i128::from(limit.capacity()) * i128::from(window) + gained;
                        prop_assert!(i128::from(sum) * i128::from(window) <= all);
                        false
                    }
                    Algorithm::SlidingWindow => early - since < window - skew,
                    _ => early / window == since / window && since % window >= skew,
                };
                prop_assert!(!counts || sum <= limit.limit, "{:?}", given);
            }
            Ok(())
        })?;
    }
}

/// What cannot be otherwise: the late one takes what a bucket holds, and the early one
/// finds as much as it would if that had been so much earlier. It was, for all it knows.
#[test]
fn what_the_late_one_takes_first_counts_by_its_clock() {
    const S: u64 = 1_000_000_000;
    let limit = Limit {
        algorithm: Algorithm::TokenBucket,
        limit: 100,
        window_ns: S,
        burst: None,
        name: None,
        per: Sharing::Pair,
        shadow: false,
    };
    let (early, late) = (10 * S, 10 * S - S / 10);
    let mut kept = Kept::new(&limit);
    assert!(kept.call(Call::Check, late, 100).allowed);
    assert!(!kept.seen(late).allowed);
    assert_eq!(kept.seen(early).remaining, 9);
    // Nothing of it comes back to the late one.
    assert!(kept.call(Call::Check, early, 10).allowed);
    let then = kept.seen(late);
    assert_eq!((then.allowed, then.retry_ns), (false, S / 10 + S / 100));
}
