//! The service: one check is names, then rule, then counter, then answer.
//!
//! Rules live here, counters in the [table](crate::table). Nothing here locks,
//! allocates or keeps state of its own.

mod attempt;
mod decision;
mod stats;

pub use decision::{Decision, NEVER, flag};
pub use stats::Stats;

use attempt::{Attempt, Mode, Time};

use crate::clock::Clock;
use crate::config::{Config, OnFull};
use crate::error::{Error, ErrorKind};
use crate::hash::{Hasher, Secret};
use crate::rule::book::{Book, Entry, Limited, Plan};
use crate::rule::{MAX_NAME, Rule};
use crate::table::{Event, Full, Layout, Table};

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
        let mut decision = Decision::default();
        self.check_into(request, &mut decision)?;
        Ok(decision)
    }

    /// The same, with the answer written in its place; on an error nothing is written.
    #[inline(always)]
    pub fn check_into(&self, request: Request<'_>, out: &mut Decision) -> Result<(), Error> {
        self.counted(request.valid())?;
        self.take(request, Time::Now, out);
        Ok(())
    }

    /// Answers requests as if checked one after the other, at one reading of the
    /// clock, as many as there are places for answers.
    ///
    /// Fails as [`check`](Service::check) does if any request is wrong; then none
    /// has been answered.
    pub fn check_batch<'a>(
        &self,
        requests: impl Iterator<Item = Request<'a>> + Clone,
        out: &mut [Decision],
    ) -> Result<(), Error> {
        self.counted(requests.clone().try_for_each(Request::valid))?;
        let time = Time::At(self.clock.now_ns());
        let places = requests.zip(out);
        places.for_each(|(request, out)| self.take(request, time, out));
        Ok(())
    }

    /// What [`check`](Service::check) would answer. Takes nothing, and is not
    /// counted in the statistics.
    pub fn peek(&self, request: Request<'_>) -> Result<Decision, Error> {
        let mut decision = Decision::default();
        self.peek_into(request, &mut decision)?;
        Ok(decision)
    }

    /// The same, with the answer written in its place; on an error nothing is written.
    pub fn peek_into(&self, request: Request<'_>, out: &mut Decision) -> Result<(), Error> {
        self.counted(request.valid())?;
        self.decide(request, Time::Now, Mode::Look, out);
        Ok(())
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

    #[inline(always)]
    fn take(&self, request: Request<'_>, time: Time, out: &mut Decision) {
        self.decide(request, time, Mode::Take, out);
        let event = if out.allowed {
            Event::Allowed
        } else {
            Event::Denied
        };
        self.table.stripes().add(event, 1);
    }

    #[inline(always)]
    fn decide(&self, request: Request<'_>, time: Time, mode: Mode, out: &mut Decision) {
        let names = self.hasher.names(request.user, request.api);
        let Entry { plan, .. } = self.book.find(names, request.user, request.api);
        let limit = match plan {
            Plan::Limited(limit) => limit,
            Plan::Unlimited => return *out = Decision::unlimited(),
            Plan::Deny => return *out = Decision::deny(),
        };
        let attempt = Attempt {
            table: &self.table,
            clock: &self.clock,
            limit,
            key: names.key(limit.tag),
            cost: request.cost,
            time,
            mode,
        };
        attempt
            .until_done(out)
            .unwrap_or_else(|full| *out = self.decide_full(limit, full));
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
