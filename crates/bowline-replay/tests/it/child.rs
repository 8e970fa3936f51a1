//! Children: how they end, and how they are stopped.

use bowline_core::{
    Cause, ChildRefusal, Code, Command, EventId, Failure, Message, RetryState, RunEnding,
};
use expect_test::expect;

use crate::support::*;

fn one_child() -> World {
    let (world, first) = World::start(async |ctx| {
        let result = ctx.child(child("helper")).await;
        Ok(json(match result {
            Ok(result) => text(&result),
            Err(ended) => ended.to_string(),
        }))
    });
    assert_eq!(first, "5: child helper\n");
    world
}

#[test]
fn every_end_of_a_child_is_told_as_what_it_was() {
    let endings = [
        (RunEnding::Completed(json("fine")), "fine"),
        (RunEnding::Failed(Failure::new("no"), RetryState::NoPolicy), "failed: no"),
        (
            RunEnding::Cancelled(None, Some(Cause::requested("why", "eve"))),
            "cancelled: requested by eve (why)",
        ),
        (RunEnding::TimedOut(RetryState::NoPolicy), "timed out: it ran for too long"),
        (
            RunEnding::Terminated(Cause::requested("now", "eve")),
            "terminated: requested by eve (now)",
        ),
    ];
    for (ending, expected) in endings {
        let mut world = one_child();
        world.send(Message::ChildBegan(EventId(5)));
        let shown = world.send(child_ends(5, ending));
        assert!(shown.contains(expected), "{shown}");
        world.check_prefixes();
    }
}

#[test]
fn a_child_whose_id_is_taken_has_failed() {
    let mut world = one_child();
    expect![[r#"
        10: complete failed: IdTaken: a run of the child's workflow id is open
    "#]]
    .assert_eq(&world.send(Message::RefuseChild(EventId(5), ChildRefusal::IdTaken)));
    world.check_prefixes();
}

#[test]
fn the_run_id_of_a_child_is_the_same_however_often_the_turn_is_tried() {
    let (first, second) = (one_child(), one_child());
    assert_eq!(first.turns, second.turns);
    let [Command::StartChild(_, run)] = &first.turns[0].1[..] else { panic!() };
    assert_ne!(run.uuid, 0);
    assert_eq!(run.namespace.0, 1);
}

/// A child is over by its own end, however long after it was dropped; a scope waits for that.
#[test]
fn a_scope_waits_for_the_end_of_its_child() {
    let (mut world, _) = World::start(async |ctx| {
        let scope = ctx.scope(async {
            let helper = ctx.child(child("helper")).start();
            ctx.signals("leave").recv().await;
            drop(helper);
            Ok(())
        });
        scope.await?;
        Ok(json("left"))
    });
    expect![[r#"
        drop Children 5 in 1: scope_exit
    "#]]
    .assert_eq(&world.send(signals("leave", "")));
    assert_eq!(world.send(Message::ExternalDone(EventId(10))), "");
    let ending = RunEnding::Cancelled(None, Some(Cause::new(Code::ParentCancelled)));
    expect![[r#"
        left 1
        20: complete left
    "#]]
    .assert_eq(&world.send(child_ends(5, ending)));
    world.check_prefixes();
}

/// Whether the request reached the child is of no interest; its end is.
#[test]
fn a_cancel_that_did_not_reach_the_child_is_no_mismatch() {
    let (mut world, _) = World::start(async |ctx| {
        drop(ctx.child(child("helper")).start());
        ctx.signals("end").recv().await;
        Ok(None)
    });
    let refusal = bowline_core::ExternalRefusal::NotFound;
    assert_eq!(world.send(Message::RefuseExternal(EventId(6), refusal)), "");
    world.send(signals("end", ""));
    assert!(world.closed());
    world.check_prefixes();
}
