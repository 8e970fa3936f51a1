//! A worker's answer is taken.

use super::{
    TurnAnswer, TurnVerdict, check_order,
    fail::{self, Cut},
    remote,
};
use crate::{
    Command, Draft, EventId, Message, Received, Refusal, RunEnding, TurnCompleted, TurnFault,
    decide::{self, close, update},
    intake, limits,
};

impl Draft {
    /// Remote rules: takes a worker's answer, then what waited meanwhile, then schedules the next
    /// turn if one is wanted. If a command is refused, the whole answer is thrown away and the turn
    /// fails instead: that is what the draft then holds.
    ///
    /// # Errors
    /// If the answer belongs to no turn that is out, or something waits in the inbox that closes
    /// the run: that came first, and is left to [`intake`](Self::intake).
    pub fn answer_turn(
        &mut self,
        answer: TurnAnswer,
        inbox: &[Received],
    ) -> Result<TurnVerdict, Refusal> {
        fail::check(self, answer.token)?;
        fail::check_closers(self, inbox)?;
        if is_heartbeat(&answer) && heartbeat_is_over(self) {
            return Err(Refusal::NoSuchTurn);
        }
        check_order(answer.commands.iter().map(|asked| &asked.command))?;
        if came_to_nothing(self, &answer) {
            return Ok(drop_turn(self, answer, inbox));
        }
        let before = self.clone();
        match apply(self, &answer, inbox) {
            Ok(()) => {}
            Err(refusal) => {
                *self = before;
                return Ok(refused(self, &answer, inbox, refusal));
            }
        }
        if self.state.status.is_open() {
            self.record.sticky = answer.sticky.clone();
            self.record.close_refused = false;
            if !is_heartbeat(&answer) {
                update::ignored(self);
            }
            self.insists = false;
            intake::flush(self, inbox);
            self.insists |= answer.again;
            close::bound(self);
            next(self, answer.again);
        } else {
            intake::turn_away(self, inbox);
        }
        intake::consume(self, inbox);
        Ok(TurnVerdict::Taken)
    }
}

/// An answer that only keeps a local activity alive.
fn is_heartbeat(answer: &TurnAnswer) -> bool {
    answer.again && answer.commands.is_empty()
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
    for event in draft.record.tail(&draft.state) {
        let id = draft.record_at(event.time, event.kind, event.notes, event.wire);
        assert_eq!(id, event.id, "history is frozen while a turn is out");
    }
    let since = turn.heartbeat_since.unwrap_or(turn.scheduled_at);
    draft.record.turn = None;
    draft.heartbeat_since = is_heartbeat(answer).then_some(since);
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
fn heartbeat_is_over(draft: &Draft) -> bool {
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

fn drop_turn(draft: &mut Draft, answer: TurnAnswer, inbox: &[Received]) -> TurnVerdict {
    remote::disarm(draft);
    draft.record.turn = None;
    draft.record.sticky = answer.sticky;
    for asked in answer.commands {
        decide::command(draft, asked, EventId(0)).expect("a rejection is always acceptable");
    }
    update::ignored(draft);
    intake::flush(draft, inbox);
    intake::consume(draft, inbox);
    close::bound(draft);
    remote::schedule(draft);
    TurnVerdict::Dropped
}

/// A command was refused. A later attempt that fails for a reason of its own leaves no trace: it
/// will time out.
fn refused(
    draft: &mut Draft,
    answer: &TurnAnswer,
    inbox: &[Received],
    refusal: Refusal,
) -> TurnVerdict {
    let attempt = draft.record.turn.as_ref().map_or(1, |turn| turn.attempt);
    let (fault, unhandled) = match &refusal {
        Refusal::Command(fault, _) => (*fault, false),
        Refusal::Unhandled => (TurnFault::Unhandled, true),
        _ => (TurnFault::CodeFailed, false),
    };
    let too_large = matches!(fault, TurnFault::TooLarge | TurnFault::SearchTooLarge);
    if attempt > 1 && !unhandled && !too_large {
        return TurnVerdict::Failed(refusal);
    }
    draft.record.close_refused = unhandled;
    let failure = Some(crate::Failure::new(refusal.to_string()));
    let cut = Cut::Failed { fault, failure, worker: answer.worker.clone(), wire: None };
    match too_large {
        // The code would ask for the same again, so trying again cannot help.
        true => {
            fail::cut_off(draft, cut, inbox);
            close::give_up(draft, refusal.to_string());
        }
        false => fail::end(draft, cut, inbox),
    }
    intake::consume(draft, inbox);
    TurnVerdict::Failed(refusal)
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
        Message::EndChild(end) if matches!(end.ending, RunEnding::Continued(_)) => false,
        Message::EndChild(end) => state.ended(end).is_some(),
        Message::ExternalDone(id) | Message::RefuseExternal(id, _) => {
            state.externals.contains_key(id)
        }
        Message::TimeOut(crate::RunAlarm::Deadline) => state.cancel.is_none(),
        _ => false,
    })
}
