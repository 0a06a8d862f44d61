//! Several limits in a rule, who shares them, limits in shadow mode, and rules
//! for the APIs under a prefix: what is read, and what is refused.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic)]

mod config_support;

use config_support::{check, error_of};
use rl::config::Config;
use rl::rule::{Apis, Limit, MAX_NAME, Rule, Scope, Sharing};

fn parsed(text: impl AsRef<[u8]>) -> Config {
    let mut config = Config::new();
    config.parse(text.as_ref()).unwrap();
    config
}

fn scope_of(text: impl AsRef<[u8]>) -> Scope {
    parsed(text).rules()[0].0.clone()
}

fn limits_of(text: &str) -> Vec<Limit> {
    match parsed(format!("default = {text}")).rules() {
        [(_, Rule::Limits(limits))] => limits.clone(),
        rules => panic!("{rules:?}"),
    }
}

#[test]
fn limits_joined_by_plus_are_one_rule_in_their_order() {
    let limits = limits_of("token-bucket,10,1 + fixed-window,9,60,name=a + sliding-window,8,5");
    let quotas: Vec<_> = limits.iter().map(|limit| limit.limit).collect();
    assert_eq!(quotas, [10, 9, 8]);
    assert_eq!(limits[1].name.as_deref(), Some("a"));
    for text in [
        "token-bucket,10,1+fixed-window,9,60,name=a+sliding-window,8,5",
        "token-bucket,10,1\t+fixed-window , 9,60,name=a+ \t sliding-window,8,5",
    ] {
        assert_eq!(limits_of(text), limits, "{text:?}");
    }
    let mut config = Config::new();
    let rule = b"fixed-window,1,1 + fixed-window,1,1";
    config.set_rule(Scope::default(), rule).unwrap();
    assert_eq!(config.rules()[0].1.limits().len(), 2);
}

#[test]
fn a_rule_has_up_to_eight_limits() {
    let joined = |count| vec!["fixed-window,1,1"; count].join(" + ");
    assert_eq!(limits_of(&joined(8)).len(), 8);
    let error = error_of(format!("default = {}", joined(9)));
    assert_eq!((error.line, error.column), (1, 11 + 8 * 19));
    let right = "a rule has at most 8 limits joined by +, found `fixed-window,1,1`";
    assert_eq!(error.message, right);
    error_of(format!("default = {}", joined(200_000)));
}

#[test]
#[rustfmt::skip] // a table
fn a_limit_stands_on_either_side_of_plus() {
    let both = "a limit must stand on either side of +, found nothing";
    check(&[
        ("default = + fixed-window,1,1", 1, 11, both),
        ("default = fixed-window,1,1 +", 1, 29, both),
        ("default = fixed-window,1,1 +  + fixed-window,1,1", 1, 29, both),
        ("default = fixed-window,1,1 ++ fixed-window,1,1", 1, 29, both),
        ("default = +", 1, 11, both),
        ("default = fixed-window,1,1 + fixed-window,1", 1, 44, "window is missing"),
        ("default = fixed-window,1,1 + fixed-window,0,1", 1, 43, "whole number"),
        ("default = fixed-window,1,1 + 5,10", 1, 30, "unknown algorithm `5`"),
        ("default = fixed-window,1,1 and fixed-window,1,1", 1, 26, "found `1 and fixed-window`"),
        // A + that begins a field is a sign.
        ("default = fixed-window,1,1 + fixed-window, +5,1", 1, 44, "found `+5`"),
        ("default = token-bucket,1,1,burst=+5", 1, 34, "found `+5`"),
        ("default = fixed-window,1,1, + fixed-window,1,1", 1, 29, "found `+ fixed-window`"),
    ]);
}

#[test]
#[rustfmt::skip] // a table
fn unlimited_and_deny_are_whole_rules() {
    check(&[
        ("default = unlimited + fixed-window,1,1", 1, 11, "unlimited is a whole rule"),
        ("default = fixed-window,1,1 + deny", 1, 30, "deny is a whole rule: write it alone"),
        ("default = deny + deny", 1, 11, "without options and +"),
        ("default = unlimited,5,10", 1, 11, "unlimited is a whole rule"),
        ("default = deny,shadow", 1, 11, "deny is a whole rule"),
        ("default = Unlimited,per=user", 1, 11, "unlimited is a whole rule"),
    ]);
}

#[test]
#[rustfmt::skip] // a table
fn the_limits_of_a_rule_have_different_names() {
    let again = "an earlier limit of this rule has the name `a`; give each its own";
    check(&[
        ("default = fixed-window,1,1,name=a + fixed-window,1,2,name=a", 1, 59, again),
        ("default = fixed-window,1,1,name=a+deny", 1, 35, "whole rule"),
        ("default = fixed-window,1,1,name=a + fixed-window,1,2 + fixed-window,1,3,name=a", 1, 78, again),
    ]);
    limits_of("fixed-window,1,1,name=a + fixed-window,1,1,name=b + fixed-window,1,1 + fixed-window,1,1");
    parsed("default = fixed-window,1,1,name=a\nuser.a = fixed-window,1,1,name=a");
}

