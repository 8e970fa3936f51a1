//! Events, notes and effects as short lines.

use crate::*;

/// A moment, in seconds from the beginning.
pub(super) fn moment(time: Time) -> String {
    format!("{}s", time.0 as f64 / 1e6)
}

pub(super) fn event(event: &Event) -> String {
    let fields = fields(&event.kind);
    let mut line = format!("{} {}", event.id, event.kind.name());
    if !fields.is_empty() {
        line = format!("{line} {fields}");
    }
    for each in &event.notes {
        line = format!("{line}\n+ {}", note(each));
    }
    line
}

fn fields(kind: &EventKind) -> String {
    use EventKind as K;
    match kind {
        K::WorkflowStarted(e) => {
            let delay = e.delay.map(|d| format!(" delay {:?}", d.0)).unwrap_or_default();
            let attempt = if e.attempt > 1 { format!(" try {}", e.attempt) } else { String::new() };
            format!("{}{delay}{attempt}", e.name)
        }
        K::WorkflowCompleted(e) => format!("turn {}", e.turn),
        K::WorkflowFailed(e) => {
            format!("turn {} {:?} {:?}{}", e.turn, e.failure, e.retry, next(e.next_run))
        }
        K::WorkflowTimedOut(e) => format!("{:?}{}", e.retry, next(e.next_run)),
        K::WorkflowCancelled(e) => format!("turn {}", e.turn),
        K::WorkflowTerminated(e) => cause(&e.cause),
        K::WorkflowContinuedAsNew(e) => format!("turn {}{}", e.turn, next(Some(e.next_run))),
        K::WorkflowCancelRequested(e) => cause(&e.cause),
        K::WorkflowSignalled(e) => e.name.to_string(),
        K::TurnScheduled(e) => {
            let sticky = if e.sticky { format!("sticky {:?} ", e.queue) } else { String::new() };
            format!("{sticky}attempt {}", e.attempt)
        }
        K::TurnStarted(e) => format!("of {}", e.scheduled),
        K::TurnCompleted(e) => format!("of {},{}", e.scheduled, e.started),
        K::TurnFailed(e) => format!("of {},{} {:?}", e.scheduled, e.started, e.fault),
        K::TurnTimedOut(e) => format!("of {},{} {:?}", e.scheduled, e.started, e.timeout),
        K::MarkerRecorded(e) => e.name.to_string(),
        K::SearchUpserted(e) => format!("{:?}", e.changes.keys().collect::<Vec<_>>()),
        K::MemoModified(e) => format!("{:?}", e.changes.keys().collect::<Vec<_>>()),
        K::UpdateAdmitted(e) => e.request.id.to_string(),
        K::UpdateAccepted(e) => e.request.id.to_string(),
        K::UpdateCompleted(e) => format!("{} of {}", e.id, e.accepted),
        _ => work(kind),
    }
}

