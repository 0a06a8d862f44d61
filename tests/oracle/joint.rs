//! Several limits in one decision: models of single limits, joined by all or none.

use std::collections::HashMap;

use num_bigint::BigInt;
use proptest::prelude::*;
use proptest::test_runner::TestCaseResult;
use rl::clock::Clock;
use rl::config::Config;
use rl::service::{Decision, NEVER, Request, Service, flag};

use crate::fixed_window::FixedWindow;
use crate::rules::{self, Rule};
use crate::sliding_counter::SlidingCounter;
use crate::sliding_log::SlidingLog;
use crate::steps::MAX_NS;
use crate::token_bucket::TokenBucket;
use crate::{Answer, Model, exact};

/// A limit as one of several.
#[derive(Clone, Debug)]
pub struct Limit {
    pub rule: Rule,
    pub per: &'static str,
    pub shadow: bool,
}

impl Limit {
    fn text(&self) -> String {
        let shadow = if self.shadow { ",shadow" } else { "" };
        format!("{},per={}{shadow}", self.rule.text(), self.per)
    }
}

/// Limits that meet each other: some of a few numbers and windows, some of any.
pub fn limit(rule: impl Strategy<Value = Rule>) -> impl Strategy<Value = Limit> {
    let per = prop::sample::select(vec!["pair", "user", "api", "all"]);
    let shadow = prop::bool::weighted(0.2);
    (rule, per, shadow).prop_map(|(rule, per, shadow)| Limit { rule, per, shadow })
}

pub fn any_rule() -> impl Strategy<Value = Rule> {
    let windows = prop::sample::select(vec![500, 1000, 10_000]);
    let few = (rules::any_algorithm(), 1..=9u64, windows);
    let few = few.prop_map(|(rule, limit, window_ms)| Rule {
        limit,
        window_ms,
        burst: rule.burst.map(|burst| burst % 12 + 1),
        ..rule
    });
    prop_oneof![4 => few, 1 => rules::any_algorithm()]
}

/// Whom a rule is for: of a pair, a user, an API or of any.
pub type Scope = (Option<&'static str>, Option<&'static str>);

/// Rules by whom they are for.
#[derive(Clone, Debug)]
pub struct Rules {
    pub matches_all: bool,
    /// The most specific first.
    pub rules: Vec<(Scope, Vec<Limit>)>,
}

impl Rules {
    pub fn config(&self) -> Config {
        let mut config = Config::new();
        let matching = if self.matches_all { "all" } else { "first" };
        config.set(b"match", matching.as_bytes()).unwrap();
        config.set(b"memory", b"1m").unwrap();
        for ((user, api), limits) in &self.rules {
            let name = match (user, api) {
                (None, None) => "default".to_owned(),
                (Some(user), None) => format!("user.{user}"),
                (None, Some(api)) => format!("api.{api}"),
                (Some(user), Some(api)) => format!("user.{user} api.{api}"),
            };
            let limits: Vec<_> = limits.iter().map(Limit::text).collect();
            let text = limits.join(" + ");
            config.set(name.as_bytes(), text.as_bytes()).unwrap();
        }
        config
    }

    /// The limits that a request meets, each with the kind of its rule, and whether
    /// limits before it in the rule are like it.
    fn met(&self, ask: &Ask) -> Vec<(Limit, Identity)> {
        let is = |of: Option<&str>, name: &str| of.is_none_or(|of| of == name);
        let fits = |(user, api): Scope| is(user, ask.user) && is(api, ask.api);
        let matching = self.rules.iter().filter(|(scope, _)| fits(*scope));
        let count = if self.matches_all { usize::MAX } else { 1 };
        let mut met = Vec::new();
        for (scope, limits) in matching.take(count) {
            let mut alike = HashMap::new();
            for limit in limits {
                let Rule {
                    algorithm,
                    window_ms,
                    ..
                } = limit.rule;
                let order = alike.entry((algorithm, window_ms, limit.per)).or_insert(0);
                let kind = match self.matches_all {
                    true => (scope.0.is_some(), scope.1.is_some()),
                    false => (false, false),
                };
                let identity = Identity {
                    kind,
                    algorithm,
                    window_ms,
                    per: limit.per,
                    order: *order,
                    user: ["pair", "user"].contains(&limit.per).then_some(ask.user),
                    api: ["pair", "api"].contains(&limit.per).then_some(ask.api),
                };
                *order += 1;
                met.push((limit.clone(), identity));
            }
        }
        met
    }
}

/// What tells a counter from all others.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Identity {
    kind: (bool, bool),
    algorithm: &'static str,
    window_ms: u64,
    per: &'static str,
    order: u32,
    user: Option<&'static str>,
    api: Option<&'static str>,
}

/// One request.
#[derive(Clone, Debug)]
pub struct Ask {
    pub user: &'static str,
    pub api: &'static str,
    pub cost: u64,
}

