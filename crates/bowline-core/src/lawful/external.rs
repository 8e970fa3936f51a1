//! Requests to other runs: initiated, then answered once, by an answer of their kind.

use std::collections::BTreeMap;

use super::{Law, Lawful, must};
use crate::{Cancelled, EventId, External, ExternalCancelInitiated};

#[derive(Clone, Debug, Default)]
pub(super) struct Externals {
    open: BTreeMap<EventId, (External, bool)>,
}

impl Externals {
    pub(super) fn initiated(&mut self, id: EventId, target: &External, cancel: bool) -> Law {
        self.open.insert(id, (target.clone(), cancel));
        Ok(())
    }
}

pub(super) fn cancel(lawful: &mut Lawful, id: EventId, event: &ExternalCancelInitiated) -> Law {
    let child = event.child;
    let open = child == EventId(0) || lawful.children.open.contains_key(&child);
    must(open, "a cancel names what is open", || format!("child {child} is not"))?;
    lawful.promised.cancel(Cancelled::Children, child);
    lawful.externals.initiated(id, &event.target, true)
}

pub(super) fn answered(
    lawful: &mut Lawful,
    initiated: EventId,
    target: &External,
    cancel: bool,
) -> Law {
    lawful.turns.unseen = true;
    let open = lawful.externals.open.remove(&initiated);
    let fits = open.is_some_and(|(to, is_cancel)| to == *target && is_cancel == cancel);
    must(fits, "a request to another run is answered once", || {
        format!("{initiated} does not wait for this answer")
    })
}
