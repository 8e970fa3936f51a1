//! Children: how their ends reach the parent, and what becomes of them when it closes.

use std::time::Duration;

use bowline_core::{
    Cause, ChildSpec, Code as CauseCode, EventKind, Failure, ParentClose, Payload, RunEnding,
    RunId, Span, Status, Timeout,
};
use bowline_engine::{Builder, CancelRequest, Engine};
use bowline_replay::{Context, Ended};
use bowline_store::{Filter, Phase};

use crate::world::{Code, World, ending, history, kinds, signal, start, text, until, within};

crate::world::on_every_store! {
    k12_the_end_of_a_child_reaches_its_parent_as_it_is,
    a_child_with_a_taken_id_is_refused_to_its_parent,
    r29_children_of_a_closed_parent_follow_their_policy,
    n11_a_cancel_of_the_root_reaches_the_grandchildren,
    a_parent_waits_for_the_whole_chain_of_its_child,
}

fn child(name: &str) -> ChildSpec {
    ChildSpec { name: name.into(), ..ChildSpec::default() }
}

/// Ends as it is told by a signal.
async fn obedient(ctx: Context) -> Result<Option<Payload>, Ended> {
    let how = ctx.signals("end").recv().await;
    match text(&how.input).as_str() {
        "\"fail\"" => Err(Ended::Failed(Failure::new("as told").kind("Told"))),
        said => Ok(Some(Payload::json(said))),
    }
}

/// A parent that tells how its child ended.
fn family(builder: Builder) -> Builder {
    builder
        .flow("parent", |ctx, _| async move {
            let spec = ChildSpec {
                workflow_id: "kid".into(),
                run_timeout: Some(Span(Duration::from_secs(1_000))),
                ..child("child")
            };
            let told = match ctx.child(spec).await {
                Ok(result) => format!("ok {}", text(&result)),
                Err(Ended::Failed(failure)) => format!("failed {failure}"),
                Err(Ended::Cancelled(cause)) => format!("cancelled {}", cause.root().code),
                Err(Ended::Terminated(cause)) => format!("terminated {}", cause.root().code),
                Err(Ended::TimedOut(timeout)) => format!("timed out {timeout:?}"),
                Err(other) => format!("{other}"),
            };
            Ok(Some(Payload::json(told)))
        })
        .flow("child", |ctx, _| obedient(ctx))
}

async fn kid(engine: &Engine, parent: RunId) -> RunId {
    until(engine, parent, "ChildStarted").await;
    // Not the newest run of its id: the chain may have gone on by now.
    let events = history(engine, parent).await;
    let started = events.into_iter().find_map(|event| match event.kind {
        EventKind::ChildStarted(started) => Some(started.run),
        _ => None,
    });
    started.expect("it has begun")
}

async fn told(engine: &Engine, parent: RunId) -> String {
    match ending(engine, parent).await {
        RunEnding::Completed(said) => text(&said),
        other => panic!("{other:?}"),
    }
}

fn say(json: &str) -> bowline_core::Signal {
    bowline_core::Signal { input: Some(Payload::json(json)), ..signal("end") }
}

/// K12: every way in which a child can end reaches the parent as what it is.
async fn k12_the_end_of_a_child_reaches_its_parent_as_it_is(world: World) {
    let engine = family(world.builder()).start().await.expect("starts");
    let parent = start(&engine, "parent", "p-1").await;
    let run = kid(&engine, parent).await;
    engine.signal(run, say("7")).await.expect("taken");
    assert_eq!(told(&engine, parent).await, "ok 7");

    let parent = start(&engine, "parent", "p-2").await;
    let run = kid(&engine, parent).await;
    engine.signal(run, say("\"fail\"")).await.expect("taken");
    assert_eq!(told(&engine, parent).await, "failed Told: as told");
    assert!(kinds(&engine, parent).await.contains(&"ChildFailed"));

    let parent = start(&engine, "parent", "p-3").await;
    let run = kid(&engine, parent).await;
    engine.cancel(run, CancelRequest::new("enough", "alice")).await.expect("taken");
    assert_eq!(told(&engine, parent).await, "cancelled requested");
    assert!(kinds(&engine, parent).await.contains(&"ChildCancelled"));

    let parent = start(&engine, "parent", "p-4").await;
    let run = kid(&engine, parent).await;
    engine.terminate(run, Cause::requested("now", "bob")).await.expect("taken");
    assert_eq!(told(&engine, parent).await, "terminated requested");

    let parent = start(&engine, "parent", "p-5").await;
    kid(&engine, parent).await;
    world.advance(Duration::from_secs(1_000));
    assert_eq!(told(&engine, parent).await, format!("timed out {:?}", Timeout::StartToClose));
}

/// A child whose id is taken never begins, and its parent hears why; the run that has the id is
/// not disturbed.
async fn a_child_with_a_taken_id_is_refused_to_its_parent(world: World) {
    let engine = family(world.builder()).start().await.expect("starts");
    let other = start(&engine, "child", "kid").await;
    until(&engine, other, "TurnCompleted").await;
    let parent = start(&engine, "parent", "p-1").await;
    let said = told(&engine, parent).await;
    assert_eq!(said, "failed IdTaken: a run of the child's workflow id is open");
    assert!(kinds(&engine, parent).await.contains(&"ChildStartFailed"));
    assert_eq!(engine.head(other).await.expect("").status, Status::Running);
}

