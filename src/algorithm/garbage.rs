//! A counter may hold any bits, since another process may have written them. The
//! answer is then of no use, but it is an answer: no panic, no overflow (tests are
//! built with checks for both), and nobody is locked out for longer than by an
//! honest counter.

use proptest::prelude::*;

use super::{
    Algorithm, Ask, Clocks, Counter, Decide, Edit, NEVER, Run, Runs, State, Verdict, Visitor,
};
use crate::clock::MAX_NS;
use crate::rule::{Limit, MAX_LIMIT, MAX_WINDOW_NS, Sharing};

/// A log whose total has nothing to do with its runs.
#[derive(Clone, Debug)]
struct Junk {
    total: u64,
    runs: Vec<(u32, u32)>,
}

impl Runs for Junk {
    fn total(&self) -> u64 {
        self.total
    }

    fn runs(&self) -> impl Iterator<Item = Run> {
        let run = |&(tick, count): &(u32, u32)| Run { tick, count };
        self.runs.iter().map(run)
    }
}

/// A question to whatever algorithm.
struct Question {
    call: Call,
    ask: Ask,
    log: Junk,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Call {
    Decide,
    Charge,
    Refund,
}

impl Visitor for Question {
    type Output = (Verdict, Option<Edit>);

    fn visit(self, algorithm: &impl Decide) -> (Verdict, Option<Edit>) {
        let Question { call, ask, .. } = self;
        let (log, mut edit) = (|| self.log.clone(), None);
        let verdict = match call {
            Call::Decide => algorithm.decide(ask, log, &mut edit),
            Call::Charge => algorithm.charge(ask, log, &mut edit),
            Call::Refund => {
                let (next, remaining) = algorithm.refund(ask, log, &mut edit);
                Verdict {
                    next,
                    remaining,
                    ..Verdict::default()
                }
            }
        };
        (verdict, edit)
    }
}

/// Any word, of any magnitude alike.
fn word() -> impl Strategy<Value = u64> {
    (any::<u64>(), 0..64u32).prop_map(|(word, shift)| word >> shift)
}

fn clocks() -> impl Strategy<Value = Clocks> {
    prop_oneof![Just(Clocks::One), Just(Clocks::Several)]
}

fn cost() -> impl Strategy<Value = u64> {
    prop_oneof![3 => word(), 1 => word().prop_map(|word| !word)].prop_map(|cost| cost.max(1))
}

fn junk() -> impl Strategy<Value = Junk> {
    let run = (word(), word()).prop_map(|(tick, count)| (tick as u32, count as u32));
    (word(), prop::collection::vec(run, 0..40)).prop_map(|(total, runs)| Junk { total, runs })
}

fn limit() -> impl Strategy<Value = Limit> {
    let algorithm = prop::sample::select(Algorithm::ALL.to_vec());
    (algorithm, word(), word(), word()).prop_map(|(algorithm, limit, window, burst)| {
        let limit = limit % algorithm.max_limit() + 1;
        let window_ns = window % MAX_WINDOW_NS + 1;
        let most = u128::from(MAX_WINDOW_NS) * u128::from(limit) / u128::from(window_ns);
        let most = u64::try_from(most).unwrap_or(MAX_LIMIT).min(MAX_LIMIT);
        let has_burst = algorithm == Algorithm::TokenBucket && burst & 1 == 1;
        Limit {
            algorithm,
            limit,
            window_ns,
            burst: has_burst.then_some(burst % most + 1),
            name: None,
            per: Sharing::Pair,
            shadow: false,
        }
    })
}

/// A state anywhere, or near what an honest one would be.
fn state(now: u64, window: u64) -> impl Strategy<Value = State> {
    let near = move |(ahead, sign): (u64, bool)| {
        let ahead = ahead % (3 * window);
        if sign {
            now + ahead
        } else {
            now.saturating_sub(ahead)
        }
    };
    let idle_at = prop_oneof![
        word(),
        word().prop_map(|word| !word),
        (word(), any::<bool>()).prop_map(near),
    ];
    (idle_at, word()).prop_map(|(idle_at, data)| State { idle_at, data })
}

fn case() -> impl Strategy<Value = (Limit, u64, State)> {
    let now = prop_oneof![word(), word().prop_map(|word| !word)].prop_map(|now| now.min(MAX_NS));
    (limit(), now).prop_flat_map(|(limit, now)| {
        let state = state(now, limit.window_ns);
        (Just(limit), Just(now), state)
    })
}

/// The longest that an honest counter makes a cost wait. A bucket that is overdrawn
/// is marked so, and owes as much as a window brings.
fn longest_wait(limit: &Limit, clocks: Clocks, state: State) -> u64 {
    let window = limit.window_ns;
    let skew = clocks.skew_ns(window);
    let tick = window.div_ceil(1 << 31).max(1_000_000) + 1_000_000;
    match limit.algorithm {
        Algorithm::TokenBucket => {
            let fill = u128::from(limit.capacity()) * u128::from(window);
            let owes = (state.data >> 63) * window;
            (fill / u128::from(limit.limit)) as u64 + owes + 2 + skew
        }
        Algorithm::FixedWindow => window + skew,
        Algorithm::SlidingWindow => window + 2 * tick + skew,
        Algorithm::SlidingWindowCounter => 2 * window + skew,
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::with_cases(20_000)
    })]

    #[test]
    fn any_bits_in_a_counter_get_an_answer(
        (limit, now, state) in case(), clocks in clocks(), log in junk(), cost in cost(),
    ) {
        let counter = Counter::new(&limit, clocks);
        let log_of = || log.clone();
        let ask = |call, state, cost| counter.visit(Question { call, ask: Ask { state, now, cost }, log: log_of() });
        let (verdict, edit) = ask(Call::Decide, state, cost);

        prop_assert!(verdict.remaining <= limit.capacity());
        prop_assert_eq!(verdict.allowed, verdict.retry_ns == 0, "{:?}", verdict);
        if cost <= limit.capacity() {
            prop_assert!(verdict.retry_ns <= longest_wait(&limit, clocks, state), "{:?}", verdict);
        } else {
            prop_assert_eq!(verdict.retry_ns, NEVER);
        }
        prop_assert!(verdict.changes || !(verdict.allowed || verdict.stepped_back));
        if let Some(Edit::Slide { runs, .. }) = edit {
            prop_assert!(runs <= log.runs.len());
        }
        if verdict.changes {
            // What is stored is a counter like any other.
            let (again, _) = ask(Call::Decide, verdict.next, 1);
            prop_assert!(!again.stepped_back, "{:?} again", again);
        }
    }

    #[test]
    fn any_bits_in_a_counter_can_be_charged_and_refunded(
        (limit, now, state) in case(), clocks in clocks(), log in junk(), cost in cost(),
    ) {
        let counter = Counter::new(&limit, clocks);
        let log_of = || log.clone();
        let ask = |call, state, cost| counter.visit(Question { call, ask: Ask { state, now, cost }, log: log_of() });
        let (decided, _) = ask(Call::Decide, state, cost);
        let (charged, edit) = ask(Call::Charge, state, cost);
        prop_assert!(charged.changes && edit.is_some() == limit.algorithm.keeps_log());
        prop_assert_eq!(charged.allowed, decided.allowed);
        let passes = charged.allowed && charged.remaining > 0;
        prop_assert_eq!(passes, charged.retry_ns == 0, "{:?}", charged);
        prop_assert!(charged.remaining <= limit.capacity());
        let longest = longest_wait(&limit, clocks, charged.next);
        prop_assert!(charged.retry_ns <= longest, "{:?}", charged);
        let (again, _) = ask(Call::Decide, charged.next, 1);
        prop_assert!(!again.stepped_back, "{:?} again", again);

        for before in [state, charged.next] {
            let (refunded, edit) = ask(Call::Refund, before, cost);
            prop_assert!(refunded.remaining <= limit.capacity());
            if let Some(Edit::Truncate { runs, .. }) = edit {
                prop_assert!(runs <= log.runs.len());
            }
            let (again, _) = ask(Call::Decide, refunded.next, 1);
            prop_assert!(!again.stepped_back, "{:?} again", again);
        }
    }
}
