//! Bad input: a clear, typed error that names what was wrong; nothing changes, nobody is wedged.

use std::time::Duration;

use bowline_core::{
    Address, Cause, Conflict, EventId, Namespace, Payload, RetryPolicy, Reuse, RunEnding, RunId,
    Signal, Span, limits,
};
use bowline_engine::{
    CancelRequest, Engine, Error, QueueOptions, StartOptions, worker::registry::activity_fn,
};
use bowline_store::{Filter, Phase};

use crate::world::{Code, QUEUE, World, current, ending, signal, start, until, within};

crate::world::on_every_store! {
    h9_requests_to_missing_runs_are_refused_and_wedge_nobody,
    r21_a_closed_run_refuses_signals_and_takes_cancels_as_done,
    starts_that_are_not_acceptable_are_refused_by_name,
    a_taken_workflow_id_names_its_run,
    signals_that_are_not_acceptable_change_nothing,
    r83_an_unknown_target_is_an_error_in_a_closed_run_too,
    an_engine_that_cannot_work_does_not_start,
    a_run_of_an_unregistered_workflow_waits_and_says_so_when_asked,
}

async fn engine(world: &World) -> Engine {
    world
        .builder()
        .flow("quick", |_, _| async { Ok(None) })
        .flow("wait", |ctx, _| async move {
            ctx.signals("go").recv().await;
            Ok(None)
        })
        .start()
        .await
        .expect("the engine starts")
}

/// After anything bad, a healthy run still starts and ends (H9).
async fn still_works(engine: &Engine, id: &str) {
    let run = start(engine, "quick", id).await;
    assert_eq!(within("a healthy run", ending(engine, run)).await, RunEnding::Completed(None));
}

fn nobody() -> RunId {
    RunId { namespace: Namespace(1), uuid: 12_345 }
}

/// H9: requests to runs that do not exist are refused, and wedge nobody.
async fn h9_requests_to_missing_runs_are_refused_and_wedge_nobody(world: World) {
    let engine = engine(&world).await;
    let request = || CancelRequest::new("why", "me");
    let missing = |error: Error| assert_eq!(error.code(), "missing", "{error}");
    missing(engine.cancel(nobody(), request()).await.expect_err("no such run"));
    missing(engine.cancel(current("nobody"), request()).await.expect_err("no such id"));
    missing(engine.signal(nobody(), signal("go")).await.expect_err("no such run"));
    let cause = Cause::requested("why", "me");
    missing(engine.terminate(nobody(), cause.clone()).await.expect_err("no such run"));
    missing(engine.delete(nobody(), cause).await.expect_err("no such run"));
    missing(engine.outcome(nobody()).await.expect_err("no such run"));
    missing(engine.history(nobody()).await.expect_err("no such run"));
    missing(engine.query(nobody(), "status", None).await.expect_err("no such run"));
    missing(engine.retry(nobody()).await.expect_err("no such run"));
    missing(engine.receipt(bowline_core::ReceiptId(9)).await.expect_err("no such receipt"));
    missing(engine.wait(bowline_core::ReceiptId(9), Phase::Clean).await.expect_err("neither"));
    still_works(&engine, "after").await;
}

/// A closed run takes no signal, and a cancel of it is a success that says so (R21).
async fn r21_a_closed_run_refuses_signals_and_takes_cancels_as_done(world: World) {
    let engine = engine(&world).await;
    let run = start(&engine, "quick", "closed").await;
    within("the run to end", ending(&engine, run)).await;
    let refused = engine.signal(run, signal("go")).await.expect_err("it is closed");
    assert!(matches!(refused, Error::Closed { .. }), "{refused}");
    let receipt = engine.cancel(run, CancelRequest::new("late", "me")).await.expect("taken");
    let left = within("the receipt", engine.wait(receipt, Phase::Clean)).await.expect("clean");
    assert_eq!(left.runs[0].run, run);
    still_works(&engine, "after").await;
}

/// Starts that are not acceptable name what is wrong with them.
async fn starts_that_are_not_acceptable_are_refused_by_name(world: World) {
    let engine = engine(&world).await;
    let plain = || StartOptions::new("quick", "id", QUEUE, None);
    let with = |change: &dyn Fn(&mut StartOptions)| {
        let mut options = plain();
        change(&mut options);
        options
    };
    let century = Some(Span(limits::SPAN_MAX + Duration::from_secs(1)));
    let long = "x".repeat(limits::TEXT_MAX + 1);
    let large = "x".repeat(limits::PAYLOAD_MAX + 1);
    let bad_policy = RetryPolicy { coefficient: f64::NAN, ..RetryPolicy::default() };
    let cases = [
        ("workflow id", with(&|o| o.started.workflow_id = "".into())),
        ("workflow id", with(&|o| o.started.workflow_id = long.as_str().into())),
        ("name", with(&|o| o.started.name = "".into())),
        ("queue", with(&|o| o.started.queue = "".into())),
        ("run timeout", with(&|o| o.started.run_timeout = century)),
        ("chain timeout", with(&|o| o.started.chain_timeout = century)),
        ("delay", with(&|o| o.started.delay = century)),
        ("input", with(&|o| o.started.input = Some(Payload::json(large.as_str())))),
        ("retry policy", with(&|o| o.started.retry = Some(bad_policy.clone()))),
        ("schedule", with(&|o| o.started.cron = "* * * * *".into())),
    ];
    for (named, options) in cases {
        let refused = engine.start(options).await.expect_err(named);
        assert_eq!(refused.code(), "invalid", "{refused}");
        assert!(refused.to_string().contains(named), "{refused} names {named}");
    }
    let found = engine.find(Filter { limit: 10, ..Filter::default() }).await.expect("listed");
    assert!(found.runs.is_empty(), "nothing was started");
    still_works(&engine, "after").await;
}

