//! A rule written out reads as the same rule again.

#![allow(clippy::unwrap_used, clippy::panic)]

use proptest::prelude::*;
use rl::algorithm::Algorithm;
use rl::config::{Config, line};
use rl::rule::{Apis, Limit, MAX_LIMITS, MAX_WINDOW_NS, Rule, Scope, Sharing};
use std::collections::HashSet;

const MS: u64 = 1_000_000;

fn parsed(text: impl AsRef<[u8]>) -> Config {
    let mut config = Config::new();
    config.parse(text.as_ref()).unwrap();
    config
}

fn written(text: &str) -> String {
    let config = parsed(text);
    let [(scope, rule)] = config.rules() else {
        panic!("{config:?}")
    };
    String::from_utf8(line(scope, rule)).unwrap()
}

#[test]
fn a_written_rule_is_as_short_as_it_can_be() {
    for (text, expected) in [
        (
            "user.\"vip-1\"=Token_Bucket,8,10s",
            "user.vip-1 = token-bucket,8,10",
        ),
        (
            "default = fixed-window,1,60000ms",
            "default = fixed-window,1,60",
        ),
        (
            "default = fixed-window,1,1500ms",
            "default = fixed-window,1,1500ms",
        ),
        ("api.\"/v1/*\" = UNLIMITED", "api.\"/v1/*\" = unlimited"),
        ("user.\"\" api.\"\\x61\" = deny", "user.\"\" api.a = deny"),
        (
            "user.\"a \\x00\\xff\" = deny",
            "user.\"a \\x00\\xff\" = deny",
        ),
        ("user.j\u{fc}rgen = deny", "user.j\u{fc}rgen = deny"),
        (
            "default = sliding-window-log,1,1d,name=a",
            "default = sliding-window,1,86400,name=a",
        ),
        (
            "default = token-bucket,1,1,shadow,name=a,per=user,burst=2",
            "default = token-bucket,1,1,burst=2,per=user,name=a,shadow",
        ),
        (
            "default = fixed-window,1,1,per=pair",
            "default = fixed-window,1,1",
        ),
        (
            "api.a=fixed-window,1,1,shadow+Sliding_Window,2,2  +\tfixed-window,3,3,per=all",
            "api.a = fixed-window,1,1,shadow + sliding-window,2,2 + fixed-window,3,3,per=all",
        ),
        ("api.\"/v1/\"* = deny", "api./v1/* = deny"),
        ("api.\"\"* = deny", "api.* = deny"),
        ("user.\"*\" api.\"a*\"* = deny", "user.\"*\" api.a** = deny"),
        ("api.\"a \\x00\"* = deny", "api.\"a \\x00\"* = deny"),
    ] {
        assert_eq!(written(text), expected);
    }
}

fn any_scope() -> impl Strategy<Value = Scope> {
    let byte = prop_oneof![
        any::<u8>(),
        prop::sample::select(b"ab\"\\#=* \t\n\r\0".to_vec())
    ];
    let name = || prop::collection::vec(byte.clone(), 0..12).prop_map(Vec::into_boxed_slice);
    let apis = prop_oneof![name().prop_map(Apis::Exactly), name().prop_map(Apis::Under)];
    (prop::option::of(name()), prop::option::of(apis)).prop_map(|(user, api)| Scope { user, api })
}

fn any_limit() -> impl Strategy<Value = Limit> {
    let window_ms = prop_oneof![
        1..=MAX_WINDOW_NS / MS,
        (1..=1_000_000u64).prop_map(|seconds| seconds * 1_000)
    ];
    let name = prop::option::of("[a-z0-9_-]{1,15}");
    let algorithm = prop::sample::select(Algorithm::ALL.to_vec());
    let numbers = (any::<u64>(), window_ms, any::<Option<u64>>());
    let per = prop::sample::select(Sharing::ALL.to_vec());
    (algorithm, numbers, name, per, any::<bool>()).prop_map(
        |(algorithm, (limit, window_ms, burst), name, per, shadow)| {
            let limit = 1 + limit % algorithm.max_limit();
            let window_ns = window_ms * MS;
            let most = u128::from(MAX_WINDOW_NS) * u128::from(limit) / u128::from(window_ns);
            let most = most.min(u128::from(algorithm.max_limit())) as u64;
            Limit {
                algorithm,
                limit,
                window_ns,
                burst: burst
                    .filter(|_| algorithm == Algorithm::TokenBucket)
                    .map(|burst| 1 + burst % most),
                name: name.map(String::into_boxed_str),
                per,
                shadow,
            }
        },
    )
}

/// One to eight limits, whose names differ.
fn any_limits() -> impl Strategy<Value = Vec<Limit>> {
    prop::collection::vec(any_limit(), 1..=MAX_LIMITS).prop_map(|mut limits| {
        let mut names = HashSet::new();
        for limit in &mut limits {
            limit.name = limit.name.take().filter(|name| names.insert(name.clone()));
        }
        limits
    })
}

fn any_rule() -> impl Strategy<Value = Rule> {
    prop_oneof![
        Just(Rule::Unlimited),
        Just(Rule::Deny),
        any_limits().prop_map(Rule::Limits)
    ]
}

proptest! {
    #[test]
    fn a_written_rule_reads_as_the_same_rule(scope in any_scope(), rule in any_rule()) {
        let text = line(&scope, &rule);
        prop_assert!(!text.contains(&b'\n'));
        let config = parsed(text);
        prop_assert_eq!(config.rules(), &[(scope, rule)]);
    }

    #[test]
    fn two_texts_read_as_their_concatenation(
        rules in prop::collection::hash_map(any_scope(), any_rule(), 0..8),
        cut in 0..8usize,
    ) {
        let lines: Vec<Vec<u8>> = rules.iter().map(|(s, r)| [line(s, r), b"\n".to_vec()].concat()).collect();
        let (a, b) = lines.split_at(cut.min(lines.len()));
        let mut apart = parsed(a.concat());
        apart.parse(&b.concat()).unwrap();
        let together = parsed(lines.concat());
        prop_assert_eq!(apart.rules(), together.rules());
        prop_assert_eq!(apart.rules().len(), rules.len());
    }
}
