//! Rows that a store keeps of the runs that its process holds: they save reading, and decide
//! nothing that the database has not confirmed.

use std::time::Duration;

use bowline_core::{
    Address, Batch, Cancel, Cause, CommitId, Epoch, Event, EventId, Fence, MarkerRecorded, Message,
    Namespace, RunId, Signal, Status, Time, WorkflowCompleted,
};
use bowline_postgres::PostgresStore;
use bowline_store::{
    ClaimRuns, Close, Commit, Committed, Error, Head, Join, Posted, Posting, Read, RunKey, Store,
    Want,
};

use crate::{
    place::Place,
    proxy::{Cut, Proxy},
    takeover::starting,
    wait::wait,
};

const NOW: Time = Time(1_000_000);

/// A store that has joined, behind a proxy. Nobody hints: what others do is not heard of.
struct Holder {
    store: PostgresStore,
    proxy: Proxy,
    epoch: Epoch,
}

impl Holder {
    fn join(place: &Place) -> Self {
        let (proxy, url) = Proxy::before(&place.url());
        let mut settings = place.settings();
        (settings.hints, settings.poll) = (false, Duration::from_secs(100_000));
        let store = PostgresStore::open_with(&url, settings).expect("it opens");
        let lease = Duration::from_secs(600);
        let join = Join::new("test", lease, NOW);
        let epoch = wait(store.join(join)).expect("it joins").epoch;
        Self { store, proxy, epoch }
    }

    /// Starts a run that is held from the beginning, and takes its first turn.
    fn hold(&self, uuid: u128) -> Head {
        let mut posting = starting(uuid);
        let Posting::Start(start) = &mut posting else { panic!("it is a start") };
        start.hold = Some(Fence { epoch: self.epoch, counter: 1_000 });
        let posted = wait(self.store.post(vec![posting])).remove(0);
        assert!(matches!(posted, Ok(Posted::Started(_))), "{posted:?}");
        let mut head = self.head(run(uuid));
        self.turn(&mut head, 1).expect("nobody else writes");
        head
    }

    fn head(&self, run: RunId) -> Head {
        let read = wait(self.store.read(Read::head(RunKey::Run(run)))).expect("it reads");
        read.expect("it is there").head
    }

    fn commit(&self, commit: Commit) -> Result<Committed, Error> {
        wait(self.store.commit(vec![commit])).remove(0)
    }

    /// A turn as its holder decides it: the head is moved on with it, and nothing is read.
    fn turn(&self, head: &mut Head, id: u128) -> Result<Committed, Error> {
        let done = self.commit(turn(head, id))?;
        head.consumed = head.inbox;
        head.next_event = head.next_event.plus(1);
        head.version = done.version;
        Ok(done)
    }

    fn claim(&self) -> Vec<Head> {
        let claim = ClaimRuns {
            epoch: self.epoch,
            namespace: Namespace(1),
            want: Want::Turn,
            queues: vec!["turns".into()],
            names: vec!["flow".into()],
            count: 4,
            now: NOW,
        };
        let claimed = wait(self.store.claim_runs(claim)).expect("it is alive");
        claimed.into_iter().map(|claimed| claimed.read.head).collect()
    }

    fn post(&self, message: Message) {
        let posting =
            Posting::Message { to: Address::Run(run(1)), message, now: NOW, receipt: None };
        wait(self.store.post(vec![posting])).remove(0).expect("the run is open");
    }
}

fn run(uuid: u128) -> RunId {
    RunId { namespace: Namespace(1), uuid }
}

fn event(id: EventId, kind: impl Into<bowline_core::EventKind>) -> Event {
    Event { id, time: NOW, kind: kind.into(), notes: Vec::new(), wire: None }
}

/// One event, by whoever holds the run.
fn turn(head: &Head, id: u128) -> Commit {
    Commit {
        fence: head.holder,
        consumed: head.inbox,
        next_event: head.next_event.plus(1),
        batch: Batch::of(&vec![event(head.next_event, MarkerRecorded::default())]),
        ..Commit::unchanged(head, CommitId(id), NOW)
    }
}

fn last(head: &Head, id: u128) -> Commit {
    Commit {
        batch: Batch::of(&vec![event(head.next_event, WorkflowCompleted::default())]),
        status: Status::Completed,
        close: Some(Close { successor: None, delete: false }),
        ..turn(head, id)
    }
}

fn signal() -> Message {
    Message::Signal(Box::new(Signal { name: "go".into(), ..Signal::default() }))
}

/// The cost of a turn is one statement: whoever holds a run knows its rows.
#[test]
fn a_turn_of_a_held_run_reads_nothing() {
    let place = Place::new();
    let own = Holder::join(&place);
    let mut head = own.hold(1);
    let before = own.proxy.looks();
    for id in 2..12 {
        own.turn(&mut head, id).expect("nobody else writes");
    }
    own.commit(last(&head, 12)).expect("nobody else writes");
    assert_eq!(own.proxy.looks(), before, "no turn has read anything");
    let whole = wait(own.store.read(Read::whole(run(1)))).expect("it reads").expect("there");
    assert_eq!((whole.head.status, whole.batches.len()), (Status::Completed, 13));
}

/// A message comes from another process while the rows are in memory: the turn that is decided on
/// them is not written, but decided again, and answers with the message.
#[test]
fn a_message_of_another_process_is_answered_with_the_next_turn() {
    let place = Place::new();
    let (own, other) = (Holder::join(&place), Holder::join(&place));
    let mut head = own.hold(1);
    for id in 2..6 {
        other.post(signal());
        let done = own.turn(&mut head, id).expect("a message is no reason to refuse a turn");
        assert_eq!(done.unread.len(), 1, "the message that came meanwhile");
        head.inbox.0 += 1;
        let done = own.turn(&mut head, 100 + id).expect("nobody else writes");
        assert!(done.unread.is_empty(), "it is consumed");
    }
    assert_eq!(place.count(&format!("{}.inbox", place.schema())), 0);
}

