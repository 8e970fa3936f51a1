//! What a cancel means to code that uses this crate.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use bowline::prelude::*;
use bowline::{Code, Failure};
use tokio::sync::Notify;

use crate::Place;

/// What happened, in order.
#[derive(Clone, Default)]
struct Diary(Arc<Mutex<Vec<String>>>);

impl Diary {
    async fn write(&self, line: String) -> bowline::Result<String> {
        self.0.lock().expect("nobody panics with it").push(line.clone());
        Ok(line)
    }

    fn lines(&self) -> Vec<String> {
        self.0.lock().expect("nobody panics with it").clone()
    }
}

async fn waits(ctx: ActivityCtx) -> bowline::Result<()> {
    let why = ctx.cancelled().await;
    Err(Failure::new(why.to_string()).into())
}

static CHARGING: Notify = Notify::const_new();

/// Succeeds because of its cancel: its value comes too late, and is not lost.
async fn charges_at_last(ctx: ActivityCtx) -> bowline::Result<u32> {
    CHARGING.notify_one();
    ctx.cancelled().await;
    Ok(7)
}

async fn unhandled(ctx: Ctx) -> bowline::Result<()> {
    Ok(ctx.activity(waits, ()).await?)
}

#[tokio::test]
async fn an_unhandled_cancelled_activity_ends_the_run_cancelled() {
    let place = Place::new();
    let bowline = place.open().workflow(unhandled).activity(waits).start().await.unwrap();
    let run = bowline.start(unhandled, "u", ()).await.unwrap();
    let history = started(&run, "ActivityScheduled").await;
    run.cancel_one(history, "not this one").by("alice").await.unwrap();
    let ended = run.outcome().await.unwrap().unwrap_err();
    let Ended::Cancelled(cause) = ended else { panic!("{ended:?}") };
    assert_eq!(cause.detail, "activity waits");
    let root = cause.root();
    assert_eq!((root.detail.as_str(), root.requested_by.as_str()), ("not this one", "alice"));
}

/// Waits for an event of this kind, and tells its number.
async fn started(run: &bowline::AnyRun, kind: &str) -> u64 {
    loop {
        let history = run.history().await.expect("it has one");
        if let Some(event) = history.iter().find(|event| event.kind == kind) {
            return event.id;
        }
        tokio::task::yield_now().await;
    }
}

async fn limited(ctx: Ctx) -> bowline::Result<()> {
    let part = ctx.scope(async { bowline::Ok(ctx.activity(waits, ()).await?) });
    // Long enough for the activity to begin, on a machine that has much else to do.
    let stopped = part.deadline(Duration::from_secs(1)).await.expect_err("it takes too long");
    let cause = stopped.cause().expect("it was cancelled");
    assert_eq!(cause.code, Code::Deadline);
    bowline::Ok(())
}

#[tokio::test]
async fn a_scope_stopped_by_its_deadline_says_so() {
    let place = Place::new();
    let bowline = place.open().workflow(limited).activity(waits).start().await.unwrap();
    let run = bowline.start(limited, "l", ()).await.unwrap();
    run.result().await.unwrap();
    let stopped = run.tree().await.unwrap().activities().remove(0);
    assert_eq!(stopped.cause.map(|cause| cause.code), Some(Code::Deadline));
    // Nobody asked, so the hops are counted from the decision.
    assert_eq!(stopped.decided, Some(Duration::ZERO));
    assert!(stopped.delivered.is_some() && stopped.stopped.is_some(), "the hops have times");
}

async fn takes_what_is_there(ctx: Ctx) -> bowline::Result<(Vec<u32>, usize)> {
    let part = ctx.scope(async {
        let _beside = ctx.activity(waits, ()).start();
        ctx.activity(at_once, 7).await?;
        Err::<(), _>(bowline::Error::from(Failure::new("enough")))
    });
    let stopped = part.deadline(Duration::from_secs(3600)).await.expect_err("it fails");
    Ok((stopped.completed(at_once), stopped.cancelled.len()))
}

async fn at_once(number: u32) -> bowline::Result<u32> {
    Ok(number)
}

#[tokio::test]
async fn a_scope_with_a_deadline_tells_what_was_done() {
    let place = Place::new();
    let app = place.open().workflow(takes_what_is_there).activity(at_once).activity(waits);
    let bowline = app.start().await.unwrap();
    let run = bowline.start(takes_what_is_there, "t", ()).await.unwrap();
    assert_eq!(run.result().await.unwrap(), (vec![7], 1));
}

async fn late(ctx: Ctx) -> bowline::Result<()> {
    let part = ctx.scope(async { Ok(ctx.activity(charges_at_last, ()).await?) });
    let cleaned = part.cleanup(async |ctx, stopped| {
        for charged in stopped.completed(charges_at_last) {
            ctx.activity(Diary::write, format!("refunded {charged}")).await?;
        }
        Ok(())
    });
    cleaned.await?;
    Ok(())
}

