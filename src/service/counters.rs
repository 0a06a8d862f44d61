//! The counters of a service: the table that its configuration asks for, and the secret
//! under which names are hashed for it.

use crate::algorithm::Clocks;
use crate::config::Config;
use crate::error::{Error, ErrorKind};
use crate::hash::Secret;
use crate::rule::Rule;
use crate::table::{Layout, Table, Wanted};

/// Opens the table: its own, shared or given.
pub(super) fn open(config: &Config) -> Result<(Table, Secret), Error> {
    let given = config.given_memory();
    let size = given.map_or(config.memory() as usize, |memory| memory.size());
    let wanted = Wanted {
        layout: Layout::of(size, keeps_logs(config)),
        clock: config.clock().kind(),
        secret: secret()?,
    };
    match (config.shared(), given) {
        (Some(_), Some(_)) => Err(Error::new(
            ErrorKind::Config,
            "the counters can stand in shared memory or in memory that is given, not in both",
        )),
        (Some(shared), None) => Table::shared(shared, wanted),
        (None, Some(memory)) => Table::given(memory, wanted),
        (None, None) => Ok((Table::private(wanted.layout)?, wanted.secret)),
    }
}

/// Whose clocks move the counters.
pub(super) fn clocks(config: &Config) -> Clocks {
    if config.shared().is_some() || config.given_memory().is_some() {
        Clocks::Several
    } else {
        Clocks::One
    }
}

fn keeps_logs(config: &Config) -> bool {
    let keeps_log = |rule: &Rule| match rule {
        Rule::Limits(limits) => limits.iter().any(|limit| limit.algorithm.keeps_log()),
        Rule::Unlimited | Rule::Deny => false,
    };
    config.rules().iter().any(|(_, rule)| keeps_log(rule))
}

fn secret() -> Result<Secret, Error> {
    let word = || {
        getrandom::u64().map_err(|reason| {
            Error::new(
                ErrorKind::Io,
                format!("the system gives no random bytes: {reason}"),
            )
        })
    };
    Ok([word()?, word()?, word()?, word()?])
}