/// A workflow id that is taken is refused with the run that has it.
async fn a_taken_workflow_id_names_its_run(world: World) {
    let engine = engine(&world).await;
    let run = start(&engine, "wait", "taken").await;
    let again = StartOptions::new("wait", "taken", QUEUE, None);
    let refused = engine.start(again.clone()).await.expect_err("it is taken");
    assert!(matches!(refused, Error::AlreadyStarted { run: r, .. } if r == run), "{refused}");
    let shared = StartOptions { conflict: Conflict::UseExisting, ..again.clone() };
    assert_eq!(engine.start(shared).await.expect("it serves"), run);
    engine.signal(run, signal("go")).await.expect("taken");
    within("the run to end", ending(&engine, run)).await;
    let never = StartOptions { reuse: Reuse::Refuse, ..again };
    let refused = engine.start(never).await.expect_err("it was used");
    assert_eq!(refused.code(), "id_taken");
}

/// Signals without a name, or larger than anybody would send, are refused before they are stored.
async fn signals_that_are_not_acceptable_change_nothing(world: World) {
    let engine = engine(&world).await;
    let run = start(&engine, "wait", "wait").await;
    until(&engine, run, "TurnCompleted").await;
    let before = engine.head(run).await.expect("there").inbox;
    let large = Some(Payload::json("x".repeat(limits::PAYLOAD_MAX + 1)));
    let nameless = engine.signal(run, signal("")).await.expect_err("no name");
    assert!(nameless.to_string().contains("name"), "{nameless}");
    let heavy = Signal { input: large, ..signal("go") };
    let refused = engine.signal(run, heavy).await.expect_err("too large");
    assert!(refused.to_string().contains("2 MiB"), "{refused}");
    assert_eq!(engine.head(run).await.expect("there").inbox, before);
    let to = Address::Chain(nobody());
    assert_eq!(engine.signal(to, signal("go")).await.expect_err("nobody").code(), "missing");
}

/// R83: an operator's cancel of something that never was is an error, whether or not its run is
/// closed; one that is over is none, which `pushed` shows.
async fn r83_an_unknown_target_is_an_error_in_a_closed_run_too(world: World) {
    let engine = engine(&world).await;
    let run = start(&engine, "wait", "wait").await;
    until(&engine, run, "TurnCompleted").await;
    let request = || CancelRequest::new("why", "me");
    let unknown = engine.cancel_one(run, EventId(77), request()).await.expect_err("unknown");
    assert!(matches!(unknown, Error::NoSuchTarget { target: EventId(77), .. }), "{unknown}");
    engine.signal(run, signal("go")).await.expect("taken");
    within("the run to end", ending(&engine, run)).await;
    let closed = engine.cancel_one(run, EventId(77), request()).await.expect_err("closed");
    assert!(matches!(closed, Error::NoSuchTarget { .. }), "{closed}");
}

/// What cannot work is refused when the engine starts, and says what to change.
async fn an_engine_that_cannot_work_does_not_start(world: World) {
    let noop = || activity_fn(|_, _| async { Ok(None) });
    let twice = world.builder().activity("a", noop()).activity("a", noop());
    let refused = twice.start().await.err().expect("one name, two functions");
    assert!(refused.to_string().contains("two functions"), "{refused}");
    let nameless = world.builder().activity("", noop());
    assert!(nameless.start().await.is_err());
    let idle = world.builder().threads(0);
    assert!(idle.start().await.is_err());
    let engine = engine(&world).await;
    let options = QueueOptions { slots: 1, rate: None };
    let unknown = engine.configure("elsewhere", options).expect_err("no such queue");
    assert!(unknown.to_string().contains("elsewhere"), "{unknown}");
    still_works(&engine, "after").await;
}

/// A workflow that nobody has registered waits, visible, and can be cancelled at any time.
async fn a_run_of_an_unregistered_workflow_waits_and_says_so_when_asked(world: World) {
    let engine = engine(&world).await;
    let run = start(&engine, "unheard", "unheard").await;
    let asked = engine.query(run, "status", None).await.expect_err("no code");
    assert!(matches!(asked, Error::Unregistered { .. }), "{asked}");
    assert!(asked.to_string().contains("unheard"), "{asked}");
    assert!(engine.head(run).await.expect("there").status.is_open());
    still_works(&engine, "after").await;
}
