//! The run as a whole: begun, delayed, signalled, asked to cancel.

use super::{Law, Lawful, must, turn::Turns};
use crate::{RunId, WorkflowSignalled, WorkflowStarted};

#[derive(Clone, Debug, Default)]
pub(super) struct Whole {
    delayed: bool,
    cancel_requested: bool,
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

pub(super) fn signalled(lawful: &mut Lawful, event: &WorkflowSignalled) -> Law {
    lawful.turns.unseen = true;
    lawful.requests.add(&event.request_id)
}

pub(super) fn cancel_requested(lawful: &mut Lawful) -> Law {
    lawful.turns.unseen = true;
    let first = !std::mem::replace(&mut lawful.whole.cancel_requested, true);
    must(first, "a run is asked to cancel once", || "it was asked before".to_owned())
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