fn work(kind: &EventKind) -> String {
    use EventKind as K;
    match kind {
        K::ActivityScheduled(e) => format!("{:?}", e.spec.id),
        K::ActivityStarted(e) => format!("{} attempt {}", e.activity, e.attempt),
        K::ActivityCompleted(e) => format!("of {},{}", e.activity, e.started),
        K::ActivityFailed(e) => format!("of {},{} {:?}", e.activity, e.started, e.failure),
        K::ActivityTimedOut(e) => format!("of {},{} {:?}", e.activity, e.started, e.timeout),
        K::ActivityCancelRequested(e) => format!("of {}", e.activity),
        K::ActivityCancelled(e) => format!("of {},{},{}", e.activity, e.started, e.requested),
        K::TimerStarted(e) => format!("{:?} {:?}", e.id, e.after.0),
        K::TimerFired(e) => format!("of {}", e.timer),
        K::TimerCancelled(e) => match e.turn {
            EventId(0) => format!("of {} by {:?}", e.timer, e.worker),
            _ => format!("of {}", e.timer),
        },
        K::ChildInitiated(e) => format!("{:?} as {}", e.spec.workflow_id, short(e.run)),
        K::ChildStartFailed(e) => format!("of {} {:?}", e.child, e.refusal),
        K::ChildStarted(e) => format!("of {}", e.child),
        K::ChildCompleted(e) => format!("of {},{}", e.child, e.started),
        K::ChildFailed(e) => format!("of {},{} {:?}", e.child, e.started, e.failure),
        K::ChildCancelled(e) => format!("of {},{}", e.child, e.started),
        K::ChildTimedOut(e) => format!("of {},{}", e.child, e.started),
        K::ChildTerminated(e) => format!("of {},{}", e.child, e.started),
        K::ExternalCancelInitiated(e) => match e.child {
            EventId(0) => format!("{:?}", e.target.workflow_id),
            child => format!("{:?} child {child}", e.target.workflow_id),
        },
        K::ExternalCancelRequested(e) => format!("of {}", e.initiated),
        K::ExternalCancelFailed(e) => format!("of {} {:?}", e.initiated, e.refusal),
        K::ExternalSignalInitiated(e) => format!("{:?} {}", e.target.workflow_id, e.name),
        K::ExternalSignalled(e) => format!("of {}", e.initiated),
        K::ExternalSignalFailed(e) => format!("of {} {:?}", e.initiated, e.refusal),
        other => unreachable!("{} has a line of its own", other.name()),
    }
}

fn note(note: &Note) -> String {
    match note {
        Note::Cancels(decisions) => {
            let lines = decisions.iter().map(|d| format!("{:?} {:?}", d.what, d.targets));
            format!("Cancels {}", lines.collect::<Vec<_>>().join(", "))
        }
        Note::Scopes(steps) => format!("Scopes {}", steps.len()),
        Note::Cause(why) => cause(why),
        Note::Skipped(ranges) => format!("Skipped {ranges:?}"),
        Note::Rung(rung) => format!("{rung:?}"),
        Note::CancelledOne(target, why) => format!("CancelledOne {target} {}", cause(why)),
        Note::Detached(ranges) => format!("Detached {ranges:?}"),
        Note::Hastened(why) => {
            format!("Hastened {} {}", cause(why), ladders(why))
        }
        Note::Received(ranges) => format!("Received {ranges:?}"),
        Note::RefusedUpdates(ids) => format!("RefusedUpdates {ids:?}"),
        Note::Outstanding(out) => {
            let parts = [
                ("activities", &out.activities),
                ("timers", &out.timers),
                ("children", &out.children),
                ("left", &out.left),
            ];
            let parts = parts.iter().filter(|(_, ids)| !ids.is_empty());
            let parts: Vec<_> = parts.map(|(name, ids)| format!("{name} {ids:?}")).collect();
            format!("Outstanding {}", parts.join(" "))
        }
    }
}

pub(super) fn effect(effect: &Effect) -> String {
    match effect {
        Effect::QueueActivity(id, spec) => format!("queue activity {id} in {:?}", spec.queue),
        Effect::CancelActivities(ids, why) => {
            let line = format!("cancel activities {ids:?} {} {}", cause(why), ladders(why));
            line.trim_end().to_owned()
        }
        Effect::Arm(alarm) => format!("arm {:?} at {}", alarm.what, moment(alarm.due)),
        Effect::Disarm(alarm) => format!("disarm {:?} at {}", alarm.what, moment(alarm.due)),
        Effect::Post(post) => {
            let answer = post.answer.map(|id| format!(", answer {id}")).unwrap_or_default();
            let child = if post.child_of.is_some() { ", only a child" } else { "" };
            format!("post to {}: {}{child}{answer}", address(&post.to), message(&post.message))
        }
        Effect::Begin(birth) => {
            let events: Vec<_> = birth.events.iter().map(event).collect();
            format!("begin {} {:?}: {}", short(birth.run), birth.link, events.join(" | "))
        }
        Effect::Forget(number) => format!("forget {number}"),
        Effect::AnswerUpdate(id, stage) => match stage {
            UpdateStage::Accepted => format!("update {id} accepted"),
            UpdateStage::Rejected(failure) => format!("update {id} rejected: {failure}"),
            UpdateStage::Completed(answer) => format!("update {id} completed: {answer:?}"),
            UpdateStage::Unanswered => format!("update {id} unanswered"),
            UpdateStage::Moved(to) => format!("update {id} moves to {}", short(*to)),
        },
    }
}