#[tokio::test]
async fn a_success_after_the_cancel_is_among_what_had_completed() {
    let (place, diary) = (Place::new(), Diary::default());
    let app = place.open().workflow(late).activity(charges_at_last).state(diary.clone());
    let bowline = app.activity(Diary::write).start().await.unwrap();
    let run = bowline.start(late, "l", ()).await.unwrap();
    CHARGING.notified().await;
    let receipt = run.cancel("stop").await.unwrap();
    receipt.wait(Phase::Clean).await.unwrap();
    assert_eq!(diary.lines(), ["refunded 7"]);
    assert!(run.outcome().await.unwrap().unwrap_err().is_cancelled());
}

async fn nested(ctx: Ctx) -> bowline::Result<()> {
    let inner = ctx.scope(async { Ok(ctx.activity(waits, ()).await?) }).name("inner");
    let inner = inner.cleanup(async |ctx, _| {
        ctx.activity(Diary::write, "inner").await?;
        Ok(())
    });
    let outer = ctx.scope(async { Ok(inner.await?) }).name("outer");
    let outer = outer.cleanup(async |ctx, _| {
        ctx.activity(Diary::write, "outer").await?;
        Ok(())
    });
    Ok(outer.await?)
}

#[tokio::test]
async fn inner_scopes_clean_up_before_outer_ones() {
    let (place, diary) = (Place::new(), Diary::default());
    let app = place.open().workflow(nested).activity(waits).state(diary.clone());
    let bowline = app.activity(Diary::write).start().await.unwrap();
    let run = bowline.start(nested, "n", ()).await.unwrap();
    started(&run, "ActivityScheduled").await;
    run.cancel("stop").await.unwrap().wait(Phase::Clean).await.unwrap();
    assert_eq!(diary.lines(), ["inner", "outer"]);
}

async fn cancels_one(ctx: Ctx) -> bowline::Result<bool> {
    let beside = ctx.activity(waits, ()).start();
    let ended = beside.cancel_with("enough").await.expect_err("it was cancelled");
    Ok(ended.is_cancelled())
}

#[tokio::test]
async fn a_handle_is_cancelled_and_tells_how_it_really_ended() {
    let place = Place::new();
    let bowline = place.open().workflow(cancels_one).activity(waits).start().await.unwrap();
    let run = bowline.start(cancels_one, "c", ()).await.unwrap();
    assert!(run.result().await.unwrap());
}

const GO: Signal<()> = Signal::new("go");
static BUSY: Notify = Notify::const_new();

async fn is_busy(ctx: ActivityCtx) -> bowline::Result<()> {
    BUSY.notify_one();
    waits(ctx).await
}

async fn loses_one(ctx: Ctx) -> bowline::Result<()> {
    let mut go = ctx.signal(GO);
    let race = ctx.scope(async {
        select! {
            lost = ctx.activity(is_busy, ()) => bowline::Ok(lost?),
            () = go.recv() => Ok(()),
        }
    });
    race.await?;
    Ok(ctx.activity(is_busy, ()).await?)
}

#[tokio::test]
async fn a_tree_tells_what_was_over_before_the_cancel() {
    let place = Place::new();
    let bowline = place.open().workflow(loses_one).activity(is_busy).start().await.unwrap();
    let run = bowline.start(loses_one, "l", ()).await.unwrap();
    BUSY.notified().await;
    run.signal(GO, ()).await.unwrap();
    BUSY.notified().await;
    let tree = run.cancel("stop").await.unwrap().wait(Phase::Clean).await.unwrap().to_string();
    let line = |code: &str| tree.lines().find(|line| line.contains(code)).expect("it is there");
    assert!(line("[select_lost]").ends_with("  stopped before"), "{tree}");
    assert!(!line("[run_cancelled]").contains("before"), "{tree}");
}

static DEAF: Notify = Notify::const_new();

async fn deaf() -> bowline::Result<()> {
    DEAF.notify_one();
    std::future::pending().await
}

async fn calls_the_deaf(ctx: Ctx) -> bowline::Result<()> {
    Ok(ctx.activity(deaf, ()).await?)
}

#[tokio::test]
async fn a_request_may_say_how_hard_it_pushes() {
    let place = Place::new();
    let bowline = place.open().workflow(calls_the_deaf).activity(deaf).start().await.unwrap();
    let run = bowline.start(calls_the_deaf, "d", ()).await.unwrap();
    DEAF.notified().await;
    let receipt = run.cancel("now").by("alice").grace(Duration::ZERO).await.unwrap();
    let tree = receipt.wait(Phase::Clean).await.unwrap();
    assert_eq!(tree.activities()[0].rung, Some(bowline::Rung::Abort), "{tree}");
}
