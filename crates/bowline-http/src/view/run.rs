//! Runs: lines of lists, and pages of their own.

use bowline_core::{Event, EventId, EventKind, ParentClose, Place, State, Time};
use bowline_engine::store::{ActivityRow, Head};

use super::{
    cause::{failed, why},
    data::Shown,
    millis, moment, search,
};
use crate::model::{
    CancelState, ParentRun, ParkedState, PendingActivity, PendingChild, PendingTimer, Run,
    RunEnded, RunSummary,
};

/// How many of each kind of pending work are listed.
pub(crate) const PENDING_SHOWN: usize = 200;

/// A line of a list.
pub(crate) fn summary(head: &Head, now: Time) -> RunSummary {
    let is_asked = head.status.is_open() && head.cancel.is_some();
    let state = match head.status {
        _ if head.is_parked() => "parked",
        _ if is_asked => "cancelling",
        status => status.as_str(),
    };
    let found = head.search.iter().map(|(key, field)| (key.clone(), search::shown(&field.value)));
    RunSummary {
        id: head.workflow_id.to_string(),
        run: head.run.to_string(),
        workflow: head.name.to_string(),
        queue: head.queue.to_string(),
        status: head.status.as_str().to_owned(),
        state: state.to_owned(),
        rules: if head.rules.is_native() { "native" } else { "remote" }.to_owned(),
        started_at: moment(head.started_at),
        closed_at: head.closed_at.map(moment),
        took_ms: millis(head.closed_at.unwrap_or(now).since(head.started_at)),
        events: head.next_event.0.saturating_sub(1),
        cancel: head.cancel.as_ref().map(|cancel| CancelState {
            why: why(&cancel.cause),
            requested_at: moment(cancel.requested_at),
            decided_at: cancel.decided_at.map(moment),
        }),
        parked: head.why_parked().map(|parked| ParkedState {
            reason: parked.reason.clone(),
            since: moment(parked.since),
            failures: parked.failures,
            tries: parked.tries,
            next: parked.next.map(moment),
        }),
        parent: head.parent.map(|(run, event)| ParentRun { run: run.to_string(), event: event.0 }),
        search: found.collect(),
    }
}

/// What a page of a run is made from.
pub(crate) struct Sources<'a> {
    pub(crate) head: &'a Head,
    /// Of an open run.
    pub(crate) state: Option<&'a State>,
    pub(crate) first: Option<&'a Event>,
    /// Of a closed run.
    pub(crate) last: Option<&'a Event>,
    pub(crate) rows: &'a [ActivityRow],
    pub(crate) now: Time,
}

/// A page of its own.
pub(crate) fn page(from: &Sources<'_>, shown: &Shown) -> Run {
    let Sources { head, state, now, .. } = *from;
    let started = from.first.and_then(|event| match &event.kind {
        EventKind::WorkflowStarted(started) => Some(started),
        _ => None,
    });
    Run {
        summary: summary(head, now),
        input: started.and_then(|started| shown.maybe(&started.input)),
        started_by: started.map(|started| started.identity.to_string()).unwrap_or_default(),
        memo: shown.all(&head.memo),
        ended: from.last.and_then(|event| ended(head, event, shown)),
        first_run: head.first_run.to_string(),
        link: head.link,
        root: head.root.to_string(),
        successor: head.successor.map(|run| run.to_string()),
        history_bytes: head.history_bytes,
        unread: head.inbox.0.saturating_sub(head.consumed.0),
        activities: state.map(|state| activities(state, from.rows, shown)).unwrap_or_default(),
        timers: state.map(|state| timers(state, now)).unwrap_or_default(),
        children: state.map(children).unwrap_or_default(),
        activities_open: state.map_or(0, |state| state.activities.len() as u64),
        timers_open: state.map_or(0, |state| state.timers.len() as u64),
        children_open: state.map_or(0, |state| state.children.len() as u64),
    }
}

