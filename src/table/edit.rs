//! Changes of a counter and its log together, in a bucket that is held. The log's
//! chunks are written first; the counter then names what they have become, and only
//! after that are chunks free that it no longer names.

use super::bucket::Slot;
use super::{Change, Full, Hands, Held, Table, Terms, Weight};
use crate::algorithm::{Edit, Run, State};

impl Table {
    /// Makes sure that a change of a log has the chunk that it takes. What has expired
    /// goes at once where that sets chunks free.
    pub(super) fn room_in_log<'t>(
        &'t self,
        held: &mut Held<'t>,
        slot: Slot<'t>,
        change: &mut Change<'t>,
        hands: &mut Hands<'t>,
        terms: Terms,
    ) -> Result<(), Full> {
        let Some(edit) = change.edit else {
            return Ok(());
        };
        let plan = self.pool().plan(slot.log(), edit, true);
        if !plan.takes {
            return Ok(());
        }
        if let Edit::Slide { runs, count, add } = edit {
            if !plan.lets_go.is_none() {
                let (added, nothing) = (add, Run { count: 0, ..add });
                let trim = Edit::Slide {
                    runs,
                    count,
                    add: nothing,
                };
                let (weight, state) = (slot.weight(), slot.state());
                self.apply(held, slot, trim, (weight, state), hands, terms);
                change.edit = Some(Edit::Slide {
                    runs: 0,
                    count: 0,
                    add: added,
                });
            }
        }
        hands.reserve_chunk(terms)
    }

    /// Changes a counter and its log, for which there is room.
    pub(super) fn edit_log<'t>(
        &'t self,
        held: &mut Held<'t>,
        slot: Slot<'t>,
        change: &Change<'t>,
        hands: &mut Hands<'t>,
        terms: Terms,
    ) {
        let Some(edit) = change.edit else {
            return;
        };
        let next = (change.weight, change.next);
        self.apply(held, slot, edit, next, hands, terms);
    }

    /// Edits the log of the counter in a slot, which gets a weight and an instant.
    fn apply<'t>(
        &'t self,
        held: &mut Held<'t>,
        slot: Slot<'t>,
        edit: Edit,
        (weight, next): (Weight, State),
        hands: &mut Hands<'t>,
        terms: Terms,
    ) {
        let (number, old) = (held.number, slot.state());
        let plan = self.pool().plan(slot.log(), edit, slot.is_live(terms.now));
        let seat = match (plan.takes, plan.lets_go.is_none()) {
            (true, _) => Some(hands.with_chunk()),
            (false, false) => Some(hands.any()),
            (false, true) => None,
        };
        if let Some(seat) = seat {
            seat.note(number, held.index(slot), old, plan.lets_go);
        }
        let taken = seat.filter(|_| plan.takes).and_then(|seat| seat.take());
        let log = self.pool().edit(edit, plan, number, taken);
        let new = State {
            data: log.data(),
            ..next
        };
        held.claimed.update(slot, weight, old, new);
        if let Some(seat) = seat {
            seat.settle();
        }
    }
}
