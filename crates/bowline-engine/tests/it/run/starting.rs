//! How runs are started: policies for taken ids, repeated requests, memo and search attributes.

use std::collections::BTreeMap;

use bowline_core::{
    Code as CauseCode, Conflict, Fields, Payload, Reuse, RunEnding, SearchField, SearchValue,
    Status,
};
use bowline_engine::{Builder, Error, StartOptions};
use bowline_replay::Ended;
use bowline_store::Filter;

use crate::world::{Code, QUEUE, World, ending, history, signal, start, text, until};

crate::world::on_every_store! {
    a_taken_id_is_refused_and_named,
    a_repeated_start_begins_one_run,
    an_id_is_used_again_as_the_policy_says,
    a_start_may_take_the_place_of_an_open_run,
    runs_are_found_by_their_search_attributes,
}

fn options(name: &str, id: &str) -> StartOptions {
    StartOptions::new(name, id, QUEUE, None)
}

/// Waits for a signal, and ends as it says.
fn waiter(builder: Builder) -> Builder {
    builder.flow("waiter", |ctx, _| async move {
        let how = ctx.signals("end").recv().await;
        match text(&how.input).as_str() {
            "\"fail\"" => Err(Ended::Failed(bowline_core::Failure::new("as told"))),
            _ => Ok(None),
        }
    })
}

fn how(json: &str) -> bowline_core::Signal {
    bowline_core::Signal { input: Some(Payload::json(json)), ..signal("end") }
}

/// A taken id is refused by default, and the error names who has it and where it stands.
async fn a_taken_id_is_refused_and_named(world: World) {
    let engine = waiter(world.builder()).start().await.expect("starts");
    let run = start(&engine, "waiter", "w-1").await;
    until(&engine, run, "TurnCompleted").await;
    let before = world.rows().await;
    let error = engine.start(options("waiter", "w-1")).await.expect_err("it is taken");
    let Error::AlreadyStarted { run: taken, status } = error else { panic!("{error}") };
    assert_eq!((taken, status), (run, Status::Running));
    let use_it = StartOptions { conflict: Conflict::UseExisting, ..options("waiter", "w-1") };
    assert_eq!(engine.start(use_it).await.expect("the open one serves"), run);
    assert_eq!(world.rows().await, before, "none of this changed anything");
}

/// A start that is sent again is answered with the run that it began, open or closed.
async fn a_repeated_start_begins_one_run(world: World) {
    let engine = waiter(world.builder()).start().await.expect("starts");
    let request = || options("waiter", "w-1").request("r-1");
    let run = engine.start(request()).await.expect("starts");
    assert_eq!(engine.start(request()).await.expect("known"), run);
    engine.signal(run, how("\"complete\"")).await.expect("taken");
    ending(&engine, run).await;
    assert_eq!(engine.start(request()).await.expect("known"), run, "closed, and still known");
    let other = engine.start(options("waiter", "w-1").request("r-2")).await.expect("starts");
    assert_ne!(other, run);
}

/// Whether a closed run's id may be used again is the starter's choice.
async fn an_id_is_used_again_as_the_policy_says(world: World) {
    let engine = waiter(world.builder()).start().await.expect("starts");
    let with = |id: &str, reuse| StartOptions { reuse, ..options("waiter", id) };
    for (id, how_it_ended) in [("done", "\"complete\""), ("failed", "\"fail\"")] {
        let run = start(&engine, "waiter", id).await;
        engine.signal(run, how(how_it_ended)).await.expect("taken");
        ending(&engine, run).await;
    }
    for id in ["done", "failed"] {
        let never = engine.start(with(id, Reuse::Refuse)).await.expect_err("never again");
        assert!(matches!(never, Error::AlreadyStarted { .. }), "{never}");
    }
    let done = engine.start(with("done", Reuse::AllowUnlessCompleted)).await;
    assert!(matches!(done, Err(Error::AlreadyStarted { status: Status::Completed, .. })));
    let failed = engine.start(with("failed", Reuse::AllowUnlessCompleted)).await;
    let failed = failed.expect("a failed one may be tried again");
    assert_eq!(engine.current("failed").await.expect("").run, failed);
    engine.start(with("done", Reuse::Allow)).await.expect("allowed");
}

