//! A cancel of very many: decided at once, swept in pieces.

use bowline_core::{Cause, EventId, Ranges};
use bowline_sqlite::SqliteStore;
use bowline_store::{Store, Subtree};
use tempfile::TempDir;

use crate::world::{assert_whole, commit, head, join, scheduling, spec, start, sweep, turn};

const ALL: u64 = 100_000;

/// R101, H11: a hundred thousand waiting activities are cancelled by one commit that does not
/// touch a single row of theirs; sweeps do, two thousand at a time, and a crash in between loses
/// nothing.
#[tokio::test]
async fn a_hundred_thousand_are_cancelled_without_touching_their_rows() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("store.db");
    let store = SqliteStore::open(&path).unwrap();
    let epoch = join(&store).await;
    let run = start(&store, 1).await;
    let now = head(&store, run).await;
    let first = now.next_event;
    let before = store.stats();
    commit(&store, scheduling(&now, 1, ALL, &spec("work"))).await.unwrap();
    assert_eq!(store.stats().activity_rows, before.activity_rows, "their rows follow");
    let mut sweeps = 0;
    while sweep(&store, epoch).await.more {
        sweeps += 1;
    }
    assert!(sweeps >= ALL / 2_000 - 1, "{sweeps}");
    let left = store.leftovers(Subtree::Run(run)).await.unwrap();
    assert_eq!((left.queued, left.unswept), (ALL, 0));

    let targets: Ranges = (first.0..first.0 + ALL).map(EventId).collect();
    let mut cancelling = turn(&head(&store, run).await, 2);
    cancelling.cancels = vec![(targets, Cause::requested("enough", "test"))];
    let before = store.stats();
    commit(&store, cancelling).await.unwrap();
    let after = store.stats();
    assert_eq!(after.activity_rows, before.activity_rows, "no row of theirs is touched");
    assert!(after.rows_written - before.rows_written < 10);

    let mut steps = Vec::new();
    for _ in 0..10 {
        let before = store.stats();
        assert_eq!(sweep(&store, epoch).await.rows, 2_000);
        steps.push(store.stats().steps - before.steps);
    }
    // What is left for others is not looked at: the first sweep costs no more than the tenth.
    assert!(steps[0] < steps[9] * 21 / 20, "{steps:?}");
    drop(store);
    let store = SqliteStore::open(&path).unwrap();
    let epoch = join(&store).await;
    let left = store.leftovers(Subtree::Run(run)).await.unwrap();
    assert_eq!((left.queued, left.unswept, left.never_started), (0, 80_000, 20_000));
    while sweep(&store, epoch).await.more {}
    let left = store.leftovers(Subtree::Run(run)).await.unwrap();
    assert_eq!((left.queued, left.unswept, left.never_started), (0, 0, ALL));
    assert_whole(&store).await;
}

/// Rows that are still owed when they are cancelled are never made.
#[tokio::test]
async fn what_is_cancelled_before_it_has_a_row_never_gets_one() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("store.db");
    let store = SqliteStore::open(&path).unwrap();
    let epoch = join(&store).await;
    let run = start(&store, 1).await;
    let now = head(&store, run).await;
    let first = now.next_event.0;
    commit(&store, scheduling(&now, 1, 5_000, &spec("work"))).await.unwrap();
    let mut cancelling = turn(&head(&store, run).await, 2);
    let few: Ranges = (first..first + 3).map(EventId).collect();
    let many: Ranges = (first + 100..first + 4_000).map(EventId).collect();
    let cause = Cause::requested("enough", "test");
    cancelling.cancels = vec![(few, cause.clone()), (many, cause)];
    let committed = commit(&store, cancelling).await.unwrap();
    let skipped = match &committed.unread[..] {
        [received] => match &received.message {
            bowline_core::Message::SkipActivities(ranges) => ranges.count(),
            other => panic!("{other:?}"),
        },
        other => panic!("{other:?}"),
    };
    assert_eq!(skipped, 3_903);
    // A crash before the first sweep: the debt is durable.
    drop(store);
    let store = SqliteStore::open(&path).unwrap();
    let epoch_after = join(&store).await;
    assert!(epoch_after > epoch);
    while sweep(&store, epoch_after).await.more {}
    let left = store.leftovers(Subtree::Run(run)).await.unwrap();
    assert_eq!((left.queued, left.unswept, left.never_started), (5_000 - 3_903, 0, 3_903));
    assert_whole(&store).await;
}
