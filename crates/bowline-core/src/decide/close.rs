//! A run closes: what was open is cancelled, told or left, and whoever waits is answered.

use std::time::Duration;

use super::{
    size,
    start::{self, Begin},
    turn, update,
};
use crate::{
    Address, Alarm, AlarmKind, Blob, Cancel, Cause, Code, ContinueAsNew, Draft, Effect, EndChild,
    EventId, EventKind, Failure, Initiator, Link, Message, Note, Outstanding, ParentClose, Payload,
    Post, Ranges, Refusal, RequestId, RetryState, Reuse, RunEnding, RunId, Signal, Span, Terminate,
    Time, TurnFault, TurnRecord, WorkflowCancelled, WorkflowCompleted, WorkflowContinuedAsNew,
    WorkflowFailed, WorkflowSignalled, WorkflowTerminated, WorkflowTimedOut,
    planted::{Defect, planted},
    retry::{self, Next},
};

/// What closing needs to know beside the event.
struct Closing {
    time: Time,
    cause: Cause,
    ending: RunEnding,
    /// The run that goes on; then the parent keeps waiting.
    next: Option<RunId>,
    wire: Option<Blob>,
}

pub(super) fn complete(
    draft: &mut Draft,
    turn: EventId,
    result: Option<Payload>,
    wire: Option<Blob>,
) -> Result<(), Refusal> {
    size::check(&result)?;
    let next_run = on_schedule(draft, result.clone(), None);
    let closing = Closing {
        time: draft.now,
        cause: Cause::new(Code::RunCompleted),
        ending: RunEnding::Completed(result.clone()),
        next: next_run,
        wire,
    };
    close(draft, closing, WorkflowCompleted { result, turn, next_run });
    Ok(())
}

pub(super) fn fail(
    draft: &mut Draft,
    turn: EventId,
    failure: Failure,
    wire: Option<Blob>,
) -> Result<(), Refusal> {
    size::bytes(failure.len())?;
    let (retry, next) = again(draft, Some(&failure));
    let next_run = next.map(|pause| try_again(draft, pause, Some(failure.clone())));
    let next_run = next_run.or_else(|| {
        let last_result = draft.state.started.last_result.clone();
        on_schedule(draft, last_result, Some(failure.clone()))
    });
    let closing = Closing {
        time: draft.now,
        cause: Cause::new(Code::RunFailed).detail(failure.to_string()),
        ending: RunEnding::Failed(failure.clone(), retry),
        next: next_run,
        wire,
    };
    close(draft, closing, WorkflowFailed { failure, turn, retry, next_run });
    Ok(())
}

pub(super) fn cancelled(
    draft: &mut Draft,
    turn: EventId,
    details: Option<Payload>,
    cause: Option<Cause>,
    wire: Option<Blob>,
) -> Result<(), Refusal> {
    size::check(&details)?;
    if let (Some(own), None) = (&cause, &draft.state.cancel) {
        // Nobody asked for it, so no other event says why.
        draft.notes.push(Note::Cause(own.clone()));
    }
    let why = cause.or_else(|| draft.state.cancel.as_ref().map(|(_, cause)| cause.clone()));
    let closing = Closing {
        time: draft.now,
        cause: Draft::cause(Code::RunCancelled, why.as_ref()),
        ending: RunEnding::Cancelled(details.clone(), why),
        next: None,
        wire,
    };
    close(draft, closing, WorkflowCancelled { details, turn });
    Ok(())
}

