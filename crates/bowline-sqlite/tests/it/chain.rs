//! What chains and large trees cost, in rows: what is left of them, and not how long they were.

use std::time::Duration;

use bowline_core::{
    Address, Birth, EventId, EventKind, Link, MarkerRecorded, Parent, ParentClose, RunId, Status,
    WorkflowStarted,
};
use bowline_sqlite::SqliteStore;
use bowline_store::{Close, Commit, Phase, Read, RunKey, Store, Subtree, Sweep};
use tempfile::TempDir;

use crate::world::{
    NAMESPACE, NOW, assert_whole, birth, commit, event, head, join, run_id, scheduling, signal,
    spec, start, turn, turn_of,
};

fn started(birth: &mut Birth) -> &mut WorkflowStarted {
    match &mut birth.events[0].kind {
        EventKind::WorkflowStarted(started) => started,
        other => panic!("{other:?}"),
    }
}

fn closing(mut commit: Commit, status: Status) -> Commit {
    commit.status = status;
    commit.close = Some(Close::default());
    commit
}

/// The next run of a chain.
async fn go_on(store: &SqliteStore, first: RunId, link: u32) -> RunId {
    let before = store.read(Read::head(RunKey::Chain(first))).await.unwrap().unwrap().head;
    let mut next = birth(run_id(first.uuid + u128::from(link)));
    next.link = Link::Next;
    let id = next.run;
    let of = started(&mut next);
    of.workflow_id = before.workflow_id.clone();
    (of.first_run, of.link, of.previous_run) = (first, Some(link), Some(before.run));
    let mut turn = closing(turn(&before, u128::from(link)), Status::ContinuedAsNew);
    turn.close = Some(Close { successor: Some(id), delete: false });
    turn.births.push(next);
    commit(store, turn).await.unwrap();
    id
}

/// A chain of so many runs, the last of which is open; something of the first one may wait.
async fn chain(store: &SqliteStore, links: u32, waits: u64) -> Vec<RunId> {
    let first = start(store, 1).await;
    if waits > 0 {
        let waiting = scheduling(&head(store, first).await, 1, waits, &spec("work"));
        commit(store, waiting).await.unwrap();
    }
    let mut runs = vec![first];
    for link in 2..=links {
        runs.push(go_on(store, first, link).await);
    }
    runs
}

fn store() -> (TempDir, SqliteStore) {
    let folder = TempDir::new().unwrap();
    let store = SqliteStore::open(folder.path().join("store.db")).unwrap();
    (folder, store)
}

/// What an earlier run has left behind is found without looking at those in between.
#[tokio::test]
async fn a_look_at_a_chain_costs_what_is_left_of_it() {
    let mut costs = Vec::new();
    for links in [10, 1_000] {
        let (_folder, store) = store();
        let runs = chain(&store, links, 1).await;
        let first = runs[0];
        let last = runs[runs.len() - 1];
        let before = store.stats();
        let left = store.leftovers(Subtree::Run(last)).await.unwrap();
        costs.push(store.stats().rows_read - before.rows_read);
        assert_eq!((left.runs.len(), left.queued), (2, 1), "the last, and the first: {left:?}");
        assert_eq!(left.runs[1].run, first);
    }
    assert_eq!(costs[0], costs[1], "rows that were read");
    assert!(costs[0] < 40, "{costs:?}");
}