/// Each policy for children of a closing parent does what it says, and the leftovers name what was
/// left alone.
async fn r29_children_of_a_closed_parent_follow_their_policy(world: World) {
    let policies =
        [("c", ParentClose::Cancel), ("t", ParentClose::Terminate), ("a", ParentClose::Abandon)];
    let engine = world
        .builder()
        .flow("parent", move |ctx, _| async move {
            let kids: Vec<_> = policies
                .into_iter()
                .map(|(id, close)| {
                    let spec = ChildSpec { workflow_id: id.into(), close, ..child("child") };
                    ctx.child(spec).start()
                })
                .collect();
            ctx.signals("end").recv().await;
            std::mem::forget(kids);
            Ok(None)
        })
        .flow("child", |ctx, _| obedient(ctx))
        .start()
        .await
        .expect("starts");
    let parent = start(&engine, "parent", "p-1").await;
    within("three children", async {
        loop {
            let children = Filter { parent: Some(parent), limit: 9, ..Filter::default() };
            if engine.find(children).await.expect("lists").runs.len() == 3 {
                return;
            }
            tokio::task::yield_now().await;
        }
    })
    .await;
    engine.signal(parent, signal("end")).await.expect("taken");
    ending(&engine, parent).await;
    let run = async |id: &str| engine.current(id).await.expect("it is there").run;
    let cancelled = ending(&engine, run("c").await).await;
    let RunEnding::Cancelled(_, Some(cause)) = cancelled else { panic!("{cancelled:?}") };
    let codes: Vec<_> = cause.chain().map(|cause| cause.code).collect();
    assert_eq!(codes, [CauseCode::ParentClosed, CauseCode::RunCompleted]);
    let terminated = ending(&engine, run("t").await).await;
    assert!(matches!(terminated, RunEnding::Terminated(_)), "{terminated:?}");
    let left = engine.leftovers(parent).await.expect("they are told");
    assert_eq!(left.phase(), Phase::Settled, "settled, and not clean");
    let names: Vec<_> =
        left.remainder().left.iter().map(|line| line.workflow_id.to_string()).collect();
    assert_eq!(names, ["a"]);
    let abandoned = run("a").await;
    engine.signal(abandoned, say("1")).await.expect("it lives on");
    assert_eq!(ending(&engine, abandoned).await, RunEnding::Completed(Some(Payload::json("1"))));
    assert_eq!(engine.leftovers(parent).await.expect("").phase(), Phase::Clean);
    assert!(engine.orphans().await.expect("").is_empty());
}

/// A tree of three generations: each run knows its root, and a cancel of the root reaches the
/// grandchildren with the whole chain of causes (N11).
async fn n11_a_cancel_of_the_root_reaches_the_grandchildren(world: World) {
    let engine = world
        .builder()
        .flow("root", |ctx, _| async move {
            let kids = (0..2).map(|_| ctx.child(child("middle")));
            for end in bowline_replay::join_all(kids).await {
                end?;
            }
            Ok(None)
        })
        .flow("middle", |ctx, _| async move {
            let kids = (0..2).map(|_| ctx.child(child("leaf")));
            for end in bowline_replay::join_all(kids).await {
                end?;
            }
            Ok(None)
        })
        .flow("leaf", |ctx, _| obedient(ctx))
        .start()
        .await
        .expect("starts");
    let root = start(&engine, "root", "r").await;
    let leaves = || Filter { name: Some("leaf".into()), limit: 9, ..Filter::default() };
    let mut found = Vec::new();
    within("four leaves", async {
        while found.len() < 4 {
            found = engine.find(leaves()).await.expect("lists").runs;
            tokio::task::yield_now().await;
        }
    })
    .await;
    for leaf in &found {
        assert_eq!(leaf.root, root);
        assert!(leaf.workflow_id.as_str().starts_with("r/"), "{}", leaf.workflow_id);
    }
    let request = CancelRequest::new("stop it all", "alice");
    let receipt = engine.cancel(root, request).await.expect("taken");
    let left = within("a clean tree", engine.wait(receipt, Phase::Clean)).await.expect("");
    assert_eq!(left.runs.len(), 7);
    assert!(left.runs.iter().all(|line| line.status == Status::Cancelled), "{left:#?}");
    let events = history(&engine, found[0].run).await;
    let cause = events.iter().find_map(|event| match &event.kind {
        EventKind::WorkflowCancelRequested(e) => Some(e.cause.clone()),
        _ => None,
    });
    let cause = cause.expect("the leaf was asked");
    assert_eq!(cause.root().requested_by.as_str(), "alice");
    assert!(cause.chain().count() >= 3, "{cause}");
}

/// A child that continues as new is one child: its parent waits for the last of its chain, and
/// follows it with a cancel.
async fn a_parent_waits_for_the_whole_chain_of_its_child(world: World) {
    let engine = world
        .builder()
        .flow("parent", |ctx, _| async move {
            let spec = ChildSpec { workflow_id: "kid".into(), ..child("long") };
            ctx.child(spec).await
        })
        .flow("long", |ctx, input| async move {
            let links: u32 = text(&input).parse().unwrap_or(0);
            if links == 5 {
                return obedient(ctx).await;
            }
            let input = Some(Payload::json((links + 1).to_string()));
            let next = bowline_core::ContinueAsNew { input, ..Default::default() };
            match ctx.continue_as_new(next).await {}
        })
        .start()
        .await
        .expect("starts");
    let parent = start(&engine, "parent", "p-1").await;
    let first = kid(&engine, parent).await;
    let last = within("the last link", async {
        loop {
            let head = engine.current("kid").await.expect("it is there");
            if !matches!(head.status, Status::ContinuedAsNew) && head.next_event.0 > 4 {
                return head.run;
            }
            tokio::task::yield_now().await;
        }
    })
    .await;
    assert_ne!(first, last);
    engine.signal(last, say("5")).await.expect("taken");
    assert_eq!(ending(&engine, parent).await, RunEnding::Completed(Some(Payload::json("5"))));
}
