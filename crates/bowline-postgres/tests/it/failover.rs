//! A standby takes over that has not heard of the last commits. What was known of them here is of
//! another past: no number that was given out there is given out again, and nothing that was
//! decided on rows of that past is taken for a decision about rows of this one.
//!
//! The standby is played: the tables are put back to what they were. Nobody notices by a lost
//! connection, which is the hardest case; in the tests of many processes a real one is promoted.

use std::time::Duration;

use bowline_core::{
    Address, Batch, CommitId, Epoch, Event, Fence, MarkerRecorded, Message, Namespace, RunId,
    Signal, Time,
};
use bowline_postgres::PostgresStore;
use bowline_store::{Commit, Committed, Error, Head, Join, Posting, Read, RunKey, Store};

use crate::{place::Place, takeover::starting, wait::wait};

const NOW: Time = Time(1_000_000);

fn run() -> RunId {
    RunId { namespace: Namespace(1), uuid: 1 }
}

fn open(place: &Place) -> (PostgresStore, Epoch) {
    let mut settings = place.settings();
    (settings.hints, settings.poll) = (false, Duration::from_secs(100_000));
    let store = PostgresStore::open_with(&place.url(), settings).expect("it opens");
    let lease = Duration::from_secs(600);
    let join = Join::new("test", lease, NOW);
    let epoch = wait(store.join(join)).expect("it joins").epoch;
    (store, epoch)
}

/// A run that is held from the beginning.
fn hold(store: &PostgresStore, epoch: Epoch) -> Head {
    let mut posting = starting(1);
    let Posting::Start(start) = &mut posting else { panic!("it is a start") };
    start.hold = Some(Fence { epoch, counter: 1_000 });
    wait(store.post(vec![posting])).remove(0).expect("it starts");
    head(store)
}

fn head(store: &PostgresStore) -> Head {
    let read = wait(store.read(Read::head(RunKey::Run(run())))).expect("it reads");
    read.expect("it is there").head
}

fn turn(head: &Head, id: u128) -> Commit {
    let kind = MarkerRecorded::default().into();
    let event = Event { id: head.next_event, time: NOW, kind, notes: Vec::new(), wire: None };
    Commit {
        fence: head.holder,
        consumed: head.inbox,
        next_event: head.next_event.plus(1),
        batch: Batch::of(&vec![event]),
        ..Commit::unchanged(head, CommitId(id), NOW)
    }
}

/// A turn as its holder decides it: nothing is read.
fn take(store: &PostgresStore, head: &mut Head, id: u128) -> Result<Committed, Error> {
    let done = wait(store.commit(vec![turn(head, id)])).remove(0)?;
    head.consumed = head.inbox;
    head.next_event = head.next_event.plus(1);
    head.version = done.version;
    Ok(done)
}

const TABLES: [&str; 6] = ["runs", "labels", "history", "inbox", "counters", "members"];

/// What the standby knows.
fn replicate(place: &Place) {
    let schema = place.schema();
    let copy = |table| format!("CREATE TABLE {schema}.copy_{table} AS TABLE {schema}.{table};");
    place.execute(&TABLES.map(copy).concat());
}

/// It takes over.
fn promote(place: &Place) {
    let schema = place.schema();
    let back = |table| {
        format!(
            "DELETE FROM {schema}.{table}; \
             INSERT INTO {schema}.{table} SELECT * FROM {schema}.copy_{table};"
        )
    };
    place.execute(&format!("BEGIN; {} COMMIT", TABLES.map(back).concat()));
}

/// The standby has never heard of the member that joined last. The next one who joins is somebody
/// else, by every number that it has.
#[test]
fn an_epoch_is_given_out_once() {
    let place = Place::new();
    let (_first, before) = open(&place);
    replicate(&place);
    let mut known = vec![before];
    for _ in 0..5 {
        let (_store, epoch) = open(&place);
        assert!(epoch > before, "they rise");
        assert!(!known.contains(&epoch), "{epoch} was somebody else");
        known.push(epoch);
        promote(&place);
    }
}

/// A turn was acknowledged, and the standby has not heard of it; somebody else writes to the run
/// there, once, as often as the turn had. The holder goes on with what it has in memory: it is told
/// that this is not what is there.
#[test]
fn rows_of_another_past_are_not_taken_for_those_of_this_one() {
    let place = Place::new();
    let ((own, epoch), (other, _)) = (open(&place), open(&place));
    let mut mine = hold(&own, epoch);
    take(&own, &mut mine, 1).expect("nobody else writes");
    replicate(&place);
    take(&own, &mut mine, 2).expect("nobody else writes");
    promote(&place);
    let signal = Message::Signal(Box::new(Signal { name: "go".into(), ..Signal::default() }));
    let posting =
        Posting::Message { to: Address::Run(run()), message: signal, now: NOW, receipt: None };
    wait(other.post(vec![posting])).remove(0).expect("the run is open");
    let answer = take(&own, &mut mine, 3);
    assert!(matches!(answer, Err(Error::Conflict)), "{answer:?}");
    let read = wait(own.read(Read::whole(run()))).expect("it reads").expect("it is there");
    assert_eq!(read.inbox.len(), 1, "the signal that was acknowledged waits");
    let lasts: Vec<u64> = read.batches.iter().map(|batch| batch.last.0).collect();
    assert_eq!(lasts, [1, 2], "history has no gap");
    let mut now = read.head;
    take(&own, &mut now, 4).expect("it has read what is there");
}

/// The same where the other has decided something, as an operator may: the holder's next decision
/// is about a run that has seen as many commits as the holder believes, and not the same ones.
#[test]
fn a_decision_about_another_past_is_refused() {
    let place = Place::new();
    let ((own, epoch), (other, _)) = (open(&place), open(&place));
    let mut mine = hold(&own, epoch);
    take(&own, &mut mine, 1).expect("nobody else writes");
    replicate(&place);
    take(&own, &mut mine, 2).expect("nobody else writes");
    promote(&place);
    let theirs = Commit { fence: None, ..turn(&head(&other), 3) };
    wait(other.commit(vec![theirs])).remove(0).expect("it is the newest");
    let answer = take(&own, &mut mine, 4);
    assert!(matches!(answer, Err(Error::Conflict)), "{answer:?}");
}
