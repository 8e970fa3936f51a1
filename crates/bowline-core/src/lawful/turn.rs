//! Turns: one at a time; frozen while it is out; its commands in one block behind it.

use super::{Law, must};
use crate::{
    Event, EventId, EventKind, Timeout, TurnCompleted, TurnFailed, TurnScheduled, TurnStarted,
    TurnTimedOut,
};

const FROZEN: &str = "history is frozen while a turn is out";
const WHOLE: &str = "a turn that only a success writes is written whole";

#[derive(Clone, Debug, Default)]
pub(super) struct Turns {
    /// The `TurnScheduled` without an end, and its attempt.
    pub(super) scheduled: Option<(EventId, u32)>,
    started: Option<EventId>,
    /// The `TurnCompleted` whose commands may follow here.
    pub(super) block: Option<EventId>,
    /// Something happened since a worker last took a turn.
    pub(super) unseen: bool,
    /// There was a first turn.
    pub(super) begun: bool,
}

impl Turns {
    /// Whether an event of this kind may come here.
    pub(super) fn place(&self, event: &Event, native: bool) -> Law {
        use EventKind as K;
        let kind = &event.kind;
        let ends = matches!(kind, K::TurnCompleted(_) | K::TurnFailed(_) | K::TurnTimedOut(_));
        if self.started.is_some() {
            must(ends, FROZEN, || format!("{} lies inside a turn", kind.name()))?;
        }
        let Some((_, attempt)) = self.scheduled else { return Ok(()) };
        if !native && attempt == 1 {
            return Ok(());
        }
        let fits = match (self.started, kind) {
            (None, kind) => matches!(kind, K::TurnStarted(_)),
            // A fork cuts a turn behind its start.
            (Some(_), K::TurnFailed(failed)) => failed.forked.is_some(),
            (Some(_), kind) => matches!(kind, K::TurnCompleted(_)),
        };
        must(fits, WHOLE, || format!("{} interrupts it", kind.name()))
    }

    /// A commanded event names the turn that it directly follows.
    pub(super) fn in_block(&self, event: &Event) -> Law {
        let named = turn_of(&event.kind);
        must(named.is_some() && named == self.block, "commands follow their turn", || {
            format!("{} names turn {named:?}, not {:?}", event.kind.name(), self.block)
        })
    }

    /// Between two commits a native turn is over.
    pub(super) fn rest(&self, native: bool) -> Law {
        let half = self.scheduled.filter(|(_, attempt)| native || *attempt > 1);
        must(half.is_none(), WHOLE, || "its end is missing".to_owned())
    }

    pub(super) fn scheduled(&mut self, id: EventId, event: &TurnScheduled) -> Law {
        must(self.scheduled.is_none(), "there is one turn at a time", || {
            format!("turn {:?} is not over", self.scheduled)
        })?;
        must(event.attempt >= 1, "attempts count from one", || "the turn has none".to_owned())?;
        self.scheduled = Some((id, event.attempt));
        self.begun = true;
        Ok(())
    }

    pub(super) fn started(&mut self, id: EventId, event: &TurnStarted) -> Law {
        self.names(event.scheduled, None)?;
        self.started = Some(id);
        self.unseen = false;
        Ok(())
    }

    pub(super) fn completed(&mut self, id: EventId, event: &TurnCompleted) -> Law {
        self.names(event.scheduled, Some(event.started))?;
        self.over();
        self.block = Some(id);
        Ok(())
    }

    pub(super) fn failed(&mut self, event: &TurnFailed) -> Law {
        self.names(event.scheduled, Some(event.started))?;
        self.over();
        Ok(())
    }

    pub(super) fn timed_out(&mut self, event: &TurnTimedOut) -> Law {
        let started = Some(event.started).filter(|id| *id != EventId(0));
        self.names(event.scheduled, started)?;
        let limit = match started {
            Some(_) => Timeout::StartToClose,
            None => Timeout::ScheduleToStart,
        };
        must(event.timeout == limit, "a turn passes the limit of its place", || {
            format!("it cannot pass {:?} here", event.timeout)
        })?;
        self.over();
        Ok(())
    }

    fn over(&mut self) {
        self.scheduled = None;
        self.started = None;
    }

    fn names(&self, scheduled: EventId, started: Option<EventId>) -> Law {
        let open = self.scheduled.map(|(id, _)| id);
        must(
            open == Some(scheduled) && self.started == started,
            "a turn's events name each other",
            || {
                let named = (scheduled, started);
                format!("it names {named:?}, but {open:?} and {:?} are open", self.started)
            },
        )
    }
}

/// The turn that a commanded event names.
fn turn_of(kind: &EventKind) -> Option<EventId> {
    use EventKind as K;
    Some(match kind {
        K::ActivityScheduled(e) => e.turn,
        K::ActivityCancelRequested(e) => e.turn,
        K::TimerStarted(e) => e.turn,
        K::TimerCancelled(e) => e.turn,
        K::MarkerRecorded(e) => e.turn,
        K::ChildInitiated(e) => e.turn,
        K::ExternalCancelInitiated(e) => e.turn,
        K::ExternalSignalInitiated(e) => e.turn,
        K::SearchUpserted(e) => e.turn,
        K::MemoModified(e) => e.turn,
        K::UpdateAccepted(e) => e.turn,
        K::UpdateCompleted(e) => e.turn,
        K::WorkflowCompleted(e) => e.turn,
        K::WorkflowFailed(e) => e.turn,
        K::WorkflowCancelled(e) => e.turn,
        K::WorkflowContinuedAsNew(e) => e.turn,
        _ => return None,
    })
}
