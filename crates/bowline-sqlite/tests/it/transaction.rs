//! N12: the application's rows and what it asks of runs are kept together, or not at all.

mod misuse;

use std::sync::{Arc, mpsc};

use bowline_core::{Address, Cancel, Cause, Message, ReceiptId, RunId, Time};
use bowline_sqlite::{SqliteStore, Transaction};
use bowline_store::{Error, Hint, NewReceipt, Posted, Posting, Store, Subtree};
use rusqlite::Connection;
use tempfile::TempDir;

use crate::world::{NOW, assert_whole, claiming, head, join, run_id, signal, start, starting};

/// A store whose file has a table of the application.
async fn shop() -> (TempDir, Arc<SqliteStore>) {
    let folder = TempDir::new().unwrap();
    let store = SqliteStore::open(folder.path().join("store.db")).unwrap();
    let made = store.transaction(|tx| {
        tx.connection().execute_batch(
            "CREATE TABLE orders (id TEXT PRIMARY KEY, cents INTEGER NOT NULL CHECK (cents > 0));
             CREATE TABLE lines (item TEXT NOT NULL, shop_order TEXT NOT NULL
                 REFERENCES orders (id) DEFERRABLE INITIALLY DEFERRED);",
        )
    });
    made.await.expect("the store works").expect("the names are free");
    (folder, Arc::new(store))
}

fn insert(tx: &Transaction<'_>, id: &str) -> rusqlite::Result<usize> {
    tx.connection().execute("INSERT INTO orders VALUES (?, 100)", [id])
}

/// What another connection sees.
fn orders(folder: &TempDir) -> Vec<String> {
    let other = Connection::open(folder.path().join("store.db")).unwrap();
    let mut rows = other.prepare("SELECT id FROM orders ORDER BY id").unwrap();
    rows.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
}

fn cancelling(run: RunId, receipt: u128) -> Posting {
    let cause = Cause::requested("the order was deleted", "shop");
    let receipt = NewReceipt { id: ReceiptId(receipt), cause: cause.clone(), keep_until: Time(1) };
    let cancel = Cancel { cause, request_id: Default::default(), external: None, wire: None };
    let message = Message::Cancel(Box::new(cancel));
    Posting::Message { to: Address::Run(run), message, now: NOW, receipt: Some(receipt) }
}

#[tokio::test]
async fn a_row_and_a_cancel_become_visible_together() {
    let (folder, store) = shop().await;
    let run = start(&*store, 1).await;
    let posted = store.transaction(move |tx| {
        insert(tx, "a")?;
        Ok::<_, Box<dyn std::error::Error + Send + Sync>>(tx.post(&cancelling(run, 7))?)
    });
    let posted = posted.await.expect("the store works").expect("the run is open");
    assert!(matches!(posted, Posted::Delivered(to, _) if to == run), "{posted:?}");
    assert_eq!(orders(&folder), ["a"]);
    assert!(head(&*store, run).await.cancel.is_some());
    let left = store.leftovers(Subtree::Receipt(ReceiptId(7))).await;
    left.expect("the receipt of a cancel can be asked for");
    assert_whole(&store).await;
}

#[tokio::test]
async fn an_error_leaves_neither_the_row_nor_the_posting() {
    let (folder, store) = shop().await;
    let run = start(&*store, 1).await;
    let before = head(&*store, run).await;
    let ended = store.transaction(move |tx| {
        insert(tx, "a").map_err(|error| error.to_string())?;
        tx.post(&cancelling(run, 7)).map_err(|error| error.to_string())?;
        tx.post(&starting(run_id(2))).map_err(|error| error.to_string())?;
        Err::<(), _>("changed my mind".to_owned())
    });
    assert_eq!(ended.await.expect("the store works"), Err("changed my mind".to_owned()));
    assert!(orders(&folder).is_empty());
    assert_eq!(head(&*store, run).await, before);
    let receipt = store.leftovers(Subtree::Receipt(ReceiptId(7))).await;
    assert!(matches!(receipt, Err(Error::Missing(_))), "{receipt:?}");
    // The index has not heard of the second run either, and its id is still free.
    let epoch = join(&*store).await;
    let claimed = store.claim_runs(claiming(epoch, 9)).await.expect("the member is alive");
    let claimed: Vec<_> = claimed.iter().map(|claimed| claimed.read.head.run).collect();
    assert_eq!(claimed, [run]);
    start(&*store, 2).await;
    assert_whole(&store).await;
}

