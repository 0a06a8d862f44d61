//! Changes of a counter that take more than one store, in a bucket that is held: of both
//! its words, or of it and its log. The log's chunks are written first; the counter then
//! names what they have become, and only after that are chunks free that it no longer
//! names.

use super::bucket::Slot;
use super::plan::Plan;
use super::seat::SEATS;
use super::{Change, Full, Hands, Held, NotStored, Seen, Table, Terms};
use crate::algorithm::{Edit, Run};

impl Table {
    /// Changes a counter that keeps no log, both words of it: one who is killed between
    /// them has noted what they were.
    #[inline(never)]
    pub(super) fn set_noted<'t>(
        &'t self,
        held: &mut Held<'t>,
        slot: Slot<'t>,
        change: &Change<'t>,
    ) {
        let near = self.seat(self.stripe() % SEATS);
        // Nearly always that one is free.
        match near.and_then(|seat| seat.claim(self.peers.own_id())) {
            Some(near) => change.set_noted(held, slot, near.seat()),
            None => change.set_noted(held, slot, Hands::new(self).any()),
        }
    }

    #[inline(never)]
    pub(super) fn store_log<'t>(
        &'t self,
        home: Seen<'t>,
        slot: Slot<'t>,
        mut change: Change<'t>,
        edit: Edit,
        terms: Terms,
    ) -> Result<(), NotStored> {
        let mut held = self.claim(home).ok_or(NotStored::Changed)?;
        let plan = self.pool().plan(slot.log(), edit, slot.is_live(terms.now));
        if plan.is_in_place() && !plan.restarts() {
            let log = self.pool().edit(edit, plan, held.number, None);
            change.with_log(log).set(&mut held, slot);
            return Ok(());
        }
        let mut hands = Hands::new(self);
        let plan = self.room_in_log(&mut held, slot, &mut change, edit, &mut hands, terms);
        let plan = plan.map_err(NotStored::Full)?;
        self.edit_log(&mut held, slot, &change, plan, &mut hands);
        Ok(())
    }

    /// Plans the edit of a change, and makes sure of the chunk that it takes. What has
    /// expired goes at once where that sets chunks free: then less is left of the edit.
    pub(super) fn room_in_log<'t>(
        &'t self,
        held: &mut Held<'t>,
        slot: Slot<'t>,
        change: &mut Change<'t>,
        edit: Edit,
        hands: &mut Hands<'t>,
        terms: Terms,
    ) -> Result<Plan, Full> {
        let plan_of = |edit| {
            let live = slot.is_live(terms.now);
            self.pool().plan(slot.log(), edit, live)
        };
        let mut plan = plan_of(edit);
        if plan.restarts() && hands.reserve_free_chunk() {
            return Ok(plan.afresh(slot.log()));
        }
        if !plan.takes {
            return Ok(plan);
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
        Ok(plan)
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
