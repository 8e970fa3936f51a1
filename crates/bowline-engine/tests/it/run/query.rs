//! Queries: of runs in memory, out of memory and closed, and those that nobody can answer.

use std::time::Duration;

use bowline_core::{Failure, Payload};
use bowline_engine::{Builder, Engine, Error};
use bowline_store::Read;

use crate::world::{Code, World, ending, signal, start, text, until};

crate::world::on_every_store! {
    a_query_is_answered_wherever_the_run_is,
    a_query_that_cannot_be_answered_is_an_error_and_nothing_else,
    a_query_without_code_names_the_code,
    a_query_beside_a_turn_that_is_being_written_sees_what_is_durable,
}

/// Counts its signals up to three, and tells how many there were.
fn counter(builder: Builder) -> Builder {
    builder.flow("counter", |ctx, _| async move {
        let count = std::rc::Rc::new(std::cell::Cell::new(0));
        let shown = count.clone();
        ctx.expose("count", move |_| Ok(Some(Payload::json(shown.get().to_string()))));
        ctx.expose("echo", Ok);
        ctx.expose("no", |_| Err(Failure::new("not today").kind("Mood")));
        ctx.expose("panic", |_| panic!("this query is broken"));
        while count.get() < 3 {
            ctx.signals("more").recv().await;
            count.set(count.get() + 1);
        }
        Ok(None)
    })
}

async fn count(engine: &Engine, run: bowline_core::RunId) -> String {
    text(&engine.query(run, "count", None).await.expect("it answers"))
}

/// A run answers from memory, after its eviction, from a new process, and after it closed.
async fn a_query_is_answered_wherever_the_run_is(mut world: World) {
    let engine = counter(world.builder()).cached_runs(1).threads(1).start().await.expect("starts");
    let run = start(&engine, "counter", "c-1").await;
    until(&engine, run, "TurnCompleted").await;
    assert_eq!(count(&engine, run).await, "0");
    engine.signal(run, signal("more")).await.expect("taken");
    until(&engine, run, "WorkflowSignalled").await;
    assert_eq!(count(&engine, run).await, "1");
    let other = start(&engine, "counter", "c-2").await;
    until(&engine, other, "TurnCompleted").await;
    assert_eq!(count(&engine, run).await, "1", "evicted, and replayed for the query");
    let echoed = engine.query(run, "echo", Some(Payload::json("[7]"))).await.expect("answers");
    assert_eq!(text(&echoed), "[7]");
    world.reopen();
    let engine = counter(world.builder()).start().await.expect("starts");
    assert_eq!(count(&engine, run).await, "1", "another process");
    engine.signal(run, signal("more")).await.expect("taken");
    engine.signal(run, signal("more")).await.expect("taken");
    ending(&engine, run).await;
    assert_eq!(count(&engine, run).await, "3", "closed");
}

/// What cannot be answered is a clear error, and the run goes on as if nobody had asked.
async fn a_query_that_cannot_be_answered_is_an_error_and_nothing_else(world: World) {
    let engine = counter(world.builder()).start().await.expect("starts");
    let run = start(&engine, "counter", "c-1").await;
    until(&engine, run, "TurnCompleted").await;
    let before = world.rows().await;
    let ask = |name: &'static str| engine.query(run, name, None);
    let unknown = ask("colour").await.expect_err("there is no such query");
    assert!(matches!(unknown, Error::Query(_)));
    assert!(unknown.to_string().contains("\"colour\""), "{unknown}");
    assert!(unknown.to_string().contains("\"count\""), "it says what there is: {unknown}");
    let refused = ask("no").await.expect_err("the code says no");
    assert_eq!(refused.to_string(), "the query failed: Mood: not today");
    let broken = ask("panic").await.expect_err("the code panics");
    assert!(broken.to_string().contains("this query is broken"), "{broken}");
    assert_eq!(count(&engine, run).await, "0", "the run still answers");
    assert_eq!(world.rows().await, before, "a query changes nothing");
    for _ in 0..3 {
        engine.signal(run, signal("more")).await.expect("taken");
    }
    ending(&engine, run).await;
    let missing = bowline_core::RunId { uuid: 77, ..run };
    let missing = engine.query(missing, "count", None).await.expect_err("no such run");
    assert!(matches!(missing, Error::NotFound("run")), "{missing}");
}

/// A run whose code is not here cannot be asked, and the error names the code.
async fn a_query_without_code_names_the_code(mut world: World) {
    let engine = counter(world.builder()).start().await.expect("starts");
    let run = start(&engine, "counter", "c-1").await;
    until(&engine, run, "TurnCompleted").await;
    world.reopen();
    let engine = world.builder().flow("other", |_, _| async { Ok(None) }).start().await.expect("");
    let error = engine.query(run, "count", None).await.expect_err("no code");
    assert!(matches!(&error, Error::Unregistered { kind: "workflow", name } if name == "counter"));
}

/// While a turn is on its way to the store, a query sees what is durable.
async fn a_query_beside_a_turn_that_is_being_written_sees_what_is_durable(world: World) {
    let engine = counter(world.builder()).start().await.expect("starts");
    let run = start(&engine, "counter", "c-1").await;
    until(&engine, run, "TurnCompleted").await;
    world.book.hold(bowline_store::memory::Method::Commit);
    engine.signal(run, signal("more")).await.expect("taken");
    crate::world::within("the turn to be had", async {
        while world.book.counts().of("commit") < 2 {
            tokio::task::yield_now().await;
        }
    })
    .await;
    assert_eq!(count(&engine, run).await, "0");
    world.book.release(bowline_store::memory::Method::Commit);
    until(&engine, run, "WorkflowSignalled").await;
    assert_eq!(count(&engine, run).await, "1");
    let read = engine.read(Read::inbox(run)).await.expect("it reads");
    assert!(read.inbox.is_empty());
    world.advance(Duration::from_secs(1));
}