#[tokio::test]
async fn a_panic_is_the_callers_and_leaves_nothing() {
    let (folder, store) = shop().await;
    let run = start(&*store, 1).await;
    let before = head(&*store, run).await;
    let asking = store.clone();
    let ended = tokio::spawn(async move {
        let asked = asking.transaction(move |tx| {
            insert(tx, "a").expect("the table is there");
            tx.post(&cancelling(run, 7)).expect("the run is open");
            panic!("the application has a bug");
            #[expect(unreachable_code, reason = "the closure needs a type")]
            Ok::<(), ()>(())
        });
        asked.await
    });
    let panic = ended.await.expect_err("the panic goes on in the caller").into_panic();
    assert_eq!(panic.downcast_ref::<&str>(), Some(&"the application has a bug"));
    assert!(orders(&folder).is_empty());
    assert_eq!(head(&*store, run).await, before);
    store.post(vec![signal(run, 1)]).await.remove(0).expect("the writer lives");
    assert_whole(&store).await;
}

/// What only fails when it is committed is rolled back like anything else.
#[tokio::test]
async fn a_commit_that_fails_leaves_nothing() {
    let (folder, store) = shop().await;
    let run = start(&*store, 1).await;
    let before = head(&*store, run).await;
    let ended = store.transaction(move |tx| {
        insert(tx, "a")?;
        // The foreign key is looked at when the transaction ends.
        tx.connection().execute("INSERT INTO lines VALUES ('rope', 'no such order')", [])?;
        tx.post(&cancelling(run, 7)).expect("the run is open");
        Ok::<_, rusqlite::Error>(())
    });
    let error = ended.await.expect_err("there is no such order");
    assert!(error.to_string().contains("FOREIGN KEY"), "{error}");
    assert!(orders(&folder).is_empty());
    assert_eq!(head(&*store, run).await, before);
    store.post(vec![signal(run, 1)]).await.remove(0).expect("the writer lives");
    assert_whole(&store).await;
}

/// A refusal changes nothing, so the closure may make of it what it likes.
#[tokio::test]
async fn a_refused_posting_rolls_back_only_if_the_closure_says_so() {
    let (folder, store) = shop().await;
    let run = start(&*store, 1).await;
    let unknown = run_id(99);
    let strict = store.transaction(move |tx| {
        insert(tx, "strict").expect("the table is there");
        tx.post(&cancelling(unknown, 1))
    });
    let refused = strict.await.expect("the store works");
    assert!(matches!(refused, Err(Error::Missing("run"))), "{refused:?}");
    let lenient = store.transaction(move |tx| {
        insert(tx, "lenient").expect("the table is there");
        let taken = tx.post(&starting(run));
        assert!(matches!(taken, Err(Error::IdTaken { run: by, .. }) if by == run), "{taken:?}");
        tx.post(&cancelling(unknown, 1)).expect_err("there is no such run");
        tx.post(&signal(run, 1))
    });
    lenient.await.expect("the store works").expect("the signal is delivered");
    assert_eq!(orders(&folder), ["lenient"]);
    assert_eq!(head(&*store, run).await.inbox.0, 2);
    assert_whole(&store).await;
}

/// Who waits for work is told exactly as after a post.
#[tokio::test]
async fn hints_follow_the_commit_and_only_that() {
    let (_folder, store) = shop().await;
    let epoch = join(&*store).await;
    let mut hints = store.watch();
    let failed = store.transaction(|tx| {
        tx.post(&starting(run_id(1))).expect("the id is free");
        Err::<(), _>("no")
    });
    assert_eq!(failed.await.expect("the store works"), Err("no"));
    let asking = store.clone();
    let done =
        tokio::spawn(async move { asking.transaction(|tx| tx.post(&starting(run_id(2)))).await });
    let turn = Hint::Turn(crate::world::NAMESPACE, "turns".into());
    loop {
        let heard = hints.next().await;
        assert!(!heard.contains(&Hint::Changed(run_id(1))), "it was rolled back: {heard:?}");
        if heard.contains(&turn) {
            break;
        }
    }
    let claimed = store.claim_runs(claiming(epoch, 9)).await.expect("the member is alive");
    assert_eq!(claimed.len(), 1, "the hint told of one run");
    assert_eq!(claimed[0].read.head.run, run_id(2));
    done.await.unwrap().expect("the store works").expect("it was started");
}

