//! N12: the application's rows and what it asks of runs are kept together, or not at all.

use std::{sync::mpsc, time::Duration};

use bowline::{ClientError, IfExists, Tx, prelude::*};
use rusqlite::Connection;

use crate::Place;

const GO: Signal<u32> = Signal::new("go");

async fn ships(ctx: ActivityCtx, order: String) -> bowline::Result<String> {
    ctx.cancelled().await;
    Err(bowline::Failure::new(format!("{order} was recalled")).into())
}

async fn checkout(ctx: Ctx, order: String) -> bowline::Result<String> {
    Ok(ctx.activity(ships, &order).await?)
}

async fn waits(ctx: Ctx) -> bowline::Result<u32> {
    Ok(ctx.signal(GO).recv().await)
}

/// A program whose file has a table of the application.
async fn shop(place: &Place) -> Bowline {
    let bowline = place.open().workflow(checkout).workflow(waits).activity(ships);
    let bowline = bowline.start().await.expect("it starts");
    let made = bowline.transaction(|tx| {
        let sql = "CREATE TABLE orders (id TEXT PRIMARY KEY)";
        tx.connection().execute(sql, []).map_err(ClientError::from)
    });
    made.await.expect("the name is free");
    bowline
}

fn insert(tx: &Tx<'_>, id: &str) -> rusqlite::Result<usize> {
    tx.connection().execute("INSERT INTO orders VALUES (?)", [id])
}

/// What another connection sees.
fn orders(place: &Place) -> Vec<String> {
    let other = Connection::open(place.path().join("test.db")).expect("the file is there");
    let mut rows = other.prepare("SELECT id FROM orders ORDER BY id").expect("so is the table");
    let rows = rows.query_map([], |row| row.get(0)).expect("it can be read");
    rows.map(|id| id.expect("an id is a text")).collect()
}

#[tokio::test]
async fn n12_an_order_and_its_workflow_begin_and_end_together() {
    let place = Place::new();
    let bowline = shop(&place).await;
    let client = bowline.clone();
    let begun = bowline.transaction(move |tx| {
        insert(tx, "order-1")?;
        client.start_in(tx, checkout, "order-1", "a rope")
    });
    let run = begun.await.expect("the ids are free");
    assert_eq!(orders(&place), ["order-1"]);
    let client = bowline.clone();
    let deleted = bowline.transaction(move |tx| {
        tx.connection().execute("DELETE FROM orders WHERE id = 'order-1'", [])?;
        client.run("order-1").cancel("deleted").by("alice").send_in(tx)
    });
    let receipt = deleted.await.expect("the run is open");
    let tree = receipt.wait(Phase::Clean).await.expect("the receipt is there").to_string();
    assert!(tree.contains("requested by alice (deleted)"), "{tree}");
    assert!(orders(&place).is_empty());
    let ended = run.outcome().await.expect("it has ended").expect_err("it was cancelled");
    assert!(matches!(&ended, Ended::Cancelled(cause) if cause.root().detail == "deleted"));
}

#[tokio::test]
async fn n12_an_error_leaves_neither() {
    let place = Place::new();
    let bowline = shop(&place).await;
    let run = bowline.start(waits, "waits", ()).await.expect("it starts");
    let client = bowline.clone();
    let ended = bowline.transaction(move |tx| {
        insert(tx, "order-1")?;
        let receipt = client.cancel_in(tx, "waits", "no reason")?;
        client.start_in(tx, waits, "second", ())?;
        client.signal_in(tx, "second", GO, 1)?;
        anyhow::bail!("thought better of {}", receipt.id())
    });
    let error = ended.await.map(|()| "kept").expect_err("the closure says so").to_string();
    let receipt = error.strip_prefix("thought better of ").expect("it is the closure's own error");
    assert!(orders(&place).is_empty());
    let receipt = bowline.receipt(receipt).expect("it has an id");
    assert!(matches!(receipt.tree().await, Err(ClientError::NotFound(_))));
    let second = bowline.attach(waits, "second").outcome().await;
    assert!(matches!(second, Err(ClientError::NotFound(_))), "{second:?}");
    run.signal(GO, 7).await.expect("nobody cancelled it");
    assert_eq!(run.result().await.expect("it completes"), 7);
}

#[tokio::test]
async fn n12_a_panic_leaves_neither() {
    let place = Place::new();
    let bowline = shop(&place).await;
    let client = bowline.clone();
    let ended = tokio::spawn(async move {
        let inside = client.clone();
        let work = client.transaction(move |tx| -> Result<(), ClientError> {
            insert(tx, "order-1")?;
            inside.start_in(tx, waits, "waits", ())?;
            panic!("the application has a bug")
        });
        work.await
    });
    let panic = ended.await.expect_err("the panic is the caller's").into_panic();
    assert_eq!(panic.downcast_ref::<&str>(), Some(&"the application has a bug"));
    assert!(orders(&place).is_empty());
    let run = bowline.start(waits, "waits", ()).await.expect("the id is free, the writer lives");
    run.signal(GO, 1).await.expect("it is open");
    run.result().await.expect("it completes");
}

