//! Calls that stand in each other's way: rows that somebody else has locked, and who comes first.

use std::{thread, time::Duration};

use bowline_core::{
    Address, Batch, Cancel, Cause, CommitId, Event, EventId, MarkerRecorded, Message, Namespace,
    Queue, ReceiptId, RunId, Signal, Status, Time, WorkflowCompleted,
};
use bowline_postgres::PostgresStore;
use bowline_store::{
    ClaimRuns, Close, Commit, Error, Hint, Join, NewReceipt, Posted, Posting, Read, RunKey, Store,
    Subtree, Sweep, Want,
};

use crate::{
    place::Place,
    takeover::starting,
    wait::{hear, look_until, wait},
};

const NOW: Time = Time(1_000_000);

fn run(uuid: u128) -> RunId {
    RunId { namespace: Namespace(1), uuid }
}

/// How many statements on the tables of a place wait for a lock.
pub(crate) fn waiting(place: &Place) -> i64 {
    place.count(&format!(
        "pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%{}.%'",
        place.schema()
    ))
}

pub(crate) fn until_waiting(place: &Place, wanted: i64) {
    look_until(&format!("{wanted} never waited"), || waiting(place) == wanted);
}

/// Keeps the row of a run locked while something is done.
pub(crate) fn locked<T>(place: &Place, uuid: u128, work: impl FnOnce() -> T) -> T {
    let sql = format!(
        "SELECT 1 FROM {}.runs WHERE run = '{}' FOR UPDATE",
        place.schema(),
        uuid::Uuid::from_u128(uuid)
    );
    holding(place, &sql, work)
}

/// Keeps whatever a statement locks while something is done.
pub(crate) fn holding<T>(place: &Place, sql: &str, work: impl FnOnce() -> T) -> T {
    during(place, sql, true, work)
}

/// Does something while a statement is done that is undone afterwards.
pub(crate) fn undoing<T>(place: &Place, sql: &str, work: impl FnOnce() -> T) -> T {
    during(place, sql, false, work)
}

fn during<T>(place: &Place, sql: &str, commits: bool, work: impl FnOnce() -> T) -> T {
    let (release, released) = std::sync::mpsc::channel::<()>();
    let (lock, is_locked) = std::sync::mpsc::channel::<()>();
    thread::scope(|scope| {
        scope.spawn(move || {
            place.with(async |mut client| {
                let tx = client.transaction().await.expect("it begins");
                tx.query(sql, &[]).await.expect("it is there");
                lock.send(()).expect("the test waits");
                let _ = released.recv();
                let ended = if commits { tx.commit().await } else { tx.rollback().await };
                ended.expect("it ends");
            })
        });
        is_locked.recv().expect("it is locked");
        let done = work();
        drop(release);
        done
    })
}

/// A call that is given up does not live on in the server, where it would hold what others need.
#[test]
fn a_statement_that_takes_too_long_is_over_in_the_server_too() {
    let place = Place::new();
    let mut settings = place.settings();
    settings.patience = Duration::from_secs(2);
    let store = PostgresStore::open_with(&place.url(), settings).expect("it opens");
    wait(store.post(vec![starting(1)])).remove(0).expect("it starts");
    locked(&place, 1, || {
        let message = Message::Signal(Box::new(Signal { name: "go".into(), ..Signal::default() }));
        let signal =
            Posting::Message { to: Address::Run(run(1)), message, now: NOW, receipt: None };
        let answer = wait(store.post(vec![signal])).remove(0);
        assert!(matches!(answer, Err(Error::Busy(_))), "nothing was done: {answer:?}");
        until_waiting(&place, 0);
    });
    let read = wait(store.read(Read::inbox(run(1)))).expect("it reads").expect("it is there");
    assert_eq!(read.inbox.len(), 1, "it waits for its first turn, and for nothing else");
}

/// Whoever locks a run need not change it, and then hints at nothing: a claim that has passed the
/// run over is told to look again.
#[test]
fn a_run_that_was_passed_over_is_looked_for_again() {
    let place = Place::new();
    let mut settings = place.settings();
    (settings.hints, settings.poll) = (false, Duration::from_secs(100_000));
    let store = PostgresStore::open_with(&place.url(), settings).expect("it opens");
    let join = Join::new("test", Duration::from_secs(60), NOW);
    let epoch = wait(store.join(join)).expect("it joins").epoch;
    wait(store.post(vec![starting(1)])).remove(0).expect("it starts");
    let claim = || {
        let (queues, names) = (vec![Queue::from("turns")], vec!["flow".into()]);
        let (namespace, want) = (Namespace(1), Want::Turn);
        let claim = ClaimRuns { epoch, namespace, want, queues, names, count: 4, now: NOW };
        wait(store.claim_runs(claim)).expect("it is alive").len()
    };
    let mut hints = store.watch();
    assert_eq!(locked(&place, 1, claim), 0, "it is not waited for");
    hear(&mut hints, || Hint::Turn(Namespace(1), Queue::from("turns")));
    assert_eq!(claim(), 1);
}

