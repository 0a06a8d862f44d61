//! What the tests of configuration errors share.

#![allow(clippy::expect_used)]

use rl::config::Config;
use rl::error::Error;

/// Everything that a configuration answers.
pub fn snapshot(config: &Config) -> String {
    let (memory, clock) = (config.memory(), config.clock());
    format!(
        "{:?} {memory} {:?} {clock:?}",
        config.rules(),
        config.on_full()
    )
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
