//! One try at a decision on a table, for tests of the table alone.

use super::{Change, NotStored, Table, Terms, Weight};
use crate::algorithm::{Algorithm, Counter, Decide, Visitor};
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

impl Trial<'_> {
    /// Whether the cost fits the limit, which is of so much in so many ns.
    pub fn of(self, algorithm: Algorithm, limit: u64, window_ns: u64) -> Result<bool, NotStored> {
        let counter = Counter::new(&Limit {
            algorithm,
            limit,
            window_ns,
            burst: None,
            name: None,
            per: Sharing::Pair,
            shadow: false,
        });
        counter.visit(Of(self, limit))
    }
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
        let verdict = algorithm.decide(found.state, now, cost, log, &mut edit);
        if verdict.changes {
            let change = Change {
                key,
                found,
                next: verdict.next,
                weight: Weight::new(limit, verdict.remaining),
                edit,
            };
            table.store(change, Terms { now, evict })?;
        } else {
            table.keep(found)?;
        }
        Ok(verdict.allowed)
    }
}
