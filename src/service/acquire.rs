//! Waiting for a request to pass.
//!
//! Those who wait for one counter stand in a queue and are served in its order.
//! Only the first sleeps towards the instant at which its request fits; when it is
//! done it wakes the next. So nobody starves, and a refill wakes one, not all.

use std::collections::{HashMap, VecDeque};
use std::thread::{self, Thread};

use super::attempt::Time;
use super::joint::Mode;
use super::{Decision, NEVER, Request, Service};
use crate::error::{Error, ErrorKind};
use crate::fork::PerProcess;
use crate::hash::Key;

/// The queues of those who wait, by counter. Processes have queues of their own.
#[derive(Debug, Default)]
pub(super) struct Queues(PerProcess<HashMap<Key, VecDeque<Thread>>>);

/// A place in a queue, which is left when this is dropped.
struct Place<'q> {
    queues: &'q Queues,
    key: Key,
}

impl Service {
    /// Waits until a request passes, but not longer than `timeout_ms` by the clock
    /// of the service; when that is sure to be too short, says no at once.
    ///
    /// Fails as [`check`](Service::check) does, and with [`ErrorKind::Unsupported`]
    /// on a callback clock, by which nobody can sleep. This call may allocate.
    pub fn acquire(&self, request: Request<'_>, timeout_ms: u64) -> Result<Decision, Error> {
        let mut decision = Decision::default();
        self.acquire_into(request, timeout_ms, &mut decision)?;
        Ok(decision)
    }

    /// The same, with the answer written in its place; on an error nothing is written.
    pub fn acquire_into(
        &self,
        request: Request<'_>,
        timeout_ms: u64,
        out: &mut Decision,
    ) -> Result<(), Error> {
        self.counted(request.valid())?;
        if !self.clock.can_sleep() {
            let message = "nobody can sleep by a callback clock";
            return self.counted(Err(Error::new(ErrorKind::Unsupported, message)));
        }
        let timeout_ns = timeout_ms.saturating_mul(1_000_000);
        let deadline = self.now_ns().saturating_add(timeout_ns);
        if timeout_ms == 0 {
            self.decide(request, Time::Now, Mode::Take, out);
        } else {
            self.wait(request, deadline, out);
        }
        self.count(out.allowed, 1);
        Ok(())
    }

    fn wait(&self, request: Request<'_>, deadline: u64, out: &mut Decision) {
        let Some(key) = self.queue_key(request) else {
            return self.decide(request, Time::Now, Mode::Take, out);
        };
        if self.queues.is_empty(key) {
            self.decide(request, Time::Now, Mode::Take, out);
            if out.allowed || self.misses(out, deadline) {
                return;
            }
        }
        let place = self.queues.join(key);
        while !place.is_first() {
            self.decide(request, Time::Now, Mode::Look, out);
            if self.misses(out, deadline) || self.now_ns() >= deadline {
                // What was only looked at has not been given.
                out.allowed = false;
                out.retry_after_ms = out.retry_after_ms.max(1);
                return;
            }
            self.clock.sleep_until(deadline);
        }
        loop {
            self.decide(request, Time::Now, Mode::Take, out);
            if out.allowed || self.misses(out, deadline) {
                return;
            }
            let wait_ns = out.retry_after_ms.saturating_mul(1_000_000);
            self.clock
                .sleep_until(self.now_ns().saturating_add(wait_ns));
        }
    }

    /// Whether the deadline comes before the request can pass.
    fn misses(&self, decision: &Decision, deadline: u64) -> bool {
        let wait_ns = decision.retry_after_ms.saturating_mul(1_000_000);
        let opens_at = self.now_ns().saturating_add(wait_ns);
        decision.retry_after_ms == NEVER || opens_at > deadline
    }

    /// The counter at which a request queues: that of its first limit.
    fn queue_key(&self, request: Request<'_>) -> Option<Key> {
        let rules = self.rules.load();
        let met = self.meet(&rules, request);
        let limit = met.limits().next();
        limit.map(|limit| met.names.key(limit.tag))
    }
}

impl Queues {
    /// Has those who are first look again, since something was given back.
    pub fn wake(&self) {
        if let Some(queues) = self.0.get_if_begun() {
            let queues = queues.lock();
            let first = queues.values().filter_map(VecDeque::front);
            first.for_each(Thread::unpark);
        }
    }

    fn is_empty(&self, key: Key) -> bool {
        !self.0.get().lock().contains_key(&key)
    }

    fn join(&self, key: Key) -> Place<'_> {
        let queues = self.0.get();
        queues
            .lock()
            .entry(key)
            .or_default()
            .push_back(thread::current());
        Place { queues: self, key }
    }
}

impl Place<'_> {
    fn is_first(&self) -> bool {
        let queues = self.queues.0.get();
        let queues = queues.lock();
        let first = queues.get(&self.key).and_then(VecDeque::front);
        first.is_some_and(|first| first.id() == thread::current().id())
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        let queues = self.queues.0.get();
        let mut queues = queues.lock();
        let Some(queue) = queues.get_mut(&self.key) else {
            return;
        };
        let own = thread::current().id();
        queue.retain(|waiting| waiting.id() != own);
        match queue.front() {
            Some(next) => next.unpark(),
            None => {
                queues.remove(&self.key);
            }
        }
    }
}