/// A cancel was acknowledged in another process: the run does not close as if it had not been.
#[test]
fn a_cancel_of_another_process_is_not_lost_beside_a_close() {
    let place = Place::new();
    let (own, other) = (Holder::join(&place), Holder::join(&place));
    let mut head = own.hold(1);
    let cause = Cause::requested("enough", "alice");
    let cancel = Cancel { cause, request_id: "one".into(), external: None, wire: None };
    other.post(Message::Cancel(Box::new(cancel)));
    let answer = own.commit(last(&head, 2));
    assert!(matches!(answer, Err(Error::Conflict)), "{answer:?}");
    let now = own.head(run(1));
    assert!(now.cancel.is_some() && now.status.is_open(), "{now:?}");
    head.inbox = now.inbox;
    own.commit(last(&head, 3)).expect("it knows of the cancel now");
}

/// What is refused because of rows in memory is refused by the database, or not at all.
#[test]
fn a_refusal_is_not_made_from_memory() {
    let place = Place::new();
    let (own, other) = (Holder::join(&place), Holder::join(&place));
    let mut head = own.hold(1);
    // Somebody who needs no lease decides about the run, as an operator may.
    let done = other.commit(Commit { fence: None, ..turn(&head, 2) }).expect("it is the newest");
    let stale = own.commit(turn(&head, 3));
    assert!(matches!(stale, Err(Error::Conflict)), "{stale:?}");
    own.hold(2);
    (head.version, head.next_event) = (done.version, head.next_event.plus(1));
    own.turn(&mut head, 4).expect("it has heard of the other's decision");
    // And from rows in memory that are as they were: the answer to a commit that was done.
    let before = own.head(run(2));
    let decided = turn(&before, 5);
    let first = own.commit(decided.clone()).expect("nobody else writes");
    let again = own.commit(decided).expect("it was done");
    assert_eq!(again.version, first.version);
}

/// A run goes to another process and comes back: its old fence does not hold, its rows of then do
/// not count.
#[test]
fn a_run_that_was_lost_and_won_again_is_read_again() {
    let place = Place::new();
    let (own, other) = (Holder::join(&place), Holder::join(&place));
    let old = own.hold(1);
    own.commit(Commit { release: true, ..turn(&old, 2) }).expect("nobody else writes");
    other.post(signal());
    let mut theirs = other.claim().remove(0);
    other.turn(&mut theirs, 3).expect("it holds the run");
    other.commit(Commit { release: true, ..turn(&theirs, 4) }).expect("it holds the run");
    other.post(signal());
    let late = own.commit(turn(&Head { version: theirs.version, ..old.clone() }, 5));
    assert!(matches!(late, Err(Error::Conflict | Error::Fenced)), "{late:?}");
    let mut new = own.claim().remove(0);
    assert_eq!(new.next_event.0, old.next_event.0 + 3);
    own.turn(&mut new, 6).expect("it holds the run again");
    let late = own.commit(Commit { fence: old.holder, ..turn(&new, 7) });
    assert!(matches!(late, Err(Error::Fenced)), "{late:?}");
    own.turn(&mut new, 8).expect("it still holds the run");
}

/// A member that was given up believes that it is alive. The statement knows better.
#[test]
fn a_member_that_was_given_up_writes_nothing() {
    let place = Place::new();
    let own = Holder::join(&place);
    let mut head = own.hold(1);
    place.bury_members();
    let answer = own.turn(&mut head, 2);
    assert!(matches!(answer, Err(Error::Fenced)), "{answer:?}");
    assert_eq!(own.head(run(1)).version, head.version);
}

/// An id that was just made is taken to be new, until the table's key says that it is not.
#[test]
fn an_id_that_was_used_before_is_found_out() {
    let place = Place::new();
    let own = Holder::join(&place);
    own.hold(1);
    let mut posting = starting(1);
    let Posting::Start(start) = &mut posting else { panic!("it is a start") };
    let first = &mut start.birth.events[0].kind;
    let bowline_core::EventKind::WorkflowStarted(started) = first else { panic!("{first:?}") };
    started.workflow_id = "another".into();
    let posted = wait(own.store.post(vec![posting])).remove(0);
    assert!(matches!(posted, Err(Error::Invalid(_))), "{posted:?}");
    let posted = wait(own.store.post(vec![starting(1)])).remove(0);
    assert!(matches!(posted, Err(Error::IdTaken { .. })), "{posted:?}");
}

/// Nobody knows whether a commit was done whose connection was lost, nor what the next server
/// knows: rows are read again.
#[test]
fn rows_are_read_again_after_a_connection_was_lost() {
    let place = Place::new();
    let own = Holder::join(&place);
    for (uuid, cut) in [(1, Cut::Before), (2, Cut::After)] {
        let mut head = own.hold(uuid);
        let decided = turn(&head, 2);
        own.proxy.cut(cut);
        let answer = own.commit(decided.clone());
        assert!(matches!(answer, Err(Error::Unknown(_))), "{cut:?}: {answer:?}");
        let before = own.proxy.looks();
        let done = own.commit(decided).expect("it is done, or done now");
        assert!(own.proxy.looks() > before, "{cut:?}: what is there was looked at");
        let whole = wait(own.store.read(Read::whole(run(uuid)))).expect("it reads");
        let whole = whole.expect("it is there");
        assert_eq!((whole.head.version, whole.batches.len()), (done.version, 3), "once");
        (head.version, head.next_event) = (done.version, head.next_event.plus(1));
        own.turn(&mut head, 3).expect("nobody else writes");
    }
}
