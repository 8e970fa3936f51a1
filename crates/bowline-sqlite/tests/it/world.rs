//! Short words for what the tests do with a store.

use std::sync::Arc;

use bowline_core::{
    ActivityScheduled, ActivitySpec, Address, Batch, Birth, CommitId, Epoch, Event, EventId, Link,
    MarkerRecorded, Message, Namespace, RequestId, Reuse, RunId, Signal, Time, TurnRecord,
    WorkflowStarted,
};
use bowline_sqlite::SqliteStore;
use bowline_store::{
    ClaimRuns, Commit, Committed, Head, Join, NewActivity, Posted, Posting, Read, Result, RunKey,
    StartRun, Store, Sweep, Swept, Want,
};

pub(crate) const NAMESPACE: Namespace = Namespace(3);
pub(crate) const NOW: Time = Time(1_000_000_000);

pub(crate) fn run_id(uuid: u128) -> RunId {
    RunId { namespace: NAMESPACE, uuid }
}

pub(crate) fn birth(run: RunId) -> Birth {
    let started = WorkflowStarted {
        name: "flow".into(),
        workflow_id: format!("flow-{}", run.uuid).into(),
        queue: "turns".into(),
        first_run: run,
        ..WorkflowStarted::default()
    };
    let kind = started.into();
    Birth {
        run,
        events: vec![Event { id: EventId(1), time: NOW, kind, notes: Vec::new(), wire: None }],
        record: TurnRecord::default(),
        alarms: Vec::new(),
        activities: Vec::new(),
        wake: true,
        reuse: Reuse::Allow,
        link: Link::None,
    }
}

pub(crate) fn starting(run: RunId) -> Posting {
    Posting::Start(Box::new(StartRun {
        birth: birth(run),
        request_id: RequestId::default(),
        conflict: bowline_core::Conflict::Refuse,
        otherwise: None,
        hold: None,
        now: NOW,
    }))
}

pub(crate) async fn start(store: &dyn Store, uuid: u128) -> RunId {
    let run = run_id(uuid);
    let posted = store.post(vec![starting(run)]).await.remove(0);
    assert_eq!(posted.expect("the workflow id is free"), Posted::Started(run));
    run
}

pub(crate) fn signal(run: RunId, bytes: usize) -> Posting {
    let input = Some(bowline_core::Payload::wire(vec![7; bytes]));
    let signal = Signal { name: "ping".into(), input, ..Signal::default() };
    let message = Message::Signal(Box::new(signal));
    Posting::Message { to: Address::Run(run), message, now: NOW, receipt: None }
}

pub(crate) async fn head(store: &dyn Store, run: RunId) -> Head {
    let read = store.read(Read::head(RunKey::Run(run))).await.expect("reading works");
    read.expect("the run exists").head
}

pub(crate) fn event(id: EventId, kind: impl Into<bowline_core::EventKind>) -> Event {
    Event { id, time: NOW, kind: kind.into(), notes: Vec::new(), wire: None }
}

/// A decision about the run as it stands: all that waits is consumed, one event is written.
pub(crate) fn turn(head: &Head, id: u128) -> Commit {
    turn_of(head, id, vec![event(head.next_event, MarkerRecorded::default())])
}

pub(crate) fn turn_of(head: &Head, id: u128, events: Vec<Event>) -> Commit {
    Commit {
        consumed: head.inbox,
        next_event: head.next_event.plus(events.len() as u64),
        batch: Batch::of(&events),
        ..Commit::unchanged(head, CommitId(id), NOW)
    }
}

/// A decision that schedules activities.
pub(crate) fn scheduling(head: &Head, id: u128, count: u64, spec: &ActivitySpec) -> Commit {
    let first = head.next_event.0;
    let numbers = (first..first + count).map(EventId);
    let events = numbers
        .clone()
        .map(|number| event(number, ActivityScheduled { spec: spec.clone(), turn: EventId(1) }));
    let mut commit = turn_of(head, id, events.collect());
    let spec = Arc::new(spec.clone());
    let new = |activity| NewActivity { activity, spec: spec.clone(), start: None };
    commit.activities = numbers.map(new).collect();
    commit
}

pub(crate) async fn commit(store: &dyn Store, commit: Commit) -> Result<Committed> {
    store.commit(vec![commit]).await.remove(0)
}

pub(crate) async fn join(store: &dyn Store) -> Epoch {
    let lease = std::time::Duration::from_secs(10);
    let join = Join::new("test", lease, NOW);
    store.join(join).await.expect("a member may enter").epoch
}

pub(crate) fn claiming(epoch: Epoch, count: usize) -> ClaimRuns {
    ClaimRuns {
        epoch,
        namespace: NAMESPACE,
        want: Want::Turn,
        queues: vec!["turns".into()],
        names: vec!["flow".into()],
        count,
        now: NOW,
    }
}

pub(crate) async fn sweep(store: &dyn Store, epoch: Epoch) -> Swept {
    let sweep = Sweep { epoch, now: NOW, limit: 2_000, retention: Vec::new(), presume: None };
    store.sweep(sweep).await.expect("the member is alive")
}

pub(crate) fn spec(name: &str) -> ActivitySpec {
    ActivitySpec { name: name.into(), queue: "work".into(), ..ActivitySpec::default() }
}

pub(crate) async fn assert_whole(store: &SqliteStore) {
    let findings = store.check().await.expect("the file can be read");
    assert!(findings.is_empty(), "{findings:?}");
}
