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
    /// What a closing run tells, and what it leaves alone: by policy, or because a fork of it has
    /// inherited that.
    pub(super) fn at_close(&self, inherited: &Ranges) -> (Ranges, Vec<EventId>) {
        let left = |id: EventId, child: &Child| is_left(child) || inherited.contains(id);
        let of = |pick: bool| {
            let open = self.open.iter().map(|(id, child)| (*id, child));
            open.filter(move |(id, child)| left(*id, child) == pick).map(|(id, _)| id)
        };
        (of(false).collect(), of(true).collect())
    }

    /// Only what would have been told can be inherited.
    pub(super) fn may_inherit(&self, inherited: &Ranges) -> Law {
        let told = |id: &EventId| self.open.get(id).is_some_and(|child| !is_left(child));
        let wrong = inherited.ids().find(|id| !told(id));
        must(wrong.is_none(), "a fork inherits what was open and would have been told", || {
            format!("{wrong:?} was not")
        })
    }
}

fn is_left(child: &Child) -> bool {
    child.detached || child.close == ParentClose::Abandon
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
