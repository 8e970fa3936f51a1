//! H9: bytes of one run are damaged. That run stops, with an error that names it; no other does.

use std::path::Path;

use bowline_sqlite::SqliteStore;
use bowline_store::{Error, Filter, Read, Store};
use rusqlite::Connection;
use tempfile::TempDir;

use crate::world::{
    NAMESPACE, assert_whole, claiming, commit, head, join, run_id, signal, start, turn,
};

/// Three runs with two rows of history each; then the file is changed behind the store's back.
async fn damaged(path: &Path, sql: &str) -> SqliteStore {
    let store = SqliteStore::open(path).unwrap();
    for uuid in 1..=3 {
        let run = start(&store, uuid).await;
        let before = head(&store, run).await;
        commit(&store, turn(&before, uuid)).await.unwrap();
        store.post(vec![signal(run, 10)]).await.remove(0).unwrap();
    }
    store.close().await;
    let db = Connection::open(path).unwrap();
    let sql = sql.replace("RUN", "(SELECT key FROM labels WHERE workflow_id = 'flow-2')");
    assert!(db.execute(&sql, []).unwrap() > 0, "something was damaged");
    drop(db);
    SqliteStore::open(path).expect("one damaged run does not keep the file shut")
}

/// Flips the last bit of a blob.
const FLIP: &str = "substr(BYTES, 1, length(BYTES) - 1) || x'AA'";

fn flip(table: &str, key: &str, column: &str) -> String {
    let flipped = FLIP.replace("BYTES", column);
    format!("UPDATE {table} SET {column} = CAST({flipped} AS BLOB) WHERE {key} = RUN")
}

async fn assert_only_two_is_corrupt(store: &SqliteStore) {
    for uuid in 1..=3 {
        let read = store.read(Read::whole(run_id(uuid))).await;
        match uuid {
            2 => assert!(
                matches!(read, Err(Error::Corrupt { run, .. }) if run == run_id(2)),
                "{read:?}"
            ),
            _ => assert_eq!(read.unwrap().unwrap().batches.len(), 2),
        }
    }
    let findings = store.check().await.unwrap();
    assert!(!findings.is_empty() && findings.iter().all(|f| f.run == Some(run_id(2))));
}

#[tokio::test]
async fn damaged_history_stops_its_run_alone() {
    let folder = TempDir::new().unwrap();
    let store = damaged(&folder.path().join("a.db"), &flip("history", "run", "bytes")).await;
    assert_only_two_is_corrupt(&store).await;
    let epoch = join(&store).await;
    let claimed = store.claim_runs(claiming(epoch, 9)).await.expect("the others can be claimed");
    let mut taken: Vec<_> = claimed.iter().map(|claimed| claimed.read.head.run.uuid).collect();
    taken.sort_unstable();
    assert_eq!(taken, [1, 3]);
    let reason = head(&store, run_id(2)).await.parked.expect("people can see it").reason;
    assert!(reason.contains("checksum"), "{reason}");
    assert!(store.claim_runs(claiming(epoch, 9)).await.unwrap().is_empty());
}

#[tokio::test]
async fn a_damaged_message_stops_its_run_alone() {
    let folder = TempDir::new().unwrap();
    let store = damaged(&folder.path().join("a.db"), &flip("inbox", "run", "bytes")).await;
    assert_only_two_is_corrupt(&store).await;
    let epoch = join(&store).await;
    assert_eq!(store.claim_runs(claiming(epoch, 9)).await.unwrap().len(), 2);
    assert!(head(&store, run_id(2)).await.parked.is_some());
}

#[tokio::test]
async fn a_damaged_label_stops_its_run_alone() {
    let folder = TempDir::new().unwrap();
    let store = damaged(&folder.path().join("a.db"), &flip("labels", "key", "origin")).await;
    assert_only_two_is_corrupt(&store).await;
    let epoch = join(&store).await;
    assert_eq!(store.claim_runs(claiming(epoch, 9)).await.unwrap().len(), 2);
    let filter = Filter { namespace: NAMESPACE, limit: 10, ..Filter::default() };
    assert_eq!(store.find(filter).await.expect("a list steps over it").runs.len(), 2);
    // In one group with it, the others are carried out.
    let answers = store.post((1..=3).map(|uuid| signal(run_id(uuid), 10)).collect()).await;
    assert!(matches!(answers[..], [Ok(_), Err(Error::Corrupt { .. }), Ok(_)]), "{answers:?}");
}

#[tokio::test]
async fn a_check_finds_counters_that_disagree_with_rows() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("a.db");
    let sql = "UPDATE runs SET inbox = inbox + 5, consumed = consumed + 5 WHERE key = RUN";
    let store = damaged(&path, sql).await;
    let findings = store.check().await.unwrap();
    assert!(findings.iter().any(|f| f.text.contains("inbox")), "{findings:?}");
    assert!(findings.iter().all(|f| f.run == Some(run_id(2))), "{findings:?}");
}

#[tokio::test]
async fn a_check_finds_a_gap_in_history() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("a.db");
    let store = damaged(&path, "DELETE FROM history WHERE run = RUN AND first = 1").await;
    let findings = store.check().await.unwrap();
    assert!(findings.iter().any(|f| f.text == "history has a gap"), "{findings:?}");
}

#[tokio::test]
async fn a_check_of_a_whole_file_finds_nothing() {
    let folder = TempDir::new().unwrap();
    let store = SqliteStore::open(folder.path().join("a.db")).unwrap();
    let run = start(&store, 1).await;
    commit(&store, turn(&head(&store, run).await, 1)).await.unwrap();
    assert_whole(&store).await;
}
