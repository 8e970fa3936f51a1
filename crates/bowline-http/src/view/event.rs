//! Events of a history, for people: what happened, to what, by whom, with what, and why.

use bowline_core::{
    Cancelled, Event, EventKind as K, Note, ScopeStep, Time, UpdateAnswer, UpdateRequest,
};
use serde_json::{Value, json};

use super::{
    cause::{failed, why},
    data::Shown,
    millis, moment,
};
use crate::model::HistoryEvent;

/// One event of a run that began at `start`.
pub(crate) fn event(event: &Event, start: Time, shown: &Shown) -> HistoryEvent {
    let mut line = HistoryEvent {
        id: event.id.0,
        time: moment(event.time),
        since_start_ms: millis(event.time.since(start)),
        kind: event.kind.name().to_owned(),
        words: String::new(),
        target: None,
        name: None,
        worker: None,
        attempt: None,
        data: None,
        failure: None,
        why: None,
        other_run: None,
        notes: event.notes.iter().filter_map(note).collect(),
        more: Value::Null,
    };
    line.words = match &event.kind {
        K::WorkflowStarted(_)
        | K::WorkflowCompleted(_)
        | K::WorkflowFailed(_)
        | K::WorkflowTimedOut(_)
        | K::WorkflowCancelled(_)
        | K::WorkflowTerminated(_)
        | K::WorkflowContinuedAsNew(_)
        | K::WorkflowCancelRequested(_)
        | K::WorkflowSignalled(_) => of_run(&event.kind, &mut line, shown),
        K::TurnScheduled(_)
        | K::TurnStarted(_)
        | K::TurnCompleted(_)
        | K::TurnFailed(_)
        | K::TurnTimedOut(_) => of_turn(&event.kind, &mut line, shown),
        K::ActivityScheduled(_)
        | K::ActivityStarted(_)
        | K::ActivityCompleted(_)
        | K::ActivityFailed(_)
        | K::ActivityTimedOut(_)
        | K::ActivityCancelRequested(_)
        | K::ActivityCancelled(_) => of_activity(&event.kind, &mut line, shown),
        K::TimerStarted(_) | K::TimerFired(_) | K::TimerCancelled(_) => {
            of_timer(&event.kind, &mut line)
        }
        K::ChildInitiated(_)
        | K::ChildStartFailed(_)
        | K::ChildStarted(_)
        | K::ChildCompleted(_)
        | K::ChildFailed(_)
        | K::ChildCancelled(_)
        | K::ChildTimedOut(_)
        | K::ChildTerminated(_) => of_child(&event.kind, &mut line, shown),
        _ => of_others(&event.kind, &mut line, shown),
    };
    if line.why.is_none() {
        line.why = event.notes.iter().find_map(|note| match note {
            Note::Cause(cause) | Note::CancelledOne(_, cause) => Some(why(cause)),
            _ => None,
        });
    }
    line.worker = line.worker.take().filter(|worker| !worker.is_empty());
    line
}

fn of_run(kind: &K, line: &mut HistoryEvent, shown: &Shown) -> String {
    match kind {
        K::WorkflowStarted(e) => {
            line.name = Some(e.name.to_string());
            line.data = shown.maybe(&e.input);
            line.worker = Some(e.identity.to_string());
            line.more = json!({ "queue": e.queue.as_str(), "attempt": e.attempt });
            format!("the run of {} began", e.name)
        }
        K::WorkflowCompleted(e) => {
            line.data = shown.maybe(&e.result);
            "the run completed".to_owned()
        }
        K::WorkflowFailed(e) => {
            line.failure = Some(failed(&e.failure, shown));
            format!("the run failed: {}", e.failure.message)
        }
        K::WorkflowTimedOut(_) => "the run's time was up".to_owned(),
        K::WorkflowCancelled(e) => {
            line.data = shown.maybe(&e.details);
            "the run is cancelled, and has cleaned up".to_owned()
        }
        K::WorkflowTerminated(e) => {
            (line.data, line.why) = (shown.maybe(&e.details), Some(why(&e.cause)));
            format!("the run was terminated: {}", e.cause)
        }
        K::WorkflowContinuedAsNew(e) => {
            line.other_run = Some(e.next_run.to_string());
            line.data = shown.maybe(&e.input);
            "the run goes on as a new one".to_owned()
        }
        K::WorkflowCancelRequested(e) => {
            line.why = Some(why(&e.cause));
            format!("the run was asked to cancel: {}", e.cause)
        }
        K::WorkflowSignalled(e) => {
            (line.name, line.data) = (Some(e.name.to_string()), shown.maybe(&e.input));
            line.worker = Some(e.identity.to_string());
            format!("signal {}", e.name)
        }
        _ => kind.name().to_owned(),
    }
}