/// What is refused has changed nothing: the closure may go on, or pass the error on.
#[tokio::test]
async fn n12_what_cannot_be_done_is_said_before_the_commit() {
    let place = Place::new();
    let bowline = shop(&place).await;
    bowline.start(waits, "waits", ()).await.expect("it starts");
    let client = bowline.clone();
    let strict = bowline.transaction(move |tx| {
        insert(tx, "strict")?;
        client.cancel_in(tx, "nobody", "no reason")
    });
    let error = strict.await.expect_err("there is no such run");
    assert_eq!(error.to_string(), "there is no run of \"nobody\"");
    let client = bowline.clone();
    let lenient = bowline.transaction(move |tx| {
        insert(tx, "lenient")?;
        let taken = client.start_in(tx, waits, "waits", ()).expect_err("it is open");
        assert!(matches!(&taken, ClientError::AlreadyStarted { id, .. } if id == "waits"));
        let replace = client.start(waits, "waits", ()).if_exists(IfExists::Replace).send_in(tx);
        assert!(matches!(replace, Err(ClientError::Invalid(_))), "{replace:?}");
        let same = client.start(waits, "waits", ()).if_exists(IfExists::Attach).send_in(tx)?;
        client.signal_in(tx, "nobody", GO, 1).expect_err("there is no such run");
        insert(tx, "lenient").expect_err("the id is taken");
        same.signal_in(tx, GO, 9)?;
        Ok::<_, ClientError>(same)
    });
    let run = lenient.await.expect("it goes on");
    assert_eq!(run.result().await.expect("it completes"), 9);
    assert_eq!(orders(&place), ["lenient"]);
}

#[tokio::test]
async fn n12_two_transactions_wait_for_each_other() {
    let place = Place::new();
    let bowline = shop(&place).await;
    let (inside, is_inside) = mpsc::channel::<()>();
    let (go_on, may_go_on) = mpsc::channel::<()>();
    let client = bowline.clone();
    let first = tokio::spawn(async move {
        let inner = client.clone();
        let work = client.transaction(move |tx| {
            inside.send(()).expect("the test waits");
            may_go_on.recv().expect("the test says so");
            insert(tx, "order-1")?;
            inner.start_in(tx, waits, "waits", ())
        });
        work.await
    });
    tokio::task::spawn_blocking(move || is_inside.recv()).await.unwrap().expect("it runs");
    let client = bowline.clone();
    let second = tokio::spawn(async move {
        let inner = client.clone();
        let work = client.transaction(move |tx| {
            insert(tx, "order-2")?;
            inner.signal_in(tx, "waits", GO, 2)
        });
        work.await
    });
    go_on.send(()).expect("the closure waits");
    let run = first.await.unwrap().expect("the ids are free");
    second.await.unwrap().expect("it sees what the first has started");
    assert_eq!(run.result().await.expect("it completes"), 2);
    assert_eq!(orders(&place), ["order-1", "order-2"]);
}

/// A transaction needs no rows: several requests become one.
#[tokio::test]
async fn n12_many_requests_are_one() {
    let place = Place::new();
    let bowline = shop(&place).await;
    let client = bowline.clone();
    let runs = bowline.transaction(move |tx| {
        let ids = (0..20).map(|number| format!("waits-{number}"));
        ids.map(|id| {
            let run = client.start_in(tx, waits, id.as_str(), ())?;
            client.signal_in(tx, id, GO, 3)?;
            Ok::<_, ClientError>(run)
        })
        .collect::<Result<Vec<_>, _>>()
    });
    for run in runs.await.expect("the ids are free") {
        assert_eq!(run.result().await.expect("it completes"), 3);
    }
}

#[tokio::test]
async fn n12_a_misuse_is_named() {
    let place = Place::new();
    let bowline = shop(&place).await;
    let ended = bowline.transaction(|tx| {
        insert(tx, "order-1")?;
        tx.connection().execute_batch("COMMIT")?;
        Ok::<_, ClientError>(())
    });
    let error = ended.await.expect_err("only the store commits").to_string();
    assert!(error.contains("must not begin, commit or roll back"), "{error}");
    // Waiting for the store inside would be waiting for oneself.
    let client = bowline.clone();
    let ended = bowline.transaction(move |_| {
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("it is small");
        runtime.block_on(async { client.start(waits, "waits", ()).await }).map(drop)
    });
    let error = ended.await.expect_err("it is refused").to_string();
    assert!(error.contains("inside a transaction"), "{error}");
    assert!(orders(&place).is_empty());
}

#[tokio::test]
async fn n12_a_transaction_belongs_to_its_own_store() {
    let (here, there) = (Place::new(), Place::new());
    let (bowline, other) = (shop(&here).await, shop(&there).await);
    let client = other.clone();
    let mixed = bowline.transaction(move |tx| client.start_in(tx, waits, "waits", ()));
    let error = mixed.await.expect_err("the run would be in another file").to_string();
    assert!(error.contains("another store"), "{error}");
    other.close(Duration::ZERO).await.expect("it closes");
    let client = other.clone();
    let late = other.transaction(move |tx| client.start_in(tx, waits, "waits", ()));
    let error = late.await.expect_err("nobody would work on it");
    assert_eq!(error.code(), "shutting_down", "{error}");
}

/// The test runtime has its state in memory, where no application has rows.
#[tokio::test]
async fn n12_a_store_without_transactions_says_so() {
    let store = bowline_engine::store::memory::MemoryStore::new();
    let bowline = Bowline::on(std::sync::Arc::new(store)).workflow(waits).start().await;
    let bowline = bowline.expect("it starts");
    let ended = bowline.transaction(|_| Ok::<_, ClientError>(())).await;
    let error = ended.expect_err("there is nothing to run it").to_string();
    assert!(error.contains("open a SQLite file with `Bowline::open`"), "{error}");
}