fn close(store: &PostgresStore, uuid: u128) {
    let read = wait(store.read(Read::head(RunKey::Run(run(uuid))))).expect("it reads");
    let head = read.expect("it is there").head;
    let marker = |id, kind| Event { id, time: NOW, kind, notes: Vec::new(), wire: None };
    let events = vec![
        marker(head.next_event, MarkerRecorded::default().into()),
        marker(head.next_event.plus(1), WorkflowCompleted::default().into()),
    ];
    let commit = Commit {
        consumed: head.inbox,
        next_event: EventId(head.next_event.0 + 2),
        batch: Batch::of(&events),
        status: Status::Completed,
        close: Some(Close { successor: None, delete: false }),
        ..Commit::unchanged(&head, CommitId(7), NOW)
    };
    wait(store.commit(vec![commit])).remove(0).expect("nobody else writes");
}

/// Somebody cancels a run that is closed already, and is given a receipt; at that moment the run is
/// about to be forgotten. A receipt that was given speaks of a run that is there.
#[test]
fn a_run_with_a_receipt_is_not_forgotten_at_the_same_moment() {
    let place = Place::new();
    let mut settings = place.settings();
    settings.locks = Duration::from_secs(20);
    let open = || PostgresStore::open_with(&place.url(), settings.clone()).expect("it opens");
    let (one, two) = (open(), open());
    let join = Join::new("test", Duration::from_secs(60), NOW);
    let epoch = wait(two.join(join)).expect("it joins").epoch;
    wait(one.post(vec![starting(1)])).remove(0).expect("it starts");
    close(&one, 1);
    let cause = Cause::requested("late", "alice");
    let request_id = "one".into();
    let cancel = Cancel { cause: cause.clone(), request_id, external: None, wire: None };
    let message = Message::Cancel(Box::new(cancel));
    let id = ReceiptId(9);
    let receipt = Some(NewReceipt { id, cause, keep_until: Time(i64::MAX) });
    let posting = Posting::Message { to: Address::Run(run(1)), message, now: NOW, receipt };
    let (posted, swept) = locked(&place, 1, || {
        // In this order: the receipt is written first, and the one who forgets has read before.
        let posted = one.post(vec![posting]);
        until_waiting(&place, 1);
        let retention = vec![(Namespace(1), Duration::ZERO)];
        let swept =
            two.sweep(Sweep { epoch, now: Time(NOW.0 + 1), limit: 100, retention, presume: None });
        until_waiting(&place, 2);
        (posted, swept)
    });
    assert!(matches!(wait(posted).remove(0), Ok(Posted::Finished(_))));
    wait(swept).expect("it is alive");
    let left = wait(one.leftovers(Subtree::Receipt(id))).expect("it is kept");
    assert_eq!(left.runs.len(), 1, "its run is there: {left:?}");
}

/// Two processes dig the same grave. One of them finds the rows taken that it wanted to take, and
/// concludes nothing from it: rows without a grave would stay for ever.
#[test]
fn two_who_dig_one_grave_leave_nothing() {
    let place = Place::new();
    let open = || PostgresStore::open_with(&place.url(), place.settings()).expect("it opens");
    let (one, two) = (open(), open());
    let join = || Join::new("test", Duration::from_secs(60), NOW);
    let epochs = [&one, &two].map(|store| wait(store.join(join())).expect("it joins").epoch);
    let schema = place.schema();
    let uuid = uuid::Uuid::from_u128(9);
    place.execute(&format!(
        "INSERT INTO {schema}.graves VALUES (1, '{uuid}'); \
         INSERT INTO {schema}.history (namespace, run, first, last, bytes) \
         SELECT 1, '{uuid}', n, n, 'x' FROM generate_series(1, 50) n"
    ));
    let sweep =
        |epoch, limit| Sweep { epoch, now: NOW, limit, retention: Vec::new(), presume: None };
    let row = format!("SELECT 1 FROM {schema}.history WHERE run = '{uuid}' FOR UPDATE");
    let swept = holding(&place, &row, || {
        let first = one.sweep(sweep(epochs[0], 10));
        until_waiting(&place, 1);
        let second = two.sweep(sweep(epochs[1], 30));
        until_waiting(&place, 2);
        [first, second]
    });
    let mut more = swept.map(|swept| wait(swept).expect("it is alive").more).contains(&true);
    while more {
        more = wait(one.sweep(sweep(epochs[0], 100))).expect("it is alive").more;
    }
    assert_eq!(place.count(&format!("{schema}.history")), 0, "nobody would look for them again");
    assert_eq!(place.count(&format!("{schema}.graves")), 0);
}
