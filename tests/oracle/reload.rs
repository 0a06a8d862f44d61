//! A reload keeps a count where the algorithm, the window and the sharing stay, and
//! it holds under the new limit at once; where one of them changes a new count
//! begins, and the old one is there again if they change back in time.

use proptest::prelude::*;

use crate::config;
use crate::joint::{Ask, Joint, Limit, Rules, limit};
use crate::rules::Rule;
use crate::steps::{self, Cost, Go};

/// Numbers of which no token takes a fraction of a ns: a fraction is kept in units
/// that the limit gives, and a new limit reads it to within a ns.
fn rule() -> impl Strategy<Value = Rule> {
    let algorithms = [
        "token-bucket",
        "fixed-window",
        "sliding-window",
        "sliding-window-counter",
    ];
    let algorithm = prop::sample::select(algorithms.to_vec());
    let limit = prop::sample::select(vec![1, 2, 4, 5, 8, 10, 20]);
    let window_ms = prop::sample::select(vec![1000, 10_000]);
    let burst = prop::option::of(1..=25u64);
    (algorithm, limit, window_ms, burst).prop_map(|(algorithm, limit, window_ms, burst)| Rule {
        algorithm,
        limit,
        window_ms,
        burst: burst.filter(|_| algorithm == "token-bucket"),
    })
}

fn limits() -> impl Strategy<Value = Vec<Limit>> {
    prop::collection::vec(limit(rule()), 1..=3)
}

/// A few books, between which reloads go to and fro: changes of every kind, of a
/// limit or burst alone, and of a rule that moves from all users to one.
fn books() -> impl Strategy<Value = Vec<Rules>> {
    let changed = (limits(), 1..=3u64, prop::bool::ANY);
    let changed = changed.prop_map(|(limits, factor, to_alice)| {
        let mut more = limits.clone();
        for limit in &mut more {
            limit.rule.limit = [1, 4, 10, 20][factor as usize];
            limit.rule.burst = limit.rule.burst.map(|burst| burst * factor);
            limit.shadow = false;
        }
        let mut rules = vec![((None, None), limits.clone())];
        if to_alice {
            rules.insert(0, ((Some("alice"), None), more.clone()));
        } else {
            rules[0].1 = more;
        }
        let book = |rules| Rules {
            matches_all: false,
            rules,
        };
        [book(vec![((None, None), limits)]), book(rules)]
    });
    prop::collection::vec(changed, 1..=3).prop_map(|books| books.concat())
}

#[derive(Clone, Debug)]
struct Step {
    reload: Option<usize>,
    go: Go,
    user: &'static str,
    api: &'static str,
    cost: Cost,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let name = |names: [&'static str; 2]| prop::sample::select(names.to_vec());
    let reload = prop::option::of(any::<usize>());
    let go = prop_oneof![2 => Just(Go::Stay), 1 => steps::go()];
    let names = (name(["alice", "bob"]), name(["x", "y"]));
    let step = (reload, go, names, steps::cost());
    let step = step.prop_map(|(reload, go, (user, api), cost)| Step {
        reload,
        go,
        user,
        api,
        cost,
    });
    prop::collection::vec(step, 1..40)
}

proptest! {
    #![proptest_config(config(500))]

    #[test]
    fn reloads_keep_the_counts_of_limits_that_stay_what_they_are(
        books in books(), start in steps::start(), steps in steps(),
    ) {
        let (mut joint, mut book) = (Joint::new(&books[0]), &books[0]);
        let (mut now, mut last) = (start, Default::default());
        for Step { reload, go, user, api, cost } in &steps {
            if let Some(index) = reload {
                book = &books[index % books.len()];
                joint.reload(book);
            }
            let rule = &book.rules[0].1[0].rule;
            let rl::service::Decision { retry_after_ms, remaining, .. } = last;
            now = go.from(now, rule, retry_after_ms);
            let cost = cost.of(rule, remaining);
            last = joint.ask(now, &[Ask { user, api, cost }])?[0];
        }
    }
}
