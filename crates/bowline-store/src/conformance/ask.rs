//! Questions outside history: asked of a member, answered by it, or by nobody in time.

use std::time::Duration;

use bowline_core::{AskId, Epoch, Failure, Payload, RunId};

use super::{
    Harness,
    world::{
        NAMESPACE, World, refused,
        wait::{block_on, poll_once},
    },
};
use crate::{Answer, Ask, AskBody, AskTarget, Error, Pending, Reply, Result};

fn ask(world: &World<'_>, to: AskTarget) -> (AskId, Answer<Result<Reply>>) {
    let id = AskId(world.id());
    let body = AskBody::Query { name: "state".into(), input: Some(Payload::json("1")) };
    let deadline = world.now().after(Duration::from_secs(10));
    (id, world.store().ask(Ask { id, to, body, deadline }))
}

fn answer(world: &World<'_>, replies: Vec<Reply>) -> Vec<Pending> {
    block_on(world.store().answer(world.epoch, replies)).expect("the member is alive")
}

/// A question reaches the member that it is for, once, and its answer the one who asked.
pub fn a_question_is_answered(harness: &dyn Harness) {
    let world = World::new(harness);
    let run = world.start("a");
    world.hold(run);
    for to in [AskTarget::Member(world.epoch), AskTarget::Run(run)] {
        let (id, mut waiting) = ask(&world, to);
        assert!(poll_once(&mut waiting).is_none(), "nobody has answered");
        let pending = answer(&world, Vec::new());
        let [Pending { ask }] = &pending[..] else { panic!("{pending:?}") };
        assert_eq!((ask.id, ask.to), (id, to));
        let body = AskBody::Query { name: "state".into(), input: Some(Payload::json("1")) };
        assert_eq!(ask.body, body);
        assert_eq!(answer(&world, Vec::new()).len(), 0, "it is handed out once");
        let reply = Reply { id, answer: Ok(Some(Payload::json("2"))) };
        assert_eq!(answer(&world, vec![reply.clone()]).len(), 0);
        assert_eq!(block_on(waiting).expect("answered"), reply);
    }
}

/// A failure is an answer too.
pub fn a_question_may_be_refused(harness: &dyn Harness) {
    let world = World::new(harness);
    let (id, waiting) = ask(&world, AskTarget::Member(world.epoch));
    let reply = Reply { id, answer: Err(Failure::new("no such query")) };
    answer(&world, vec![reply.clone()]);
    assert_eq!(block_on(waiting).expect("answered"), reply);
}

/// Whoever is there answers for a run that nobody holds.
pub fn anybody_answers_for_a_free_run(harness: &dyn Harness) {
    let world = World::new(harness);
    let nobodys = RunId { namespace: NAMESPACE, uuid: 404 };
    for run in [world.start("a"), nobodys] {
        let (id, _waiting) = ask(&world, AskTarget::Run(run));
        let pending = answer(&world, Vec::new());
        assert_eq!(pending.iter().map(|pending| pending.ask.id).collect::<Vec<_>>(), [id]);
    }
}

/// A question for another member is not handed to this one.
pub fn a_question_for_another_member_waits(harness: &dyn Harness) {
    let world = World::new(harness);
    let (_, mut waiting) = ask(&world, AskTarget::Member(Epoch(world.epoch.0 + 1)));
    assert_eq!(answer(&world, Vec::new()).len(), 0);
    assert!(poll_once(&mut waiting).is_none());
}

/// Nobody waits for ever: after the deadline the answer is that there is none.
pub fn a_question_has_a_deadline(harness: &dyn Harness) {
    let world = World::new(harness);
    let (id, mut waiting) = ask(&world, AskTarget::Member(world.epoch));
    answer(&world, Vec::new());
    world.tick(9);
    world.sweep_all();
    assert!(poll_once(&mut waiting).is_none(), "there is time left");
    world.tick(1);
    world.sweep_all();
    refused!(block_on(waiting), Error::Missing(_));
    let late = Reply { id, answer: Ok(None) };
    assert_eq!(answer(&world, vec![late]).len(), 0, "a late answer harms nobody");
}

/// The one who asked has gone: the question is answered into the void, and all goes on.
pub fn a_dropped_question_harms_nobody(harness: &dyn Harness) {
    let world = World::new(harness);
    let (id, waiting) = ask(&world, AskTarget::Member(world.epoch));
    drop(waiting);
    assert!(answer(&world, Vec::new()).len() <= 1);
    answer(&world, vec![Reply { id, answer: Ok(None) }]);
    let (id, waiting) = ask(&world, AskTarget::Member(world.epoch));
    answer(&world, vec![Reply { id, answer: Ok(None) }]);
    assert!(block_on(waiting).is_ok());
}

/// A dead member answers nothing.
pub fn a_dead_member_answers_nothing(harness: &dyn Harness) {
    let mut world = World::new(harness);
    let dead = world.epoch;
    world.reopen();
    let (id, mut waiting) = ask(&world, AskTarget::Member(world.epoch));
    let reply = Reply { id, answer: Ok(None) };
    refused!(block_on(world.store().answer(dead, vec![reply])), Error::Fenced);
    assert!(poll_once(&mut waiting).is_none());
}
