//! A remote turn is scheduled, and a worker takes it.

use std::time::Duration;

use super::StartTurn;
use crate::{
    Draft, EventId, Queue, Refusal, RunAlarm, Span, Time, Token, Turn, TurnScheduled, TurnStart,
    TurnStarted, limits,
};

impl Turn {
    /// True for the turn, and the attempt at it, that an alarm or token speaks of.
    pub(crate) fn matches(&self, scheduled: EventId, attempt: u32) -> bool {
        self.scheduled == scheduled && self.attempt == attempt
    }
}

/// Schedules a turn if one is wanted and none waits. One that waits provisionally becomes real as
/// soon as there is an event that it must follow.
pub(crate) fn schedule(draft: &mut Draft) {
    if !draft.state.status.is_open() {
        return;
    }
    let updates = !draft.record.admitted.is_empty();
    let wanted = std::mem::take(&mut draft.insists);
    match &draft.record.turn {
        Some(turn) if turn.started.is_some() => {}
        Some(turn) if turn.provisional && wanted => {
            disarm(draft);
            real(draft);
        }
        Some(_) => {}
        None if wanted => real(draft),
        None if updates && !draft.state.delayed => provisional(draft, 1, true, draft.now),
        None => {}
    }
}

/// Writes `TurnScheduled`, as the first attempt.
pub(super) fn real(draft: &mut Draft) {
    draft.end_delay();
    let (queue, sticky, patience) = place(draft);
    let start_to_close = Some(draft.state.turn_timeout());
    let event = TurnScheduled { queue: queue.clone(), sticky, start_to_close, attempt: 1 };
    let scheduled = draft.event(event);
    let now = draft.now;
    let turn = Turn {
        attempt: 1,
        scheduled,
        scheduled_at: now,
        first_scheduled_at: now,
        queue,
        sticky,
        provisional: false,
        speculative: false,
        started: None,
        deadline: None,
        heartbeat_since: None,
    };
    put(draft, turn, patience.map(|span| now.after(span.0)));
}

/// Schedules an attempt that is not in history: its ids are used again if it comes to nothing.
pub(super) fn provisional(
    draft: &mut Draft,
    attempt: u32,
    speculative: bool,
    first_scheduled_at: Time,
) {
    let (queue, sticky, patience) = place(draft);
    let now = draft.now;
    let turn = Turn {
        attempt,
        scheduled: draft.state.next_event,
        scheduled_at: now,
        first_scheduled_at,
        queue,
        sticky,
        provisional: true,
        speculative,
        started: None,
        deadline: None,
        heartbeat_since: None,
    };
    put(draft, turn, patience.map(|span| now.after(span.0)));
}

impl Draft {
    /// Remote rules: hands the turn that waits to a worker.
    ///
    /// # Errors
    /// If no turn waits.
    pub fn start_turn(&mut self, start: StartTurn) -> Result<Token, Refusal> {
        let waiting = self.record.turn.as_ref().is_some_and(|turn| turn.started.is_none());
        if !waiting || !self.state.status.is_open() {
            return Err(Refusal::NoSuchTurn);
        }
        disarm(self);
        let (now, bytes) = (self.now, self.state.bytes);
        let suggest_continue = self.state.next_event.0 > limits::EVENTS_SUGGEST
            || bytes > limits::HISTORY_BYTES_SUGGEST;
        let mut turn = self.record.turn.take().ok_or(Refusal::NoSuchTurn)?;
        self.record.serial += 1;
        let event = match turn.provisional {
            true => turn.scheduled.plus(1),
            false => self.record_at(
                now,
                TurnStarted {
                    scheduled: turn.scheduled,
                    worker: start.worker.clone(),
                    request_id: start.request_id.clone(),
                    suggest_continue,
                    history_bytes: bytes,
                },
                Vec::new(),
                start.wire.clone(),
            ),
        };
        turn.started = Some(TurnStart {
            event,
            at: now,
            worker: start.worker,
            request_id: start.request_id,
            control: start.control,
            suggest_continue,
            history_bytes: bytes,
            wire: start.wire,
        });
        let token = Token {
            run: self.state.run,
            scheduled: turn.scheduled,
            attempt: turn.attempt,
            started: event,
            serial: self.record.serial,
        };
        let due = now.after(patience_with(self, turn.attempt));
        put(self, turn, Some(due));
        Ok(token)
    }
}

/// Unsets the alarm of the turn that waits or is out.
pub(super) fn disarm(draft: &mut Draft) {
    let Some(turn) = &mut draft.record.turn else { return };
    if let Some(due) = turn.deadline.take() {
        let alarm = RunAlarm::Turn(turn.scheduled, turn.attempt);
        draft.disarm_run(due, alarm);
    }
}

fn put(draft: &mut Draft, mut turn: Turn, deadline: Option<Time>) {
    turn.deadline = deadline;
    if let Some(due) = deadline {
        draft.arm_run(due, RunAlarm::Turn(turn.scheduled, turn.attempt));
    }
    draft.record.turn = Some(turn);
}

/// Where the next turn waits, and for how long if that is one worker's own queue.
fn place(draft: &Draft) -> (Queue, bool, Option<Span>) {
    match &draft.record.sticky {
        Some(sticky) => (sticky.queue.clone(), true, Some(sticky.patience)),
        None => (draft.state.started.queue.clone(), false, None),
    }
}

/// A worker does not report that a later attempt failed: it lets it time out. So the pause between
/// attempts is in how long the next one may take.
fn patience_with(draft: &Draft, attempt: u32) -> Duration {
    let plain = draft.state.turn_timeout().0;
    if attempt <= 3 {
        return plain;
    }
    let doubled = Duration::from_secs(5).saturating_mul(1 << (attempt - 4).min(16));
    plain + doubled.min(Duration::from_secs(600))
}