/// Two transactions at once: one waits for the other, and each sees what was committed before.
/// What others have sent meanwhile is not lost.
#[tokio::test]
async fn transactions_and_other_calls_wait_for_each_other() {
    let (folder, store) = shop().await;
    let run = start(&*store, 1).await;
    let (inside, is_inside) = mpsc::channel::<()>();
    let (go_on, may_go_on) = mpsc::channel::<()>();
    let first = store.transaction(move |tx| {
        inside.send(()).expect("the test waits");
        may_go_on.recv().expect("the test says so");
        insert(tx, "first")
    });
    is_inside.recv().expect("the closure runs");
    let second = store.transaction(|tx| {
        let sql = "SELECT count(*) FROM orders";
        let seen: i64 = tx.connection().query_row(sql, [], |row| row.get(0))?;
        insert(tx, "second")?;
        Ok::<_, rusqlite::Error>(seen)
    });
    let others: Vec<_> = (0..50).map(|_| store.post(vec![signal(run, 10)])).collect();
    let third = store.transaction(move |tx| tx.post(&signal(run, 10)));
    assert!(orders(&folder).is_empty(), "nobody sees what is not committed");
    go_on.send(()).expect("the closure waits");
    first.await.expect("the store works").expect("the id is new");
    assert_eq!(second.await.expect("the store works").expect("the id is new"), 1);
    for other in others {
        other.await.remove(0).expect("it is delivered");
    }
    third.await.expect("the store works").expect("it is delivered");
    assert_eq!(orders(&folder), ["first", "second"]);
    assert_eq!(head(&*store, run).await.inbox.0, 52);
    assert_whole(&store).await;
}

/// Somebody else's connection never sees one without the other.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reader_never_sees_one_without_the_other() {
    const ROUNDS: usize = 60;
    let (folder, store) = shop().await;
    let path = folder.path().join("store.db");
    let (stop, stopped) = mpsc::channel::<()>();
    let (looked, has_looked) = tokio::sync::oneshot::channel();
    let mut looked = Some(looked);
    let reader = tokio::task::spawn_blocking(move || {
        let other = Connection::open(path).unwrap();
        // One statement, so one moment.
        let sql = "SELECT (SELECT count(*) FROM orders), (SELECT count(*) FROM labels)";
        while matches!(stopped.try_recv(), Err(mpsc::TryRecvError::Empty)) {
            let (rows, runs): (i64, i64) =
                other.query_row(sql, [], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
            assert_eq!(rows, runs, "one run per order, at every moment");
            looked.take().map(|looked| looked.send(()));
        }
    });
    has_looked.await.expect("it goes on looking");
    for round in 0..ROUNDS {
        let keep = round % 3 != 2;
        let ended = store.transaction(move |tx| {
            insert(tx, &format!("order-{round:02}")).expect("the id is new");
            tx.post(&starting(run_id(1 + round as u128))).expect("the id is new");
            keep.then_some(()).ok_or("rolled back")
        });
        assert_eq!(ended.await.expect("the store works").is_ok(), keep);
    }
    stop.send(()).expect("the reader looks");
    reader.await.expect("the two never differed");
    assert_eq!(orders(&folder).len(), ROUNDS / 3 * 2);
    assert_whole(&store).await;
}

/// The closure may be the last that has the store: the writer cannot wait for itself.
#[tokio::test]
async fn the_closure_may_own_the_last_handle() {
    let (folder, store) = shop().await;
    let (go_on, may_go_on) = mpsc::channel::<()>();
    let handle = store.clone();
    let done = store.transaction(move |tx| {
        may_go_on.recv().expect("the test says so");
        let done = insert(tx, "a");
        drop(handle);
        done
    });
    drop(store);
    go_on.send(()).expect("the closure waits");
    done.await.expect("the store works").expect("the id is new");
    let path = folder.path().join("store.db");
    // The writer lets go of the file when it has answered: ask until it has.
    let store = loop {
        match SqliteStore::open(&path) {
            Err(Error::Open(_)) => tokio::task::yield_now().await,
            opened => break opened.expect("the file is whole"),
        }
    };
    assert_eq!(orders(&folder), ["a"]);
    assert_whole(&store).await;
}

/// What nobody waits for is carried out, as with any call; what it leaves cannot hurt the writer.
#[tokio::test]
async fn a_transaction_that_nobody_waits_for_is_carried_out() {
    struct Sore;
    impl Drop for Sore {
        fn drop(&mut self) {
            panic!("it hurts to be dropped");
        }
    }
    let (folder, store) = shop().await;
    let run = start(&*store, 1).await;
    drop(store.transaction(|tx| {
        insert(tx, "a").expect("the id is new");
        Ok::<_, ()>(Sore)
    }));
    store.post(vec![signal(run, 1)]).await.remove(0).expect("the writer lives");
    assert_eq!(orders(&folder), ["a"]);
}
