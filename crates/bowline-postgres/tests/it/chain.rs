//! What a long chain costs, in statements: what is deleted of it, and not how long it is.

use std::time::Duration;

use bowline_core::{
    Address, Batch, CommitId, Event, EventKind, Link, MarkerRecorded, Message, Namespace, RunId,
    Signal, Status, Time,
};
use bowline_postgres::PostgresStore;
use bowline_store::{
    Close, Commit, Head, Join, Posted, Posting, Read, RunKey, Store, Subtree, Sweep,
};

use crate::{place::Place, proxy::Proxy, takeover::starting, wait::wait};

const NOW: Time = Time(1_000_000);
const NAMESPACE: Namespace = Namespace(1);
const LINKS: u32 = 1_000;

fn run(uuid: u128) -> RunId {
    RunId { namespace: NAMESPACE, uuid }
}

/// The decision that goes on as the next run of a chain.
fn next(head: &Head, link: u32) -> Commit {
    let Posting::Start(start) = starting(head.first_run.uuid + u128::from(link)) else {
        panic!("it is a start")
    };
    let mut birth = start.birth;
    birth.link = Link::Next;
    let EventKind::WorkflowStarted(started) = &mut birth.events[0].kind else {
        panic!("it begins")
    };
    started.workflow_id = head.workflow_id.clone();
    started.first_run = head.first_run;
    (started.link, started.previous_run) = (Some(link), Some(head.run));
    let kind = MarkerRecorded::default().into();
    let event = Event { id: head.next_event, time: NOW, kind, notes: Vec::new(), wire: None };
    let close = Some(Close { successor: Some(birth.run), delete: false });
    Commit {
        consumed: head.inbox,
        next_event: head.next_event.plus(1),
        batch: Batch::of(&vec![event]),
        status: Status::ContinuedAsNew,
        close,
        births: vec![birth],
        ..Commit::unchanged(head, CommitId(u128::from(link)), NOW)
    }
}

/// A chain of so many runs, the last of which is open.
fn chain(store: &PostgresStore) -> (RunId, RunId) {
    let first = run(10_000);
    let posted = wait(store.post(vec![starting(first.uuid)])).remove(0);
    assert!(matches!(posted, Ok(Posted::Started(_))), "{posted:?}");
    let mut last = first;
    for link in 2..=LINKS {
        let read = wait(store.read(Read::head(RunKey::Run(last)))).expect("it reads");
        let commit = next(&read.expect("it is there").head, link);
        last = commit.births[0].run;
        wait(store.commit(vec![commit])).remove(0).expect("nobody else writes");
    }
    (first, last)
}

/// Once, each sweep walked the whole rest of the chain for each of its runs, a statement at a time,
/// and whoever named an early run was led from one to the next.
#[test]
fn a_chain_of_a_thousand_is_found_and_swept_for_what_it_deletes() {
    let place = Place::new();
    let (proxy, url) = Proxy::before(&place.url());
    let mut settings = place.settings();
    (settings.hints, settings.poll) = (false, Duration::from_secs(100_000));
    let store = PostgresStore::open_with(&url, settings).expect("it opens");
    let join = Join::new("test", Duration::from_secs(600), NOW);
    let epoch = wait(store.join(join)).expect("it joins").epoch;
    let (first, last) = {
        let direct = PostgresStore::open_with(&place.url(), place.settings()).expect("it opens");
        chain(&direct)
    };
    let cost = |what: &dyn Fn()| {
        let before = proxy.statements();
        what();
        proxy.statements() - before
    };

    let found = cost(&|| {
        let newest = wait(store.read(Read::head(RunKey::Chain(first)))).expect("it reads");
        assert_eq!(newest.expect("the chain lives").head.run, last);
    });
    assert!(found < 10, "{found} statements to find the newest of {LINKS} runs");
    let signal = || Posting::Message {
        to: Address::Chain(first),
        message: Message::Signal(Box::new(Signal { name: "ping".into(), ..Signal::default() })),
        now: NOW,
        receipt: None,
    };
    let reached = cost(&|| {
        let posted = wait(store.post(vec![signal()])).remove(0).expect("the chain lives");
        assert!(matches!(posted, Posted::Delivered(run, _) if run == last), "{posted:?}");
    });
    assert!(reached < 15, "{reached} statements to reach the newest of {LINKS} runs");
    let looked = cost(&|| {
        let left = wait(store.leftovers(Subtree::Run(last))).expect("it is looked at");
        assert!(left.runs.iter().any(|line| line.run == last), "{left:?}");
    });
    assert!(looked < 30, "{looked} statements to look at what is left of {LINKS} runs");

    let now = NOW.after(Duration::from_secs(3_600));
    let retention = vec![(NAMESPACE, Duration::from_secs(60))];
    let sweep = Sweep { epoch, now, limit: 2_000, retention, presume: None };
    let swept = cost(&|| {
        while wait(store.sweep(sweep.clone())).expect("it sweeps").more {}
    });
    // Each run is looked at and buried by itself: the same for each, however long the chain is.
    assert!(swept < 25 * u64::from(LINKS), "{swept} statements to delete {LINKS} runs");
    let gone = wait(store.read(Read::head(RunKey::Run(first)))).expect("it reads");
    assert!(gone.is_none(), "the first is gone");
    let again = cost(&|| {
        wait(store.sweep(sweep.clone())).expect("it sweeps");
    });
    assert!(again < 40, "{again} statements to find nothing");
    let late = cost(&|| {
        let posted = wait(store.post(vec![signal()])).remove(0).expect("the chain lives");
        assert!(matches!(posted, Posted::Delivered(run, _) if run == last), "{posted:?}");
    });
    assert!(late < 15, "{late} statements to reach it by a run that is gone");
    eprintln!("{found} {reached} {looked} {swept} {again} {late} statements");
}
