//! About how many bytes an event takes in the form in which remote workers read it. They are told
//! the size of their history, and decide by it; what they are sent is what they count.
//!
//! An estimate: a door knows the form exactly, but a number that decides things must not depend on
//! who translates. It is meant to be a few percent off, and no more.

use super::{Event, EventKind, External};
use crate::{Identity, Parent, RetryPolicy, WorkflowId};

/// Number, time, kind, and what holds it all together.
const HEAD: usize = 24;
/// A run id as text, and its tag.
const RUN: usize = 38;
/// A namespace, by its name and by its id.
const SPACE: usize = 48;
/// A queue that goes without saying.
const QUEUE: usize = 8;

impl Event {
    /// About how many bytes a remote worker is sent for it.
    pub fn told_weight(&self) -> u64 {
        let wire = self.wire.as_ref().map_or(0, |wire| wire.len());
        (HEAD + wire + self.kind.user_bytes() + around(&self.kind)) as u64
    }
}

/// What is around the user's own bytes: ids, names, numbers.
fn around(kind: &EventKind) -> usize {
    use EventKind as K;
    match kind {
        K::WorkflowStarted(e) => {
            let texts = e.name.len() + e.workflow_id.len() + e.queue.len() + e.cron.len();
            let root = e.root.as_ref().map_or(0, |(_, id)| RUN + id.len() + 6);
            let before = e.previous_run.map_or(0, |_| RUN + 2);
            let kept = e.kept.as_ref().map_or(0, |kept| kept.len());
            let limits = 8 * (usize::from(e.run_timeout.is_some()) + e.chain_timeout.iter().len());
            let whence = e.parent.as_ref().map_or(0, parent) + root + before;
            104 + texts + e.identity.len() + retry(&e.retry) + whence + kept + limits
        }
        K::WorkflowCompleted(e) => 4 + e.next_run.map_or(0, |_| RUN),
        K::WorkflowFailed(e) => 6 + e.next_run.map_or(0, |_| RUN),
        K::WorkflowTimedOut(e) => 2 + e.next_run.map_or(0, |_| RUN),
        K::WorkflowTerminated(e) => 4 + e.cause.detail.len() + e.cause.requested_by.len(),
        K::WorkflowContinuedAsNew(e) => RUN + 26 + e.name.len() + e.queue.len(),
        K::WorkflowCancelRequested(e) => {
            let other = e.external.as_ref().map_or(0, |(_, id, _)| other(id) + 2);
            4 + e.cause.detail.len() + e.cause.requested_by.len() + other
        }
        K::WorkflowSignalled(e) => {
            let other = e.external.as_ref().map_or(0, |(_, id, _)| other(id));
            8 + e.name.len() + e.identity.len() + e.request_id.len() + other
        }
        K::TurnScheduled(e) if e.sticky => 14 + e.queue.len() + QUEUE,
        K::TurnScheduled(e) => 12 + if e.queue.is_empty() { QUEUE } else { e.queue.len() },
        K::TurnStarted(e) => 11 + e.worker.len() + e.request_id.len(),
        K::TurnCompleted(e) => 10 + e.worker.len(),
        K::TurnFailed(e) => 10 + e.worker.len() + e.forked.map_or(0, |_| 2 * RUN),
        _ => around_work(kind),
    }
}

/// The same, of activities, timers, children and requests to others.
fn around_work(kind: &EventKind) -> usize {
    use EventKind as K;
    let ended = |worker: &Identity| 8 + worker.len();
    match kind {
        K::ActivityScheduled(e) => {
            let spec = &e.spec;
            32 + spec.id.len() + spec.name.len() + spec.queue.len() + retry(&spec.retry)
        }
        K::ActivityStarted(e) => 6 + e.worker.len() + e.request_id.len(),
        K::ActivityCompleted(e) => ended(&e.worker),
        K::ActivityFailed(e) => ended(&e.worker) + 2,
        K::ActivityCancelled(e) => ended(&e.worker) + 2,
        K::ActivityTimedOut(_) => 48,
        K::TimerStarted(e) => 9 + e.id.len(),
        K::TimerFired(e) => 4 + e.id.len(),
        K::TimerCancelled(e) => 8 + e.id.len() + e.worker.len(),
        K::MarkerRecorded(e) => 8 + e.name.len(),
        K::SearchUpserted(e) => 6 + e.changes.keys().map(|key| key.len() + 6).sum::<usize>(),
        K::MemoModified(e) => 6 + e.changes.keys().map(|key| key.len() + 6).sum::<usize>(),
        K::ChildInitiated(e) => {
            let spec = &e.spec;
            let texts = spec.name.len() + spec.workflow_id.len() + spec.queue.len();
            SPACE + 36 + texts + spec.cron.len() + retry(&spec.retry)
        }
        K::ChildStarted(e) => child(&e.workflow_id, &e.name),
        K::ChildCompleted(e) => child(&e.workflow_id, &e.name),
        K::ChildFailed(e) => child(&e.workflow_id, &e.name),
        K::ChildCancelled(e) => child(&e.workflow_id, &e.name),
        K::ChildTimedOut(e) => child(&e.workflow_id, &e.name),
        K::ChildTerminated(e) => child(&e.workflow_id, &e.name),
        K::ChildStartFailed(e) => SPACE + 10 + e.workflow_id.len() + e.name.len(),
        K::ExternalCancelInitiated(e) => target(&e.target) + e.reason.len(),
        K::ExternalCancelRequested(e) => target(&e.target),
        K::ExternalCancelFailed(e) => target(&e.target),
        K::ExternalSignalInitiated(e) => target(&e.target) + 2 + e.name.len(),
        K::ExternalSignalled(e) => target(&e.target),
        K::ExternalSignalFailed(e) => target(&e.target),
        K::UpdateAdmitted(e) => 16 + 2 * e.request.id.len() + e.request.name.len(),
        K::UpdateAccepted(e) => {
            let texts = 2 * e.request.id.len() + e.request.name.len() + e.message_id.len();
            24 + texts + e.request.identity.len()
        }
        K::UpdateCompleted(e) => 16 + e.id.len() + e.name.len(),
        _ => 8,
    }
}

fn retry(policy: &Option<RetryPolicy>) -> usize {
    policy.as_ref().map_or(0, |policy| {
        24 + policy.non_retryable.iter().map(|kind| kind.len() + 2).sum::<usize>()
    })
}

fn parent(parent: &Parent) -> usize {
    SPACE + 6 + other(&parent.workflow_id)
}

/// A run, by its id and the workflow's.
fn other(id: &WorkflowId) -> usize {
    RUN + 4 + id.len()
}

fn child(id: &WorkflowId, name: &crate::Name) -> usize {
    SPACE + 8 + other(id) + name.len()
}

fn target(target: &External) -> usize {
    let run = target.run.map_or(0, |_| RUN);
    SPACE + 8 + run + target.workflow_id.len()
}
