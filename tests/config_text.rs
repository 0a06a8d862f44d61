//! What a text says is what the configuration holds.

#![allow(clippy::unwrap_used, clippy::panic)]

use rl::algorithm::Algorithm;
use rl::clock::Clock;
use rl::config::{Config, Match, OnFull};
use rl::rule::{Apis, Limit, MAX_NAME, MAX_WINDOW_NS, Rule, Scope};

const MS: u64 = 1_000_000;

fn parsed(text: impl AsRef<[u8]>) -> Config {
    let mut config = Config::new();
    config.parse(text.as_ref()).unwrap();
    config
}

fn scope(user: Option<&[u8]>, api: Option<&[u8]>) -> Scope {
    Scope {
        user: user.map(Box::from),
        api: api.map(|api| Apis::Exactly(api.into())),
    }
}

fn limit_of(text: &str) -> Limit {
    match parsed(format!("default = {text}")).rules() {
        [(_, Rule::Limits(limits))] => match &**limits {
            [limit] => limit.clone(),
            _ => panic!("several limits"),
        },
        rules => panic!("{rules:?}"),
    }
}

#[test]
fn comments_blank_lines_and_line_ends_do_not_matter() {
    let plain = parsed("default = token-bucket,5,10\nuser.a = deny\n");
    for text in [
        "default = token-bucket,5,10\nuser.a = deny",
        "default = token-bucket,5,10\r\nuser.a = deny\r\n",
        "default = token-bucket,5,10\r\nuser.a = deny\r",
        "\u{feff}default=token-bucket,5,10\nuser.a=deny",
        "# x = y\n\n \t\n  # \0\r\n\tdefault\t=\ttoken-bucket , 5,\t10 \nuser.a  =  deny\n\n",
    ] {
        assert_eq!(parsed(text).rules(), plain.rules(), "{text:?}");
    }
    assert!(parsed("").rules().is_empty());
    assert!(parsed("\u{feff}\r\n").rules().is_empty());
}

#[test]
fn rules_keep_their_order_and_their_scopes() {
    let config = parsed(
        "default = token-bucket,5,10\napi./login = fixed-window,2,10\n\
         user.vip-1 = token-bucket,8,10\nuser.vip-1 api./login = unlimited\n",
    );
    let scopes: Vec<_> = config
        .rules()
        .iter()
        .map(|(scope, _)| scope.clone())
        .collect();
    let expected = [
        scope(None, None),
        scope(None, Some(b"/login")),
        scope(Some(b"vip-1"), None),
        scope(Some(b"vip-1"), Some(b"/login")),
    ];
    assert_eq!(scopes, expected);
    assert_eq!(config.rules()[3].1, Rule::Unlimited);
}

#[test]
fn a_name_may_hold_any_byte() {
    let rows: [(&[u8], &[u8]); 9] = [
        (b"\"\"", b""),
        (b"john'doe", b"john'doe"),
        (b"DOMAIN\\joe", b"DOMAIN\\joe"),
        (b"\xff\xfe", b"\xff\xfe"),
        (b"a*b", b"a*b"),
        (b"\"a b=#\\\"\\\\\"", b"a b=#\"\\"),
        (b"\"\\x00\\xfF\\x0a\"", b"\0\xff\n"),
        (b"\"raw \0\t\xff\"", b"raw \0\t\xff"),
        (b"\"/v1/*\"", b"/v1/*"),
    ];
    for (text, name) in rows {
        let config = parsed([b"user.", text, b" api.", text, b"=deny"].concat());
        assert_eq!(config.rules()[0].0, scope(Some(name), Some(name)));
        let mut config = Config::new();
        config.set(&[b"api.", text].concat(), b"deny").unwrap();
        assert_eq!(config.rules()[0].0, scope(None, Some(name)));
    }
}

