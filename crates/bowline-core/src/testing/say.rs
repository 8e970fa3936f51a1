//! Short words for messages, commands and causes.

use std::time::Duration;

use crate::*;

pub(crate) fn run(uuid: u128) -> RunId {
    RunId { namespace: Namespace(1), uuid }
}

pub(crate) fn span(seconds: u64) -> Span {
    Span(Duration::from_secs(seconds))
}

pub(crate) fn ids(ids: &[u64]) -> Ranges {
    ids.iter().copied().map(EventId).collect()
}

pub(crate) fn native() -> WorkflowStarted {
    WorkflowStarted {
        name: "work".into(),
        workflow_id: "w".into(),
        queue: "q".into(),
        rules: Rules::NATIVE,
        first_run: run(1),
        original_run: run(1),
        attempt: 1,
        ..WorkflowStarted::default()
    }
}

pub(crate) fn remote() -> WorkflowStarted {
    WorkflowStarted { rules: Rules::REMOTE, ..native() }
}

pub(crate) fn why(words: &str) -> Cause {
    Cause::requested(words, "alice")
}

pub(crate) fn text(text: &str) -> Option<Payload> {
    Some(Payload::json(text))
}

pub(crate) fn huge() -> Option<Payload> {
    Some(Payload::json("x".repeat(limits::PAYLOAD_MAX + 1)))
}

// Messages.

pub(crate) fn signal(name: &str) -> Message {
    Message::Signal(Box::new(Signal { name: name.into(), ..Signal::default() }))
}

pub(crate) fn signal_of(name: &str, request: &str) -> Message {
    let request_id = request.into();
    Message::Signal(Box::new(Signal { name: name.into(), request_id, ..Signal::default() }))
}

/// Somebody asks the run to cancel.
pub(crate) fn stop() -> Message {
    let cause = why("stop");
    let request_id = RequestId::default();
    Message::Cancel(Box::new(Cancel { cause, request_id, external: None, wire: None }))
}

pub(crate) fn terminate() -> Message {
    Message::Terminate(Box::new(Terminate { cause: why("now"), details: None, wire: None }))
}

pub(crate) fn cancel_one(target: u64) -> Message {
    Message::CancelOne(EventId(target), why("this one"))
}

/// An activity ends after it had begun.
pub(crate) fn end(activity: u64, outcome: Outcome) -> Message {
    ended(activity, Some(Time(0)), outcome)
}

pub(crate) fn ended(activity: u64, started_at: Option<Time>, outcome: Outcome) -> Message {
    Message::EndActivity(Box::new(EndActivity {
        activity: EventId(activity),
        attempt: started_at.map_or(0, |_| 1),
        started_at,
        worker: Identity::default(),
        last_failure: None,
        outcome,
        retry: RetryState::NonRetryable,
        heartbeat: None,
    }))
}

pub(crate) fn done(activity: u64) -> Message {
    end(activity, Outcome::Completed(None))
}

pub(crate) fn failed(activity: u64) -> Message {
    end(activity, Outcome::Failed(Failure::new("no")))
}

pub(crate) fn stopped(activity: u64) -> Message {
    end(activity, Outcome::Cancelled(why("stop"), Rung::Signal, None))
}

pub(crate) fn skip(activities: &[u64]) -> Message {
    Message::SkipActivities(ids(activities))
}

pub(crate) fn fire(timer: u64) -> Message {
    Message::FireTimer(EventId(timer))
}

pub(crate) fn child_began(child: u64) -> Message {
    Message::ChildBegan(EventId(child))
}

pub(crate) fn child_refused(child: u64) -> Message {
    Message::RefuseChild(EventId(child), ChildRefusal::IdTaken)
}

pub(crate) fn child_ended(child: u64, ending: RunEnding) -> Message {
    Message::EndChild(Box::new(EndChild {
        child: EventId(child),
        run: run(9),
        ending,
        first: Some(run(9)),
    }))
}

