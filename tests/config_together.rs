//! With `match = all` no request may meet more limits than a decision has room
//! for; what is refused names the rules that meet.

#![allow(clippy::unwrap_used)]

use proptest::prelude::*;
use rl::config::{Config, line};
use rl::error::ErrorKind;
use rl::rule::{Apis, MAX_LIMITS, Rule, Scope};

/// A configuration of rules that are written as names and numbers of limits.
fn config(matching: &str, rules: &[(&str, usize)]) -> Config {
    let mut config = Config::new();
    config.set(b"match", matching.as_bytes()).unwrap();
    for (name, limits) in rules {
        let rule = match limits {
            0 => "unlimited".to_owned(),
            _ => vec!["fixed-window,9,60"; *limits].join(" + "),
        };
        config.set(name.as_bytes(), rule.as_bytes()).unwrap();
    }
    config
}

fn is_refused(config: &Config) -> bool {
    let refused = config.validate().is_err();
    if let Err(error) = config.validate() {
        assert_eq!((error.kind, error.line), (ErrorKind::Config, 0));
        assert!(error.message.len() <= 243, "{error}");
    }
    refused
}

#[test]
#[rustfmt::skip] // a table
fn rules_that_meet_have_eight_limits_together() {
    let rows: [&[(&str, usize)]; 8] = [
        &[("default", 8)],
        &[("default", 8), ("user.a", 0), ("api.x", 0)],
        &[("default", 2), ("user.a", 2), ("api.x", 2), ("user.a api.x", 2)],
        // Those that never meet do not add up.
        &[("default", 1), ("user.a", 7), ("user.b", 7), ("user.b api.x", 0)],
        &[("default", 1), ("api.x", 7), ("api.y", 7), ("api.x*", 7), ("api.*", 7)],
        &[("default", 1), ("user.a api.x", 7), ("user.a api.x*", 7), ("user.a api.*", 7)],
        &[("default", 1), ("user.a", 3), ("user.b api.x", 4), ("api.*", 3), ("api.y", 4)],
        &[("default", 1), ("user.a api.x*", 3), ("user.a api.xy", 0), ("api.xy", 5)],
    ];
    for rules in rows {
        let config = config("all", rules);
        assert!(!is_refused(&config), "{rules:?}: {:?}", config.validate());
    }
}

#[test]
#[rustfmt::skip] // a table
fn more_are_refused_with_the_names_of_their_rules() {
    let rows: [(&[(&str, usize)], &str); 8] = [
        (&[("default", 1), ("user.a", 8)], "9 limits at once, those of `user.a` and `default`;"),
        (&[("default", 8), ("api.x*", 1)], "those of `api.x*` and `default`;"),
        (&[("default", 0), ("api.x", 4), ("user.a", 5)], "those of `user.a` and `api.x`;"),
        (&[("default", 1), ("user.a", 4), ("user.b", 2), ("api.x", 3), ("api.y", 4)],
            "those of `user.a` and `api.y` and `default`;"),
        (&[("default", 2), ("user.a", 2), ("api.x", 2), ("user.a api.x", 3)],
            "those of `user.a api.x` and `user.a` and `api.x` and `default`;"),
        // The user's rule for a prefix meets that of an API under it, and the other way round.
        (&[("default", 1), ("user.a api.*", 4), ("api.x", 4)], "of `user.a api.*` and `api.x`"),
        (&[("default", 1), ("user.a api.x", 4), ("api.*", 4)], "of `user.a api.x` and `api.*`"),
        (&[("default", 1), ("user.a api.x*", 4), ("api.xy*", 4)], "`user.a api.x*` and `api.xy*`"),
    ];
    for (rules, part) in rows {
        let error = config("all", rules).validate().unwrap_err();
        assert_eq!((error.kind, error.line, error.column), (ErrorKind::Config, 0, 0));
        assert!(error.message.contains(part), "{rules:?}: {error}");
        assert!(error.message.contains("at most 8 are possible"), "{error}");
        config("first", rules).validate().unwrap();
    }
}

#[test]
fn long_names_do_not_make_a_long_message() {
    let name = |kind: &str| format!("{kind}.\"{}\"", "\\xff".repeat(100));
    let (user, api) = (name("user"), name("api"));
    let pair = format!("{user} {api}");
    let rules = [("default", 8), (&pair, 1), (&user, 8), (&api, 8)];
    assert!(is_refused(&config("all", &rules)));
    let rules = [("default", 1), (&pair, 8), (&user, 1), (&api, 1)];
    assert!(is_refused(&config("all", &rules)));
}

