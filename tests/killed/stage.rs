//! A small zone, those who use it beside the victims, and what they are answered.

use std::cell::RefCell;
use std::time::{Duration, Instant};

use rl::clock::Clock;
use rl::config::Config;
use rl::service::{Decision, Request, Service, Stats, unlink_zone};

use crate::words::{Words, changed_lines, held};

/// The time at which every stage begins.
const BEGIN_NS: u64 = 1_000_000 * NS_PER_MS;
pub const NS_PER_MS: u64 = 1_000_000;

/// The least memory that a zone can have, so that it is soon full.
pub const BYTES: usize = 16 << 10;

/// No answer may take longer, whoever was killed before.
pub const PROMPT: Duration = Duration::from_millis(100);

/// A limit as somebody else has it, who has only this one.
pub struct Probe {
    pub limit: u64,
    service: Service,
}

/// What was answered: whether it passed, what is left, and the two times.
pub type Answer = (bool, u64, u64, u64);

/// All that can be told from outside of what stands in a zone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    /// Of each limit, the answers to one request after the other until two are refused.
    pub now: Vec<Vec<Answer>>,
    /// The same when all has expired.
    pub later: Vec<Vec<Answer>>,
    /// How each of the others stands.
    pub others: Vec<Answer>,
}

/// What a call has changed.
#[derive(Clone, Copy, Debug)]
pub struct Touched {
    pub buckets: usize,
    pub chunks: usize,
    /// The first of the buckets.
    pub first: usize,
}

pub struct Stage {
    /// The text that victims get.
    pub text: String,
    pub name: String,
    pub words: Words,
    pub service: Service,
    clock: Clock,
    buckets: usize,
    /// Who has been here beside the one that it is about.
    pub others: RefCell<Vec<String>>,
}

impl Probe {
    pub fn check(&self, user: &str) -> Decision {
        self.service.check(request(user)).unwrap()
    }
}

impl Stage {
    /// An empty zone under these rules.
    pub fn new(name: &str, rules: &str) -> Result<Stage, String> {
        let name = format!("/librl-killed-{}-{name}", std::process::id());
        let _ = unlink_zone(name.as_bytes());
        let text = format!("memory = {BYTES}\n{rules}\nshared = {name}\n");
        let clock = Clock::manual(BEGIN_NS);
        let service = service(&text, &clock)?;
        Ok(Stage {
            words: Words::of_zone(&name, BYTES)?,
            buckets: service.stats().capacity as usize / 5,
            text,
            name,
            service,
            clock,
            others: RefCell::default(),
        })
    }

    /// Somebody who knows only one limit of the zone.
    pub fn probe(&self, rule: &str, limit: u64) -> Result<Probe, String> {
        let text = format!("default = {rule}\nshared = {}\n", self.name);
        Ok(Probe {
            limit,
            service: service(&text, &self.clock)?,
        })
    }

    pub fn now_ns(&self) -> u64 {
        self.clock.now_ns()
    }

    pub fn set_ns(&self, now: u64) {
        self.clock.set_ns(now).unwrap();
    }

    pub fn wait_ms(&self, ms: u64) {
        self.clock.advance_ns(ms * NS_PER_MS).unwrap();
    }

    pub fn set_back_ms(&self, ms: u64) {
        self.set_ns(self.now_ns() - ms * NS_PER_MS);
    }

    pub fn check(&self, user: &str) -> Decision {
        self.service.check(request(user)).unwrap()
    }

    /// Checks of somebody whom the victim's call is not about.
    pub fn other(&self, user: &str) -> Decision {
        let mut others = self.others.borrow_mut();
        if !others.iter().any(|other| other == user) {
            others.push(user.to_owned());
        }
        self.check(user)
    }

    /// Whether somebody has taken anything that still counts.
    pub fn knows(&self, user: &str) -> bool {
        let decision = self.service.peek(request(user)).unwrap();
        decision.remaining + 1 < decision.limit
    }

    pub fn stats(&self) -> Stats {
        self.service.stats()
    }

    /// How many buckets somebody holds.
    pub fn held(&self) -> u64 {
        held(&self.words.copy(), self.buckets)
    }

    pub fn held_in(&self, words: &[u64]) -> u64 {
        held(words, self.buckets)
    }

