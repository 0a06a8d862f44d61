//! The service: one check is names, then rules, then counters, then answer.
//!
//! Rules live here, counters in the table (`table`). A check neither locks nor
//! keeps state here; only who waits for a turn does, in the queues of `acquire`.

mod acquire;
mod attempt;
mod counters;
mod decision;
mod headers;
mod joint;
mod part;
mod prometheus;
mod request;
mod rules;
mod stats;
mod zone;

pub use decision::{Decision, NEVER, flag};
pub use headers::{HeaderStyle, Headers, headers};
pub use request::Request;
pub(crate) use request::Valid;
pub use stats::Stats;
pub use zone::unlink_zone;

use arrayvec::ArrayVec;

use acquire::Queues;
use attempt::{Attempt, Time};
use joint::{Joint, MAX_REQUESTS, Met, Mode};
use request::all_valid;
use rules::{Current, Rules};

use crate::algorithm::Clocks;
use crate::clock::Clock;
use crate::config::{Config, OnFull, line};
use crate::error::{Error, ErrorKind};
use crate::hash::{Hasher, Key, Names};
use crate::rule::book::{Entry, Limited};
use crate::table::{Event, Homes, Table};

/// How many requests of a batch have their counters brought near before the first of them
/// is decided.
const GROUP: usize = 16;

/// What is known of a request before its counters are looked at: the hashes of its names,
/// and its counter if it meets a single limit.
#[derive(Clone, Copy)]
struct Located<'r> {
    names: Names,
    /// The only rule that applies.
    rule: Option<&'r Entry>,
    counter: Option<(&'r Limited, Key, Homes<'r>)>,
}

/// A rate limiter. Every method may run on any number of threads at a time.
#[derive(Debug)]
pub struct Service {
    rules: Current,
    queues: Queues,
    hasher: Hasher,
    clock: Clock,
    /// Whose clocks move the counters, also under the rules of a reload.
    clocks: Clocks,
    table: Table,
}

impl Service {
    /// A service with the rules, the settings and the clock of `config`.
    ///
    /// Its counters stand in memory of its own, or in the shared or given memory that
    /// `config` names, together with those of all other services that do.
    ///
    /// Fails with [`ErrorKind::Config`] where [`Config::validate`] does or both shared
    /// and given memory are named, with [`ErrorKind::Memory`] where the memory cannot be
    /// had or is too small, with [`ErrorKind::Zone`] where what is in it cannot be
    /// joined, and with [`ErrorKind::Io`] where shared memory cannot be opened or the
    /// system gives no random bytes.
    pub fn new(config: &Config) -> Result<Service, Error> {
        // A zone is made by those only who will use it.
        config.validate()?;
        let (table, secret) = counters::open(config)?;
        let (hasher, clocks) = (Hasher::new(secret), counters::clocks(config));
        let rules = Rules::new(config, &hasher, clocks)?;
        Ok(Service {
            rules: Current::new(rules),
            queues: Queues::default(),
            hasher,
            clock: config.clock().counting(),
            clocks,
            table,
        })
    }

    /// Takes the rules of `config`, its `match` and its `on-full`, for every check
    /// that begins from now on. Counters of limits whose algorithm, window and
    /// sharing stay the same go on under the new limit.
    ///
    /// Fails with [`ErrorKind::Config`] where [`Config::validate`] does; then nothing
    /// changes.
    pub fn reload(&self, config: &Config) -> Result<(), Error> {
        let rules = Rules::new(config, &self.hasher, self.clocks)?;
        self.rules.replace(rules);
        self.queues.wake();
        Ok(())
    }

    /// Whether a request is allowed; if so, its cost is taken.
    ///
    /// Fails with [`ErrorKind::Argument`] where a name is too long or the cost is
    /// 0; nothing is taken then.
    pub fn check(&self, request: Request<'_>) -> Result<Decision, Error> {
        let mut decision = Decision::default();
        self.check_into(self.counted(request.valid())?, &mut decision);
        Ok(decision)
    }

    /// The same, with the answer written in its place.
    #[inline(always)]
    pub(crate) fn check_into(&self, Valid(request): Valid<'_>, out: &mut Decision) {
        match self.rules.unless_replaced() {
            Some(rules) => self.take(rules, request, out),
            None => self.take_by_later(request.user, request.api, request.cost, out),
        }
    }

    /// By the parts of the request, so that it stays in registers where this is not called.
    #[inline(never)]
    fn take_by_later(&self, user: &[u8], api: &[u8], cost: u64, out: &mut Decision) {
        self.take(&self.rules.load(), Request { user, api, cost }, out);
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
        self.counted(all_valid(requests.clone()))?;
        self.check_batch_into(requests.filter_map(|request| request.valid().ok()), out);
        Ok(())
    }

