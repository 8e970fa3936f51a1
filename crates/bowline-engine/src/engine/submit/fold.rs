//! A decision becomes a commit: effects are folded so that each row is written once.

use std::{collections::BTreeMap, sync::Arc};

use bowline_core::{
    ActivityLive, ActivitySpec, Alarm, Batch, Decided, Effect, Ending, EventId, EventKind, Fence,
    Holder, Name, Place, Queue, RunId, Start, State, Time, Token, UpdateId, UpdateStage,
    WorkflowId, codec,
};
use bowline_store::{Close, Commit, Head, NewActivity, RunCancel, Snapshot, StartNow};

use super::TurnCommit;
use crate::{
    RemoteActivity,
    engine::{
        EngineInner,
        exchange::{Assignment, AttemptEnd, AttemptRef, Reservation},
        remote::Eager,
    },
    limits,
};

/// A commit, and the slots that are kept for what it starts.
pub(super) struct Folded {
    pub(super) commit: Commit,
    pub(super) starts: Starts,
    pub(super) state: State,
}

/// Slots that are kept for activities which the commit schedules.
pub(super) struct Starts {
    reserved: BTreeMap<EventId, (Reservation, Arc<ActivitySpec>)>,
    /// What a remote worker takes with the commit.
    remote: BTreeMap<EventId, (StartNow, Arc<ActivitySpec>)>,
    queue: Queue,
    workflow_id: WorkflowId,
    workflow: Name,
    now: Time,
}

impl Starts {
    /// The store has started it: run it, or hand it to the remote worker that takes it.
    pub(super) fn begin_attempt(
        &mut self,
        inner: &EngineInner,
        run: RunId,
        activity: EventId,
        attempt: u32,
    ) -> Option<RemoteActivity> {
        if let Some((start, spec)) = self.remote.remove(&activity) {
            inner.meter.attempts_started.add(1);
            inner.meter.eager_activities.add(1);
            return Some(self.handed_out(run, activity, attempt, start, &spec));
        }
        let (reservation, spec) = self.reserved.remove(&activity)?;
        let assignment = Assignment {
            run,
            activity,
            attempt,
            fence: reservation.sent.fence,
            workflow_id: self.workflow_id.clone(),
            workflow: self.workflow.clone(),
            scheduled_at: self.now,
            started_at: self.now,
            deadline: spec.deadline,
            spec,
            heartbeat: None,
            last_failure: None,
        };
        if let Some(local) = inner.local.get() {
            inner.meter.attempts_started.add(1);
            local.begin_attempt(reservation, assignment);
        }
        None
    }

    fn handed_out(
        &self,
        run: RunId,
        activity: EventId,
        attempt: u32,
        start: StartNow,
        spec: &ActivitySpec,
    ) -> RemoteActivity {
        let StartNow { holder, worker } = start;
        let (at, due) = (self.now, Some(self.now));
        let place = Place::Started(Start { at, holder, worker, heard_at: at, due });
        RemoteActivity {
            token: Token::activity(run, activity, attempt).to_blob(),
            run,
            workflow_id: self.workflow_id.clone(),
            workflow: self.workflow.clone(),
            activity,
            spec: spec.clone(),
            live: ActivityLive { attempt, place, ..ActivityLive::queued(self.now, self.now) },
        }
    }

    /// The commit was not done, as far as anybody knows. If it was after all, these attempts
    /// stand on their rows and nobody runs them: they go back into their queues.
    pub(super) fn give_back(self, inner: &Arc<EngineInner>, run: RunId) {
        for activity in self.remote.into_keys() {
            let token = Token::activity(run, activity, 1).to_blob();
            let inner = inner.clone();
            inner.clone().finish(async move {
                // Mostly there is no such attempt: then this is refused, and changes nothing.
                let _ = inner.end_activity(token.as_slice(), Ending::Returned).await;
            });
        }
        for (activity, (reservation, _)) in self.reserved {
            let end = AttemptEnd {
                attempt: AttemptRef { run, activity, attempt: 1 },
                fence: reservation.sent.fence,
                ending: Ending::Returned,
                runs_on: false,
                rung: None,
                delivered_at: None,
                observed_at: None,
            };
            let inner = inner.clone();
            inner.clone().finish(async move {
                if let Err(error) = inner.settle(end).await {
                    tracing::warn!(%run, %activity, %error, "an attempt could not be given back");
                }
            });
        }
    }
}

/// Who must hear about updates once the decision is durable: of each how far it has come by then.
pub(super) fn updates(decided: &Decided) -> BTreeMap<UpdateId, UpdateStage> {
    let answers = decided.effects.iter().filter_map(|effect| match effect {
        Effect::AnswerUpdate(id, stage) => Some((id.clone(), stage.clone())),
        _ => None,
    });
    answers.collect()
}