/// Early runs of a living chain go, for what it costs to delete them; and looking again, when there
/// is nothing to delete, costs nearly nothing. Once, each sweep walked the whole rest of the chain
/// for each of its runs.
#[tokio::test]
async fn a_sweep_of_a_living_chain_costs_what_it_deletes() {
    const LINKS: u32 = 1_000;
    let (_folder, store) = store();
    let epoch = join(&store).await;
    let runs = chain(&store, LINKS, 0).await;
    let now = NOW.after(Duration::from_secs(3_600));
    let retention = vec![(NAMESPACE, Duration::from_secs(60))];
    let sweep = || Sweep { epoch, now, limit: 2_000, retention: retention.clone(), presume: None };
    let before = store.stats();
    let mut swept = 0;
    loop {
        let done = store.sweep(sweep()).await.unwrap();
        swept += done.rows;
        if !done.more {
            break;
        }
    }
    let (read, written) = {
        let after = store.stats();
        (after.rows_read - before.rows_read, after.rows_written - before.rows_written)
    };
    assert!(swept >= 999, "{swept} rows swept");
    assert!(read < 12 * u64::from(LINKS), "{read} rows read for {LINKS} runs");
    assert!(written < 12 * u64::from(LINKS), "{written} rows written for {LINKS} runs");
    for run in &runs[..999] {
        let gone = store.read(Read::head(RunKey::Run(*run))).await.unwrap();
        assert!(gone.is_none(), "{run}");
    }
    let before = store.stats();
    store.sweep(sweep()).await.unwrap();
    let again = store.stats().rows_read - before.rows_read;
    assert!(again < 20, "{again} rows read to find nothing");
    let newest = store.read(Read::head(RunKey::Chain(runs[0]))).await.unwrap().unwrap();
    assert_eq!((newest.head.run, newest.head.link), (runs[999], LINKS));
    let posting = match signal(runs[0], 1) {
        bowline_store::Posting::Message { message, now, receipt, .. } => {
            let to = Address::Chain(runs[0]);
            bowline_store::Posting::Message { to, message, now, receipt }
        }
        other => other,
    };
    store.post(vec![posting]).await.remove(0).expect("the chain lives");
    assert_whole(&store).await;
}

/// A run that may not go yet, because it has left a child alone and its chain lives, is looked at
/// by every sweep. That costs the same however many runs the chain has had since.
#[tokio::test]
async fn a_look_at_what_may_not_go_costs_the_same_in_a_long_chain() {
    let mut costs = Vec::new();
    for links in [10, 1_000] {
        let (_folder, store) = store();
        let epoch = join(&store).await;
        let first = start(&store, 1).await;
        let at = head(&store, first).await;
        let mut birthing = turn_of(&at, 1, vec![event(at.next_event, MarkerRecorded::default())]);
        birthing.births.push(child(first, 10_000, ParentClose::Abandon));
        commit(&store, birthing).await.unwrap();
        for link in 2..=links {
            go_on(&store, first, link).await;
        }
        let delete = bowline_store::Posting::Delete { run: first, now: NOW };
        store.post(vec![delete]).await.remove(0).expect("it is closed");
        let retention = vec![(NAMESPACE, Duration::from_secs(3_600))];
        let before = store.stats();
        let sweep = Sweep { epoch, now: NOW, limit: 2_000, retention, presume: None };
        store.sweep(sweep).await.unwrap();
        costs.push(store.stats().rows_read - before.rows_read);
        let kept = store.read(Read::head(RunKey::Run(first))).await.unwrap();
        assert!(kept.is_some(), "its chain lives, and may be asked what it has left");
    }
    assert_eq!(costs[0], costs[1], "rows that were read");
}

/// A child of a run.
fn child(of: RunId, uuid: u128, close: ParentClose) -> Birth {
    let mut birth = birth(run_id(uuid));
    birth.link = Link::Child(EventId(2));
    let workflow_id = "parent".into();
    started(&mut birth).parent =
        Some(Parent { run: of, workflow_id, initiated: EventId(2), close });
    started(&mut birth).tree = Some(of);
    birth
}

/// A tree of which everything is over is proven so by an index of what is not: however large it is.
#[tokio::test]
async fn a_clean_tree_is_proven_for_the_same_however_large_it_is() {
    let mut costs = Vec::new();
    for many in [2_000_u128, 6_000] {
        let (_folder, store) = store();
        let top = start(&store, 1).await;
        let at = head(&store, top).await;
        let mut birthing = turn_of(&at, 1, vec![event(at.next_event, MarkerRecorded::default())]);
        for number in 0..many {
            birthing.births.push(child(top, 100 + number, ParentClose::Cancel));
        }
        commit(&store, birthing).await.unwrap();
        for child in (0..many).map(|child| run_id(100 + child)) {
            let over = closing(turn(&head(&store, child).await, 7), Status::Completed);
            commit(&store, over).await.unwrap();
        }
        commit(&store, closing(turn(&head(&store, top).await, 8), Status::Completed))
            .await
            .unwrap();
        let before = store.stats();
        let left = store.leftovers(Subtree::Run(top)).await.unwrap();
        costs.push(store.stats().rows_read - before.rows_read);
        assert_eq!(left.phase(), Phase::Clean);
        assert!(left.truncated && !left.unknown);
    }
    assert_eq!(costs[0], costs[1], "rows that were read");
}
