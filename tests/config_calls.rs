//! Errors of the calls that are no text of their own, and what holds for
//! every call: nothing panics, and what failed changes nothing.

#![allow(clippy::unwrap_used)]

mod config_support;

use config_support::{fails, snapshot};
use proptest::prelude::*;
use rl::config::Config;
use rl::error::ErrorKind;
use rl::rule::{Apis, MAX_NAME, Scope};

#[test]
fn a_name_given_twice_is_refused_across_calls() {
    let scope = Scope {
        api: Some(Apis::Exactly(b"a"[..].into())),
        ..Scope::default()
    };
    let mut config = Config::new();
    config.parse(b"\nuser.a = deny").unwrap();
    config.set(b"default", b"deny").unwrap();
    config.set_rule(scope.clone(), b"deny").unwrap();

    let error = fails(&mut config, |config| config.parse(b"\n api.a = deny"));
    assert_eq!((error.line, error.column), (2, 2));
    assert!(error.message.contains("by an earlier call"), "{error}");
    let error = fails(&mut config, |config| config.set(b"user.a", b"deny"));
    assert_eq!((error.line, error.column), (0, 1));
    assert!(
        error.message.contains("on line 2 of an earlier text"),
        "{error}"
    );
    let error = fails(&mut config, |config| config.set_rule(scope, b"unlimited"));
    assert_eq!((error.line, error.column), (0, 0));
    assert!(
        error.message.contains("`api.a` was already given"),
        "{error}"
    );
}

#[test]
fn set_takes_one_line_only() {
    let rows: [(&[u8], &[u8], u32, &str); 8] = [
        (b"user.a = deny\nuser.b", b"deny", 14, "newline"),
        (b"user.\"a\nb\"", b"deny", 8, "newline"),
        (b"user.a", b"deny\nuser.b = deny", 5, "`\\x0a`"),
        (
            b"user.a = deny",
            b"deny",
            8,
            "nothing may follow the name, found `= deny`",
        ),
        (b"# user.a", b"deny", 1, "`#` in it"),
        (b"", b"deny", 1, "unknown name: nothing"),
        (b"user.a", b"", 1, "value is missing"),
        (b"default", b"token-bucket,0,10", 14, "whole number"),
    ];
    for (name, value, column, part) in rows {
        let error = fails(&mut Config::new(), |config| config.set(name, value));
        assert_eq!(
            (error.kind, error.line, error.column),
            (ErrorKind::Config, 0, column)
        );
        assert!(error.message.contains(part), "{error}");
    }
}

#[test]
fn set_rule_counts_columns_in_the_rule() {
    for (rule, column) in [(&b""[..], 1), (b" token-bucket,x,1", 15), (b"deny\n", 5)] {
        let error = fails(&mut Config::new(), |config| {
            config.set_rule(Scope::default(), rule)
        });
        assert_eq!(
            (error.kind, error.line, error.column),
            (ErrorKind::Config, 0, column)
        );
    }
}

#[test]
fn set_rule_refuses_a_name_of_65_536_bytes() {
    for apis in [Apis::Exactly, Apis::Under] {
        let scope = Scope {
            user: None,
            api: Some(apis([0; MAX_NAME + 1].into())),
        };
        let error = fails(&mut Config::new(), |config| config.set_rule(scope, b"deny"));
        assert_eq!(error.kind, ErrorKind::Argument);
    }
}

#[test]
fn a_file_that_cannot_be_read_is_named_with_the_reason() {
    let path = std::path::Path::new("no/such/file.conf");
    let error = fails(&mut Config::new(), |config| config.load(path));
    assert_eq!(
        (error.kind, error.line, error.column),
        (ErrorKind::Io, 0, 0)
    );
    assert!(
        error
            .message
            .starts_with("cannot read `no/such/file.conf`: No such file"),
        "{error}"
    );
    let path = "d/\n".repeat(10_000);
    let error = fails(&mut Config::new(), |config| config.load(path.as_ref()));
    assert!(error.message.contains("d/\\x0ad/"), "{error}");
}

#[test]
fn a_configuration_needs_a_default_rule() {
    let mut config = Config::new();
    config.parse(b"user.a = deny").unwrap();
    let error = fails(&mut config, |config| config.validate());
    assert_eq!(error.kind, ErrorKind::Config);
    assert!(
        error.message.contains("default = token-bucket,100,60"),
        "{error}"
    );
    config.set(b"default", b"deny").unwrap();
    config.validate().unwrap();
}

#[test]
fn a_mode_needs_something_that_is_shared() {
    let mut config = Config::new();
    config.parse(b"default = deny\nshared-mode = 0660").unwrap();
    let error = fails(&mut config, |config| config.validate());
    assert_eq!(error.kind, ErrorKind::Config);
    assert!(
        error.message.contains("write shared = /NAME too"),
        "{error}"
    );
    config.set(b"shared", b"/rl").unwrap();
    config.validate().unwrap();
}

/// What texts are made of that come close to being right.
const PIECES: &str = r#"default user. api. memory clock on-full match shared shared-mode /rl 0660 = " \x41 \ * # , + deny all
    token-bucket sliding_window fixed-window,5,1 burst= name= per= per=all name=a shadow
    5 0 99999999999999999999 ms d"#;

fn nearly_text() -> impl Strategy<Value = Vec<u8>> {
    let pieces = PIECES.split_whitespace().chain([" ", "\n", "\r\n", "\0"]);
    let pieces: Vec<_> = pieces.collect();
    let piece = prop_oneof![
        prop::sample::select(pieces).prop_map(|piece| piece.as_bytes().to_vec()),
        prop::collection::vec(any::<u8>(), 0..6),
    ];
    prop::collection::vec(piece, 0..24).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn no_bytes_panic_and_no_error_changes_anything(text in nearly_text(), value in nearly_text()) {
        for call in 0..4 {
            let mut config = Config::new();
            let before = snapshot(&config);
            let result = match call {
                0 => config.parse(&text),
                1 => config.set(&text, &value),
                2 => config.set(b"default", &value),
                _ => config.set_rule(Scope::default(), &value),
            };
            if let Err(error) = result {
                prop_assert_eq!(snapshot(&config), before);
                prop_assert!(error.message.len() <= 243);
                prop_assert!(error.message.bytes().all(|byte| matches!(byte, b' '..=b'~')));
                prop_assert_eq!(error.line > 0, call == 0);
            }
        }
    }
}
