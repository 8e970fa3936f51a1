//! Updates: admitted, accepted or refused, answered once.

use std::collections::BTreeMap;

use super::{Law, Lawful, must};
use crate::{EventId, UpdateAccepted, UpdateAdmitted, UpdateCompleted, UpdateId};

const ORDER: &str = "an update is admitted, accepted and answered, each once";

#[derive(Clone, Debug, Default)]
pub(super) struct Updates {
    known: BTreeMap<UpdateId, Stage>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Stage {
    Admitted,
    Accepted(EventId),
    Done,
}

pub(super) fn admitted(lawful: &mut Lawful, event: &UpdateAdmitted) -> Law {
    lawful.turns.unseen = true;
    let before = lawful.updates.known.insert(event.request.id.clone(), Stage::Admitted);
    must(before.is_none(), ORDER, || format!("{:?} was {before:?}", event.request.id))
}

pub(super) fn refused(lawful: &mut Lawful, ids: &[UpdateId]) -> Law {
    ids.iter().try_for_each(|id| {
        let before = lawful.updates.known.remove(id);
        must(before == Some(Stage::Admitted), ORDER, || format!("{id:?} was {before:?}"))
    })
}

/// Under remote rules an update waits beside history, and its acceptance is the first of it.
pub(super) fn accepted(lawful: &mut Lawful, id: EventId, event: &UpdateAccepted) -> Law {
    let native = lawful.native();
    let before = lawful.updates.known.insert(event.request.id.clone(), Stage::Accepted(id));
    let fits = before == Some(Stage::Admitted) || (before.is_none() && !native);
    must(fits, ORDER, || format!("{:?} was {before:?}", event.request.id))
}

pub(super) fn completed(lawful: &mut Lawful, event: &UpdateCompleted) -> Law {
    let before = lawful.updates.known.insert(event.id.clone(), Stage::Done);
    must(before == Some(Stage::Accepted(event.accepted)), ORDER, || {
        format!("{:?} was {before:?}", event.id)
    })
}
