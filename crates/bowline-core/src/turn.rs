//! The durable record of a turn that is, or soon will be, out at a remote worker.
//!
//! It stands on the run's row beside its history, because a turn's second and later attempts are
//! not in history: their ids are provisional, and are used again if the attempt comes to nothing.

use minicbor::{Decode, Encode};

use crate::{
    Blob, ControlQueue, Event, EventId, Identity, Queue, Ranges, RequestId, Span, State, Time,
    TurnScheduled, TurnStarted, UnreadSize, UpdateRequest,
};

/// A turn that is scheduled, and perhaps started.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
pub struct Turn {
    /// From 1; a failed or timed-out turn is tried again.
    #[n(0)]
    pub attempt: u32,
    /// The id of its `TurnScheduled`, written or provisional.
    #[n(1)]
    pub scheduled: EventId,
    /// When it was scheduled.
    #[n(2)]
    pub scheduled_at: Time,
    /// When the first attempt at it was scheduled.
    #[n(3)]
    pub first_scheduled_at: Time,
    /// The queue that it waits in: the worker's own, or the run's.
    #[n(4)]
    pub queue: Queue,
    /// Whether that queue is one worker's own.
    #[n(5)]
    pub sticky: bool,
    /// Scheduled (and started) are not in history: only a completion writes them.
    #[n(6)]
    pub provisional: bool,
    /// Made for an update alone: if it comes to nothing, it leaves no trace.
    #[n(7)]
    pub speculative: bool,
    /// Who has it, once somebody does.
    #[n(8)]
    pub started: Option<TurnStart>,
    /// When it is over if nothing happens.
    #[n(9)]
    pub deadline: Option<Time>,
    /// Since when turns only keep a local activity alive.
    #[n(10)]
    pub heartbeat_since: Option<Time>,
}

/// A turn in a worker's hands.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
pub struct TurnStart {
    /// The id of its `TurnStarted`, written or provisional.
    #[n(0)]
    pub event: EventId,
    /// When it was handed out.
    #[n(1)]
    pub at: Time,
    /// Who has it.
    #[n(2)]
    pub worker: Identity,
    /// The poll that took it.
    #[n(3)]
    pub request_id: RequestId,
    /// Where that worker listens for notices.
    #[n(4)]
    pub control: ControlQueue,
    /// Whether the worker was advised to continue as new; must be the same in history.
    #[n(5)]
    pub suggest_continue: bool,
    /// The size of history that the worker was shown.
    #[n(6)]
    pub history_bytes: u64,
    /// What the door wants to have stored with the event.
    #[n(7)]
    pub wire: Option<Blob>,
}

/// A worker that keeps the run in its cache and wants its next turns.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Sticky {
    /// The worker's own queue.
    #[n(0)]
    pub queue: Queue,
    /// How long a turn may wait there before it goes back to the run's queue.
    #[n(1)]
    pub patience: Span,
}

/// What a remote run's row keeps beside its history.
#[derive(Clone, Debug, Default, PartialEq, Encode, Decode)]
pub struct TurnRecord {
    /// The turn that is scheduled or started, if one is.
    #[n(0)]
    pub turn: Option<Turn>,
    /// The worker that has the run in its cache, if one said so.
    #[n(1)]
    pub sticky: Option<Sticky>,
    /// A turn tried to close the run while messages waited; until the next one, updates wait.
    #[n(2)]
    pub close_refused: bool,
    /// Updates that were asked for and that no turn has taken yet.
    #[n(3)]
    pub admitted: Vec<UpdateRequest>,
    /// How many turns were handed out; never used twice, unlike the ids of a provisional turn.
    #[n(4)]
    pub serial: u64,
    /// Native rules: cancelled activities that were over without ever starting, and that no turn
    /// has noted yet, because nobody waits for them.
    #[n(5)]
    pub skipped: Option<Ranges>,
    /// When its first turn was due, where that was later than its start: a delay, a schedule, the
    /// pause before a retry. Lists show it, of closed runs too.
    #[n(6)]
    pub begins_at: Option<Time>,
    /// Native rules: how much waits to be received, if anything does.
    #[n(7)]
    pub unread: Option<UnreadSize>,
}

impl TurnRecord {
    /// The events of a turn that is out and not in history: as its worker is shown them, and as
    /// they are written if it answers.
    pub fn tail(&self, state: &State) -> Vec<Event> {
        let Some(turn) = self.turn.as_ref().filter(|turn| turn.provisional) else {
            return Vec::new();
        };
        let Some(start) = &turn.started else { return Vec::new() };
        let scheduled = TurnScheduled {
            queue: turn.queue.clone(),
            sticky: turn.sticky,
            start_to_close: Some(state.turn_timeout()),
            attempt: turn.attempt,
        };
        let started = TurnStarted {
            scheduled: turn.scheduled,
            worker: start.worker.clone(),
            request_id: start.request_id.clone(),
            suggest_continue: start.suggest_continue,
            history_bytes: start.history_bytes,
        };
        let event = |id, time, kind, wire| Event { id, time, kind, notes: Vec::new(), wire };
        vec![
            event(turn.scheduled, turn.scheduled_at, scheduled.into(), None),
            event(start.event, start.at, started.into(), start.wire.clone()),
        ]
    }
}