impl Ask {
    pub fn request(&self) -> Request<'static> {
        Request {
            user: self.user.as_bytes(),
            api: self.api.as_bytes(),
            cost: self.cost,
        }
    }
}

/// A model of whatever algorithm.
#[derive(Clone)]
enum Any {
    TokenBucket(TokenBucket),
    FixedWindow(FixedWindow),
    SlidingLog(SlidingLog),
    SlidingCounter(SlidingCounter),
}

impl Model for Any {
    fn new(rule: &Rule) -> Any {
        match rule.algorithm {
            "token-bucket" => Any::TokenBucket(Model::new(rule)),
            "fixed-window" => Any::FixedWindow(Model::new(rule)),
            "sliding-window" => Any::SlidingLog(Model::new(rule)),
            _ => Any::SlidingCounter(Model::new(rule)),
        }
    }

    fn check(&mut self, now: u64, cost: u64) -> Answer {
        match self {
            Any::TokenBucket(model) => model.check(now, cost),
            Any::FixedWindow(model) => model.check(now, cost),
            Any::SlidingLog(model) => model.check(now, cost),
            Any::SlidingCounter(model) => model.check(now, cost),
        }
    }

    fn reload(&mut self, rule: &Rule) {
        match self {
            Any::TokenBucket(model) => model.reload(rule),
            Any::FixedWindow(model) => model.reload(rule),
            Any::SlidingLog(model) => model.reload(rule),
            Any::SlidingCounter(model) => model.reload(rule),
        }
    }
}

/// What one limit says to one request.
struct Part {
    limit: Limit,
    identity: Identity,
    /// The counter after this.
    model: Any,
    /// What requests before this one take from the same counter, and with this one.
    before: u64,
    total: u64,
    answer: Answer,
}

impl Part {
    fn refuses(&self) -> bool {
        !self.answer.allowed && !self.limit.shadow
    }

    /// What is left when this request is decided.
    fn left(&self, taken: bool) -> BigInt {
        let left = self.answer.remaining.floor().to_integer();
        match (self.answer.allowed, taken) {
            (true, true) | (false, false) => left,
            (true, false) => left + self.total,
            (false, true) => left - self.before,
        }
    }
}

/// The models of all counters, and a service in step with them.
pub struct Joint {
    pub service: Service,
    pub clock: Clock,
    rules: Rules,
    counters: HashMap<Identity, Any>,
}

impl Joint {
    pub fn new(rules: &Rules) -> Joint {
        let clock = Clock::manual(0);
        let mut config = rules.config();
        config.set_clock(clock.clone());
        Joint {
            service: Service::new(&config).unwrap(),
            clock,
            rules: rules.clone(),
            counters: HashMap::new(),
        }
    }

    pub fn reload(&mut self, rules: &Rules) {
        self.service.reload(&rules.config()).unwrap();
        self.rules = rules.clone();
    }

    pub fn reset(&mut self, ask: &Ask) {
        let Request { user, api, .. } = ask.request();
        self.service.reset(user, api).unwrap();
        for (limit, identity) in self.rules.met(ask) {
            if limit.per == "pair" {
                self.counters.remove(&identity);
            }
        }
    }

    fn parts(&self, now: u64, asks: &[Ask]) -> Vec<Vec<Part>> {
        let mut taken = HashMap::new();
        let mut part = |ask: &Ask, (limit, identity): (Limit, Identity)| {
            let mut model = match self.counters.get(&identity) {
                Some(model) => model.clone(),
                None => Any::new(&limit.rule),
            };
            model.reload(&limit.rule);
            let sum = taken.entry(identity.clone()).or_insert(0u64);
            let before = *sum;
            let total = before.saturating_add(ask.cost);
            let answer = model.check(now, total);
            if answer.allowed {
                *sum = total;
            }
            Part {
                limit,
                identity,
                model,
                before,
                total,
                answer,
            }
        };
        let of = |ask: &Ask| -> Vec<Part> {
            let met = self.rules.met(ask).into_iter();
            met.map(|met| part(ask, met)).collect()
        };
        asks.iter().map(of).collect()
    }

    /// Asks both, as one decision about all, and compares; says what was answered.
    pub fn ask(&mut self, now: u64, asks: &[Ask]) -> Result<Vec<Decision>, TestCaseError> {
        self.clock.set_ns(now).unwrap();
        let mut got = vec![Decision::default(); asks.len()];
        match asks {
            [ask] => {
                let peeked = self.service.peek(ask.request()).unwrap();
                got[0] = self.service.check(ask.request()).unwrap();
                prop_assert_eq!(peeked, got[0], "a peek answers as a check would");
            }
            _ => {
                let requests = asks.iter().map(Ask::request);
                self.service.check_all(requests, &mut got).unwrap();
            }
        }
        let parts = self.parts(now, asks);
        let taken = !parts.iter().flatten().any(Part::refuses);
        for ((ask, parts), got) in asks.iter().zip(&parts).zip(&got) {
            let place = format!("{ask:?} at {now}, taken: {taken}\n{got:?}");
            compare(got, parts, taken, &place)?;
            self.compare_hint(now, got, parts, &place)?;
        }
        if let [ask] = asks {
            self.wait(now, ask, &got[0])?;
        }
        // A refusal leaves in a counter only that the clock was set back; of the costs
        // that meet in one, the last that fits has all.
        for part in parts.into_iter().flatten() {
            if part.answer.allowed == taken || !part.answer.allowed && part.before == 0 {
                self.counters.insert(part.identity, part.model);
            }
        }
        Ok(got)
    }