pub(crate) fn external_done(initiated: u64) -> Message {
    Message::ExternalDone(EventId(initiated))
}

pub(crate) fn external_refused(initiated: u64) -> Message {
    Message::RefuseExternal(EventId(initiated), ExternalRefusal::NotFound)
}

pub(crate) fn update(id: &str) -> Message {
    Message::Update(Box::new(request(id)))
}

pub(crate) fn request(id: &str) -> UpdateRequest {
    UpdateRequest { id: id.into(), name: "raise".into(), ..UpdateRequest::default() }
}

// Commands.

pub(crate) fn spec(id: &str) -> ActivitySpec {
    let timeouts = Timeouts { start_to_close: Some(span(5)), ..Timeouts::default() };
    let (queue, name) = ("q".into(), "act".into());
    ActivitySpec { id: id.into(), name, queue, timeouts, ..ActivitySpec::default() }
}

pub(crate) fn activity(id: &str) -> Command {
    Command::ScheduleActivity(Box::new(spec(id)))
}

pub(crate) fn cancel_activity(activity: u64) -> Command {
    Command::CancelActivity(EventId(activity))
}

pub(crate) fn timer(id: &str, seconds: u64) -> Command {
    Command::StartTimer(id.into(), span(seconds))
}

pub(crate) fn cancel_timer(timer: u64) -> Command {
    Command::CancelTimer(EventId(timer), None)
}

pub(crate) fn marker(name: &str) -> Command {
    Command::RecordMarker(Box::new(RecordMarker { name: name.into(), ..Default::default() }))
}

pub(crate) fn child_spec(id: &str) -> ChildSpec {
    ChildSpec { name: "child".into(), workflow_id: id.into(), ..ChildSpec::default() }
}

/// Its run has number 9.
pub(crate) fn child(id: &str) -> Command {
    Command::StartChild(Box::new(child_spec(id)), run(9))
}

pub(crate) fn child_with(id: &str, close: ParentClose) -> Command {
    Command::StartChild(Box::new(ChildSpec { close, ..child_spec(id) }), run(9))
}

pub(crate) fn cancel_child(id: &str) -> Command {
    let target = External { workflow_id: id.into(), run: None, child_only: true };
    Command::CancelExternal(Box::new(CancelExternal { target, ..CancelExternal::default() }))
}

pub(crate) fn other(id: &str) -> External {
    External { workflow_id: id.into(), run: None, child_only: false }
}

pub(crate) fn cancel_other(id: &str) -> Command {
    let target = other(id);
    Command::CancelExternal(Box::new(CancelExternal { target, ..CancelExternal::default() }))
}

pub(crate) fn signal_other(id: &str) -> Command {
    let (target, name) = (other(id), "go".into());
    let asked = SignalExternal { target, name, ..SignalExternal::default() };
    Command::SignalExternal(Box::new(asked))
}

pub(crate) fn accept(id: &str) -> Command {
    let accept = AcceptUpdate { request: request(id), ..AcceptUpdate::default() };
    Command::AcceptUpdate(Box::new(accept))
}

pub(crate) fn reject(id: &str) -> Command {
    let failure = Failure::new("not now");
    Command::RejectUpdate(Box::new(RejectUpdate { request: request(id), failure }))
}

pub(crate) fn answer_update(id: &str) -> Command {
    let answer = UpdateAnswer::Done(None);
    Command::CompleteUpdate(Box::new(CompleteUpdate { request: request(id), answer }))
}

pub(crate) fn dropped(what: Cancelled, targets: &[u64]) -> Command {
    let cause = Cause::new(Code::FutureDropped);
    let decision = Decision { scope: ScopeId(0), what, targets: ids(targets), cause };
    Command::Drop(vec![decision])
}

pub(crate) fn complete() -> Command {
    Command::Complete(None)
}

pub(crate) fn continue_as_new() -> Command {
    Command::ContinueAsNew(Box::default(), run(7))
}