pub(super) fn continued(
    draft: &mut Draft,
    turn: EventId,
    asked: ContinueAsNew,
    next: RunId,
    wire: Option<Blob>,
) -> Result<(), Refusal> {
    size::call(&asked.input, &asked.header)?;
    size::check(asked.memo.iter().flat_map(|memo| memo.values()))?;
    let mut started = start::follow(draft, next);
    started.initiator = Some(Initiator::Workflow);
    started.attempt = 1;
    started.input = asked.input.clone();
    started.header = asked.header.clone();
    started.name = asked.name.unwrap_or(started.name);
    started.queue = asked.queue.unwrap_or(started.queue);
    started.run_timeout = asked.run_timeout.or(started.run_timeout);
    started.turn_timeout = asked.turn_timeout.or(started.turn_timeout);
    started.retry = asked.retry.or(started.retry);
    started.memo = asked.memo.unwrap_or(started.memo);
    started.search = asked.search.unwrap_or(started.search);
    started.delay = unhurried(draft, asked.delay);
    if let Some(schedule) = asked.cron.filter(|schedule| *schedule != started.cron) {
        if !draft.starts.contains_key(&schedule) {
            let why = format!("the schedule {schedule:?} does not read, or never starts anything");
            return Err(Refusal::Command(TurnFault::BadContinue, why));
        }
        started.cron = schedule;
    }
    start::check(&started)
        .map_err(|refusal| Refusal::Command(TurnFault::BadContinue, refusal.to_string()))?;
    let event = WorkflowContinuedAsNew {
        next_run: next,
        turn,
        name: started.name.clone(),
        queue: started.queue.clone(),
        input: asked.input,
        header: asked.header,
        run_timeout: started.run_timeout,
        turn_timeout: started.turn_timeout,
        delay: asked.delay,
        initiator: Initiator::Workflow,
        failure: None,
        last_result: None,
        memo: started.memo.clone(),
        search: started.search.clone(),
    };
    begin_next(draft, next, started);
    let closing = Closing {
        time: draft.now,
        cause: Cause::new(Code::RunContinued),
        ending: RunEnding::Continued(next),
        next: Some(next),
        wire,
    };
    close(draft, closing, event);
    Ok(())
}

/// The pause before the first turn of a run that follows: as it was asked for, and long enough that
/// a loop which does nothing but continue as new does not go round as fast as it can.
fn unhurried(draft: &Draft, asked: Option<Span>) -> Option<Span> {
    let lived = draft.now.since(draft.state.since);
    let pause = asked.map_or(Duration::ZERO, |span| span.0);
    let apart = draft.state.rules().apart();
    match lived.saturating_add(pause) < apart {
        true => Some(Span(apart - lived)),
        false => asked,
    }
}

pub(super) fn terminate(draft: &mut Draft, at: Time, terminate: &Terminate) {
    draft.delete = terminate.cause.code == Code::Deleted;
    let event =
        WorkflowTerminated { cause: terminate.cause.clone(), details: terminate.details.clone() };
    let closing = Closing {
        time: at,
        cause: Draft::cause(Code::RunTerminated, Some(&terminate.cause)),
        ending: RunEnding::Terminated(terminate.cause.clone()),
        next: None,
        wire: terminate.wire.clone(),
    };
    close(draft, closing, event);
}

/// The cancel was not obeyed in time.
pub(super) fn escalate(draft: &mut Draft, at: Time) {
    let why = draft.state.cancel.as_ref().map(|(_, cause)| cause);
    let cause = Draft::cause(Code::Escalated, why);
    terminate(draft, at, &Terminate { cause, details: None, wire: None });
}

pub(super) fn time_out(draft: &mut Draft, at: Time) {
    let (retry, next) = again(draft, None);
    let next_run = next.map(|pause| try_again(draft, pause, None));
    let next_run = next_run.or_else(|| {
        let late = Failure::new("the run took too long").kind("Timeout");
        let last_result = draft.state.started.last_result.clone();
        on_schedule(draft, last_result, Some(late))
    });
    let closing = Closing {
        time: at,
        cause: Cause::new(Code::RunTimedOut),
        ending: RunEnding::TimedOut(retry),
        next: next_run,
        wire: None,
    };
    close(draft, closing, WorkflowTimedOut { retry, next_run });
}

/// A history that has become too long ends its run: nobody could replay it for ever.
pub(crate) fn bound(draft: &mut Draft) {
    let state = &draft.state;
    let (events, bytes) = (state.next_event.0 - 1, state.bytes);
    let fits = events <= state.rules().events_max() && bytes <= state.rules().bytes_max();
    if fits || !state.status.is_open() {
        return;
    }
    let why = format!("history is too long: {events} events, {bytes} bytes");
    turn::force_closed(draft);
    give_up(draft, why);
}

