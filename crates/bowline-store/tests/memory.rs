//! What the memory store offers to tests: errors on demand, and crashes.

use std::{
    task::{Context, Poll, Waker},
    time::Duration,
};

use bowline_core::{
    Address, Begin, CommitId, Conflict, Link, Message, Reuse, RunId, Time, WorkflowStarted,
    begin_run,
};
use bowline_store::{
    Answer, Commit, Error, Join, Posted, Posting, Read, RunKey, StartRun, Store, Subtree,
    memory::{MemoryStore, Method, When},
};

const NOW: Time = Time(1_000);

/// Answers of this store are ready at once.
fn now<T>(mut answer: Answer<T>) -> T {
    match answer.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => value,
        Poll::Pending => panic!("the memory store never waits"),
    }
}

fn start(store: &MemoryStore, uuid: u128) -> Result<Posted, Error> {
    let started = WorkflowStarted {
        name: "flow".into(),
        workflow_id: format!("id-{uuid}").into(),
        queue: "turns".into(),
        ..WorkflowStarted::default()
    };
    let birth = begin_run(Begin {
        run: RunId { uuid, ..RunId::default() },
        started,
        reuse: Reuse::Allow,
        link: Link::None,
        signals: Vec::new(),
        wire: None,
        now: NOW,
    });
    let start = StartRun {
        birth,
        request_id: "".into(),
        conflict: Conflict::Refuse,
        otherwise: None,
        hold: None,
        now: NOW,
    };
    now(store.post(vec![Posting::Start(Box::new(start))])).remove(0)
}

fn commit(store: &MemoryStore, uuid: u128, id: u128) -> Commit {
    let run = RunId { uuid, ..RunId::default() };
    let read = now(store.read(Read::head(RunKey::Run(run)))).expect("reads").expect("exists");
    let head = read.head;
    Commit { consumed: head.inbox, ..Commit::unchanged(&head, CommitId(id), NOW) }
}

#[test]
fn a_fault_before_the_call_changes_nothing() {
    let store = MemoryStore::new();
    start(&store, 1).expect("the id is free");
    let before = store.dump();
    store.faults().fail(Method::Post, 1, When::Before);
    assert!(matches!(start(&store, 2), Err(Error::Busy(_))));
    assert_eq!(store.dump(), before);
    start(&store, 2).expect("it passes");
}

#[test]
fn a_fault_after_the_call_hides_what_was_done() {
    let store = MemoryStore::new();
    start(&store, 1).expect("the id is free");
    store.faults().fail(Method::Commit, 1, When::After);
    let commit = commit(&store, 1, 77);
    let unknown = now(store.commit(vec![commit.clone()])).remove(0);
    assert!(matches!(unknown, Err(Error::Unknown(_))), "{unknown:?}");
    let done = store.dump();
    let again = now(store.commit(vec![commit])).remove(0).expect("it was done");
    assert_eq!((again.version.0, store.dump()), (2, done), "and is not done twice");
}

#[test]
fn faults_count_the_calls_of_their_own_method() {
    let store = MemoryStore::new();
    store.faults().fail(Method::Post, 2, When::Before);
    store.faults().fail(Method::Leftovers, 1, When::After);
    start(&store, 1).expect("the first call");
    assert!(start(&store, 2).is_err(), "the second call");
    start(&store, 2).expect("the third call");
    assert!(now(store.leftovers(Subtree::Orphans)).is_err());
    assert!(now(store.leftovers(Subtree::Orphans)).is_ok());
}

#[test]
fn a_group_of_losers_changes_nothing() {
    let store = MemoryStore::new();
    for uuid in [1, 2] {
        start(&store, uuid).expect("the id is free");
    }
    let mut commits: Vec<Commit> = [1, 2].map(|uuid| commit(&store, uuid, 9)).into();
    commits.iter_mut().for_each(|commit| commit.expected.0 += 1);
    let before = store.dump();
    let answers = now(store.commit(commits));
    assert!(answers.iter().all(|answer| matches!(answer, Err(Error::Conflict))), "{answers:?}");
    assert_eq!(store.dump(), before);
}

#[test]
fn clones_share_rows_and_a_crash_fences_them_all() {
    let store = MemoryStore::new();
    let join = Join::new("test", Duration::from_secs(1), NOW);
    let first = now(store.join(join.clone())).expect("it enters").epoch;
    let clone = store.clone();
    start(&clone, 1).expect("the id is free");
    let again = store.reopen();
    assert!(matches!(start(&again, 1), Err(Error::IdTaken { .. })), "the rows are there");
    let dead = now(clone.answer(first, Vec::new()));
    assert!(matches!(dead, Err(Error::Fenced)), "before anybody joined");
    assert!(now(again.join(join)).expect("it enters").epoch > first);
    let to = Address::Run(RunId { uuid: 1, ..RunId::default() });
    let message = Posting::Message { to, message: Message::Wake, now: NOW, receipt: None };
    let posted = now(clone.post(vec![message])).remove(0);
    assert!(matches!(posted, Ok(Posted::Delivered(_, number)) if number.0 == 2), "{posted:?}");
}