/// The open run is terminated and the new one begins, in one step: never two, never none.
async fn a_start_may_take_the_place_of_an_open_run(world: World) {
    let engine = waiter(world.builder()).start().await.expect("starts");
    let old = start(&engine, "waiter", "w-1").await;
    until(&engine, old, "TurnCompleted").await;
    let replace = || StartOptions {
        conflict: Conflict::TerminateExisting,
        ..options("waiter", "w-1").request("replace-1")
    };
    let new = engine.start(replace()).await.expect("it takes its place");
    assert_ne!(new, old);
    let old_end = ending(&engine, old).await;
    let RunEnding::Terminated(cause) = old_end else { panic!("{old_end:?}") };
    assert_eq!(cause.code, CauseCode::Requested);
    assert_eq!(engine.current("w-1").await.expect("").run, new);
    assert_eq!(engine.start(replace()).await.expect("sent again"), new, "it counts once");
    engine.signal(new, how("\"complete\"")).await.expect("taken");
    assert_eq!(ending(&engine, new).await, RunEnding::Completed(None));
    let fresh = StartOptions { conflict: Conflict::TerminateExisting, ..options("waiter", "w-2") };
    engine.start(fresh).await.expect("nobody was there");
}

/// Memo and search attributes are there from the start, can be changed by the code, and runs are
/// found by what they are now.
async fn runs_are_found_by_their_search_attributes(world: World) {
    let engine = world
        .builder()
        .flow("order", |ctx, _| async move {
            ctx.signals("ship").recv().await;
            let shipped = SearchField { value: keyword("shipped"), wire: None };
            ctx.upsert_search(BTreeMap::from([
                ("state".to_owned(), Some(shipped)),
                ("draft".to_owned(), None),
            ]));
            ctx.modify_memo(BTreeMap::from([("note".to_owned(), Some(Payload::json("2")))]));
            ctx.signals("end").recv().await;
            Ok(None)
        })
        .start()
        .await
        .expect("starts");
    let mut runs = Vec::new();
    for (number, state) in [(1, "new"), (2, "new"), (3, "paid")] {
        let mut options = options("order", &format!("order-{number}"));
        let field = |value| SearchField { value, wire: None };
        options.started.search = BTreeMap::from([
            ("state".to_owned(), field(keyword(state))),
            ("draft".to_owned(), field(SearchValue::Bool(true))),
            ("total".to_owned(), field(SearchValue::Int(number))),
        ]);
        options.started.memo = Fields::from([("note".to_owned(), Payload::json("1"))]);
        runs.push(engine.start(options).await.expect("starts"));
    }
    let found = async |state: &str| {
        let search = vec![("state".to_owned(), keyword(state))];
        let filter = Filter { search, limit: 10, ..Filter::default() };
        let page = engine.find(filter).await.expect("it lists");
        let mut ids: Vec<_> = page.runs.iter().map(|h| h.workflow_id.to_string()).collect();
        ids.sort();
        ids
    };
    assert_eq!(found("new").await, ["order-1", "order-2"]);
    engine.signal(runs[0], signal("ship")).await.expect("taken");
    until(&engine, runs[0], "MemoModified").await;
    assert_eq!(found("new").await, ["order-2"]);
    assert_eq!(found("shipped").await, ["order-1"]);
    assert_eq!(found("paid").await, ["order-3"]);
    let head = engine.head(runs[0]).await.expect("");
    assert_eq!(head.memo["note"], Payload::json("2"));
    assert!(!head.search.contains_key("draft") && head.search.contains_key("total"));
    let named = Filter { workflow_id_prefix: Some("order-".into()), limit: 2, ..Filter::default() };
    let page = engine.find(named).await.expect("it lists");
    assert_eq!((page.runs.len(), page.next.is_some()), (2, true));
    history(&engine, runs[0]).await;
}

fn keyword(text: &str) -> SearchValue {
    SearchValue::Keyword(text.to_owned())
}
