//! Connections that are cut at the worst moment, again and again: what was acknowledged is there,
//! what was not is there once or not at all, and nobody is told a lie.

use std::{sync::mpsc, thread};

use bowline_core::{
    Address, Batch, CommitId, Event, EventId, MarkerRecorded, Message, RequestId, RunId, Signal,
    Time,
};
use bowline_postgres::PostgresStore;
use bowline_store::{Commit, Error, Head, Posted, Posting, Read, RunRead, Store};

use crate::{
    place::Place,
    proxy::{Cut, Proxy},
    takeover::starting,
    wait::wait,
};

const NOW: Time = Time(1_000_000);

fn read(store: &PostgresStore, run: RunId) -> RunRead {
    wait(store.read(Read::whole(run))).expect("reading works").expect("it is there")
}

fn begin_run(store: &PostgresStore, uuid: u128) -> RunId {
    match wait(store.post(vec![starting(uuid)])).remove(0) {
        Ok(Posted::Started(run)) => run,
        other => panic!("{other:?}"),
    }
}

/// A decision that writes one event and consumes what waits.
fn turn(head: &Head, id: u128) -> Commit {
    let kind = MarkerRecorded::default().into();
    let event = Event { id: head.next_event, time: NOW, kind, notes: Vec::new(), wire: None };
    Commit {
        consumed: head.inbox,
        next_event: head.next_event.plus(1),
        batch: Batch::of(&vec![event]),
        ..Commit::unchanged(head, CommitId(id), NOW)
    }
}

fn signal(run: RunId, request: &str) -> Posting {
    let request_id = RequestId::from(request);
    let signal = Signal { name: "s".into(), request_id, ..Signal::default() };
    let message = Message::Signal(Box::new(signal));
    Posting::Message { to: Address::Run(run), message, now: NOW, receipt: None }
}

/// A commit whose answer was cut off: nobody knows, says the store; the same commit again is done,
/// once, whichever it was.
#[test]
fn a_commit_whose_answer_is_lost_is_done_once() {
    let place = Place::new();
    let (proxy, url) = Proxy::before(&place.url());
    let mut settings = place.settings();
    settings.hints = false;
    let store = PostgresStore::open_with(&url, settings).expect("it opens");
    let run = begin_run(&store, 1);
    for round in 0..20_u128 {
        let cut = if round % 2 == 0 { Cut::After } else { Cut::Before };
        let before = read(&store, run).head;
        let decided = turn(&before, 100 + round);
        proxy.cut(cut);
        let answer = wait(store.commit(vec![decided.clone()])).remove(0);
        assert!(matches!(answer, Err(Error::Unknown(_))), "{cut:?}: {answer:?}");
        let done = read(&store, run).head.version > before.version;
        assert_eq!(done, cut == Cut::After);
        let again = wait(store.commit(vec![decided])).remove(0).expect("it is done, or done now");
        assert_eq!(again.version, read(&store, run).head.version, "once");
        assert_eq!(read(&store, run).batches.len() as u128, 2 + round);
    }
    assert_eq!(proxy.cuts(), 20);
}

#[test]
fn a_request_whose_answer_is_lost_counts_once() {
    let place = Place::new();
    let (proxy, url) = Proxy::before(&place.url());
    let mut settings = place.settings();
    settings.hints = false;
    let store = PostgresStore::open_with(&url, settings).expect("it opens");
    let run = begin_run(&store, 1);
    for round in 0..20 {
        let cut = if round % 2 == 0 { Cut::After } else { Cut::Before };
        let posting = signal(run, &format!("request-{round}"));
        proxy.cut(cut);
        let answer = wait(store.post(vec![posting.clone()])).remove(0);
        assert!(matches!(answer, Err(Error::Unknown(_))), "{cut:?}: {answer:?}");
        match wait(store.post(vec![posting])).remove(0) {
            Ok(Posted::Repeated(_)) => assert_eq!(cut, Cut::After),
            Ok(Posted::Delivered(..)) => assert_eq!(cut, Cut::Before),
            other => panic!("{other:?}"),
        }
    }
    let numbers: Vec<u64> = read(&store, run).inbox.iter().map(|letter| letter.number.0).collect();
    assert_eq!(numbers, (1..=21).collect::<Vec<_>>(), "the wake-up and twenty, without a gap");
}

/// The server ends every connection, over and over, while several threads write: whatever was
/// acknowledged stands in history, once and in order.
#[test]
fn connections_that_end_lose_nothing_that_was_acknowledged() {
    const WRITERS: u128 = 3;
    const TURNS: u128 = 40;
    let place = Place::new();
    let name = place.schema().to_owned();
    let url = format!("{}?application_name={name}", place.url());
    let store = PostgresStore::open_with(&url, place.settings()).expect("it opens");
    let (acknowledges, acknowledged) = mpsc::channel::<()>();
    let runs: Vec<RunId> = (1..=WRITERS).map(|uuid| begin_run(&store, uuid)).collect();
    thread::scope(|scope| {
        let (place, name) = (&place, &name);
        scope.spawn(move || {
            let ends = format!(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity \
                 WHERE application_name = '{name}'"
            );
            // Somebody has to get somewhere in between.
            while (0..3).all(|_| acknowledged.recv().is_ok()) {
                place.execute(&ends);
            }
        });
        let write = |run: RunId, acknowledges: mpsc::Sender<()>| {
            for id in 1..=TURNS {
                let decided = loop {
                    match wait(store.read(Read::whole(run))) {
                        Ok(read) => {
                            break turn(&read.expect("it is there").head, run.uuid << 64 | id);
                        }
                        Err(error) => assert!(error.passes(), "{error:?}"),
                    }
                };
                loop {
                    match wait(store.commit(vec![decided.clone()])).remove(0) {
                        Ok(committed) => {
                            assert!(committed.version > decided.expected);
                            acknowledges.send(()).expect("it is heard");
                            break;
                        }
                        Err(error) => assert!(error.passes(), "{error:?}"),
                    }
                }
            }
        };
        for run in &runs {
            let acknowledges = acknowledges.clone();
            scope.spawn(move || write(*run, acknowledges));
        }
        // The last writer that ends has the last of them.
        drop(acknowledges);
    });
    for run in runs {
        let read = loop {
            match wait(store.read(Read::whole(run))) {
                Ok(read) => break read.expect("it is there"),
                Err(error) => assert!(error.passes(), "{error:?}"),
            }
        };
        let firsts: Vec<EventId> = read.batches.iter().map(|batch| batch.first).collect();
        assert_eq!(firsts, (1..=TURNS as u64 + 1).map(EventId).collect::<Vec<_>>());
    }
}