#[test]
fn per_says_who_shares_the_counter() {
    for (text, per) in [
        ("", Sharing::Pair),
        (",per=pair", Sharing::Pair),
        (",per=user", Sharing::User),
        (", per=api", Sharing::Api),
        (",per=all", Sharing::All),
    ] {
        assert_eq!(limits_of(&format!("fixed-window,1,1{text}"))[0].per, per);
    }
    let limits = limits_of("token-bucket,1,1,per=all,burst=2 + fixed-window,1,1");
    assert_eq!(
        (limits[0].per, limits[1].per),
        (Sharing::All, Sharing::Pair)
    );
}

#[test]
fn shadow_is_of_one_limit() {
    let limits = limits_of("fixed-window,1,1 + fixed-window,1,1,shadow,name=a + fixed-window,1,1");
    let shadow: Vec<_> = limits.iter().map(|limit| limit.shadow).collect();
    assert_eq!(shadow, [false, true, false]);
}

#[test]
#[rustfmt::skip] // a table
fn per_and_shadow_are_as_strict_as_other_options() {
    let per = "per= must be pair, user, api or all, found ";
    check(&[
        ("default = fixed-window,1,1,per=users", 1, 32, &format!("{per}`users`")),
        ("default = fixed-window,1,1,per=User", 1, 32, &format!("{per}`User`")),
        ("default = fixed-window,1,1,per=", 1, 32, &format!("{per}nothing")),
        ("default = fixed-window,1,1,per", 1, 31, &format!("{per}nothing")),
        ("default = fixed-window,1,1,per=pair,per=user", 1, 37, "`per` is given twice"),
        ("default = fixed-window,1,1,shadow,shadow", 1, 35, "`shadow` is given twice"),
        ("default = fixed-window,1,1,shadow=1", 1, 34, "shadow takes no value, found `=1`"),
        ("default = fixed-window,1,1,shadow=", 1, 34, "shadow takes no value, found `=`"),
        ("default = fixed-window,1,1,shadow fixed-window,1,1", 1, 28, "found `shadow fixed-window`"),
        ("default = fixed-window,1,1,Shadow", 1, 28, "name=WORD or shadow, found `Shadow`"),
        ("default = shadow", 1, 11, "unknown algorithm"),
    ]);
}

#[test]
fn a_star_at_the_end_makes_an_api_a_prefix() {
    let rows: [(&[u8], Apis); 10] = [
        (b"/v1/*", Apis::Under(b"/v1/"[..].into())),
        (b"\"/v1/\"*", Apis::Under(b"/v1/"[..].into())),
        (b"*", Apis::Under(b""[..].into())),
        (b"\"\"*", Apis::Under(b""[..].into())),
        (b"\"a b\\x00*\"*", Apis::Under(b"a b\0*"[..].into())),
        (b"a**", Apis::Under(b"a*"[..].into())),
        (b"a*b*", Apis::Under(b"a*b"[..].into())),
        (b"a*b", Apis::Exactly(b"a*b"[..].into())),
        (b"\"*\"", Apis::Exactly(b"*"[..].into())),
        (b"\"\\x2a\"", Apis::Exactly(b"*"[..].into())),
    ];
    for (text, apis) in rows {
        let api = Some(apis);
        let user = Some(b"u"[..].into());
        let pair = scope_of([b"user.u api.", text, b"=deny"].concat());
        assert_eq!(scope_of([b"api.", text, b"\t= deny"].concat()).api, api);
        assert_eq!(pair, Scope { user, api });
    }
    let long = "n".repeat(MAX_NAME);
    let prefix = Some(Apis::Under(long.as_bytes().into()));
    assert_eq!(scope_of(format!("api.{long}* = deny")).api, prefix);
    assert_eq!(scope_of(format!("api.\"{long}\"* = deny")).api, prefix);
}

#[test]
fn a_prefix_and_the_name_spelled_alike_are_two() {
    let config = parsed("api.a* = deny\napi.a = deny\napi.\"a*\" = deny\nuser.u api.a* = deny");
    assert_eq!(config.rules().len(), 4);
}

#[test]
#[rustfmt::skip] // a table
fn a_prefix_ends_its_name_and_is_for_apis_only() {
    let apis_only = "prefixes are for APIs only; a user's name that ends in * is written in quotes";
    check(&[
        ("user.abc* = deny", 1, 9, apis_only),
        ("user.* = deny", 1, 6, apis_only),
        ("user.\"abc\"* api.a = deny", 1, 11, apis_only),
        ("user.a* api.b* = deny", 1, 7, apis_only),
        ("api.\"a\"*b = deny", 1, 9, "a blank or = must follow the * of a prefix, found `b = deny`"),
        ("api.\"a\"** = deny", 1, 9, "found `* = deny`"),
        ("api.\"a\"*\"b\" = deny", 1, 9, "found `\"b\" = deny`"),
        ("api.\"a\" * = deny", 1, 9, "found `* = deny`"),
        ("api. * = deny", 1, 5, "NAME is missing"),
        ("api.a*\"b\" = deny", 1, 7, "in quotes"),
        ("api.a* user.b = deny", 1, 8, "in this order"),
        ("api.a*", 1, 7, "found nothing"),
    ]);
    let error = error_of(format!("api.{}* = deny", "n".repeat(MAX_NAME + 1)));
    assert!(error.message.contains("at most 65535 bytes, this one 65536"), "{error}");
}
