//! Signals and updates.

use bowline_core::{Command, ContinueAsNew, EventKind, Failure};
use bowline_replay::{Either, either};
use expect_test::expect;

use crate::support::*;

#[test]
fn signals_that_come_early_are_kept_in_order() {
    let (mut world, _) = World::start(async |ctx| {
        ctx.activity(activity("first")).await;
        let (words, again) = (ctx.signals("say"), ctx.signals("say"));
        assert_eq!(words.waiting(), 3);
        let mut heard = Vec::new();
        heard.push(text(&words.recv().await.input));
        heard.push(text(&again.recv().await.input));
        heard.push(text(&words.try_recv().unwrap().input));
        assert!(words.try_recv().is_none());
        heard.push(text(&words.recv().await.input));
        Ok(json(heard.join(" ")))
    });
    world.send_all([signals("say", "1"), signals("other", "x"), signals("say", "2")]);
    world.send(signals("say", "3"));
    assert_eq!(world.send(completes(5, "")), "");
    expect![[r#"
        25: complete 1 2 3 4
    "#]]
    .assert_eq(&world.send(signals("say", "4")));
    world.check_prefixes();
}

/// Signals that nobody received go on with the chain, in the order of their arrival.
#[test]
fn signals_that_were_not_received_go_on_as_the_code_does() {
    let (mut world, _) = World::start(async |ctx| {
        ctx.signals("next").recv().await;
        ctx.signals("say").recv().await;
        match ctx.continue_as_new(ContinueAsNew::default()).await {}
    });
    world.send_all([signals("say", "1"), signals("other", "2"), signals("say", "3")]);
    world.send_all([signals("next", ""), signals("early", "4")]);
    let received =
        world.turns.iter().flat_map(|turn| &turn.1).filter_map(|command| match command {
            Command::Receive(signals) => Some(signals.ids().collect::<Vec<_>>()),
            _ => None,
        });
    let received: Vec<_> = received.flatten().collect();
    let sent = world.history.iter().filter(|event| !received.contains(&event.id));
    let unread = sent.filter_map(|event| match &event.kind {
        EventKind::WorkflowSignalled(signal) => Some(text(&signal.input)),
        _ => None,
    });
    assert_eq!(unread.collect::<Vec<_>>(), ["2", "3", "4"]);
    world.check_prefixes();
}

/// A receiver that loses a race loses no signal, and leaves no trace in the queue.
#[test]
fn a_dropped_receiver_loses_nothing() {
    let (mut world, _) = World::start(async |ctx| {
        let words = ctx.signals("say");
        let mut heard = String::new();
        loop {
            match either(ctx.timer(seconds(1)), words.recv()).await {
                Either::Left(_) => heard.push('.'),
                Either::Right(signal) => heard.push_str(&text(&signal.input)),
            }
            if heard.len() > 3 {
                return Ok(json(heard));
            }
        }
    });
    world.send(rings(5));
    // Both in one turn: the timer is told first and wins, the signal is heard in the next round.
    world.send_all([rings(10), signals("say", "a")]);
    expect![[r#"
        drop Timers 17 in 0: select_lost
        24: complete ..ab
    "#]]
    .assert_eq(&world.send(signals("say", "b")));
    world.check_prefixes();
}

#[test]
fn an_update_is_accepted_when_received_and_answered() {
    let (mut world, _) = World::start(async |ctx| {
        let raises = ctx.updates("raise");
        let raise = raises.recv().await;
        let by = text(&raise.request().input);
        ctx.activity(activity("check")).await;
        raise.reply(Ok(json(format!("raised by {by}"))));
        Ok(None)
    });
    expect![[r#"
        9: accept u1
        10: activity check
    "#]]
    .assert_eq(&world.send(updates("raise", "u1", "7")));
    expect![[r#"
        16: answer u1: raised by 7
        17: complete 
    "#]]
    .assert_eq(&world.send(completes(world.newest(), "")));
    world.check_prefixes();
}

#[test]
fn an_offered_update_can_be_refused_without_a_trace() {
    let (mut world, _) = World::start(async |ctx| {
        let raises = ctx.updates("raise");
        loop {
            let offer = raises.offered().await;
            if text(&offer.request().input) == "0" {
                offer.reject(Failure::new("not by nothing").kind("Bad"));
                continue;
            }
            let raise = offer.accept();
            raise.reply(Err(Failure::new("sold out")));
            return Ok(None);
        }
    });
    expect![[r#"
        reject u1: Bad: not by nothing
    "#]]
    .assert_eq(&world.send(updates("raise", "u1", "0")));
    expect![[r#"
        13: accept u2
        14: answer u2: sold out
        15: complete 
    "#]]
    .assert_eq(&world.send(updates("raise", "u2", "5")));
    world.check_prefixes();
}

/// Dropped unanswered is answered all the same, in the order of acceptance, not of dropping.
#[test]
fn unanswered_updates_are_answered_with_a_failure() {
    let (mut world, _) = World::start(async |ctx| {
        let raises = ctx.updates("raise");
        let (first, second) = (raises.recv().await, raises.recv().await);
        let undecided = raises.offered().await;
        ctx.signals("go").recv().await;
        drop(second);
        drop(undecided);
        drop(first);
        ctx.activity(activity("after")).await;
        Ok(None)
    });
    world.send_all([
        updates("raise", "u1", ""),
        updates("raise", "u2", ""),
        updates("raise", "u3", ""),
    ]);
    expect![[r#"
        17: activity after
        reject u3: Unanswered: the update was dropped without an answer
        18: answer u1: Unanswered: the update was dropped without an answer
        19: answer u2: Unanswered: the update was dropped without an answer
    "#]]
    .assert_eq(&world.send(signals("go", "")));
    world.check_prefixes();
}

#[test]
fn a_cancel_answers_what_was_accepted() {
    let (mut world, _) = World::start(async |ctx| {
        let _held = ctx.updates("raise").recv().await;
        ctx.activity(activity("check")).await;
        Ok(None)
    });
    world.send(updates("raise", "u1", ""));
    expect![[r#"
        15: answer u1: Unanswered: the update was dropped without an answer
        drop Activities 10 in 0: run_cancelled
            because requested by alice (enough)
    "#]]
    .assert_eq(&world.send(cancels("alice")));
    expect![[r#"
        19: cancelled: requested by alice (enough)
    "#]]
    .assert_eq(&world.send(skips(&[world.newest()])));
    world.check_prefixes();
}