#[test]
fn a_name_may_have_65_535_bytes() {
    let long = "n".repeat(MAX_NAME);
    let name = Some(long.as_bytes());
    let text = format!("user.{long} = deny\nuser.\"{long}\" api.{long} = deny\n");
    let config = parsed(format!("{text}api.\"{}\" = deny", "\\x00".repeat(MAX_NAME)));
    assert_eq!(config.rules()[0].0, scope(name, None));
    assert_eq!(config.rules()[1].0, scope(name, name));
    assert_eq!(config.rules()[2].0, scope(None, Some(&[0; MAX_NAME])));
    Config::new().set_rule(scope(name, name), b"deny").unwrap();
}

#[test]
fn algorithms_are_read_in_any_case_and_with_underscores() {
    for (text, algorithm) in [
        ("token-bucket", Algorithm::TokenBucket),
        ("TOKEN_BUCKET", Algorithm::TokenBucket),
        ("Fixed-Window", Algorithm::FixedWindow),
        ("sliding_window", Algorithm::SlidingWindow),
        ("SLIDING_window-LOG", Algorithm::SlidingWindow),
        ("sliding-window_counter", Algorithm::SlidingWindowCounter),
    ] {
        assert_eq!(limit_of(&format!("{text},1,1")).algorithm, algorithm);
    }
    assert_eq!(parsed("default = UNLIMITED").rules()[0].1, Rule::Unlimited);
    assert_eq!(parsed("default = Deny").rules()[0].1, Rule::Deny);
}

#[test]
fn a_window_has_a_unit_or_is_seconds() {
    for (text, ms) in [
        ("10", 10_000),
        ("1ms", 1),
        ("1500ms", 1_500),
        ("10s", 10_000),
        ("2m", 120_000),
        ("3h", 10_800_000),
        ("36525d", MAX_WINDOW_NS / MS),
        ("3155760000", MAX_WINDOW_NS / MS),
        ("007", 7_000),
    ] {
        assert_eq!(
            limit_of(&format!("fixed-window,1,{text}")).window_ns,
            ms * MS,
            "{text}"
        );
    }
}

#[test]
fn the_largest_limits_are_read_exactly() {
    assert_eq!(
        limit_of("token-bucket,9007199254740991,1").limit,
        (1 << 53) - 1
    );
    assert_eq!(
        limit_of("fixed-window,9007199254740991,1").limit,
        (1 << 53) - 1
    );
    assert_eq!(
        limit_of("sliding-window,4294967295,1").limit,
        u64::from(u32::MAX)
    );
    assert_eq!(
        limit_of("sliding-window-counter,4294967295,1").limit,
        u64::from(u32::MAX)
    );
    let burst = limit_of("token-bucket,3000,1ms,burst=9007199254740991").burst;
    assert_eq!(burst, Some((1 << 53) - 1));
}

#[test]
fn options_are_read_in_any_order() {
    let limit = limit_of("token-bucket,5,10,name=api_key-1, burst=20");
    assert_eq!(limit, limit_of("token-bucket,5,10,burst=20,name=api_key-1"));
    assert_eq!(limit.burst, Some(20));
    assert_eq!(limit.name.as_deref(), Some("api_key-1"));
    let longest = limit_of("fixed-window,5,10,name=abcdefghijklmno").name;
    assert_eq!(longest.as_deref(), Some("abcdefghijklmno"));
}

#[test]
fn settings_have_defaults_and_are_read() {
    let config = Config::new();
    let clock = format!("{:?}", config.clock());
    let defaults = (config.memory(), config.on_full(), clock.as_str());
    assert_eq!(defaults, (32 << 20, OnFull::Evict, "Monotonic"));
    for (text, memory) in [
        ("16384", 1 << 14),
        ("16k", 1 << 14),
        ("48m", 48 << 20),
        ("1024g", 1 << 40),
    ] {
        assert_eq!(parsed(format!("memory = {text}")).memory(), memory);
    }
    for (text, on_full) in [
        ("evict", OnFull::Evict),
        ("deny", OnFull::Deny),
        ("allow", OnFull::Allow),
    ] {
        assert_eq!(parsed(format!("on-full = {text}")).on_full(), on_full);
    }
    assert_eq!(config.matching(), Match::First);
    for (text, matching) in [("first", Match::First), ("all", Match::All)] {
        assert_eq!(parsed(format!("match = {text}")).matching(), matching);
    }
    for (text, clock) in [
        ("monotonic", "Monotonic"),
        ("monotonic-vdso", "MonotonicVdso"),
        ("monotonic-coarse", "MonotonicCoarse"),
        ("realtime", "Realtime"),
    ] {
        assert_eq!(
            format!("{:?}", parsed(format!("clock = {text}")).clock()),
            clock
        );
    }
}

