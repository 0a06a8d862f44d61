//! What the tests of configuration errors share.

#![allow(clippy::expect_used, clippy::unwrap_used)]
#![allow(dead_code)] // no test needs all of it

use rl::config::Config;
use rl::error::{Error, ErrorKind};

/// Everything that a configuration answers.
pub fn snapshot(config: &Config) -> String {
    let (memory, clock) = (config.memory(), config.clock());
    let (on_full, matching) = (config.on_full(), config.matching());
    let (rules, shared) = (config.rules(), config.shared());
    format!("{rules:?} {memory} {clock:?} {on_full:?} {matching:?} {shared:?}")
}

/// Runs a call that must fail and must change nothing.
pub fn fails(config: &mut Config, call: impl FnOnce(&mut Config) -> Result<(), Error>) -> Error {
    let before = snapshot(config);
    let error = call(config).expect_err("an error");
    assert_eq!(snapshot(config), before, "changed by: {error}");
    assert!(error.message.len() <= 243, "too long: {error}");
    let printable = error
        .message
        .bytes()
        .all(|byte| matches!(byte, b' '..=b'~'));
    assert!(printable, "not printable: {error:?}");
    error
}

/// The error of a text, which must change nothing.
pub fn error_of(text: impl AsRef<[u8]>) -> Error {
    let mut config = Config::new();
    config.parse(b"user.before = deny\n").unwrap();
    let error = fails(&mut config, |config| config.parse(text.as_ref()));
    assert_eq!(error.kind, ErrorKind::Config);
    error
}

/// Checks rows of text, line, column and a part of the message.
pub fn check(rows: &[(&str, u32, u32, &str)]) {
    for &(text, line, column, part) in rows {
        let error = error_of(text);
        let place = (error.line, error.column);
        assert_eq!(place, (line, column), "{text:?}: {error}");
        assert!(error.message.contains(part), "{text:?}: {error}");
    }
}