fn of_turn(kind: &K, line: &mut HistoryEvent, shown: &Shown) -> String {
    match kind {
        K::TurnScheduled(e) => {
            line.attempt = Some(e.attempt);
            "a turn was wanted".to_owned()
        }
        K::TurnStarted(e) => {
            line.worker = Some(e.worker.to_string());
            "a worker took the turn".to_owned()
        }
        K::TurnCompleted(e) => {
            line.worker = Some(e.worker.to_string());
            "the turn was had".to_owned()
        }
        K::TurnFailed(e) => {
            line.worker = Some(e.worker.to_string());
            line.failure = e.failure.as_ref().map(|failure| failed(failure, shown));
            format!("the turn failed: {:?}", e.fault)
        }
        K::TurnTimedOut(e) => format!("no answer to the turn came in time ({:?})", e.timeout),
        _ => kind.name().to_owned(),
    }
}

fn of_activity(kind: &K, line: &mut HistoryEvent, shown: &Shown) -> String {
    let (target, worker, words) = match kind {
        K::ActivityScheduled(e) => {
            line.target = Some(line.id);
            (line.name, line.data) = (Some(e.spec.name.to_string()), shown.maybe(&e.spec.input));
            line.more = json!({ "id": e.spec.id.as_str(), "queue": e.spec.queue.as_str() });
            return format!("activity {} was scheduled", e.spec.name);
        }
        K::ActivityStarted(e) => {
            line.attempt = Some(e.attempt);
            line.failure = e.last_failure.as_ref().map(|failure| failed(failure, shown));
            line.more = json!({ "at": moment(e.at) });
            (e.activity, &e.worker, "a worker had begun with it".to_owned())
        }
        K::ActivityCompleted(e) => {
            line.data = shown.maybe(&e.result);
            (e.activity, &e.worker, "the activity completed".to_owned())
        }
        K::ActivityFailed(e) => {
            line.failure = Some(failed(&e.failure, shown));
            (e.activity, &e.worker, format!("the activity failed: {}", e.failure.message))
        }
        K::ActivityTimedOut(e) => {
            line.target = Some(e.activity.0);
            line.data = shown.maybe(&e.heartbeat);
            line.failure = e.last_failure.as_ref().map(|failure| failed(failure, shown));
            return format!("the activity passed a limit ({:?})", e.timeout);
        }
        K::ActivityCancelRequested(e) => {
            line.target = Some(e.activity.0);
            return "the run asked for the activity's cancel".to_owned();
        }
        K::ActivityCancelled(e) => {
            line.data = shown.maybe(&e.details);
            (e.activity, &e.worker, "the activity is cancelled".to_owned())
        }
        _ => return kind.name().to_owned(),
    };
    (line.target, line.worker) = (Some(target.0), Some(worker.to_string()));
    words
}

fn of_timer(kind: &K, line: &mut HistoryEvent) -> String {
    match kind {
        K::TimerStarted(e) => {
            line.target = Some(line.id);
            line.more = json!({ "id": e.id.as_str(), "after_ms": millis(e.after.0) });
            "a timer was set".to_owned()
        }
        K::TimerFired(e) => {
            line.target = Some(e.timer.0);
            "the timer rang".to_owned()
        }
        K::TimerCancelled(e) => {
            line.target = Some(e.timer.0);
            "the timer was unset".to_owned()
        }
        _ => kind.name().to_owned(),
    }
}

fn of_child(kind: &K, line: &mut HistoryEvent, shown: &Shown) -> String {
    macro_rules! child {
        ($e:expr, $words:literal) => {{
            line.target = Some($e.child.0);
            line.name = Some($e.name.to_string());
            line.other_run = Some($e.run.to_string());
            line.more = json!({ "id": $e.workflow_id.as_str() });
            $words.to_owned()
        }};
    }
    match kind {
        K::ChildInitiated(e) => {
            line.target = Some(line.id);
            (line.name, line.data) = (Some(e.spec.name.to_string()), shown.maybe(&e.spec.input));
            line.other_run = Some(e.run.to_string());
            line.more = json!({ "id": e.spec.workflow_id.as_str() });
            format!("child {} was asked for", e.spec.name)
        }
        K::ChildStartFailed(e) => {
            (line.target, line.name) = (Some(e.child.0), Some(e.name.to_string()));
            line.more = json!({ "id": e.workflow_id.as_str() });
            format!("the child could not be started: {:?}", e.refusal)
        }
        K::ChildStarted(e) => child!(e, "the child began"),
        K::ChildCompleted(e) => {
            line.data = shown.maybe(&e.result);
            child!(e, "the child completed")
        }
        K::ChildFailed(e) => {
            line.failure = Some(failed(&e.failure, shown));
            child!(e, "the child failed")
        }
        K::ChildCancelled(e) => {
            line.data = shown.maybe(&e.details);
            child!(e, "the child is cancelled")
        }
        K::ChildTimedOut(e) => child!(e, "the child's time was up"),
        K::ChildTerminated(e) => child!(e, "the child was terminated"),
        _ => kind.name().to_owned(),
    }
}