#[test]
fn shared_memory_has_a_name_and_a_mode() {
    assert_eq!(Config::new().shared(), None);
    let longest = format!("/{}", "n".repeat(254));
    for name in [
        "/a",
        "/librl.shop-1",
        "/...",
        "/ a b",
        "/caf\u{e9}",
        &longest,
    ] {
        let config = parsed(format!("shared = {name}\nmemory = 1m"));
        let shared = config.shared().unwrap();
        assert_eq!((&*shared.name, shared.mode), (name.as_bytes(), 0o600));
        assert_eq!(config.memory(), 1 << 20);
    }
    for (text, mode) in [
        ("0600", 0o600),
        ("600", 0o600),
        ("0660", 0o660),
        ("666", 0o666),
        ("0640", 0o640),
    ] {
        let config = parsed(format!("shared = /a\nshared-mode = {text}"));
        assert_eq!(config.shared().unwrap().mode, mode, "{text}");
    }
}

/// They are two settings, and each may come from a text of its own, in any order.
#[test]
fn a_mode_may_come_before_the_name_and_after_it() {
    let settings: [(&[u8], &[u8]); 2] = [(b"shared", b"/a"), (b"shared-mode", b"0660")];
    for [first, second] in [settings, [settings[1], settings[0]]] {
        let mut config = Config::new();
        config.set(first.0, first.1).unwrap();
        config.set(second.0, second.1).unwrap();
        config.parse(b"default = deny").unwrap();
        let shared = config.shared().unwrap();
        assert_eq!((&*shared.name, shared.mode), (&b"/a"[..], 0o660));
    }
}

#[test]
fn a_clock_that_was_set_beats_the_setting() {
    let mut config = Config::new();
    config.set_clock(Clock::manual(7));
    config.parse(b"clock = realtime").unwrap();
    assert_eq!(config.clock().now_ns(), 7);
}

#[test]
fn set_is_the_line_with_its_sides_apart() {
    let mut config = Config::new();
    config.set(b"user.vip-1", b"token-bucket,8,10").unwrap();
    config.set(b" memory ", b" 1m ").unwrap();
    assert_eq!(
        config.rules(),
        parsed("user.vip-1 = token-bucket,8,10").rules()
    );
    assert_eq!(config.memory(), 1 << 20);
}

#[test]
fn a_file_is_read_as_its_text() {
    let path = std::env::temp_dir().join(format!("rl-config-{}.conf", std::process::id()));
    std::fs::write(&path, "default = deny\nuser.a = oops\n").unwrap();
    let error = Config::new().load(&path).unwrap_err();
    std::fs::write(&path, "default = deny\r\n").unwrap();
    let mut config = Config::new();
    config.load(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    assert_eq!((error.line, error.column), (2, 10));
    assert_eq!(config.rules(), parsed("default = deny").rules());
}

#[test]
fn many_rules_are_read_in_linear_time() {
    let lines = |range: std::ops::Range<u32>| -> String {
        range
            .map(|i| format!("user.{i} = token-bucket,{},10\n", i + 1))
            .collect()
    };
    let mut config = parsed(lines(0..50_000));
    config.parse(lines(50_000..100_000).as_bytes()).unwrap();
    for i in 100_000..110_000 {
        config.set(format!("user.{i}").as_bytes(), b"deny").unwrap();
    }
    assert_eq!(config.rules().len(), 110_000);
}