fn ended(head: &Head, last: &Event, shown: &Shown) -> Option<RunEnded> {
    use EventKind as K;
    if !last.kind.closes() {
        return None;
    }
    let mut ended =
        RunEnded { status: head.status.to_string(), result: None, failure: None, why: None };
    match &last.kind {
        K::WorkflowCompleted(event) => ended.result = shown.maybe(&event.result),
        K::WorkflowFailed(event) => ended.failure = Some(failed(&event.failure, shown)),
        K::WorkflowCancelled(event) => {
            ended.result = shown.maybe(&event.details);
            ended.why = head.cancel.as_ref().map(|cancel| why(&cancel.cause));
        }
        K::WorkflowTerminated(event) => {
            ended.result = shown.maybe(&event.details);
            ended.why = Some(why(&event.cause));
        }
        _ => {}
    }
    Some(ended)
}

fn activities(state: &State, rows: &[ActivityRow], shown: &Shown) -> Vec<PendingActivity> {
    let open = state.activities.iter().take(PENDING_SHOWN);
    let line = |(number, open): (&EventId, &bowline_core::OpenActivity)| {
        let base = PendingActivity {
            number: number.0,
            id: open.id.to_string(),
            name: open.name.to_string(),
            queue: String::new(),
            state: "unknown".to_owned(),
            attempt: 0,
            worker: None,
            scheduled_at: None,
            started_at: None,
            due: None,
            input: None,
            heartbeat: None,
            last_failure: None,
            cancel: None,
            detached: open.detached,
        };
        match rows.iter().find(|row| row.activity == *number) {
            Some(row) => told(base, row, shown),
            None => base,
        }
    };
    open.map(line).collect()
}

/// What the row of an activity says.
fn told(base: PendingActivity, row: &ActivityRow, shown: &Shown) -> PendingActivity {
    let ActivityRow { spec, live, .. } = row;
    let (state, due) = match &live.place {
        Place::Queued { due } => ("waiting", Some(moment(*due))),
        Place::Started(_) => ("running", None),
        Place::Ended(_) => ("ended", None),
    };
    let start = live.started();
    PendingActivity {
        queue: spec.queue.to_string(),
        state: state.to_owned(),
        attempt: live.attempt,
        worker: start.map(|start| start.worker.to_string()),
        scheduled_at: Some(moment(live.scheduled_at)),
        started_at: start.map(|start| moment(start.at)),
        due,
        input: shown.maybe(&spec.input),
        heartbeat: shown.maybe(&live.heartbeat),
        last_failure: live.last_failure.as_ref().map(|failure| failed(failure, shown)),
        cancel: live.cancel.as_ref().map(|cancel| why(&cancel.cause)),
        ..base
    }
}

fn timers(state: &State, now: Time) -> Vec<PendingTimer> {
    let open = state.timers.iter().take(PENDING_SHOWN);
    let line = |(number, timer): (&EventId, &bowline_core::OpenTimer)| PendingTimer {
        number: number.0,
        id: timer.id.to_string(),
        due: moment(timer.due),
        in_ms: millis(timer.due.since(now)),
    };
    open.map(line).collect()
}

fn children(state: &State) -> Vec<PendingChild> {
    let open = state.children.iter().take(PENDING_SHOWN);
    let line = |(number, child): (&EventId, &bowline_core::OpenChild)| PendingChild {
        number: number.0,
        id: child.workflow_id.to_string(),
        run: child.run.to_string(),
        workflow: child.name.to_string(),
        started: child.started.is_some(),
        cancelled: child.cancel.is_some(),
        detached: child.detached,
        on_close: on_close(child.close).to_owned(),
    };
    open.map(line).collect()
}

fn on_close(close: ParentClose) -> &'static str {
    match close {
        ParentClose::Cancel => "cancel",
        ParentClose::Terminate => "terminate",
        _ => "abandon",
    }
}
