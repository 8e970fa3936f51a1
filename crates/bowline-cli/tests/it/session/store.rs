//! On a file that no program has open.

use std::{path::Path, time::Duration};

use bowline::prelude::*;
use expect_test::expect_file;

use super::Session;

const GO: Signal<u32> = Signal::new("go");

async fn charge(order: String) -> bowline::Result<String> {
    Ok(format!("payment for {order}"))
}

async fn checkout(ctx: Ctx, order: String) -> bowline::Result<String> {
    Ok(ctx.activity(charge, order).await?)
}

async fn nap(ctx: Ctx, hours: u64) -> bowline::Result<()> {
    ctx.sleep(Duration::from_secs(hours * 3600)).await?;
    Ok(())
}

async fn declined(_: Ctx) -> bowline::Result<()> {
    Err(bowline::Failure::new("the card was declined").into())
}

async fn crooked(_: Ctx) -> bowline::Result<()> {
    panic!("the wheel came off")
}

async fn waiting(ctx: Ctx) -> bowline::Result<u32> {
    Ok(ctx.signal(GO).recv().await)
}

/// A shop that has closed for the night: what it did is in its file.
fn shop(path: &Path) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.expect("a runtime").block_on(async {
        let app = Bowline::open(path).workflow(checkout).workflow(nap).workflow(declined);
        let app = app.workflow(crooked).workflow(waiting).activity(charge);
        let bowline = app.identity("shop").start().await.expect("starts");
        let order = bowline.start(checkout, "order-1", "a rope").await.expect("starts");
        order.result().await.expect("it completes");
        let order = bowline.start(declined, "order-2", ()).await.expect("starts");
        order.result().await.expect_err("it fails");
        let order = bowline.start(crooked, "order-3", ()).await.expect("starts");
        order.result().await.expect_err("it is parked");
        let go = bowline.start(waiting, "order-4", ()).with_signal(GO, 5).await.expect("starts");
        go.result().await.expect("it completes");
        let rest = bowline.start(nap, "rest-1", 8).await.expect("starts");
        // It has had its turn as soon as its timer can be seen.
        let is_set = |history: Vec<bowline::HistoryEvent>| {
            history.iter().any(|event| event.kind == "TimerStarted")
        };
        while !is_set(rest.history().await.expect("it reads")) {
            tokio::task::yield_now().await;
        }
        bowline.close(Duration::from_secs(5)).await.expect("closes");
    });
}

#[test]
fn a_file_is_looked_after() {
    let folder = tempfile::tempdir().expect("a folder");
    shop(&folder.path().join("shop.db"));
    let mut session = Session::new(folder.path());
    for typed in [
        "list shop.db",
        "list shop.db --status open --oldest",
        "list shop.db --status completed,failed --limit 1",
        "list shop.db --parked",
        "list shop.db --workflow nothing",
        "list shop.db --prefix order-1 --json",
        "show shop.db order-1",
        "show shop.db order-2 --last 1",
        "show shop.db order-3 --last 0",
        "show shop.db order-4",
        "show shop.db rest-1",
        "show shop.db order-1 --last 1 --json",
        "orphans shop.db",
        "orphans shop.db --json",
    ] {
        session.types(typed);
    }
    expect_file!["look.txt"].assert_eq(&session.seen);
}

#[test]
fn runs_of_a_file_are_stopped() {
    let folder = tempfile::tempdir().expect("a folder");
    shop(&folder.path().join("shop.db"));
    let mut session = Session::new(folder.path());
    for typed in [
        "cancel shop.db rest-1 --reason 'too long' --by alice",
        "cancel shop.db rest-1",
        "receipt shop.db RECEIPT",
        "receipt shop.db RECEIPT --follow",
        "cancel shop.db rest-1 --wait clean --within 60",
        "cancel shop.db order-1 --json",
        "cancel shop.db order-1 --wait clean",
        "cancel shop.db rest-1 --timer 99",
        "terminate shop.db rest-1 --reason 'at once' --by bob --wait clean",
        "terminate shop.db rest-1",
        "show shop.db rest-1 --last 1",
        "retry shop.db order-3",
        "retry shop.db --all --json",
        "list shop.db --parked --json",
    ] {
        session.types(typed);
    }
    expect_file!["stop.txt"].assert_eq(&session.seen);
}

#[test]
fn runs_of_a_file_are_started_and_asked() {
    let folder = tempfile::tempdir().expect("a folder");
    shop(&folder.path().join("shop.db"));
    std::fs::write(folder.path().join("input.json"), "{\"deep\": [1, 2]}").expect("it is written");
    let mut session = Session::new(folder.path());
    for typed in [
        "start shop.db nap rest-2 --input 1",
        "start shop.db nap rest-2 --input 1",
        "start shop.db nap rest-2 --input 1 --if-open use",
        "start shop.db nap order-1 --if-closed unless-completed",
        "start shop.db any any-1 --input-file input.json --queue other --json",
        "show shop.db any-1",
        "signal shop.db rest-1 go --input '{\"hurry\": true}' --by carol",
        "signal shop.db order-1 go",
        "update shop.db rest-1 raise --input 2 --id u-1",
        "query shop.db rest-1 progress",
        "check shop.db",
        "backup shop.db copy.db",
        "list copy.db --prefix rest-2 --status running",
    ] {
        session.types(typed);
    }
    expect_file!["ask.txt"].assert_eq(&session.seen.replace(&copied(folder.path()), "<bytes>"));
}

/// How large the copy is.
fn copied(folder: &Path) -> String {
    std::fs::metadata(folder.join("copy.db")).expect("it is there").len().to_string()
}