pub(super) fn fold(inner: &EngineInner, turn: TurnCommit, eager: Option<&Eager>) -> Folded {
    let TurnCommit { run, fence, expected, decided, ended, release } = turn;
    let now = inner.now();
    let Decided { state, record, events, effects, consumed, forgotten, successor, delete, .. } =
        decided;
    let first = events.first().map(|event| event.id);
    let changes = |wanted: fn(&EventKind) -> bool| events.iter().any(|event| wanted(&event.kind));
    let search = changes(|kind| matches!(kind, EventKind::SearchUpserted(_)));
    let memo = changes(|kind| matches!(kind, EventKind::MemoModified(_)));
    let mut commit = Commit {
        consumed,
        forgotten,
        ended,
        batch: Batch::of(&events),
        next_event: state.next_event,
        history_bytes: state.bytes,
        status: state.status,
        close: (!state.status.is_open()).then_some(Close { successor, delete }),
        cancel: cancel(&state, first, now),
        record,
        search: search.then(|| state.search.clone()),
        memo: memo.then(|| state.memo.clone()),
        snapshot: snapshot(&state, first),
        release: release || !state.status.is_open(),
        fence,
        ..Commit::new(run, expected, inner.new_commit(), now)
    };
    let mut starts = Starts {
        reserved: BTreeMap::new(),
        remote: BTreeMap::new(),
        queue: state.started.queue.clone(),
        workflow_id: state.started.workflow_id.clone(),
        workflow: state.started.name.clone(),
        now,
    };
    for effect in effects {
        add(inner, effect, &mut commit, &mut starts, eager);
    }
    commit.disarm.retain(|alarm| !taken_back(&mut commit.arm, alarm));
    Folded { commit, starts, state }
}

/// A commit that changes nothing of what the head says, but lets go of the run.
pub(super) fn bare(inner: &EngineInner, head: &Head, fence: Option<Fence>) -> Commit {
    let unchanged = Commit::unchanged(head, inner.new_commit(), inner.now());
    Commit { fence, release: true, ..unchanged }
}

fn add(
    inner: &EngineInner,
    effect: Effect,
    commit: &mut Commit,
    starts: &mut Starts,
    eager: Option<&Eager>,
) {
    match effect {
        Effect::QueueActivity(activity, spec) => {
            let start = match spec.remote {
                true => eager.and_then(|eager| give(eager, commit.run, activity, &spec, starts)),
                false => reserve(inner, activity, &spec, starts),
            };
            commit.activities.push(NewActivity { activity, spec, start });
        }
        Effect::CancelActivities(targets, cause) => commit.cancels.push((targets, cause)),
        Effect::Arm(alarm) => commit.arm.push(alarm),
        Effect::Disarm(alarm) => commit.disarm.push(alarm),
        Effect::Post(post) => commit.posts.push(post),
        Effect::Begin(birth) => commit.births.push(*birth),
        Effect::Forget(number) => commit.forgotten.push(number),
        Effect::AnswerUpdate(..) => {}
        other => unreachable!("every effect has its place in a commit: {other:?}"),
    }
}

/// A worker takes what it asked for, if that waits where the worker takes its turns from.
fn give(
    eager: &Eager,
    run: RunId,
    activity: EventId,
    spec: &Arc<ActivitySpec>,
    starts: &mut Starts,
) -> Option<StartNow> {
    if spec.queue != starts.queue || !eager.activities.contains(&spec.id) {
        return None;
    }
    let token = Token::activity(run, activity, 1).to_blob();
    let holder = Holder::Remote { token, control: eager.control.clone() };
    let start = StartNow { holder, worker: eager.worker.clone() };
    starts.remote.insert(activity, (start.clone(), spec.clone()));
    Some(start)
}

fn reserve(
    inner: &EngineInner,
    activity: EventId,
    spec: &Arc<ActivitySpec>,
    starts: &mut Starts,
) -> Option<StartNow> {
    let reservation = inner.local.get()?.reserve(&spec.queue, &spec.name)?;
    let holder = Holder::Native(reservation.sent.fence);
    let worker = reservation.worker.clone();
    starts.reserved.insert(activity, (reservation, spec.clone()));
    Some(StartNow { holder, worker })
}

/// An alarm that is set and unset by the same decision was never set.
fn taken_back(armed: &mut Vec<Alarm>, disarmed: &Alarm) -> bool {
    match armed.iter().position(|alarm| alarm == disarmed) {
        Some(at) => {
            armed.swap_remove(at);
            true
        }
        None => false,
    }
}

/// The moment at which the run's cancel came to stand in history, if it did so now.
fn cancel(state: &State, first: Option<EventId>, now: Time) -> Option<RunCancel> {
    let (event, cause) = state.cancel.as_ref()?;
    (first? <= *event).then(|| RunCancel {
        cause: cause.clone(),
        requested_at: now,
        decided_at: Some(now),
        number: None,
    })
}

/// Now and then the state is written too, so that deciding does not need the whole history.
fn snapshot(state: &State, first: Option<EventId>) -> Option<Snapshot> {
    let (before, after) = (first?.0, state.next_event.0);
    let due = before / limits::SNAPSHOT_EVENTS != after / limits::SNAPSHOT_EVENTS;
    (due && state.status.is_open())
        .then(|| Snapshot { at: EventId(after - 1), bytes: codec::encode(state).into() })
}