    /// The same for requests that are known to make sense.
    pub(crate) fn check_batch_into<'a>(
        &self,
        mut requests: impl Iterator<Item = Valid<'a>>,
        out: &mut [Decision],
    ) {
        let time = Time::At(self.now_ns());
        let held = self.rules.load();
        let rules: &Rules = &held;
        for out in out.chunks_mut(GROUP) {
            let mut group: ArrayVec<_, GROUP> = ArrayVec::new();
            for Valid(request) in requests.by_ref().take(out.len()) {
                let located = self.locate(rules, request);
                group.try_push((located, request)).unwrap_or(());
            }
            let mut allowed = 0;
            for (out, &(located, request)) in out.iter_mut().zip(&group) {
                self.decide_at(rules, located, request, time, Mode::Take, out);
                allowed += u64::from(out.allowed);
            }
            self.count(true, allowed);
            self.count(false, group.len() as u64 - allowed);
        }
    }

    /// Answers up to 8 requests as one decision: all their costs are taken, or none.
    /// Costs that meet in one counter add up. `out` says what each request met; where
    /// one is refused, those are not `allowed` that refuse.
    ///
    /// Fails as [`check`](Service::check) does if any request is wrong, and if there
    /// are none or more than 8.
    pub fn check_all<'a>(
        &self,
        requests: impl Iterator<Item = Request<'a>> + Clone,
        out: &mut [Decision],
    ) -> Result<(), Error> {
        let count = requests.clone().count();
        if count == 0 || count > MAX_REQUESTS || count > out.len() {
            let message = format!("{count} requests; one decision is about 1 to {MAX_REQUESTS}");
            return self.counted(Err(Error::new(ErrorKind::Argument, message)));
        }
        self.counted(all_valid(requests.clone()))?;
        let rules = self.rules.load();
        let met = requests.map(|request| self.meet(&rules, request));
        let met: ArrayVec<Met<'_>, MAX_REQUESTS> = met.collect();
        let allowed = self.decide_jointly(&rules, &met, Time::Now, Mode::Take, out);
        self.count(allowed, count as u64);
        Ok(())
    }

    /// What [`check`](Service::check) would answer. Takes nothing, and is not
    /// counted in the statistics.
    pub fn peek(&self, request: Request<'_>) -> Result<Decision, Error> {
        let mut decision = Decision::default();
        self.peek_into(self.counted(request.valid())?, &mut decision);
        Ok(decision)
    }

    /// The same, with the answer written in its place.
    pub(crate) fn peek_into(&self, Valid(request): Valid<'_>, out: &mut Decision) {
        self.decide(request, Time::Now, Mode::Look, out);
    }

    /// Takes a cost that is known only afterwards, whatever the answer, which says
    /// whether it was allowed. A token bucket goes into debt by one window's worth
    /// at most, a window's count goes over its limit. Where the answer is no,
    /// `retry_after_ms` is the time until a cost of 1 passes. Not counted in the
    /// statistics.
    pub fn charge(&self, request: Request<'_>) -> Result<Decision, Error> {
        let mut decision = Decision::default();
        self.charge_into(self.counted(request.valid())?, &mut decision);
        Ok(decision)
    }

    /// The same, with the answer written in its place.
    pub(crate) fn charge_into(&self, Valid(request): Valid<'_>, out: &mut Decision) {
        let rules = self.rules.load();
        let met = [self.meet(&rules, request)];
        let out = std::slice::from_mut(out);
        self.decide_jointly(&rules, &met, Time::Now, Mode::Charge, out);
    }

    /// Gives a cost back to all the counters of a request: never more than full. Of a
    /// log the newest entries go.
    pub fn refund(&self, request: Request<'_>) -> Result<(), Error> {
        self.counted(request.valid())?;
        let rules = self.rules.load();
        let mut joint = self.joint(&rules);
        joint.meet(&[self.meet(&rules, request)]);
        joint.refund();
        self.queues.wake();
        Ok(())
    }

    /// Forgets the counters that are a pair's own; those that it shares stay.
    pub fn reset(&self, user: &[u8], api: &[u8]) -> Result<(), Error> {
        let request = Request { user, api, cost: 1 };
        self.counted(request.valid())?;
        let rules = self.rules.load();
        let mut joint = self.joint(&rules);
        joint.meet(&[self.meet(&rules, request)]);
        joint.reset();
        self.queues.wake();
        Ok(())
    }

    /// The rule for a user and an API as a line of the rule text, which parses to
    /// the same rule for the same names. With `match = all` a line for each.
    pub fn explain(&self, user: &[u8], api: &[u8]) -> Result<Vec<u8>, Error> {
        let request = Request { user, api, cost: 1 };
        self.counted(request.valid())?;
        let rules = self.rules.load();
        let matching = self.meet(&rules, request).rules;
        let lines = matching.iter().map(|entry| line(&entry.scope, &entry.rule));
        Ok(lines.collect::<Vec<_>>().join(&b'\n'))
    }

    /// Counts a call that failed before it came to a method of this service.
    pub fn count_error(&self) {
        self.table.count(Event::Error, 1);
    }

    #[inline(always)]
    fn now_ns(&self) -> u64 {
        self.clock.now_by(self.table.anchor())
    }

    fn counted<T>(&self, result: Result<T, Error>) -> Result<T, Error> {
        result.inspect_err(|_| self.count_error())
    }

    #[inline(always)]
    fn take(&self, rules: &Rules, request: Request<'_>, out: &mut Decision) {
        let located = self.locate(rules, request);
        self.decide_at(rules, located, request, Time::Now, Mode::Take, out);
        self.count(out.allowed, 1);
    }

    /// Counts requests that were answered.
    #[inline(always)]
    fn count(&self, allowed: bool, requests: u64) {
        let event = if allowed {
            Event::Allowed
        } else {
            Event::Denied
        };
        self.table.count(event, requests);
    }

    fn decide(&self, request: Request<'_>, time: Time, mode: Mode, out: &mut Decision) {
        let held = self.rules.load();
        let rules: &Rules = &held;
        let located = self.locate(rules, request);
        self.decide_at(rules, located, request, time, mode, out);
    }

    #[inline(always)]
    fn locate<'r>(&'r self, rules: &'r Rules, request: Request<'_>) -> Located<'r> {
        let Request { user, api, .. } = request;
        let names = self.hasher.names(user, api);
        let rule = rules.book.first(user, api);
        let limit = rule.and_then(|rule| rule.plan.only_limit());
        let counter = limit.map(|limit| {
            let key = names.key(limit.tag);
            (limit, key, self.table.fetch(key))
        });
        Located {
            names,
            rule,
            counter,
        }
    }

    #[inline(always)]
    fn decide_at(
        &self,
        rules: &Rules,
        located: Located<'_>,
        request: Request<'_>,
        time: Time,
        mode: Mode,
        out: &mut Decision,
    ) {
        match located.counter {
            Some((limit, key, homes)) => {
                let attempt = Attempt {
                    table: &self.table,
                    clock: &self.clock,
                    limit,
                    key,
                    homes,
                    cost: request.cost,
                    time,
                    takes: mode == Mode::Take,
                    rules,
                };
                if let Err(full) = attempt.until_done(out) {
                    let wait_ns = (rules.on_full != OnFull::Allow).then_some(full.wait_ns);
                    self.table.count(Event::RefusedFull, 1);
                    *out = Decision::untracked(limit, wait_ns);
                }
            }
            None => {
                let met = [Met::new(rules, located.names, located.rule, request)];
                let out = std::slice::from_mut(out);
                self.decide_jointly(rules, &met, time, mode, out);
            }
        }
    }

    /// Decides requests that meet any number of limits; says whether all is allowed.
    #[inline(never)]
    fn decide_jointly(
        &self,
        rules: &Rules,
        met: &[Met<'_>],
        time: Time,
        mode: Mode,
        out: &mut [Decision],
    ) -> bool {
        let mut joint = self.joint(rules);
        joint.meet(met);
        let allowed = joint.decide(time, mode);
        let taken = allowed || mode == Mode::Charge;
        for (request, out) in (0..met.len()).zip(out) {
            *out = Decision::of_request(&joint, request, taken);
            if out.flags & flag::UNTRACKED != 0 {
                self.table.count(Event::RefusedFull, 1);
            }
        }
        allowed
    }

    #[inline(always)]
    fn joint<'a>(&'a self, rules: &'a Rules) -> Joint<'a> {
        Joint::new(&self.table, &self.clock, rules.on_full)
    }

    fn meet<'a>(&self, rules: &'a Rules, request: Request<'_>) -> Met<'a> {
        let Request { user, api, .. } = request;
        let names = self.hasher.names(user, api);
        let rule = rules.book.first(user, api);
        Met::new(rules, names, rule, request)
    }
}