/// The run cannot go on, and is terminated without anybody having asked for it.
pub(crate) fn give_up(draft: &mut Draft, why: String) {
    let cause = Cause::new(Code::RunTerminated).detail(why);
    terminate(draft, draft.now, &Terminate { cause, details: None, wire: None });
}

fn close(draft: &mut Draft, closing: Closing, event: impl Into<EventKind>) {
    let event = event.into();
    let id = draft.state.next_event;
    let mut notes = draft.take_notes();
    let told = |id: EventId| notes.iter().any(|note| names(note, id));
    let open = &draft.state.activities;
    let activities: Ranges = open
        .iter()
        .filter(|(id, a)| !a.detached && a.cancel.is_none() && !told(**id))
        .map(|(id, _)| *id)
        .collect();
    let over = |id| matches!(notes.first(), Some(Note::Skipped(ranges)) if ranges.contains(id));
    let mut left: Vec<EventId> =
        open.iter().filter(|(id, a)| a.detached && !over(**id)).map(|(id, _)| *id).collect();
    let timers = draft.state.timers.keys().copied().collect();
    if !activities.is_empty() {
        let cause = closing.cause.clone();
        draft.effect(Effect::CancelActivities(activities.clone(), cause));
    }
    let alarms: Vec<_> = draft
        .state
        .timers
        .iter()
        .map(|(timer, open)| Alarm { due: open.due, what: AlarmKind::Timer(*timer) })
        .collect();
    alarms.into_iter().for_each(|alarm| draft.effect(Effect::Disarm(alarm)));
    start::disarm(draft);
    let (children, inherited) = children(draft, &closing.cause, &mut left);
    draft.successor = closing.next;
    update::close(draft);
    if closing.next.is_none() {
        tell_parent(draft, closing.ending);
    }
    let left: Ranges = left.into_iter().collect();
    let cause = Some(closing.cause);
    let inherited = Some(inherited).filter(|ranges| !ranges.is_empty());
    let note = Outstanding { activities, timers, children, left, cause, closing: id, inherited };
    let ranges = [&note.activities, &note.timers, &note.children, &note.left];
    if !ranges.iter().all(|ranges| ranges.is_empty()) {
        notes.push(Note::Outstanding(note));
    }
    let begins_at = draft.record.begins_at;
    draft.record = TurnRecord { begins_at, ..TurnRecord::default() };
    (draft.insists, draft.told) = (false, false);
    draft.record_at(closing.time, event, notes, closing.wire);
}

/// Whether a note that rides on the closing event tells what became of an activity already.
fn names(note: &Note, activity: EventId) -> bool {
    match note {
        Note::Skipped(ranges) => ranges.contains(activity),
        Note::CancelledOne(target, _) => *target == activity,
        _ => false,
    }
}

/// Children are told by the policy that they were started with, but for those that a fork inherits:
/// who was told, and who would have been.
fn children(draft: &mut Draft, cause: &Cause, left: &mut Vec<EventId>) -> (Ranges, Ranges) {
    let open: Vec<_> = draft.state.children.iter().map(|(id, c)| (*id, c.clone())).collect();
    let (mut told, mut inherited) = (Ranges::default(), Ranges::default());
    for (id, child) in open {
        let cause = Draft::cause(Code::ParentClosed, Some(cause));
        let request_id = RequestId::default();
        let message = match child.close {
            _ if child.detached => None,
            ParentClose::Abandon => None,
            _ if draft.inherited.contains(id) => {
                inherited.push(id);
                None
            }
            ParentClose::Cancel => {
                let cancel = Cancel { cause, request_id, external: None, wire: None };
                Some(Message::Cancel(Box::new(cancel)))
            }
            ParentClose::Terminate => {
                let terminate = Terminate { cause, details: None, wire: None };
                Some(Message::Terminate(Box::new(terminate)))
            }
        };
        match message {
            Some(message) => {
                told.push(id);
                let to = Address::Chain(child.run);
                draft.effect(Effect::Post(Post { to, message, child_of: None, answer: None }));
            }
            None => left.push(id),
        }
    }
    (told, inherited)
}

