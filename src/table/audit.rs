//! Whether all that stands in the region fits together. It holds whenever nobody is in
//! the middle of a change, whoever was killed before: what the dead hold is taken over
//! first, as whoever needs it would do. While somebody is, it may be said not to.

use super::bucket::Slot;
use super::{SLOTS, Table};
use crate::algorithm::Runs as _;

/// What is wrong, in words.
type Fault = String;

impl Table {
    /// Looks at every bucket, log, seat and chunk, and says what does not fit.
    pub fn audit(&self) -> Result<(), Fault> {
        self.recover_all();
        let mut chunks = Chunks(vec![false; self.pool().len()]);
        for number in 0..(self.capacity() as usize / SLOTS) as u32 {
            self.audit_bucket(number, &mut chunks)?;
        }
        self.audit_seats(&mut chunks)?;
        match chunks.0.iter().position(|&seen| !seen) {
            Some(lost) => Err(format!("chunk {} is nobody's", lost + 1)),
            None => Ok(()),
        }
    }

    fn audit_bucket(&self, number: u32, chunks: &mut Chunks) -> Result<(), Fault> {
        let bucket = self.bucket(number);
        if let Some((_, by)) = bucket.held() {
            return Err(format!("bucket {number} is held by {by:#x}"));
        }
        for slot in bucket.slots().filter(|slot| !slot.is_free()) {
            let fingerprint = slot.fingerprint();
            let other = self.bucket(self.other_home(number, fingerprint)).slots();
            let mut all = bucket.slots().chain(other);
            if all.any(|twin| twin.fingerprint() == fingerprint && !twin.is(slot)) {
                return Err(format!(
                    "bucket {number}: {fingerprint:#x} stands there twice"
                ));
            }
            self.audit_log(number, slot, chunks)?;
        }
        Ok(())
    }

    fn audit_log(&self, number: u32, slot: Slot<'_>, chunks: &mut Chunks) -> Result<(), Fault> {
        let log = slot.log();
        let fault = |what: &str| format!("the log {log:?} in bucket {number} {what}");
        let numbers: Vec<u32> = self.pool().numbers(log).collect();
        if numbers.last().copied().unwrap_or(0) != log.last {
            return Err(fault("does not come to its end"));
        }
        for chunk in numbers {
            chunks.see(chunk)?;
        }
        let runs = self.pool().walk(log).flat_map(|chunk| chunk.used());
        let counts: u64 = runs.map(|run| u64::from(run.count)).sum();
        let seen = self.bucket(number).try_look();
        let total = seen.map_or(0, |seen| self.log_of(slot.state(), seen).total());
        if counts != total {
            return Err(fault(&format!("counts for {counts} and says {total}")));
        }
        Ok(())
    }

    fn audit_seats(&self, chunks: &mut Chunks) -> Result<(), Fault> {
        for (index, seat) in self.seats(0).enumerate() {
            if let Some(by) = seat.holder() {
                return Err(format!("seat {index} is held by {by:#x}"));
            }
            if let Some(noted) = seat.noted() {
                return Err(format!("seat {index} has a note on {noted:?}"));
            }
            for chunk in seat.returned().chain(seat.fresh()) {
                chunks.see(chunk)?;
            }
        }
        Ok(())
    }
}

/// Which chunks have been seen.
struct Chunks(Vec<bool>);

impl Chunks {
    fn see(&mut self, number: u32) -> Result<(), Fault> {
        let seen = (number as usize)
            .checked_sub(1)
            .and_then(|at| self.0.get_mut(at));
        match seen.map(|seen| std::mem::replace(seen, true)) {
            Some(false) => Ok(()),
            Some(true) => Err(format!("chunk {number} is in two places")),
            None => Err(format!("there is no chunk {number}")),
        }
    }
}
