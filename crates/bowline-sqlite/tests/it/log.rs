//! The log is longer than what was written to it, and means the same.

use std::{fs, path::Path};

use bowline_sqlite::SqliteStore;
use bowline_store::Store;
use tempfile::TempDir;

use crate::world::{assert_whole, head, run_id, signal, start};

fn length(path: &Path) -> u64 {
    fs::metadata(path.with_extension("db-wal")).expect("an open store has a log").len()
}

/// So many messages, each durable before the next one.
async fn send(store: &SqliteStore, messages: usize) {
    for _ in 0..messages {
        store.post(vec![signal(run_id(1), 1_000)]).await.remove(0).expect("it is delivered");
    }
}

#[tokio::test]
async fn a_store_that_is_written_to_appends_to_its_log_now_and_then_only() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("store.db");
    let store = SqliteStore::open(&path).unwrap();
    start(&store, 1).await;
    send(&store, 20).await;
    let filled = length(&path);
    assert!(filled > 1024 * 1024, "only {filled} bytes are there for what comes");
    send(&store, 10).await;
    assert_eq!(length(&path), filled);
    // The same for a store that is opened again, and until its log has its whole length.
    store.close().await;
    let store = SqliteStore::open(&path).unwrap();
    let mut lengths = Vec::new();
    for _ in 0..300 {
        send(&store, 1).await;
        lengths.push(length(&path));
    }
    lengths.dedup();
    assert!(lengths.len() < 20, "300 messages made it longer {} times", lengths.len());
    assert!(lengths.len() > 5, "it was not long enough to be filled twice: {lengths:?}");
}

#[tokio::test]
async fn what_lies_behind_the_last_frame_is_nothing_to_whoever_opens_the_file() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("store.db");
    let store = SqliteStore::open(&path).unwrap();
    let run = start(&store, 1).await;
    send(&store, 60).await;
    // As a loss of power leaves it: the log was not copied into the file.
    let left = folder.path().join("left.db");
    fs::copy(&path, &left).unwrap();
    fs::copy(path.with_extension("db-wal"), left.with_extension("db-wal")).unwrap();
    let left = SqliteStore::open(&left).expect("it opens");
    assert_eq!(head(&left, run).await.inbox.0, 61);
    assert_whole(&left).await;
    send(&left, 1).await;
    assert_eq!(head(&left, run).await.inbox.0, 62);
}

/// Most of what is written is in the file before SQLite itself would have it there.
#[tokio::test]
async fn the_log_is_copied_beside_the_writer() {
    if rusqlite::version_number() < 3_051_003 {
        return;
    }
    const PAGE: u64 = 4_096;
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("store.db");
    let store = SqliteStore::open(&path).unwrap();
    start(&store, 1).await;
    let in_file = || fs::metadata(&path).expect("it is there").len() / PAGE;
    let before = in_file();
    // Some 25 pages each: far fewer than after which SQLite copies.
    let mut messages = 0;
    while in_file() < before + 1_000 {
        store.post(vec![signal(run_id(1), 100_000)]).await.remove(0).expect("it is delivered");
        messages += 1;
        assert!(messages < 250, "nothing is copied");
    }
    assert_eq!(head(&store, run_id(1)).await.inbox.0, messages + 1);
    assert_whole(&store).await;
    store.close().await;
    let log = fs::metadata(path.with_extension("db-wal")).map_or(0, |log| log.len());
    assert_eq!(log, 0, "whoever copies needs one file");
}
