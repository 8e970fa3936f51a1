//! Updates: requests that the code takes, refuses or answers, and whoever waits for that.

use bowline_core::{Failure, Payload, RunId, UpdateAnswer, UpdateRequest, UpdateStage};
use bowline_engine::{Builder, Engine, Error};
use bowline_replay::{Either, either};

use crate::world::{Code, World, ending, history, kinds, signal, start, text, until, within};

crate::world::on_every_store! {
    an_update_is_answered_refused_or_failed,
    a_repeated_update_counts_once,
    an_update_and_the_end_of_the_run,
    a_terminated_run_refuses_what_it_had_not_answered,
    too_many_open_updates_are_refused,
}

fn add(id: &str, number: &str) -> UpdateRequest {
    UpdateRequest {
        id: id.into(),
        name: "add".into(),
        input: Some(Payload::json(number)),
        ..UpdateRequest::default()
    }
}

/// Adds what it is told, refuses what is no number, and fails on zero.
fn account(builder: Builder) -> Builder {
    builder.flow("account", |ctx, _| async move {
        let mut sum = 0;
        let (adds, end) = (ctx.updates("add"), ctx.signals("end"));
        loop {
            let offer = match either(end.recv(), adds.offered()).await {
                Either::Left(_) => return Ok(Some(Payload::json(sum.to_string()))),
                Either::Right(offer) => offer,
            };
            let Ok(number) = text(&offer.request().input).parse::<i64>() else {
                offer.reject(Failure::new("that is no number").kind("Bad"));
                continue;
            };
            let accepted = offer.accept();
            if number == 0 {
                accepted.reply(Err(Failure::new("nothing to add").kind("Zero")));
                continue;
            }
            sum += number;
            accepted.reply(Ok(Some(Payload::json(sum.to_string()))));
        }
    })
}

async fn ask(engine: &Engine, run: RunId, request: UpdateRequest) -> UpdateStage {
    within("an answer to the update", engine.update(run, request)).await.expect("it is taken")
}

fn done(json: &str) -> UpdateStage {
    UpdateStage::Completed(UpdateAnswer::Done(Some(Payload::json(json))))
}

/// Accepted, refused or answered with a failure: whoever asks hears which. A refusal leaves no
/// event behind.
async fn an_update_is_answered_refused_or_failed(world: World) {
    let engine = account(world.builder()).start().await.expect("starts");
    let run = start(&engine, "account", "a-1").await;
    assert_eq!(ask(&engine, run, add("u1", "5")).await, done("5"));
    assert_eq!(ask(&engine, run, add("u2", "7")).await, done("12"));
    let stage = ask(&engine, run, add("u3", "0")).await;
    let UpdateStage::Completed(UpdateAnswer::Failed(failure)) = stage else { panic!("{stage:?}") };
    assert_eq!(failure.kind, "Zero");
    let stage = ask(&engine, run, add("u4", "\"many\"")).await;
    let UpdateStage::Rejected(failure) = stage else { panic!("{stage:?}") };
    assert_eq!(failure.to_string(), "Bad: that is no number");
    engine.signal(run, signal("end")).await.expect("taken");
    ending(&engine, run).await;
    let kinds = kinds(&engine, run).await;
    let count = |kind: &str| kinds.iter().filter(|known| **known == kind).count();
    assert_eq!((count("UpdateAccepted"), count("UpdateCompleted")), (3, 3));
}

/// The same update, sent again, is answered as it was, and counts once.
async fn a_repeated_update_counts_once(mut world: World) {
    let engine = account(world.builder()).start().await.expect("starts");
    let run = start(&engine, "account", "a-1").await;
    let (first, second) =
        tokio::join!(ask(&engine, run, add("u1", "5")), ask(&engine, run, add("u1", "5")));
    assert_eq!((first, second), (done("5"), done("5")));
    assert_eq!(ask(&engine, run, add("u1", "5")).await, done("5"), "long after");
    assert_eq!(ask(&engine, run, add("u2", "1")).await, done("6"));
    world.reopen();
    let engine = account(world.builder()).start().await.expect("starts");
    assert_eq!(ask(&engine, run, add("u2", "1")).await, done("6"), "another process");
    assert_eq!(ask(&engine, run, add("u3", "1")).await, done("7"));
}