fn tell_parent(draft: &mut Draft, ending: RunEnding) {
    let Some(parent) = draft.state.started.parent.clone() else { return };
    let first = Some(draft.state.started.first_run);
    let end = EndChild { child: parent.initiated, run: draft.state.run, ending, first };
    let message = Message::EndChild(Box::new(end));
    // An open run is the newest of its workflow id. If the parent is closed, a fork of it may
    // have inherited this child; nobody else knows it.
    let to = Address::Current(parent.run.namespace, parent.workflow_id);
    draft.effect(Effect::Post(Post { to, message, child_of: None, answer: None }));
}

/// Whether the run is tried again, and after which pause. A cancelled one never is: that would
/// undo the cancel.
fn again(draft: &Draft, failure: Option<&Failure>) -> (RetryState, Option<Span>) {
    if draft.state.cancel.is_some() {
        return (RetryState::CancelRequested, None);
    }
    let own = &draft.state.started;
    let left = own.chain_expires_at.map(|end| end.since(draft.now));
    match retry::next(own.retry.as_ref(), own.attempt, failure, left) {
        Next::After(pause) => (RetryState::InProgress, Some(Span(pause))),
        Next::Stop(state) => (state, None),
    }
}

fn try_again(draft: &mut Draft, pause: Span, failure: Option<Failure>) -> RunId {
    let next = draft.spare;
    let mut started = start::follow(draft, next);
    started.initiator = Some(Initiator::Retry);
    started.attempt = draft.state.started.attempt + 1;
    started.input = draft.state.started.input.clone();
    started.header = draft.state.started.header.clone();
    started.delay = Some(pause);
    started.last_failure = failure;
    begin_next(draft, next, started);
    next
}

/// The run that its schedule starts next, if it has one. A cancel ends the schedule, and so does
/// the end of the chain's time.
fn on_schedule(
    draft: &mut Draft,
    last_result: Option<Payload>,
    last_failure: Option<Failure>,
) -> Option<RunId> {
    let own = &draft.state.started;
    let at = draft.next_start.filter(|_| !own.cron.is_empty() && draft.state.cancel.is_none())?;
    if own.chain_expires_at.is_some_and(|end| at >= end) {
        return None;
    }
    let next = draft.spare;
    let mut started = start::follow(draft, next);
    started.initiator = Some(Initiator::Cron);
    started.attempt = 1;
    started.input = draft.state.started.input.clone();
    started.header = draft.state.started.header.clone();
    started.delay = Some(Span(at.since(draft.now)));
    started.last_result = last_result;
    started.last_failure = last_failure;
    begin_next(draft, next, started);
    Some(next)
}

/// A signal that was acknowledged and not received goes on with the chain.
fn unread(signal: &WorkflowSignalled) -> Signal {
    let signal = signal.clone();
    Signal {
        name: signal.name,
        input: signal.input,
        header: signal.header,
        identity: signal.identity,
        request_id: signal.request_id,
        external: signal.external,
        wire: None,
    }
}

/// However it comes about, the next run gets what was acknowledged and not received. Under remote
/// rules nothing is known to be unread: what a worker was shown, it has.
fn begin_next(draft: &mut Draft, run: RunId, started: crate::WorkflowStarted) {
    let keeps = started.initiator == Some(Initiator::Workflow) || !planted(Defect::SignalsDropped);
    let signals = draft.state.unread.signals().filter(|_| keeps).map(unread).collect();
    let begin = Begin {
        run,
        started,
        reuse: Reuse::Allow,
        link: Link::Next,
        signals,
        wire: None,
        now: draft.now,
    };
    draft.effect(Effect::Begin(Box::new(start::begin_run(begin))));
}

#[cfg(test)]
mod tests;
