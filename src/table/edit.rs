//! Changes of a counter and its log together, in a bucket that is held. The log's
//! chunks are written first; the counter then names what they have become, and only
//! after that are chunks free that it no longer names.

use super::bucket::Slot;
use super::log::Plan;
use super::{Change, Full, Hands, Held, Table, Terms};
use crate::algorithm::{Edit, Run};

impl Table {
    /// Plans a change of a log, if it is one, and makes sure of the chunk that it takes.
    /// What has expired goes at once where that sets chunks free.
    pub(super) fn room_in_log<'t>(
        &'t self,
        held: &mut Held<'t>,
        slot: Slot<'t>,
        change: &mut Change<'t>,
        hands: &mut Hands<'t>,
        terms: Terms,
    ) -> Result<Option<Plan>, Full> {
        let Some(edit) = change.edit else {
            return Ok(None);
        };
        let plan_of = |edit| {
            let live = slot.is_live(terms.now);
            self.pool().plan(slot.log(), edit, live)
        };
        let mut plan = plan_of(edit);
        if plan.restarts() && hands.take_chunk() {
            plan = plan.afresh(slot.log());
            return Ok(Some(plan));
        }
        if !plan.takes {
            return Ok(Some(plan));
        }
        if let Some((drop, add)) = in_two(edit).filter(|_| !plan.lets_go.is_none()) {
            let trim = Change {
                next: slot.state(),
                weight: slot.weight(),
                edit: Some(drop),
                ..*change
            };
            self.edit_log(held, slot, &trim, plan_of(drop), hands);
            change.edit = Some(add);
            plan = plan_of(add);
        }
        hands.reserve_chunk(terms)?;
        Ok(Some(plan))
    }

    /// Changes a counter and its log as planned. There is a chunk if it takes one.
    pub(super) fn edit_log<'t>(
        &'t self,
        held: &mut Held<'t>,
        slot: Slot<'t>,
        change: &Change<'t>,
        plan: Plan,
        hands: &mut Hands<'t>,
    ) {
        let Some(edit) = change.edit else {
            return;
        };
        if plan.is_in_place() {
            let log = self.pool().edit(edit, plan, held.number, None);
            return change.with_log(log).set(held, slot);
        }
        let seat = if plan.takes {
            hands.with_chunk()
        } else {
            hands.any()
        };
        seat.note_chunks(held.number, held.index(slot), slot.state(), plan.lets_go);
        let taken = if plan.takes { seat.take() } else { None };
        let log = self.pool().edit(edit, plan, held.number, taken);
        let Change {
            key, weight, next, ..
        } = change.with_log(log);
        held.claimed.set_noted(slot, key.fingerprint, weight, next);
        seat.settle_chunks();
    }
}

/// An edit that drops runs and adds one, as two.
fn in_two(edit: Edit) -> Option<(Edit, Edit)> {
    let Edit::Slide { runs, count, add } = edit else {
        return None;
    };
    let drop = Edit::Slide {
        runs,
        count,
        add: Run { count: 0, ..add },
    };
    let (runs, count) = (0, 0);
    Some((drop, Edit::Slide { runs, count, add }))
}
