//! Configuration: rules, settings and a clock, and the text they are said in.
//!
//! ```text
//! # a comment
//! memory     = 32m
//! default    = token-bucket,5,10
//! api./login = fixed-window,2,10
//! user.vip-1 = token-bucket,8,10
//! ```
//!
//! The text is read in layers: `text` makes entries of lines, `name` reads what
//! stands before `=`, `rule` and `setting` what stands after it. `together` says
//! whether the rules can be applied at once.
//!
//! Invariant: a call that fails changes nothing, and no name is given twice,
//! be it in one text, in several, or in calls.

mod name;
mod number;
mod rule;
mod setting;
mod span;
mod text;
mod together;

use crate::clock::{Clock, SystemClock};
use crate::error::{Error, ErrorKind};
use crate::rule::{Rule, Scope};
pub use crate::table::Memory;
use name::Name;
use span::{shown, shown_to};
use std::collections::HashMap;
use std::path::Path;
use text::Entry;

/// Memory for the counters where nothing else is said: 32 MiB.
const DEFAULT_MEMORY: u64 = 32 << 20;

/// How many bytes of a path a message shows.
const SHOWN_PATH: usize = 120;

/// Who may use shared memory where nothing else is said: its owner.
const DEFAULT_MODE: u32 = 0o600;

/// What a check does when the table is full of live counters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnFull {
    /// Forgets the counter that has given the least of its quota.
    #[default]
    Evict,
    /// Refuses the request.
    Deny,
    /// Allows the request without counting it.
    Allow,
}

/// Which of the rules that are for a request count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Match {
    /// The most specific: the pair's, else the user's, else the API's, else the
    /// default.
    #[default]
    First,
    /// The pair's, the user's, the API's and the default, all of them.
    All,
}

/// Shared memory that the counters stand in, for all processes that name it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shared {
    /// Its name: a `/` and 1 to 254 bytes, none of them another `/` or a NUL.
    pub name: Box<[u8]>,
    /// Who may read and write it, as a file's permission bits; at least 0o600.
    pub mode: u32,
}

/// Rules, settings and a clock, for a service to be made of.
///
/// Errors in text are [`ErrorKind::Config`] with line and column counted from
/// 1, columns in bytes; their message is ASCII of at most 243 bytes. After any
/// error the configuration is what it was before.
#[derive(Clone, Debug, Default)]
pub struct Config {
    rules: Vec<(Scope, Rule)>,
    memory: Option<u64>,
    on_full: Option<OnFull>,
    matching: Option<Match>,
    system_clock: Option<SystemClock>,
    clock: Option<Clock>,
    shared: Option<Shared>,
    /// What `shared-mode` says. It may come before `shared`, and then waits here.
    shared_mode: Option<u32>,
    given_memory: Option<Memory>,
    /// Every name given so far, with its line; 0 where it came without a text.
    given: HashMap<Name, usize>,
}

impl Config {
    /// An empty configuration.
    pub fn new() -> Config {
        Config::default()
    }

    /// Reads a text of `name = value` lines and adds what it says.
    ///
    /// # Errors
    /// [`ErrorKind::Config`] at the first line that is wrong or gives a name
    /// that was given before.
    pub fn parse(&mut self, text: &[u8]) -> Result<(), Error> {
        self.add(text::entries(text))
    }

    /// The same for a file.
    ///
    /// # Errors
    /// As [`Config::parse`]; [`ErrorKind::Io`] if the file cannot be read.
    pub fn load(&mut self, path: &Path) -> Result<(), Error> {
        let text = std::fs::read(path).map_err(|error| {
            let path = shown_to(path.as_os_str().as_encoded_bytes(), SHOWN_PATH);
            Error::new(ErrorKind::Io, format!("cannot read {path}: {error}"))
        })?;
        self.parse(&text)
    }

    /// The line `name = value`, its two sides given apart. It stays one line:
    /// a newline in either side is an error.
    ///
    /// # Errors
    /// As [`Config::parse`]; the line is 0, the column is counted in the side
    /// that is wrong.
    pub fn set(&mut self, name: &[u8], value: &[u8]) -> Result<(), Error> {
        self.add([text::pair(name, value)])
    }

    /// One rule for a user and an API given as raw bytes, up to 65,535 each.
    /// The empty name is a name like any other; `None` means any.
    ///
    /// # Errors
    /// [`ErrorKind::Argument`] for a longer name; else as [`Config::set`], with
    /// column 0 if there is a rule for this scope already.
    pub fn set_rule(&mut self, scope: Scope, rule: &[u8]) -> Result<(), Error> {
        self.add([text::rule_of(scope, rule)])
    }

    /// Sets the clock, whatever the setting says.
    pub fn set_clock(&mut self, clock: Clock) {
        self.clock = Some(clock);
    }

    /// Has the counters of services made from now on stand in memory of the caller's.
    pub fn set_memory(&mut self, memory: Memory) {
        self.given_memory = Some(memory);
    }