/// An update for a closed run is an error; one that the run closes upon is refused, not lost.
async fn an_update_and_the_end_of_the_run(world: World) {
    let engine = account(world.builder())
        .flow("deaf", |ctx, _| async move {
            ctx.signals("end").recv().await;
            Ok(None)
        })
        .start()
        .await
        .expect("starts");
    let run = start(&engine, "deaf", "d-1").await;
    until(&engine, run, "TurnCompleted").await;
    let waiting = {
        let engine = engine.clone();
        tokio::spawn(async move { engine.update(run, add("u1", "5")).await })
    };
    within("the update to be there", async {
        while engine.head(run).await.expect("").inbox.0 < 2 {
            tokio::task::yield_now().await;
        }
    })
    .await;
    engine.signal(run, signal("end")).await.expect("taken");
    let stage = within("an answer", waiting).await.expect("it ran").expect("it was taken");
    assert!(matches!(stage, UpdateStage::Rejected(_)), "{stage:?}");
    let closed = engine.update(run, add("u2", "5")).await.expect_err("it is closed");
    assert!(matches!(closed, Error::Closed { .. }), "{closed}");
    let missing = RunId { uuid: 99, ..run };
    let missing = engine.update(missing, add("u3", "5")).await.expect_err("no such run");
    assert!(matches!(missing, Error::NotFound("run")), "{missing}");
}

/// A run that is terminated answers its updates too, those that were accepted included.
async fn a_terminated_run_refuses_what_it_had_not_answered(world: World) {
    let engine = world
        .builder()
        .flow("slow", |ctx, _| async move {
            let accepted = ctx.updates("add").recv().await;
            ctx.signals("never").recv().await;
            accepted.reply(Ok(None));
            Ok(None)
        })
        .start()
        .await
        .expect("starts");
    let run = start(&engine, "slow", "s-1").await;
    let waiting = {
        let engine = engine.clone();
        tokio::spawn(async move { engine.update(run, add("u1", "5")).await })
    };
    until(&engine, run, "UpdateAccepted").await;
    let cause = bowline_core::Cause::requested("enough", "alice");
    engine.terminate(run, cause).await.expect("taken");
    let stage = within("an answer", waiting).await.expect("it ran").expect("it was taken");
    assert_eq!(stage, UpdateStage::Unanswered);
    history(&engine, run).await;
}

/// Ten updates may be open; the eleventh is refused at once, and the ten are not disturbed.
async fn too_many_open_updates_are_refused(world: World) {
    let engine = world
        .builder()
        .flow("hoarder", |ctx, _| async move {
            let mut held = Vec::new();
            for _ in 0..10 {
                held.push(ctx.updates("add").recv().await);
            }
            ctx.signals("end").recv().await;
            held.into_iter().for_each(|request| request.reply(Ok(None)));
            Ok(None)
        })
        .start()
        .await
        .expect("starts");
    let run = start(&engine, "hoarder", "h-1").await;
    let waiting: Vec<_> = (0..10)
        .map(|number| {
            let engine = engine.clone();
            let request = add(&format!("u{number}"), "1");
            tokio::spawn(async move { engine.update(run, request).await })
        })
        .collect();
    within("ten to be accepted", async {
        loop {
            let kinds = kinds(&engine, run).await;
            if kinds.iter().filter(|kind| **kind == "UpdateAccepted").count() == 10 {
                return;
            }
            tokio::task::yield_now().await;
        }
    })
    .await;
    let refused = ask(&engine, run, add("eleventh", "1")).await;
    assert!(matches!(&refused, UpdateStage::Rejected(_)), "{refused:?}");
    engine.signal(run, signal("end")).await.expect("taken");
    for waiter in waiting {
        let stage = within("an answer", waiter).await.expect("it ran").expect("taken");
        assert_eq!(stage, UpdateStage::Completed(UpdateAnswer::Done(None)));
    }
}
