//! One try at a decision on a table, for tests of the table alone.

use super::{Change, NotStored, Scale, Table, Terms};
use crate::algorithm::{Algorithm, Ask, Clocks, Counter, Decide, State, Verdict, Visitor};
use crate::hash::Key;
use crate::rule::{Limit, Sharing};

/// A request with a cost, at a time.
#[derive(Clone, Copy)]
pub(super) struct Trial<'t> {
    pub table: &'t Table,
    pub key: Key,
    pub now: u64,
    pub cost: u64,
    pub evict: bool,
}

impl<'t> Trial<'t> {
    /// Whether the cost fits the limit, which is of so much in so many ns.
    pub fn of(self, algorithm: Algorithm, limit: u64, window_ns: u64) -> Result<bool, NotStored> {
        counter(algorithm, limit, window_ns).visit(Of(self, limit))
    }

    /// What the counter becomes when the cost is charged, or given back, and what
    /// comes of that.
    pub fn change(self, counter: &Counter, limit: u64, gives_back: bool) -> (Change<'t>, Verdict) {
        let Trial {
            table,
            key,
            now,
            cost,
            ..
        } = self;
        let found = table.find(key);
        let (state, mut edit): (State, _) = (found.state, None);
        let log = || table.log(&found);
        let verdict = if gives_back {
            let (next, remaining) = counter.refund(Ask { state, now, cost }, log, &mut edit);
            Verdict {
                next,
                remaining,
                ..Verdict::default()
            }
        } else {
            counter.charge(Ask { state, now, cost }, log, &mut edit)
        };
        let change = Change {
            key,
            found,
            next: verdict.next,
            weight: Scale::new(limit).weight(verdict.remaining),
            edit,
        };
        (change, verdict)
    }
}

/// A limit of so much in so many ns.
pub(super) fn counter(algorithm: Algorithm, limit: u64, window_ns: u64) -> Counter {
    let limit = Limit {
        algorithm,
        limit,
        window_ns,
        burst: None,
        name: None,
        per: Sharing::Pair,
        shadow: false,
    };
    Counter::new(&limit, Clocks::One)
}

/// A trial of a limit of so much.
struct Of<'t>(Trial<'t>, u64);

impl Visitor for Of<'_> {
    type Output = Result<bool, NotStored>;

    fn visit(self, algorithm: &impl Decide) -> Result<bool, NotStored> {
        let Trial {
            table,
            key,
            now,
            cost,
            evict,
        } = self.0;
        let limit = self.1;
        let found = table.find(key);
        let mut edit = None;
        let log = || table.log(&found);
        let state = found.state;
        let verdict = algorithm.decide(Ask { state, now, cost }, log, &mut edit);
        if verdict.changes {
            let change = Change {
                key,
                found,
                next: verdict.next,
                weight: Scale::new(limit).weight(verdict.remaining),
                edit,
            };
            table.store(change, Terms { now, evict })?;
        } else {
            table.keep(found)?;
        }
        Ok(verdict.allowed)
    }
}
