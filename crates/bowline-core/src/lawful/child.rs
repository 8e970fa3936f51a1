//! Children: initiated, then started or refused, then ended once.

use std::collections::BTreeMap;

use super::{Law, Lawful, must};
use crate::{
    ChildInitiated, ChildStartFailed, ChildStarted, EventId, ParentClose, Ranges, RunId, WorkflowId,
};

const ONCE: &str = "a child begins or is refused, and ends once";

#[derive(Clone, Debug, Default)]
pub(super) struct Children {
    pub(super) open: BTreeMap<EventId, Child>,
}

#[derive(Clone, Debug)]
pub(super) struct Child {
    run: RunId,
    workflow_id: WorkflowId,
    started: Option<EventId>,
    close: ParentClose,
    pub(super) detached: bool,
}

impl Children {
    /// What a closing run tells, and what it leaves alone.
    pub(super) fn at_close(&self) -> (Ranges, Vec<EventId>) {
        let left = |child: &Child| child.detached || child.close == ParentClose::Abandon;
        let of =
            |pick: bool| self.open.iter().filter(move |(_, c)| left(c) == pick).map(|(id, _)| *id);
        (of(false).collect(), of(true).collect())
    }
}

pub(super) fn initiated(lawful: &mut Lawful, id: EventId, event: &ChildInitiated) -> Law {
    must(event.run != lawful.run, "a child is another run", || {
        "it has the id of its parent".to_owned()
    })?;
    let child = Child {
        run: event.run,
        workflow_id: event.spec.workflow_id.clone(),
        started: None,
        close: event.spec.close,
        detached: lawful.promised.detach(id),
    };
    lawful.children.open.insert(id, child);
    Ok(())
}

pub(super) fn started(lawful: &mut Lawful, id: EventId, event: &ChildStarted) -> Law {
    lawful.turns.unseen = true;
    let fits = lawful.children.open.get_mut(&event.child).is_some_and(|open| {
        let own = open.run == event.run && open.workflow_id == event.workflow_id;
        own && open.started.replace(id).is_none()
    });
    must(fits, ONCE, || format!("{} does not wait to begin", event.child))
}

pub(super) fn start_failed(lawful: &mut Lawful, event: &ChildStartFailed) -> Law {
    lawful.turns.unseen = true;
    let open = lawful.children.open.remove(&event.child);
    must(open.is_some_and(|open| open.started.is_none()), ONCE, || {
        format!("{} does not wait to begin", event.child)
    })
}

pub(super) fn ended(
    lawful: &mut Lawful,
    child: EventId,
    started: EventId,
    workflow_id: &WorkflowId,
) -> Law {
    lawful.turns.unseen = true;
    let open = lawful.children.open.remove(&child);
    let fits =
        open.is_some_and(|open| open.started == Some(started) && open.workflow_id == *workflow_id);
    must(fits, ONCE, || format!("{child} has not begun with {started}, or is over"))
}
