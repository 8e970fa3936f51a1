//! What things cost, in rows: the same for a long history as for a short one.

use bowline_sqlite::{SqliteStore, Stats};
use bowline_store::{Snapshot, Store};
use tempfile::TempDir;

use crate::world::{claiming, commit, head, join, signal, start, turn};

fn spent(store: &SqliteStore, before: Stats) -> Stats {
    let after = store.stats();
    let mut spent = after;
    spent.rows_read = after.rows_read - before.rows_read;
    spent.rows_written = after.rows_written - before.rows_written;
    spent.batches_read = after.batches_read - before.batches_read;
    spent
}

async fn lengthened(store: &SqliteStore, uuid: u128, turns: u128) -> bowline_core::RunId {
    let run = start(store, uuid).await;
    for id in 1..=turns {
        commit(store, turn(&head(store, run).await, id)).await.unwrap();
    }
    run
}

/// A turn on a run that is held costs its row, its inbox and one row of history; how long the
/// history is does not matter.
#[tokio::test]
async fn a_commit_costs_the_same_on_a_long_history() {
    let folder = TempDir::new().unwrap();
    let store = SqliteStore::open(folder.path().join("store.db")).unwrap();
    let mut costs = Vec::new();
    for (uuid, turns) in [(1, 2), (2, 300)] {
        let run = lengthened(&store, uuid, turns).await;
        store.post(vec![signal(run, 10)]).await.remove(0).unwrap();
        let before_turn = head(&store, run).await;
        let before = store.stats();
        commit(&store, turn(&before_turn, 999)).await.unwrap();
        let cost = spent(&store, before);
        assert_eq!(cost.batches_read, 0, "a commit reads no history");
        costs.push((cost.rows_read, cost.rows_written));
    }
    // Read: the run. Written: the run, the message that goes, the row of history.
    assert_eq!(costs, [(1, 3), (1, 3)]);
}

/// A claim of a run that nobody has in memory reads its history once.
#[tokio::test]
async fn a_claim_reads_history_once() {
    let folder = TempDir::new().unwrap();
    let store = SqliteStore::open(folder.path().join("store.db")).unwrap();
    let epoch = join(&store).await;
    let run = lengthened(&store, 1, 40).await;
    store.post(vec![signal(run, 10)]).await.remove(0).unwrap();
    let before = store.stats();
    let claimed = store.claim_runs(claiming(epoch, 5)).await.unwrap();
    assert_eq!(claimed[0].read.batches.len(), 41);
    assert_eq!(spent(&store, before).batches_read, 41);
}

/// Deciding without code begins at the newest snapshot: the rows before it are not read.
#[tokio::test]
async fn a_state_is_read_from_its_snapshot_on() {
    let folder = TempDir::new().unwrap();
    let store = SqliteStore::open(folder.path().join("store.db")).unwrap();
    let run = lengthened(&store, 1, 200).await;
    let now = head(&store, run).await;
    let mut commit_with = turn(&now, 999);
    let bytes = bowline_core::Blob::from(bowline_core::codec::encode(&7u64));
    commit_with.snapshot = Some(Snapshot { at: now.next_event, bytes });
    commit(&store, commit_with).await.unwrap();
    for id in 1_000..1_003 {
        commit(&store, turn(&head(&store, run).await, id)).await.unwrap();
    }
    let before = store.stats();
    let read = store.read(bowline_store::Read::state(run)).await.unwrap().unwrap();
    assert_eq!(read.snapshot.expect("there is one").at, now.next_event);
    assert_eq!(read.batches.len(), 3);
    let cost = spent(&store, before).batches_read;
    assert!(cost <= 4, "{cost} rows of history for the three after the snapshot");
}
