//! Copies of a store that is being written to.

use std::{fs, sync::Arc};

use bowline_sqlite::SqliteStore;
use bowline_store::{Error, Store};
use tempfile::TempDir;
use tokio::sync::mpsc;

use crate::world::{assert_whole, head, run_id, signal, start};

#[tokio::test]
async fn a_backup_is_of_one_moment_while_writes_go_on() {
    let folder = TempDir::new().unwrap();
    let store = Arc::new(SqliteStore::open(folder.path().join("store.db")).unwrap());
    let run = start(&*store, 1).await;
    for _ in 0..300 {
        store.post(vec![signal(run, 10_000)]).await.remove(0).unwrap();
    }
    // The copy waits after its first pages until something new is written.
    let (copied, mut steps) = mpsc::channel(1_000);
    let (go, gate) = std::sync::mpsc::sync_channel::<()>(1);
    let mut first = true;
    let to = folder.path().join("copy.db");
    let backup = {
        let (store, to) = (store.clone(), to.clone());
        tokio::spawn(async move {
            let progress = move |step| {
                copied.try_send(step).expect("there is room for all steps");
                if std::mem::take(&mut first) {
                    gate.recv().expect("the test opens the gate");
                }
            };
            store.backup(&to, progress).await
        })
    };
    let step = steps.recv().await.expect("the copy has begun");
    assert!(step.pages < step.of, "it takes more than one step: {step:?}");
    let late = start(&*store, 2).await;
    store.post(vec![signal(run, 10_000)]).await.remove(0).unwrap();
    go.send(()).unwrap();
    backup.await.unwrap().expect("the copy is made");
    let mut last = step;
    while let Some(step) = steps.recv().await {
        assert!(step.pages >= last.pages, "a copy does not begin again");
        last = step;
    }
    assert_eq!(last.pages, last.of);
    let copy = SqliteStore::open(&to).expect("a copy is a store");
    assert_eq!(head(&copy, run).await.inbox.0, 301);
    assert!(copy.read(bowline_store::Read::whole(late)).await.unwrap().is_none(), "begun later");
    assert_whole(&copy).await;
    assert_whole(&store).await;
}

#[tokio::test]
async fn a_backup_overwrites_nothing() {
    let folder = TempDir::new().unwrap();
    let store = SqliteStore::open(folder.path().join("store.db")).unwrap();
    start(&store, 1).await;
    let to = folder.path().join("precious.txt");
    fs::write(&to, b"precious").unwrap();
    let refused = store.backup(&to, |_| {}).await.expect_err("it is in the way");
    assert!(matches!(&refused, Error::Invalid(why) if why.contains("precious.txt")), "{refused}");
    assert_eq!(fs::read(&to).unwrap(), b"precious");
    let own = store.backup(folder.path().join("store.db"), |_| {}).await;
    assert!(matches!(own, Err(Error::Invalid(_))), "{own:?}");
    assert_eq!(head(&store, run_id(1)).await.inbox.0, 1);
}
