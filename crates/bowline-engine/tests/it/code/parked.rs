//! Parked runs are runs like any other to whoever needs no code of theirs: they end, climb their
//! ladders, and nobody waits for an answer that their code cannot give.

use std::time::Duration;

use bowline_core::{
    Cause, Code as CauseCode, RunEnding, RunId, RunLadder, Span, Status, UpdateRequest,
};
use bowline_engine::{CancelRequest, Engine, Error, StartOptions};
use bowline_store::Phase;

use crate::world::{Code, World, ending, options, signal, start, until, within};

crate::world::on_every_store! {
    a_parked_run_that_is_terminated_has_ended_so,
    a_parked_run_whose_time_is_up_has_timed_out,
    terminate_answers_when_the_run_is_closed,
    an_update_of_a_parked_run_is_told_why,
    a_query_of_a_parked_run_is_told_why,
    a_parked_run_climbs_the_ladder_of_a_request,
    a_parked_run_climbs_its_own_ladder,
    a_run_without_code_climbs_its_ladder,
    a_ladder_ends_with_its_run,
}

/// A run that panics as soon as it is told to go on, and one whose code is nowhere.
async fn engine(world: &World) -> Engine {
    let builder = world.builder().flow("fragile", |ctx, _| async move {
        ctx.signals("go").recv().await;
        panic!("the wheel came off")
    });
    builder.start().await.expect("the engine starts")
}

/// Waits until a run is parked. Tries are paced by the clock, which moves on.
async fn parked(world: &World, engine: &Engine, run: RunId) {
    within("the run to be parked", async {
        while engine.head(run).await.expect("it is there").parked.is_none() {
            world.advance(Duration::from_millis(100));
            tokio::task::yield_now().await;
        }
    })
    .await;
}

/// A parked run, started so.
async fn park(world: &World, engine: &Engine, options: StartOptions) -> RunId {
    let run = engine.start(options).await.expect("it starts");
    until(engine, run, "TurnCompleted").await;
    engine.signal(run, signal("go")).await.expect("taken");
    parked(world, engine, run).await;
    run
}

/// A parked run that was terminated answered `Parked` to whoever asked for its result, while it was
/// listed as terminated. What has ended is not parked any more.
async fn a_parked_run_that_is_terminated_has_ended_so(world: World) {
    let engine = engine(&world).await;
    let run = park(&world, &engine, options("fragile", "f-1")).await;
    let waiting = within("word of it", engine.result(run)).await.expect_err("it is parked");
    assert_eq!(waiting.code(), "parked");
    engine.terminate(run, Cause::requested("enough", "alice")).await.expect("taken");
    let (_, ended) = within("its end", engine.result(run)).await.expect("it has ended");
    assert!(matches!(ended, RunEnding::Terminated(_)), "{ended:?}");
    let head = engine.head(run).await.expect("it is there");
    assert_eq!((head.status, head.parked), (Status::Terminated, None));
}

/// The same of a run whose own time is up.
async fn a_parked_run_whose_time_is_up_has_timed_out(world: World) {
    let engine = engine(&world).await;
    let mut limited = options("fragile", "f-1");
    limited.started.run_timeout = Some(Span(Duration::from_secs(600)));
    let run = park(&world, &engine, limited).await;
    world.advance(Duration::from_secs(600));
    assert!(matches!(ending(&engine, run).await, RunEnding::TimedOut(_)));
    let (_, ended) = within("its end", engine.result(run)).await.expect("it has ended");
    assert!(matches!(ended, RunEnding::TimedOut(_)), "{ended:?}");
}

/// `terminate` returned when its message was durable, and the run could be listed as running after
/// it. Now the run is closed when it answers: parked, of code that nobody here has, or healthy.
async fn terminate_answers_when_the_run_is_closed(world: World) {
    let engine = engine(&world).await;
    let stuck = park(&world, &engine, options("fragile", "f-1")).await;
    let nowhere = start(&engine, "nowhere", "n-1").await;
    let healthy = start(&engine, "fragile", "f-2").await;
    for run in [stuck, nowhere, healthy] {
        let receipt = engine.terminate(run, Cause::requested("enough", "alice")).await;
        let head = engine.head(run).await.expect("it is there");
        assert_eq!(head.status, Status::Terminated);
        let left = engine.receipt(receipt.expect("taken")).await.expect("there is one");
        assert!(left.phase() >= Phase::Decided, "{left:?}");
    }
    let again = engine.terminate(stuck, Cause::requested("again", "bob")).await;
    again.expect("what is closed is a success");
}

fn poke(id: &str) -> UpdateRequest {
    UpdateRequest { id: id.into(), name: "poke".into(), ..UpdateRequest::default() }
}

/// An update of a parked run waited for ever. Whoever asks is told that the run is parked and why,
/// and so is whoever waits already when that happens.
async fn an_update_of_a_parked_run_is_told_why(world: World) {
    let engine = world
        .builder()
        .flow("fragile", |ctx, _| async move {
            let _offer = ctx.updates("poke").offered().await;
            panic!("the wheel came off")
        })
        .start()
        .await
        .expect("the engine starts");
    let run = start(&engine, "fragile", "f-1").await;
    until(&engine, run, "TurnCompleted").await;
    let first = {
        let engine = engine.clone();
        tokio::spawn(async move { engine.update(run, poke("u-1")).await })
    };
    parked(&world, &engine, run).await;
    let told = |error: Error| {
        assert_eq!(error.code(), "parked", "{error}");
        assert!(error.to_string().contains("the wheel came off"), "{error}");
    };
    told(within("who waits to be told", first).await.expect("no panic").expect_err("parked"));
    let second = within("who asks to be told", engine.update(run, poke("u-2"))).await;
    told(second.expect_err("parked"));
}

