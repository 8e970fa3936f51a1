//! N12: a start, a signal and a cancel in a transaction of the application's own. The engine hears
//! of them with the commit, and of nothing else.

use std::sync::Arc;

use bowline_core::{Conflict, RunEnding, Status};
use bowline_engine::{CancelRequest, Engine, Error, Prepared, QueueOptions, Result};
use bowline_sqlite::{SqliteStore, Transaction};
use bowline_store::{Error as StoreError, Phase, Posted};
use tempfile::TempDir;

use crate::{
    support::{
        flows::{Flows, work},
        probe::Probe,
        stage::{comes_clean, settle_down},
    },
    world::{Code, QUEUE, current, ending, options, signal, start, within},
};

/// An engine on a SQLite file: `fan` has one activity, `wait` waits for a signal.
async fn shop(probe: &Probe) -> (TempDir, Arc<SqliteStore>, Engine) {
    let folder = TempDir::new().unwrap();
    let store = Arc::new(SqliteStore::open(folder.path().join("store.db")).unwrap());
    let builder = Engine::builder(store.clone()).queue(QUEUE, QueueOptions::default());
    let engine = builder
        .fan(work(60, 30), 1)
        .activity("work", probe.completes_late())
        .flow("wait", |ctx, _| async move {
            ctx.signals("go").recv().await;
            Ok(None)
        })
        .up()
        .await;
    (folder, store, engine)
}

/// Puts a request into a transaction.
fn put<T>(tx: &mut Transaction<'_>, prepared: Prepared<T>) -> (Option<Posted>, Result<T>) {
    let posted = tx.post(prepared.posting());
    (posted.as_ref().ok().cloned(), prepared.answer(posted))
}

#[tokio::test]
async fn n12_a_prepared_cancel_has_a_receipt_like_any_other() {
    let probe = Probe::new();
    let (_folder, store, engine) = shop(&probe).await;
    let run = start(&engine, "fan", "fan-1").await;
    probe.has_begun(1).await;
    let cancel = engine
        .prepare_cancel(current("fan-1"), CancelRequest::new("enough", "alice"))
        .expect("it is acceptable");
    let done = store.transaction(move |tx| Ok::<_, StoreError>(put(tx, cancel)));
    let (posted, receipt) = done.await.expect("the store works").expect("the closure ends well");
    engine.posted(&posted.expect("it is delivered"));
    let receipt = receipt.expect("it is delivered");
    probe.was_told(1).await;
    probe.finish(1);
    let left = comes_clean(&engine, receipt).await;
    assert_eq!(left.receipt.expect("the receipt itself").cause.requested_by.as_str(), "alice");
    assert_eq!(engine.head(run).await.unwrap().status, Status::Cancelled);
}

#[tokio::test]
async fn n12_what_is_rolled_back_was_never_asked_for() {
    let probe = Probe::new();
    let (_folder, store, engine) = shop(&probe).await;
    let run = start(&engine, "wait", "wait-1").await;
    let cancel = engine
        .prepare_cancel(run, CancelRequest::new("enough", "alice"))
        .expect("it is acceptable");
    let second = engine.prepare_start(options("wait", "wait-2")).expect("it is acceptable");
    let done = store.transaction(move |tx| {
        let receipt = put(tx, cancel).1.expect("it is delivered");
        put(tx, second).1.expect("the id is free");
        Err::<(), _>(receipt)
    });
    let receipt = done.await.expect("the store works").expect_err("the closure says so");
    settle_down(&engine, run).await;
    let none = engine.wait(receipt, Phase::Requested).await;
    assert!(matches!(none, Err(Error::NotFound(_))), "{none:?}");
    let none = engine.current("wait-2").await;
    assert!(matches!(none, Err(Error::NotFound(_))), "{none:?}");
    engine.signal(run, signal("go")).await.expect("the run is open");
    assert!(matches!(ending(&engine, run).await, RunEnding::Completed(_)));
}

/// Start and signal in one transaction: the signal finds the run that its transaction started.
#[tokio::test]
async fn n12_a_start_and_its_signal_go_together() {
    let probe = Probe::new();
    let (_folder, store, engine) = shop(&probe).await;
    let first = engine.prepare_start(options("wait", "wait-1")).expect("it is acceptable");
    let go = engine.prepare_signal(current("wait-1"), signal("go")).expect("it is acceptable");
    let done = store.transaction(move |tx| {
        let run = put(tx, first).1?;
        assert_eq!(put(tx, go).1?, run);
        Ok::<_, Error>(run)
    });
    let run = done.await.expect("the store works").expect("the id is free");
    assert!(matches!(ending(&engine, run).await, RunEnding::Completed(_)));
}

#[tokio::test]
async fn n12_what_cannot_be_done_is_said_before_the_commit() {
    let probe = Probe::new();
    let (_folder, store, engine) = shop(&probe).await;
    let run = start(&engine, "wait", "wait-1").await;
    let again = engine.prepare_start(options("wait", "wait-1")).expect("it is acceptable");
    let unknown = engine
        .prepare_cancel(current("nobody"), CancelRequest::new("enough", "alice"))
        .expect("it is acceptable");
    let done = store.transaction(move |tx| {
        let taken = put(tx, again).1;
        assert!(matches!(taken, Err(Error::AlreadyStarted { run: by, .. }) if by == run));
        let unknown = put(tx, unknown).1;
        assert!(matches!(unknown, Err(Error::NotFound("run"))), "{unknown:?}");
        Ok::<_, ()>(())
    });
    done.await.expect("the store works").expect("refusals have changed nothing");
    let mut instead = options("wait", "wait-1");
    instead.conflict = Conflict::TerminateExisting;
    let refused = engine.prepare_start(instead).map(drop);
    assert!(matches!(refused, Err(Error::Invalid(_))), "{refused:?}");
    let nameless = engine.prepare_signal(run, signal("")).map(drop);
    assert!(matches!(nameless, Err(Error::Invalid(_))), "{nameless:?}");
    within("the close", engine.close(std::time::Duration::ZERO)).await.expect("it closes");
}