    /// What something changes, which is then undone.
    pub fn touched<T>(&self, change: impl FnOnce() -> T) -> (Touched, T) {
        let before = self.words.copy();
        let came = change();
        let touched = changed_lines(&before, &self.words.copy());
        self.words.restore(&before);
        let buckets = touched.partition_point(|&line| line < self.buckets);
        let chunks = touched.len() - buckets;
        let first = touched.first().copied().unwrap_or(0);
        (
            Touched {
                buckets,
                chunks,
                first,
            },
            came,
        )
    }

    /// A name that nobody has had, whose first check does to the zone what is wanted: it
    /// touches so many buckets, and forgets so many counters that are live, or idle.
    pub fn newcomer(&self, buckets: usize, live: u64, idle: u64) -> Result<String, String> {
        self.newcomer_where(|touched, was, is| {
            touched.buckets == buckets
                && is.evicted_live == was.evicted_live + live
                && is.evicted_idle == was.evicted_idle + idle
        })
    }

    /// A name that nobody has had, whose first check touches buckets, and changes the
    /// statistics, as is wanted.
    pub fn newcomer_where(
        &self,
        wanted: impl Fn(Touched, Stats, Stats) -> bool,
    ) -> Result<String, String> {
        for number in 0..20_000 {
            let name = format!("new-{number}");
            let was = self.stats();
            let (touched, is) = self.touched(|| {
                self.check(&name);
                self.stats()
            });
            if wanted(touched, was, is) {
                return Ok(name);
            }
        }
        Err("there is nobody whose first check does what is wanted".to_owned())
    }

    /// What can be told of the zone now, and `later_ms` after that. The clock is set back
    /// in the end, the zone is not. Everything has to be answered at once, and the zone to
    /// fit together.
    pub fn observe(&self, probes: &[Probe], user: &str, later_ms: u64) -> Result<Seen, String> {
        let now = self.now_ns();
        for probe in probes {
            self.prompt(|| probe.service.peek(request(user)).unwrap())?;
        }
        self.audit("after the first answer")?;
        let others = self.others.borrow();
        let peek = |user: &String| self.prompt(|| self.service.peek(request(user)).unwrap());
        let others = others.iter().map(peek).collect::<Result<Vec<_>, _>>()?;
        let drain = || probes.iter().map(|probe| self.drain(probe, user)).collect();
        let first: Result<Vec<_>, String> = drain();
        self.audit("after the limits have been used up")?;
        self.wait_ms(later_ms);
        let second: Result<Vec<_>, String> = drain();
        self.audit("later")?;
        self.set_ns(now);
        Ok(Seen {
            now: first?,
            later: second?,
            others,
        })
    }

    /// Takes from a limit until two requests are refused.
    fn drain(&self, probe: &Probe, user: &str) -> Result<Vec<Answer>, String> {
        let mut answers = Vec::new();
        let mut refused = 0;
        while refused < 2 && answers.len() as u64 <= 2 * probe.limit + 8 {
            let answer = self.prompt(|| probe.service.check(request(user)).unwrap())?;
            refused += u64::from(!answer.0);
            answers.push(answer);
        }
        Ok(answers)
    }

    fn audit(&self, when: &str) -> Result<(), String> {
        self.service
            .audit()
            .map_err(|fault| format!("{when} the zone does not fit: {fault}"))
    }

    fn prompt(&self, ask: impl FnOnce() -> Decision) -> Result<Answer, String> {
        let begun = Instant::now();
        let d = ask();
        let took = begun.elapsed();
        if took >= PROMPT {
            return Err(format!("{LATE} after {took:?}"));
        }
        Ok((d.allowed, d.remaining, d.retry_after_ms, d.reset_after_ms))
    }
}

/// How a report of an answer that was not prompt begins.
pub const LATE: &str = "an answer came only";

impl Drop for Stage {
    fn drop(&mut self) {
        let _ = unlink_zone(self.name.as_bytes());
    }
}

/// How many requests passed.
pub fn given(answers: &[Answer]) -> u64 {
    answers.iter().filter(|answer| answer.0).count() as u64
}

pub fn request(user: &str) -> Request<'_> {
    Request {
        user: user.as_bytes(),
        api: b"",
        cost: 1,
    }
}

pub fn service(text: &str, clock: &Clock) -> Result<Service, String> {
    let mut config = Config::new();
    config
        .parse(text.as_bytes())
        .map_err(|e| format!("{text}: {e}"))?;
    config.set_clock(clock.clone());
    Service::new(&config).map_err(|e| e.to_string())
}