/// A query of a run that cannot be replayed says what is the matter.
async fn a_query_of_a_parked_run_is_told_why(mut world: World) {
    let first = world.builder().flow("drifts", |ctx, _| async move {
        ctx.expose("size", |_| Ok(None));
        ctx.timer(Duration::from_secs(5)).await.expect("it rings");
        Ok(None)
    });
    let first = first.start().await.expect("the engine starts");
    let run = start(&first, "drifts", "d-1").await;
    until(&first, run, "TimerStarted").await;
    world.reopen();
    let second = world.builder().flow("drifts", |ctx, _| async move {
        ctx.signals("never").recv().await;
        Ok(None)
    });
    let second = second.start().await.expect("the engine starts");
    second.signal(run, signal("go")).await.expect("taken");
    parked(&world, &second, run).await;
    let told = within("an answer", second.query(run, "size", None)).await.expect_err("it cannot");
    assert_eq!(told.code(), "parked", "{told}");
    assert!(told.to_string().contains("TimerStarted") || told.to_string().contains("timer"));
}

/// Asks for a cancel with a ladder, and waits for the end that it leads to.
async fn escalates(world: &World, engine: &Engine, run: RunId, seconds: u64) {
    world.advance(Duration::from_secs(seconds - 1));
    let head = engine.head(run).await.expect("it is there");
    assert!(head.status.is_open(), "it has another second");
    world.advance(Duration::from_secs(1));
    let ended = ending(engine, run).await;
    let RunEnding::Terminated(cause) = &ended else { panic!("{ended:?}") };
    assert_eq!(cause.code, CauseCode::Escalated);
    let (_, ended) = within("its end", engine.result(run)).await.expect("it has ended");
    assert!(matches!(ended, RunEnding::Terminated(_)), "{ended:?}");
}

/// The ladder of a run was armed by the turn that took the cancel in, so a parked run never climbed
/// it. It is armed by the request, and needs no code.
async fn a_parked_run_climbs_the_ladder_of_a_request(world: World) {
    let engine = engine(&world).await;
    let run = park(&world, &engine, options("fragile", "f-1")).await;
    let request = CancelRequest::new("enough", "alice").terminate_after(Duration::from_secs(60));
    let receipt = engine.cancel(run, request).await.expect("taken");
    escalates(&world, &engine, run, 60).await;
    let left = within("a clean end", engine.wait(receipt, Phase::Clean)).await;
    assert_eq!(left.expect("there is one").phase(), Phase::Clean);
}

/// The same of what the run was started with; and a second request may hasten it.
async fn a_parked_run_climbs_its_own_ladder(world: World) {
    let engine = engine(&world).await;
    for (id, hastens) in [("f-1", false), ("f-2", true)] {
        let mut laddered = options("fragile", id);
        laddered.started.ladder =
            Some(RunLadder { terminate_after: Span(Duration::from_secs(60)) });
        let run = park(&world, &engine, laddered).await;
        engine.cancel(run, CancelRequest::new("enough", "alice")).await.expect("taken");
        if hastens {
            let request = CancelRequest::new("now", "bob").terminate_after(Duration::from_secs(5));
            engine.cancel(run, request).await.expect("taken");
        }
        escalates(&world, &engine, run, if hastens { 5 } else { 60 }).await;
    }
}

/// Nor does it take a process that has the workflow.
async fn a_run_without_code_climbs_its_ladder(world: World) {
    let engine = engine(&world).await;
    let mut laddered = options("nowhere", "n-1");
    laddered.started.ladder = Some(RunLadder { terminate_after: Span(Duration::from_secs(60)) });
    let run = engine.start(laddered).await.expect("it starts");
    engine.cancel(run, CancelRequest::new("enough", "alice")).await.expect("taken");
    escalates(&world, &engine, run, 60).await;
}

/// A run that ends before leaves no alarm behind, and a successor has its own time.
async fn a_ladder_ends_with_its_run(world: World) {
    let engine = world
        .builder()
        .flow("obeys", |ctx, _| async move {
            ctx.signals("never").recv().await;
            Ok(None)
        })
        .start()
        .await
        .expect("the engine starts");
    let run = start(&engine, "obeys", "o-1").await;
    until(&engine, run, "TurnCompleted").await;
    let request = CancelRequest::new("enough", "alice").terminate_after(Duration::from_secs(60));
    engine.cancel(run, request).await.expect("taken");
    assert!(matches!(ending(&engine, run).await, RunEnding::Cancelled(..)));
    let again = start(&engine, "obeys", "o-1").await;
    until(&engine, again, "TurnCompleted").await;
    world.advance(Duration::from_secs(120));
    engine.signal(again, signal("hello")).await.expect("it is open");
    let head = engine.head(again).await.expect("it is there");
    assert_eq!(head.status, Status::Running);
}
