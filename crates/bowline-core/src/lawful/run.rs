//! The run as a whole: begun, delayed, signalled, asked to cancel.

use std::collections::BTreeSet;

use super::{Law, Lawful, must, turn::Turns};
use crate::{EventId, Ranges, RunId, WorkflowSignalled, WorkflowStarted};

#[derive(Clone, Debug, Default)]
pub(super) struct Whole {
    delayed: bool,
    cancel_requested: bool,
    /// Signals that no turn has received.
    unread: BTreeSet<EventId>,
}

impl Whole {
    pub(super) fn started(&mut self, event: &WorkflowStarted) -> Law {
        self.delayed = event.delay.is_some_and(|delay| !delay.0.is_zero());
        must(event.attempt >= 1, "attempts count from one", || "the run has none".to_owned())
    }

    /// True while the first turn waits for its delay; a cancel cuts that short.
    pub(super) fn waits(&self, turns: &Turns) -> bool {
        self.delayed && !self.cancel_requested && !turns.begun
    }
}

pub(super) fn signalled(lawful: &mut Lawful, at: EventId, event: &WorkflowSignalled) -> Law {
    lawful.turns.unseen = true;
    lawful.whole.unread.insert(at);
    lawful.requests.add(&event.request_id)
}

pub(super) fn cancel_requested(lawful: &mut Lawful) -> Law {
    lawful.turns.unseen = true;
    let first = !std::mem::replace(&mut lawful.whole.cancel_requested, true);
    must(first, "a run is asked to cancel once", || "it was asked before".to_owned())
}

pub(super) fn received(lawful: &mut Lawful, received: &Ranges) -> Law {
    let twice = received.ids().find(|id| !lawful.whole.unread.remove(id));
    must(twice.is_none(), "a signal is received once", || {
        format!("{} is no signal, or was received before", twice.unwrap_or_default())
    })
}

pub(super) fn hastened(lawful: &Lawful) -> Law {
    must(lawful.whole.cancel_requested, "only a cancel is hastened", || {
        "nobody has asked the run to cancel".to_owned()
    })
}

pub(super) fn goes_on(lawful: &Lawful, next: Option<RunId>) -> Law {
    must(next != Some(lawful.run), "a run goes on as another one", || {
        "it names itself as its successor".to_owned()
    })
}
