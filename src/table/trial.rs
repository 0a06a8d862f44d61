//! One try at a decision on a table, for tests of the table alone.

use super::{NotStored, Table};
use crate::algorithm::{Algorithm, Counter, Decide, Visitor};
use crate::hash::Key;
use crate::rule::Limit;

/// A request with a cost, at a time.
#[derive(Clone, Copy)]
pub(super) struct Trial<'t> {
    pub table: &'t Table,
    pub key: Key,
    pub now: u64,
    pub cost: u64,
}

impl Trial<'_> {
    /// Whether the cost fits the limit, which is of so much in so many ns.
    pub fn of(self, algorithm: Algorithm, limit: u64, window_ns: u64) -> Result<bool, NotStored> {
        let counter = Counter::new(&Limit {
            algorithm,
            limit,
            window_ns,
            burst: None,
            name: None,
        });
        counter.visit(self)
    }
}

impl Visitor for Trial<'_> {
    type Output = Result<bool, NotStored>;

    fn visit(self, algorithm: &impl Decide) -> Result<bool, NotStored> {
        let Trial {
            table,
            key,
            now,
            cost,
        } = self;
        let found = table.find(key);
        let mut edit = None;
        let log = || table.log(&found);
        let verdict = algorithm.decide(found.state, now, cost, log, &mut edit);
        if verdict.changes {
            table.store(key, found, now, verdict.next, edit)?;
        } else {
            table.keep(found)?;
        }
        Ok(verdict.allowed)
    }
}