    /// The hint is that of the limit which refuses longest: then it passes, a
    /// millisecond before it does not, and by then all others pass.
    fn compare_hint(
        &self,
        now: u64,
        got: &Decision,
        parts: &[Part],
        place: &str,
    ) -> TestCaseResult {
        let hint_ms = got.retry_after_ms;
        prop_assert_eq!(hint_ms == 0, got.allowed, "{}", place);
        let never = |part: &&Part| part.refuses() && part.total > part.limit.rule.capacity();
        if hint_ms == NEVER || parts.iter().any(|part| never(&part)) {
            let first = parts.iter().position(|part| never(&part));
            prop_assert_eq!(first, Some(got.limit_index.into()), "{}", place);
            prop_assert_eq!(hint_ms, NEVER, "{}", place);
            return Ok(());
        }
        let passes = |part: &Part, wait_ms| {
            let then = at(now, wait_ms)?;
            Some(part.model.clone().check(then, part.total).allowed)
        };
        for (index, part) in parts.iter().enumerate().filter(|(_, part)| part.refuses()) {
            let then = passes(part, hint_ms);
            prop_assert_ne!(then, Some(false), "limit {} of {}", index, place);
            if index == usize::from(got.limit_index) {
                let sooner = passes(part, hint_ms - 1);
                prop_assert_ne!(sooner, Some(true), "limit {} of {}", index, place);
            }
        }
        Ok(())
    }

    /// The service means what its hint says.
    fn wait(&self, now: u64, ask: &Ask, got: &Decision) -> TestCaseResult {
        if got.allowed || got.retry_after_ms == NEVER {
            return Ok(());
        }
        for (wait_ms, passes) in [(got.retry_after_ms, true), (got.retry_after_ms - 1, false)] {
            if let Some(then) = at(now, wait_ms) {
                self.clock.set_ns(then).unwrap();
                let seen = self.service.peek(ask.request()).unwrap();
                prop_assert_eq!(seen.allowed, passes, "{:?} {:?} at {}", ask, got, now);
            }
        }
        Ok(())
    }
}

fn at(now: u64, wait_ms: u64) -> Option<u64> {
    let then = u128::from(now) + u128::from(wait_ms) * 1_000_000;
    u64::try_from(then).ok().filter(|&then| then <= MAX_NS)
}

fn compare(got: &Decision, parts: &[Part], taken: bool, place: &str) -> TestCaseResult {
    let refused = parts.iter().any(Part::refuses);
    prop_assert_eq!(got.allowed, !refused, "allowed: {}", place);
    prop_assert_eq!(usize::from(got.limit_count), parts.len());
    let denied_by = (parts.iter().enumerate())
        .map(|(index, part)| u8::from(!part.answer.allowed) << index)
        .sum::<u8>();
    prop_assert_eq!(got.denied_by, denied_by, "denied by: {}", place);
    let in_shadow = parts
        .iter()
        .any(|part| part.limit.shadow && !part.answer.allowed);
    let flags = if in_shadow { flag::SHADOW } else { 0 };
    prop_assert_eq!(got.flags, flags, "flags: {}", place);

    let index = usize::from(got.limit_index);
    let described = &parts[index];
    if refused {
        prop_assert!(described.refuses(), "describes: {}", place);
    } else {
        let order = |part: &&Part| (part.limit.shadow, part.left(taken));
        let least = parts.iter().min_by_key(order).unwrap();
        prop_assert!(std::ptr::eq(least, described), "describes: {}", place);
    }
    let left = described.left(taken);
    prop_assert_eq!(BigInt::from(got.remaining), left, "remaining: {}", place);
    prop_assert_eq!(got.limit, described.limit.rule.capacity());
    prop_assert_eq!(got.window_ms, described.limit.rule.window_ms);
    if described.answer.allowed == taken && (taken || described.before == 0) {
        let reset_ms = &described.answer.reset_ns / exact(1_000_000);
        let reset_ms = reset_ms.ceil().to_integer();
        prop_assert_eq!(
            BigInt::from(got.reset_after_ms),
            reset_ms,
            "reset: {}",
            place
        );
    }
    Ok(())
}