/// How hard a cause pushes.
fn ladders(cause: &Cause) -> String {
    let run = cause.run_ladder().map(|run| format!(" run {:?}", run.terminate_after.0));
    let activities = cause.activity_ladder().map(|own| {
        let only = if cause.only_hastens() { "at most " } else { "" };
        format!(" activities {only}{:?} {:?}", own.grace.0, own.step.0)
    });
    [run, activities].into_iter().flatten().collect::<String>().trim_start().to_owned()
}

/// A cause as the words of its chain, from the effect to the first mover.
fn cause(cause: &Cause) -> String {
    let words: Vec<_> = cause.chain().map(|cause| cause.code.as_str()).collect();
    format!("({})", words.join(" < "))
}

fn message(message: &Message) -> String {
    match message {
        Message::Signal(signal) => format!("signal {}", signal.name),
        Message::Cancel(cancel) => {
            let line = format!("cancel {} {}", cause(&cancel.cause), ladders(&cancel.cause));
            line.trim_end().to_owned()
        }
        Message::Terminate(terminate) => format!("terminate {}", cause(&terminate.cause)),
        Message::EndChild(end) => format!("child {} {}", end.child, ending(&end.ending)),
        other => format!("{other:?}"),
    }
}

fn ending(ending: &RunEnding) -> String {
    match ending {
        RunEnding::Completed(_) => "completed".to_owned(),
        RunEnding::Failed(failure, retry) => format!("failed {failure:?} {retry:?}"),
        RunEnding::Cancelled(_, why) => {
            format!("cancelled {}", why.as_ref().map(cause).unwrap_or_default())
        }
        RunEnding::TimedOut(retry) => format!("timed out {retry:?}"),
        RunEnding::Terminated(why) => format!("terminated {}", cause(why)),
        RunEnding::Continued(run) => format!("continued as {}", short(*run)),
    }
}

fn address(address: &Address) -> String {
    match address {
        Address::Run(run) => format!("run {}", short(*run)),
        Address::Chain(run) => format!("chain {}", short(*run)),
        Address::Current(_, id) => format!("current {id:?}"),
    }
}

pub(super) fn verdict(verdict: &TurnVerdict) -> String {
    match verdict {
        TurnVerdict::Taken => "taken".to_owned(),
        TurnVerdict::Dropped => "dropped".to_owned(),
        TurnVerdict::Failed(refusal) => format!("failed: {refusal}"),
    }
}

pub(super) fn turn(record: &TurnRecord) -> String {
    let Some(turn) = &record.turn else { return "no turn".to_owned() };
    let mut line = format!("turn {} attempt {} in {:?}", turn.scheduled, turn.attempt, turn.queue);
    for (is, word) in [
        (turn.sticky, "sticky"),
        (turn.provisional, "provisional"),
        (turn.speculative, "speculative"),
        (turn.started.is_some(), "started"),
    ] {
        if is {
            line = format!("{line} {word}");
        }
    }
    match turn.deadline {
        Some(due) => format!("{line} until {}", moment(due)),
        None => line,
    }
}

fn short(run: RunId) -> String {
    format!("run{}", run.uuid)
}

fn next(run: Option<RunId>) -> String {
    run.map(|run| format!(" next {}", short(run))).unwrap_or_default()
}