    /// Whether a service can be made of it: it must have a default rule, and with
    /// [`Match::All`] no request may meet more than [`MAX_LIMITS`] limits; and what has
    /// a `shared-mode` must be `shared`.
    ///
    /// # Errors
    /// [`ErrorKind::Config`] if one of these is not so.
    ///
    /// [`MAX_LIMITS`]: crate::rule::MAX_LIMITS
    pub fn validate(&self) -> Result<(), Error> {
        if !self.given.contains_key(&Name::Rule(Scope::default())) {
            return Err(Error::new(
                ErrorKind::Config,
                "there is no default rule; write one, such as default = token-bucket,100,60 \
                 or default = unlimited",
            ));
        }
        if self.shared.is_none() && self.shared_mode.is_some() {
            return Err(Error::new(
                ErrorKind::Config,
                "shared-mode is of no use without shared; write shared = /NAME too, \
                 or leave shared-mode out",
            ));
        }
        match self.matching() {
            Match::First => Ok(()),
            Match::All => together::check(&self.rules),
        }
    }

    /// The rules in the order in which they were given; no scope comes twice.
    pub fn rules(&self) -> &[(Scope, Rule)] {
        &self.rules
    }

    /// Bytes that the counters may take, from 16 KiB to 1 TiB; 32 MiB where nothing is said.
    pub fn memory(&self) -> u64 {
        self.memory.unwrap_or(DEFAULT_MEMORY)
    }

    /// The shared memory that the counters stand in, if they do.
    pub fn shared(&self) -> Option<&Shared> {
        self.shared.as_ref()
    }

    /// The caller's memory that the counters stand in, if they do.
    pub fn given_memory(&self) -> Option<Memory> {
        self.given_memory
    }

    /// What to do when the table is full.
    pub fn on_full(&self) -> OnFull {
        self.on_full.unwrap_or_default()
    }

    /// Which of the rules for a request count.
    pub fn matching(&self) -> Match {
        self.matching.unwrap_or_default()
    }

    /// The clock set with `set_clock`, else that of the setting.
    pub fn clock(&self) -> Clock {
        let system = || Clock::system(self.system_clock.unwrap_or_default());
        self.clock.clone().unwrap_or_else(system)
    }

    /// Adds all entries, or none if one of them is wrong.
    fn add<'a>(
        &mut self,
        entries: impl IntoIterator<Item = Result<Entry<'a>, Error>>,
    ) -> Result<(), Error> {
        let mut added = Config::default();
        for entry in entries {
            let entry = entry?;
            self.refuse_again(&entry, " of an earlier text")?;
            added.refuse_again(&entry, "")?;
            added.take(entry)?;
        }
        self.merge(added);
        Ok(())
    }

    fn refuse_again(&self, entry: &Entry<'_>, which: &str) -> Result<(), Error> {
        let place = match self.given.get(&entry.name) {
            None => return Ok(()),
            Some(0) => "by an earlier call".to_owned(),
            Some(line) => format!("on line {line}{which}"),
        };
        let name = shown(&entry.name.text());
        let message = format!("{name} was already given {place}; give it once");
        Err(entry.at.error(message))
    }

    fn take(&mut self, entry: Entry<'_>) -> Result<(), Error> {
        let value = entry.value;
        match &entry.name {
            Name::Rule(scope) => self.rules.push((scope.clone(), rule::read(value)?)),
            Name::Memory => self.memory = Some(setting::memory(value)?),
            Name::Clock => self.system_clock = Some(setting::clock(value)?),
            Name::OnFull => self.on_full = Some(setting::on_full(value)?),
            Name::Match => self.matching = Some(setting::matching(value)?),
            Name::Shared => {
                let (name, mode) = (setting::shared(value)?, DEFAULT_MODE);
                self.shared = Some(Shared { name, mode });
            }
            Name::SharedMode => self.shared_mode = Some(setting::shared_mode(value)?),
        }
        self.given.insert(entry.name, entry.at.line);
        Ok(())
    }

    fn merge(&mut self, added: Config) {
        self.rules.extend(added.rules);
        self.memory = added.memory.or(self.memory);
        self.on_full = added.on_full.or(self.on_full);
        self.matching = added.matching.or(self.matching);
        self.system_clock = added.system_clock.or(self.system_clock);
        self.shared = added.shared.or(self.shared.take());
        self.shared_mode = added.shared_mode.or(self.shared_mode);
        if let (Some(shared), Some(mode)) = (&mut self.shared, self.shared_mode) {
            shared.mode = mode;
        }
        self.given.extend(added.given);
    }
}

/// The line of a rule, such as `user.vip-1 = token-bucket,8,10`, without a
/// newline. [`Config::parse`] reads it as the same rule for the same scope.
pub fn line(scope: &Scope, rule: &Rule) -> Vec<u8> {
    [name::scope_text(scope), format!(" = {rule}").into_bytes()].concat()
}
