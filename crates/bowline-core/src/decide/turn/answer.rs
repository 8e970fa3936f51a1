//! A worker's answer is taken.

use super::{
    TurnAnswer, Verdict, check_order,
    fail::{self, Cut},
    remote,
};
use crate::{
    Command, Draft, EventId, Message, Received, Refusal, TurnCompleted, TurnFault, TurnScheduled,
    TurnStarted, decide, intake, limits,
};

/// Takes the answer, then what waited meanwhile, then schedules the next turn if one is wanted.
/// If a command is refused, the whole answer is thrown away and the turn fails instead.
pub(crate) fn answer(
    draft: &mut Draft,
    answer: TurnAnswer,
    inbox: &[Received],
) -> Result<Verdict, Refusal> {
    fail::check(draft, answer.token)?;
    check_order(answer.commands.iter().map(|asked| &asked.command))?;
    if came_to_nothing(draft, &answer) {
        return Ok(drop_turn(draft, answer, inbox));
    }
    let before = draft.clone();
    match apply(draft, &answer, inbox) {
        Ok(()) => {}
        Err(refusal) => {
            *draft = before;
            return Ok(refused(draft, &answer, inbox, refusal));
        }
    }
    draft.record.sticky = answer.sticky.clone();
    draft.record.close_refused = false;
    if draft.state.status.is_open() {
        draft.wants_turn = false;
        intake::flush(draft, inbox);
        draft.wants_turn |= answer.again;
        next(draft, answer.again);
    }
    intake::consume(draft, inbox);
    Ok(Verdict::Taken)
}

fn apply(draft: &mut Draft, answer: &TurnAnswer, inbox: &[Received]) -> Result<(), Refusal> {
    let turn = write_turn(draft, answer)?;
    for asked in &answer.commands {
        if asked.command.closes() && waits(draft, inbox) {
            return Err(Refusal::Unhandled);
        }
        decide::command(draft, asked.clone(), turn)?;
    }
    Ok(())
}

/// Writes `TurnCompleted`, and before it whatever of the turn was provisional.
fn write_turn(draft: &mut Draft, answer: &TurnAnswer) -> Result<EventId, Refusal> {
    remote::disarm(draft);
    let turn = draft.record.turn.clone().ok_or(Refusal::NoSuchTurn)?;
    let start = turn.started.clone().ok_or(Refusal::NoSuchTurn)?;
    if turn.provisional {
        let event = TurnScheduled {
            queue: turn.queue.clone(),
            sticky: turn.sticky,
            start_to_close: draft.state.started.turn_timeout,
            attempt: turn.attempt,
        };
        let scheduled = draft.record_at(turn.scheduled_at, event, Vec::new(), None);
        let event = TurnStarted {
            scheduled,
            worker: start.worker.clone(),
            request_id: start.request_id.clone(),
            suggest_continue: start.suggest_continue,
            history_bytes: start.history_bytes,
        };
        let started = draft.record_at(start.at, event, Vec::new(), start.wire.clone());
        assert_eq!((scheduled, started), (turn.scheduled, start.event), "history is frozen");
    }
    let heartbeat = answer.again && answer.commands.is_empty();
    let since = turn.heartbeat_since.unwrap_or(turn.scheduled_at);
    draft.record.turn = None;
    draft.heartbeat_since = heartbeat.then_some(since);
    let event = TurnCompleted {
        scheduled: turn.scheduled,
        started: start.event,
        worker: answer.worker.clone(),
        sdk_metadata: answer.sdk_metadata.clone(),
        metering: answer.metering.clone(),
        worker_version: answer.worker_version.clone(),
        deployment: answer.deployment.clone(),
    };
    Ok(draft.record_at(draft.now, event, Vec::new(), answer.wire.clone()))
}

/// The next turn; a chain of them that only keeps a local activity alive has an end.
fn next(draft: &mut Draft, again: bool) {
    let since = draft.heartbeat_since.take();
    remote::schedule(draft);
    if let (true, Some(since), Some(turn)) = (again, since, &mut draft.record.turn) {
        turn.heartbeat_since = Some(since);
    }
}

/// How long turns have only kept a local activity alive, past the bound.
pub(crate) fn heartbeat_is_over(draft: &Draft) -> bool {
    let since = draft.record.turn.as_ref().and_then(|turn| turn.heartbeat_since);
    since.is_some_and(|since| draft.now.since(since) > limits::TURN_HEARTBEAT_MAX)
}

/// A speculative turn whose answer refuses its updates and asks for nothing.
fn came_to_nothing(draft: &Draft, answer: &TurnAnswer) -> bool {
    let speculative = draft.record.turn.as_ref().is_some_and(|turn| turn.speculative);
    let nothing =
        answer.commands.iter().all(|asked| matches!(asked.command, Command::RejectUpdate(_)));
    speculative && nothing && !answer.again
}

fn drop_turn(draft: &mut Draft, answer: TurnAnswer, inbox: &[Received]) -> Verdict {
    remote::disarm(draft);
    draft.record.turn = None;
    draft.record.sticky = answer.sticky;
    for asked in answer.commands {
        let done = decide::command(draft, asked, EventId(0));
        debug_assert!(done.is_ok(), "a rejection is always acceptable");
    }
    intake::flush(draft, inbox);
    intake::consume(draft, inbox);
    remote::schedule(draft);
    Verdict::Dropped
}

/// A command was refused. A later attempt that fails for a reason of its own leaves no trace: it
/// will time out.
fn refused(
    draft: &mut Draft,
    answer: &TurnAnswer,
    inbox: &[Received],
    refusal: Refusal,
) -> Verdict {
    let attempt = draft.record.turn.as_ref().map_or(1, |turn| turn.attempt);
    let (fault, unhandled) = match &refusal {
        Refusal::Command(fault, _) => (*fault, false),
        Refusal::Unhandled => (TurnFault::Unhandled, true),
        _ => (TurnFault::CodeFailed, false),
    };
    if attempt == 1 || unhandled {
        draft.record.close_refused = unhandled;
        let failure = Some(crate::Failure::new(refusal.to_string()));
        let cut = Cut::Failed { fault, failure, worker: answer.worker.clone() };
        fail::end(draft, cut, inbox);
        intake::consume(draft, inbox);
    }
    Verdict::Failed(refusal)
}

/// Whether something waits that the code has not seen.
fn waits(draft: &Draft, inbox: &[Received]) -> bool {
    let state = &draft.state;
    let new = |id: &crate::RequestId| id.is_empty() || !state.requests.contains(id);
    inbox.iter().any(|received| match &received.message {
        Message::Signal(signal) => new(&signal.request_id),
        Message::Cancel(_) => state.cancel.is_none(),
        Message::EndActivity(end) => state.activities.contains_key(&end.activity),
        Message::SkipActivities(ids) => ids.ids().any(|id| state.activities.contains_key(&id)),
        Message::FireTimer(timer) => state.timers.contains_key(timer),
        Message::ChildBegan(child) | Message::RefuseChild(child, _) => {
            state.children.contains_key(child)
        }
        Message::EndChild(end) => state.children.contains_key(&end.child),
        Message::ExternalDone(id) | Message::RefuseExternal(id, _) => {
            state.externals.contains_key(id)
        }
        Message::TimeOut(crate::RunAlarm::Deadline) => state.cancel.is_none(),
        _ => false,
    })
}
