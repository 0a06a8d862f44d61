//! Several limits in one decision, of one request or of several: as each limit
//! would decide alone, and all or none of them charged.

use proptest::prelude::*;
use proptest::test_runner::TestCaseResult;
use rl::service::{Decision, Request};

use crate::config;
use crate::joint::{Ask, Joint, Limit, Rules, any_rule, limit};
use crate::rules::Rule;
use crate::steps::{self, Cost, Go};

/// What happens next: requests in one decision, or a pair is forgotten.
#[derive(Clone, Debug)]
struct Step {
    go: Go,
    /// By which limit time and cost are measured.
    by: usize,
    asks: Vec<(&'static str, &'static str, Cost)>,
    resets: bool,
}

fn user() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec!["alice", "bob"])
}

fn api() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec!["x", "y"])
}

fn steps(most_asks: usize) -> impl Strategy<Value = Vec<Step>> {
    let asks = prop::collection::vec((user(), api(), steps::cost()), 1..=most_asks);
    let step = (steps::go(), any::<usize>(), asks, prop::bool::weighted(0.1));
    let step = step.prop_map(|(go, by, asks, resets)| Step {
        go,
        by,
        asks,
        resets,
    });
    prop::collection::vec(step, 1..24)
}

/// One rule for all.
fn one_rule() -> impl Strategy<Value = Rules> {
    prop::collection::vec(limit(any_rule()), 1..=8).prop_map(|limits| Rules {
        matches_all: false,
        rules: vec![((None, None), limits)],
    })
}

/// A rule of each kind, all of which count.
fn rules_of_each_kind() -> impl Strategy<Value = Rules> {
    let limits = || prop::collection::vec(limit(any_rule()), 1..=2);
    let kinds = (limits(), limits(), limits(), limits());
    kinds.prop_map(|(pair, user, api, default)| Rules {
        matches_all: true,
        rules: vec![
            ((Some("alice"), Some("x")), pair),
            ((Some("alice"), None), user),
            ((None, Some("x")), api),
            ((None, None), default),
        ],
    })
}

/// Time, and who asks for what, as the limits and the last answer suggest it.
struct Course<'a> {
    limits: Vec<&'a Rule>,
    now: u64,
    last: Decision,
}

impl Course<'_> {
    fn new(rules: &Rules, start: u64) -> Course<'_> {
        let limits = rules.rules.iter().flat_map(|(_, limits)| limits);
        Course {
            limits: limits.map(|limit| &limit.rule).collect(),
            now: start,
            last: Decision::default(),
        }
    }

    fn go(&mut self, step: &Step) -> Vec<Ask> {
        let rule = self.limits[step.by % self.limits.len()];
        self.now = step.go.from(self.now, rule, self.last.retry_after_ms);
        let left = self.last.remaining;
        let ask = |&(user, api, ref cost): &(&'static str, &'static str, Cost)| Ask {
            user,
            api,
            cost: cost.of(rule, left),
        };
        step.asks.iter().map(ask).collect()
    }
}

fn agree(rules: &Rules, start: u64, steps: &[Step]) -> TestCaseResult {
    let mut joint = Joint::new(rules);
    let mut course = Course::new(rules, start);
    for step in steps {
        let asks = course.go(step);
        if step.resets {
            joint.reset(&asks[0]);
        }
        course.last = joint.ask(course.now, &asks)?[0];
    }
    Ok(())
}

/// The same calls on two services, with looks on one of them in between.
fn looks_change_nothing(rules: &Rules, start: u64, steps: &[Step]) -> TestCaseResult {
    let (one, other) = (Joint::new(rules), Joint::new(rules));
    let mut course = Course::new(rules, start);
    for step in steps {
        let asks = course.go(step);
        for desk in [&one, &other] {
            desk.clock.set_ns(course.now).unwrap();
        }
        for ask in &asks {
            for cost in [1, ask.cost, ask.cost / 2 + 1] {
                let request = Request {
                    cost,
                    ..ask.request()
                };
                let looks = [one.service.peek(request), one.service.peek(request)];
                let [first, second] = looks.map(Result::unwrap);
                prop_assert_eq!(first, second);
            }
        }
        let request = asks[0].request();
        let decisions = [&one, &other].map(|desk| {
            if step.resets {
                desk.service.charge(request).unwrap();
                desk.service.refund(Request { cost: 1, ..request }).unwrap();
            }
            let mut out = vec![Decision::default(); asks.len()];
            let requests = asks.iter().map(Ask::request);
            desk.service.check_all(requests, &mut out).unwrap();
            out
        });
        prop_assert_eq!(&decisions[0], &decisions[1], "{:?} at {}", step, course.now);
        course.last = decisions[0][0];
        prop_assert_eq!(one.service.stats(), other.service.stats());
    }
    Ok(())
}

proptest! {
    #![proptest_config(config(300))]

    #[test]
    fn limits_of_one_rule_all_allow_or_none_is_charged(
        rules in one_rule(), start in steps::start(), steps in steps(1),
    ) {
        agree(&rules, start, &steps)?;
    }

    #[test]
    fn rules_that_all_match_have_counters_of_their_own(
        rules in rules_of_each_kind(), start in steps::start(), steps in steps(1),
    ) {
        agree(&rules, start, &steps)?;
    }

    #[test]
    fn requests_decided_together_add_up_where_they_meet(
        rules in prop_oneof![one_rule(), rules_of_each_kind()],
        start in steps::start(), steps in steps(8),
    ) {
        agree(&rules, start, &steps)?;
    }

    #[test]
    fn a_look_changes_nothing(
        rules in prop_oneof![one_rule(), rules_of_each_kind()],
        start in steps::start(), steps in steps(3),
    ) {
        looks_change_nothing(&rules, start, &steps)?;
    }
}

/// Sixteen expired entries of a log are dropped by a refusal too. In shadow mode that
/// may come after a charge of the same counter in the same decision.
#[test]
fn what_a_refusal_in_shadow_mends_does_not_undo_a_charge() {
    const MS: u64 = 1_000_000;
    let rule = Rule {
        algorithm: "sliding-window",
        limit: 20,
        window_ms: 10_000,
        burst: None,
    };
    let limit = Limit {
        rule,
        per: "user",
        shadow: true,
    };
    let mut joint = Joint::new(&Rules {
        matches_all: false,
        rules: vec![((None, None), vec![limit])],
    });
    let ask = |api, cost| Ask {
        user: "alice",
        api,
        cost,
    };
    for ms in 1..=20 {
        joint.ask(ms * MS, &[ask("x", 1)]).unwrap();
    }
    let now = 10_017 * MS;
    let both = joint.ask(now, &[ask("x", 2), ask("y", 19)]).unwrap();
    let both: Vec<_> = both
        .iter()
        .map(|got| (got.denied_by, got.remaining))
        .collect();
    assert_eq!(both, [(0, 15), (1, 15)]);
    joint.ask(now, &[ask("x", 1)]).unwrap();
}