fn of_others(kind: &K, line: &mut HistoryEvent, shown: &Shown) -> String {
    match kind {
        K::MarkerRecorded(e) => {
            line.name = Some(e.name.to_string());
            line.more = json!({ "details": shown.all(&e.details) });
            "the code noted something".to_owned()
        }
        K::ExternalCancelInitiated(e) => {
            line.target = Some(e.child.0).filter(|child| *child != 0);
            line.other_run = e.target.run.map(|run| run.to_string());
            line.more = json!({ "id": e.target.workflow_id.as_str(), "reason": e.reason });
            "the run asked another one to cancel".to_owned()
        }
        K::ExternalCancelRequested(e) => {
            line.more = json!({ "id": e.target.workflow_id.as_str() });
            "the other run has the request to cancel".to_owned()
        }
        K::ExternalCancelFailed(e) => {
            line.more = json!({ "id": e.target.workflow_id.as_str() });
            format!("the other run could not be asked to cancel: {:?}", e.refusal)
        }
        K::ExternalSignalInitiated(e) => {
            (line.name, line.data) = (Some(e.name.to_string()), shown.maybe(&e.input));
            line.more = json!({ "id": e.target.workflow_id.as_str() });
            "the run sent a signal to another one".to_owned()
        }
        K::ExternalSignalled(e) => {
            line.more = json!({ "id": e.target.workflow_id.as_str() });
            "the other run has the signal".to_owned()
        }
        K::ExternalSignalFailed(e) => {
            line.more = json!({ "id": e.target.workflow_id.as_str() });
            format!("the other run could not be signalled: {:?}", e.refusal)
        }
        K::SearchUpserted(e) => {
            line.more = json!({ "keys": e.changes.keys().collect::<Vec<_>>() });
            "search attributes changed".to_owned()
        }
        K::MemoModified(e) => {
            line.more = json!({ "keys": e.changes.keys().collect::<Vec<_>>() });
            "the memo changed".to_owned()
        }
        K::UpdateAdmitted(e) => update(&e.request, line, shown, "was taken over"),
        K::UpdateAccepted(e) => update(&e.request, line, shown, "was accepted"),
        K::UpdateCompleted(e) => {
            line.name = Some(e.name.to_string());
            match &e.answer {
                UpdateAnswer::Done(result) => line.data = shown.maybe(result),
                UpdateAnswer::Failed(failure) => line.failure = Some(failed(failure, shown)),
            }
            format!("update {} was answered", e.name)
        }
        _ => kind.name().to_owned(),
    }
}

fn update(request: &UpdateRequest, line: &mut HistoryEvent, shown: &Shown, what: &str) -> String {
    (line.name, line.data) = (Some(request.name.to_string()), shown.maybe(&request.input));
    line.worker = Some(request.identity.to_string());
    line.more = json!({ "update": request.id.as_str() });
    format!("update {} {what}", request.name)
}

/// A note in words; none for those that only replay reads.
fn note(note: &Note) -> Option<String> {
    Some(match note {
        Note::Cancels(decisions) => {
            let each = decisions.iter().map(|decision| {
                let what = match decision.what {
                    Cancelled::Activities => "activities",
                    Cancelled::Timers => "timers",
                    Cancelled::Children => "children",
                };
                format!("{} {what} ({})", decision.targets.count(), decision.cause)
            });
            format!("cancels {}", each.collect::<Vec<_>>().join(", "))
        }
        Note::Scopes(steps) => {
            let each = steps.iter().map(|step| match step {
                ScopeStep::Opened { scope, name, .. } => format!("opens scope {scope} {name:?}"),
                ScopeStep::Left { scope, cause: Some(cause) } => {
                    format!("leaves scope {scope} ({cause})")
                }
                ScopeStep::Left { scope, cause: None } => format!("leaves scope {scope}"),
            });
            each.collect::<Vec<_>>().join(", ")
        }
        Note::Cause(cause) => format!("because {cause}"),
        Note::Skipped(ranges) => format!("{} activities had never started", ranges.count()),
        Note::Rung(rung) => format!("stopped at rung {rung:?}"),
        Note::Outstanding(open) => format!(
            "still open: {} activities, {} timers, {} children; left alone: {}",
            open.activities.count(),
            open.timers.count(),
            open.children.count(),
            open.left.count()
        ),
        Note::CancelledOne(target, cause) => format!("#{target} was cancelled alone: {cause}"),
        Note::Detached(ranges) => format!("lets go of {}", ranges.count()),
        Note::RefusedUpdates(ids) => format!("refuses {} updates", ids.len()),
        Note::Hastened(cause) => format!("pushed harder: {cause}"),
        Note::Received(ranges) => format!("received {} signals", ranges.count()),
        _ => return None,
    })
}