#[test]
fn the_default_rule_is_asked_for_first() {
    let error = config("all", &[("user.a", 8), ("api.x", 8)]).validate();
    assert!(error.unwrap_err().message.contains("no default rule"));
}

#[test]
fn many_rules_are_checked_in_time() {
    // The rule for z alone makes each pair look as if it could meet too many.
    let four = [&b"fixed-window,1,1"[..]; 4].join(&b'+');
    let mut text = [
        b"match = all\ndefault = fixed-window,1,1\napi.z = ",
        &four[..],
        b"\n",
    ]
    .concat();
    for i in 0..2_000 {
        let rules = format!(
            "api./v{i} = {0} + {0} + {0}\nuser.{i} api./v* = {0} + {0}\nuser.{i} = {0} + {0}\n",
            "fixed-window,1,1"
        );
        text.extend(rules.bytes());
    }
    let mut config = Config::new();
    config.parse(&text).unwrap();
    config.validate().unwrap();
    config.set(b"user.7 api./v8", b"deny").unwrap();
    config.validate().unwrap();
    config.set(b"api./v7*", &four).unwrap();
    assert!(is_refused(&config));
}

/// Of these, `z` is in no rule: there is always an API that only a prefix has.
fn names(letters: &str) -> Vec<String> {
    let longer = |name: &String| letters.chars().map(|c| format!("{name}{c}")).collect();
    let ones: Vec<String> = longer(&String::new());
    let twos: Vec<String> = ones
        .iter()
        .flat_map(|name| -> Vec<_> { longer(name) })
        .collect();
    let threes: Vec<String> = twos
        .iter()
        .flat_map(|name| -> Vec<_> { longer(name) })
        .collect();
    [vec![String::new()], ones, twos, threes].concat()
}

/// How specific a scope is for a request, where it is for it.
fn rank(scope: &Scope, user: &str, api: &str) -> Option<(usize, usize)> {
    let level = match &scope.user {
        Some(name) if **name != *user.as_bytes() => return None,
        user => usize::from(user.is_some()),
    };
    match &scope.api {
        None => Some((level, 0)),
        Some(Apis::Exactly(name)) => (**name == *api.as_bytes()).then_some((level + 2, usize::MAX)),
        Some(Apis::Under(name)) => api
            .as_bytes()
            .starts_with(name)
            .then_some((level + 2, name.len())),
    }
}

fn limits_met(rules: &[(Scope, Rule)], user: &str, api: &str) -> usize {
    let of_level = |level: usize| {
        let ranked = rules.iter().filter_map(|(scope, rule)| {
            let (its, length) = rank(scope, user, api)?;
            (its == level).then_some((length, rule.limits().len()))
        });
        ranked.max().map_or(0, |(_, limits)| limits)
    };
    (0..4).map(of_level).sum()
}

fn any_rules() -> impl Strategy<Value = Vec<(String, usize)>> {
    let user = prop::sample::select(vec!["", "user.a ", "user.b "]);
    let api = prop::option::weighted(0.8, prop::sample::select(names("xy")));
    let star = any::<bool>();
    let scope = (user, api, star).prop_map(|(user, api, star)| match api {
        None if user.is_empty() => "default".to_owned(),
        None => user.to_owned(),
        Some(api) => format!("{user}api.\"{api}\"{}", if star { "*" } else { "" }),
    });
    let rules = prop::collection::hash_map(scope, 0..5usize, 0..14);
    rules.prop_map(|mut rules| {
        rules.entry("default".to_owned()).or_insert(1);
        rules.into_iter().collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn exactly_what_a_request_can_meet_is_counted(rules in any_rules()) {
        let rules: Vec<_> = rules.iter().map(|(name, n)| (name.as_str(), *n)).collect();
        let config = config("all", &rules);
        let apis = names("xyz").into_iter().flat_map(|api| [format!("{api}z"), api]);
        let most = apis.flat_map(|api| ["a", "b", "c"].map(|user| limits_met(config.rules(), user, &api)));
        let most = most.max().unwrap();
        let text: Vec<_> = config.rules().iter().map(|(s, r)| line(s, r)).collect();
        prop_assert_eq!(is_refused(&config), most > MAX_LIMITS, "{} of {:?}", most, text);
    }
}
