//! The service: one check is names, then rule, then counter, then answer.
//!
//! Rules live here, counters in the [table](crate::table). Nothing here locks,
//! allocates or keeps state of its own.

mod decision;
mod stats;

pub use decision::{Decision, NEVER, flag};
pub use stats::Stats;

use crate::algorithm::Change;
use crate::clock::Clock;
use crate::config::{Config, OnFull};
use crate::error::{Error, ErrorKind};
use crate::hash::{Hasher, Names, Secret};
use crate::rule::book::{Book, Entry, Limited, Plan};
use crate::rule::{MAX_NAME, Rule};
use crate::table::{Event, Full, Layout, NotStored, Table};

/// One request: who asks for what, and how much it takes.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// The user's name, up to 65,535 bytes of any value.
    pub user: &'a [u8],
    /// The API's name, up to 65,535 bytes of any value.
    pub api: &'a [u8],
    /// Units of the quota, at least 1.
    pub cost: u64,
}

/// A rate limiter. Every method may run on any number of threads at a time.
#[derive(Debug)]
pub struct Service {
    book: Book,
    hasher: Hasher,
    clock: Clock,
    table: Table,
    on_full: OnFull,
}

/// Whether a decision is carried out.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mode {
    Take,
    Look,
}

/// When a decision is made.
#[derive(Clone, Copy)]
enum Time {
    /// When the counter has been seen: in time, decisions are then in the order
    /// in which the table has them.
    Now,
    /// At a reading made before, for several decisions at once.
    At(u64),
}

impl Service {
    /// A service with the rules, the settings and the clock of `config`.
    ///
    /// Fails with [`ErrorKind::Config`] where there is no default rule and with
    /// [`ErrorKind::Memory`] where the memory cannot be had.
    pub fn new(config: &Config) -> Result<Service, Error> {
        config.validate()?;
        let hasher = Hasher::new(secret()?);
        let book = Book::new(config.rules(), &hasher)
            .ok_or_else(|| Error::new(ErrorKind::Config, "there is no default rule"))?;
        let layout = Layout::of(config.memory() as usize, keeps_logs(config));
        Ok(Service {
            book,
            hasher,
            clock: config.clock(),
            table: Table::private(layout, config.on_full() == OnFull::Evict)?,
            on_full: config.on_full(),
        })
    }

    /// Whether a request is allowed; if so, its cost is taken.
    ///
    /// Fails with [`ErrorKind::Argument`] where a name is too long or the cost is
    /// 0; nothing is taken then.
    pub fn check(&self, request: Request<'_>) -> Result<Decision, Error> {
        self.counted(request.valid())?;
        Ok(self.take(request, Time::Now))
    }

    /// Answers requests as if checked one after the other, at one reading of the
    /// clock, and hands each answer to `out` with its number, from 0.
    ///
    /// Fails as [`check`](Service::check) does if any request is wrong; then none
    /// has been answered.
    pub fn check_batch<'a>(
        &self,
        requests: impl Iterator<Item = Request<'a>> + Clone,
        mut out: impl FnMut(usize, Decision),
    ) -> Result<(), Error> {
        self.counted(requests.clone().try_for_each(Request::valid))?;
        let time = Time::At(self.clock.now_ns());
        let decisions = requests.map(|request| self.take(request, time));
        decisions
            .enumerate()
            .for_each(|(i, decision)| out(i, decision));
        Ok(())
    }

    /// What [`check`](Service::check) would answer. Takes nothing, and is not
    /// counted in the statistics.
    pub fn peek(&self, request: Request<'_>) -> Result<Decision, Error> {
        self.counted(request.valid())?;
        Ok(self.decide(request, Time::Now, Mode::Look))
    }

    /// The rule for a user and an API as a line of the rule text, which parses to
    /// the same rule for the same names.
    pub fn explain(&self, user: &[u8], api: &[u8]) -> Result<Vec<u8>, Error> {
        self.counted(Request { user, api, cost: 1 }.valid())?;
        let entry = self.book.find(self.hasher.names(user, api), user, api);
        Ok(crate::config::line(&entry.scope, &entry.rule))
    }

    /// Counts a call that failed before it came to a method of this service.
    pub fn count_error(&self) {
        self.table.stripes().add(Event::Error, 1);
    }

    fn counted<T>(&self, result: Result<T, Error>) -> Result<T, Error> {
        result.inspect_err(|_| self.count_error())
    }

    #[inline]
    fn take(&self, request: Request<'_>, time: Time) -> Decision {
        let decision = self.decide(request, time, Mode::Take);
        let event = if decision.allowed {
            Event::Allowed
        } else {
            Event::Denied
        };
        self.table.stripes().add(event, 1);
        decision
    }

    #[inline]
    fn decide(&self, request: Request<'_>, time: Time, mode: Mode) -> Decision {
        let names = self.hasher.names(request.user, request.api);
        let Entry { plan, .. } = self.book.find(names, request.user, request.api);
        match plan {
            Plan::Limited(limit) => self.decide_limited(limit, names, request.cost, time, mode),
            Plan::Unlimited => Decision::unlimited(),
            Plan::Deny => Decision::deny(),
        }
    }

    #[inline]
    fn decide_limited(
        &self,
        limit: &Limited,
        names: Names,
        cost: u64,
        time: Time,
        mode: Mode,
    ) -> Decision {
        let key = names.key(limit.tag);
        loop {
            let found = self.table.find(key);
            let log = self.table.log(&found);
            let mut now = match time {
                Time::Now => self.clock.now_ns(),
                Time::At(now) => now,
            };
            let mut verdict = limit.counter.decide(found.state, &log, now, cost);
            if verdict.stepped_back && matches!(time, Time::At(_)) {
                // The counter is ahead of an old reading: that shows nothing of the clock.
                now = self.clock.now_ns();
                verdict = limit.counter.decide(found.state, &log, now, cost);
            }
            let change = match mode {
                Mode::Take => verdict.change,
                Mode::Look => Change::Keep,
            };
            match self.table.store(key, found, now, change) {
                Ok(()) => return Decision::of(limit, &verdict),
                Err(NotStored::Changed) => continue,
                Err(NotStored::Full(full)) => return self.decide_full(limit, full),
            }
        }
    }

    /// The answer where there is no room for the counter.
    #[cold]
    fn decide_full(&self, limit: &Limited, full: Full) -> Decision {
        self.table.stripes().add(Event::RefusedFull, 1);
        match self.on_full {
            OnFull::Allow => Decision::untracked(limit, None),
            OnFull::Evict | OnFull::Deny => Decision::untracked(limit, Some(full.wait_ns)),
        }
    }
}

impl Request<'_> {
    #[inline]
    fn valid(self) -> Result<(), Error> {
        if self.user.len() > MAX_NAME || self.api.len() > MAX_NAME || self.cost == 0 {
            return Err(self.fault());
        }
        Ok(())
    }

    #[cold]
    fn fault(self) -> Error {
        let message = match self.cost {
            0 => "the cost is 0; it must be at least 1".into(),
            _ => format!("a name is longer than {MAX_NAME} bytes"),
        };
        Error::new(ErrorKind::Argument, message)
    }
}

fn keeps_logs(config: &Config) -> bool {
    let keeps_log =
        |rule: &Rule| matches!(rule, Rule::Limited(limit) if limit.algorithm.keeps_log());
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
