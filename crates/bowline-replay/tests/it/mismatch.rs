//! Code that does not do what history says it did.

use bowline_core::{Event, EventKind, Note, Ranges};
use bowline_replay::{Context, Difference, Either, Fault, Mismatch, either};
use expect_test::expect;

use crate::support::*;

/// The mismatch of replaying a history with other code.
fn drift<F, B>(world: &World, other: F) -> Mismatch
where
    F: Fn(Context) -> B + Send + Sync + 'static,
    B: Future<Output = Body> + 'static,
{
    match world.replay_with(other) {
        Err(Fault::Mismatch(mismatch)) => *mismatch,
        Err(other) => panic!("{other}"),
        Ok(_) => panic!("it replays"),
    }
}

async fn two_steps(ctx: Context) -> Body {
    ctx.activity(activity("first")).await;
    ctx.activity(activity("second")).await;
    Ok(None)
}

fn recorded() -> World {
    let (mut world, _) = World::start(two_steps);
    world.send(completes(5, ""));
    world
}

#[test]
fn another_activity_is_a_mismatch_that_names_both_sides() {
    let mismatch = drift(&recorded(), async |ctx| {
        ctx.activity(activity("first")).await;
        ctx.activity(activity("other")).await;
        Ok(None)
    });
    assert_eq!(mismatch.difference, Difference::Other);
    expect![[r#"
        the code does not do what history says it did
          where:    event 11, the turn completed by event 10, decision 1
          recorded: activity "second"
          asked:    activity "other"
          hint:     if the code was changed, ask `patched` which way to go. Otherwise look for
                    choices that are not the same each time: `tokio::select!` without `biased`
                    (use the select of this crate), iteration over a HashMap, clocks or random
                    numbers that are not the context's"#]]
    .assert_eq(&mismatch.to_string());
}

#[test]
fn asking_for_more_and_for_less_is_a_mismatch() {
    let more = drift(&recorded(), async |ctx| {
        let _extra = ctx.timer(seconds(1)).start();
        two_steps(ctx).await
    });
    assert_eq!(more.difference, Difference::Other);
    let more = drift(&recorded(), async |ctx| {
        let beside = ctx.activity(activity("first")).start();
        let _extra = ctx.timer(seconds(1)).start();
        beside.await;
        Ok(None)
    });
    assert_eq!((more.difference, more.event.0, more.decision), (Difference::More, 5, 2));
    let less = drift(&recorded(), async |ctx| {
        ctx.activity(activity("first")).await;
        ctx.signals("never").recv().await;
        Ok(None)
    });
    assert_eq!((less.difference, less.event.0, less.decision), (Difference::Less, 11, 1));
    expect![[r#"
        the code does not do what history says it did
          where:    event 11, the turn completed by event 10, decision 1
          recorded: activity "second"
          asked:    nothing more in this turn
          hint:     if the code was changed, ask `patched` which way to go. Otherwise look for
                    choices that are not the same each time: `tokio::select!` without `biased`
                    (use the select of this crate), iteration over a HashMap, clocks or random
                    numbers that are not the context's"#]]
    .assert_eq(&less.to_string());
}

#[test]
fn finishing_while_history_goes_on_is_a_mismatch() {
    let finished = drift(&recorded(), async |ctx| {
        ctx.activity(activity("first")).await;
        Ok(None)
    });
    expect![[r#"activity "second" / the end of the run: completed"#]]
        .assert_eq(&format!("{} / {}", finished.recorded, finished.asked));
    let mut world = recorded();
    world.send(completes(world.newest(), ""));
    assert!(world.closed());
    let goes_on = drift(&world, async |ctx| {
        two_steps(ctx.clone()).await?;
        ctx.activity(activity("third")).await;
        Ok(None)
    });
    expect![[r#"the end of the run: completed / activity "third""#]]
        .assert_eq(&format!("{} / {}", goes_on.recorded, goes_on.asked));
}

#[test]
fn durations_limits_and_causes_are_not_compared() {
    let (world, _) = World::start(async |ctx| {
        let _timer = ctx.timer(seconds(5)).start();
        ctx.activity(activity("work")).await;
        Ok(None)
    });
    let replayed = world.replay_with(async |ctx| {
        let _timer = ctx.timer(seconds(500)).start();
        let mut spec = activity("work");
        spec.timeouts.start_to_close = Some(bowline_core::Span(seconds(1)));
        ctx.activity(spec).await;
        Ok(None)
    });
    assert!(replayed.is_ok());
}

fn given(name: &str, input: &str) -> bowline_core::ActivitySpec {
    bowline_core::ActivitySpec { input: json(input), ..activity(name) }
}

/// A workflow called one activity for every entry of a `HashMap`. Another process has another
/// order, and the results of one entry were given to the next, unnoticed.
#[test]
fn calls_of_one_activity_in_another_order_are_a_mismatch() {
    async fn all(ctx: Context, order: [&str; 3]) -> Body {
        let calls = order.map(|input| ctx.activity(given("work", input)));
        let ends = bowline_replay::join_all(calls).await;
        Ok(json(ends.iter().map(told).collect::<String>()))
    }
    let (mut world, _) = World::start(async |ctx| all(ctx, ["1", "2", "3"]).await);
    world.send(completes(5, "one"));
    assert!(world.replay_with(async |ctx| all(ctx, ["1", "2", "3"]).await).is_ok());
    let other = drift(&world, async |ctx| all(ctx, ["1", "3", "2"]).await);
    assert_eq!(other.difference, Difference::Input);
    expect![[r#"
        the code does not do what history says it did
          where:    event 6, the turn completed by event 4, decision 2
          recorded: activity "work" with 2
          asked:    activity "work" with 3
          hint:     the call is the same, what it is given is not: its result would be told of
                    another input. Look for iteration over a HashMap, and for clocks or random
                    numbers that are not the context's. If the input was changed on purpose,
                    say `.mended()` at the call, or ask `patched` which way to go"#]]
    .assert_eq(&other.to_string());
}

/// Who says that an input was mended keeps the outcome that there was.
#[test]
fn a_mended_input_is_no_mismatch() {
    async fn body(ctx: Context, input: &str, mended: bool) -> Body {
        let call = ctx.activity(given("work", input));
        let mut helper = child("helper");
        helper.input = json(input);
        let beside = ctx.child(helper);
        let (call, beside) = match mended {
            true => (call.mended(), beside.mended()),
            false => (call, beside),
        };
        let beside = beside.start();
        let done = told(&call.await);
        ctx.patched("after");
        drop(beside);
        ctx.activity(given("next", &done)).await;
        Ok(None)
    }
    let (mut world, _) = World::start(async |ctx| body(ctx, "wrong", false).await);
    world.send(completes(6, "done"));
    let other = drift(&world, async |ctx| body(ctx, "right", false).await);
    expect![[r#"child "helper" with wrong / child "helper" with right"#]].assert_eq(
        &format!("{} / {}", other.recorded, other.asked).replace(r#" as "flow-1/5""#, ""),
    );
    assert!(world.replay_with(async |ctx| body(ctx, "right", true).await).is_ok());
    // A long one is cut, and none at all is said to be none.
    let (world, _) = World::start(async |ctx| {
        let long = given("work", &"x".repeat(1_000));
        ok(ctx.activity(long).await)
    });
    let other = drift(&world, async |ctx| ok(ctx.activity(activity("work")).await));
    assert!(other.recorded.ends_with("xxx… (1000 bytes)"), "{}", other.recorded);
    assert_eq!(other.asked, r#"activity "work" with nothing"#);
}

/// A map that is given to a call is written in another order by every process. It is the same map.
#[test]
fn the_order_of_a_map_inside_an_input_is_not_compared() {
    let (world, _) =
        World::start(async |ctx| ok(ctx.activity(given("work", r#"{"a":1,"b":[2]}"#)).await));
    let other =
        world.replay_with(async |ctx| ok(ctx.activity(given("work", r#"{"b":[2],"a":1}"#)).await));
    assert!(other.is_ok());
    drift(&world, async |ctx| ok(ctx.activity(given("work", r#"{"b":[1],"a":2}"#)).await));
}

/// Signals and cancels for other runs are known by their targets.
#[test]
fn other_targets_of_signals_and_cancels_are_a_mismatch() {
    async fn both(ctx: Context, one: &str, other: &str) -> Body {
        let target = |id: &str| bowline_core::External {
            workflow_id: id.into(),
            ..bowline_core::External::default()
        };
        let (signalled, cancelled) = (target(one), target(other));
        let signal = bowline_core::SignalExternal {
            target: signalled,
            name: "s".into(),
            ..bowline_core::SignalExternal::default()
        };
        let cancel = bowline_core::CancelExternal {
            target: cancelled,
            ..bowline_core::CancelExternal::default()
        };
        let _sent = ctx.signal_external(signal).start();
        let _ = ctx.cancel_external(cancel).await;
        Ok(None)
    }
    let (world, _) = World::start(async |ctx| both(ctx, "a", "b").await);
    assert!(world.replay_with(async |ctx| both(ctx, "a", "b").await).is_ok());
    let other = drift(&world, async |ctx| both(ctx, "b", "b").await);
    expect![[r#"signal "s" to another run, "a" / signal "s" to another run, "b""#]]
        .assert_eq(&format!("{} / {}", other.recorded, other.asked));
    let other = drift(&world, async |ctx| both(ctx, "a", "a").await);
    expect![[r#"cancel of another run, "b" / cancel of another run, "a""#]]
        .assert_eq(&format!("{} / {}", other.recorded, other.asked));
}

#[test]
fn a_childs_workflow_id_is_compared_if_it_was_given() {
    async fn with_id(ctx: Context, id: &str) -> Body {
        let mut spec = child("helper");
        spec.workflow_id = id.into();
        ctx.child(spec).await
    }
    let (world, _) = World::start(async |ctx| with_id(ctx, "one").await);
    assert!(world.replay_with(async |ctx| with_id(ctx, "").await).is_ok());
    let other = drift(&world, async |ctx| with_id(ctx, "two").await);
    expect![[r#"child "helper" as "one" / child "helper" as "two""#]]
        .assert_eq(&format!("{} / {}", other.recorded, other.asked));
    let (unnamed, _) = World::start(async |ctx| with_id(ctx, "").await);
    assert!(unnamed.replay_with(async |ctx| with_id(ctx, "").await).is_ok());
}

/// R76, R105: another winner of a race cancels something else; nothing else tells them apart.
#[test]
fn r76_r105_a_changed_winner_is_a_mismatch() {
    async fn race(ctx: Context, upside_down: bool) -> Body {
        let a = ctx.activity(activity("a")).start();
        let b = ctx.activity(activity("b")).start();
        let (x, y) = (ctx.signals("x"), ctx.signals("y"));
        ctx.signals("go").recv().await;
        // Both are ready, so the upper one wins.
        let x_won = match upside_down {
            false => matches!(either(x.recv(), y.recv()).await, Either::Left(_)),
            true => matches!(either(y.recv(), x.recv()).await, Either::Right(_)),
        };
        match x_won {
            true => drop(b),
            false => drop(a),
        }
        ctx.signals("end").recv().await;
        Ok(None)
    }
    let (mut world, _) = World::start(async |ctx| race(ctx, false).await);
    world.send_all([signals("x", ""), signals("y", "")]);
    world.send(signals("go", ""));
    let mismatch = drift(&world, async |ctx| race(ctx, true).await);
    assert_eq!(mismatch.difference, Difference::Cancels);
    expect![[r#"
        the code does not do what history says it did
          where:    event 15, the turn completed by event 15, first number 5 "a"
          recorded: cancels 6
          asked:    cancels 5
          hint:     a race has another winner, or something is dropped earlier or later than it
                    was. Look for `tokio::select!` without `biased` (use the select of this
                    crate), for iteration over a HashMap, and for clocks or random numbers that
                    are not the context's. If the code was changed, ask `patched` which way to
                    go"#]]
    .assert_eq(&mismatch.to_string());
}

/// R76, H8: code that cancels what history did not, and the other way round, at the first time too.
#[test]
fn r76_extra_and_missing_cancels_are_mismatches() {
    async fn keeps(ctx: Context) -> Body {
        let _work = ctx.activity(activity("work")).start();
        ctx.signals("go").recv().await;
        ctx.signals("end").recv().await;
        Ok(None)
    }
    async fn drops(ctx: Context) -> Body {
        let work = ctx.activity(activity("work")).start();
        ctx.signals("go").recv().await;
        drop(work);
        ctx.signals("end").recv().await;
        Ok(None)
    }
    let (mut kept, _) = World::start(keeps);
    kept.send(signals("go", ""));
    let extra = drift(&kept, drops);
    assert_eq!(extra.difference, Difference::Cancels);
    expect![[r#"
        the code does not do what history says it did
          where:    event 9, the turn completed by event 9, first number 5 "work"
          recorded: cancels nothing
          asked:    cancels 5
          hint:     a race has another winner, or something is dropped earlier or later than it
                    was. Look for `tokio::select!` without `biased` (use the select of this
                    crate), for iteration over a HashMap, and for clocks or random numbers that
                    are not the context's. If the code was changed, ask `patched` which way to
                    go"#]]
    .assert_eq(&extra.to_string());
    let (mut dropped, _) = World::start(drops);
    dropped.send(signals("go", ""));
    let missing = drift(&dropped, keeps);
    expect!["cancels 5 / cancels nothing"]
        .assert_eq(&format!("{} / {}", missing.recorded, missing.asked));
}

/// R77: only turns that were committed are compared. The last one here was not, and other code
/// may decide otherwise.
#[test]
fn r77_a_turn_that_was_not_committed_is_free() {
    let (mut world, _) = World::start(two_steps);
    world.deploy(async |ctx| {
        ctx.activity(activity("first")).await;
        ctx.activity(activity("something else")).await;
        Ok(None)
    });
    expect![[r#"
        11: activity something else
    "#]]
    .assert_eq(&world.send(completes(5, "")));
}

/// N7: scopes are compared as well, in order.
#[test]
fn n7_other_scopes_are_a_mismatch() {
    let (world, _) = World::start(async |ctx| {
        let scope = ctx.scope(async { ok(ctx.activity(activity("a")).await) });
        Ok(scope.name("part").await?)
    });
    let none = drift(&world, async |ctx| ok(ctx.activity(activity("a")).await));
    assert_eq!(none.difference, Difference::Scopes);
    expect![[r#"
        the code does not do what history says it did
          where:    event 4, the turn completed by event 4, decision 1
          recorded: scope 1 "part" opened inside scope 0
          asked:    no further step of a scope
          hint:     a race has another winner, or something is dropped earlier or later than it
                    was. Look for `tokio::select!` without `biased` (use the select of this
                    crate), for iteration over a HashMap, and for clocks or random numbers that
                    are not the context's. If the code was changed, ask `patched` which way to
                    go"#]]
    .assert_eq(&none.to_string());
    let renamed = world.replay_with(async |ctx| {
        let scope = ctx.scope(async { ok(ctx.activity(activity("a")).await) });
        Ok(scope.name("renamed").await?)
    });
    assert!(renamed.is_ok(), "a name is for people");
}

#[test]
fn work_that_is_let_go_of_is_compared() {
    async fn lets_go(ctx: Context) -> Body {
        ctx.activity(activity("mail")).detach();
        ctx.signals("end").recv().await;
        Ok(None)
    }
    let (world, _) = World::start(lets_go);
    let holds = drift(&world, async |ctx| {
        let _mail = ctx.activity(activity("mail")).start();
        ctx.signals("end").recv().await;
        Ok(None)
    });
    assert_eq!(holds.difference, Difference::Detached);
    expect!["lets go of 5 / lets go of nothing"]
        .assert_eq(&format!("{} / {}", holds.recorded, holds.asked));
}

#[test]
fn refused_updates_are_compared() {
    async fn strict(ctx: Context) -> Body {
        drop(ctx.updates("raise").offered().await);
        ctx.signals("end").recv().await;
        Ok(None)
    }
    let (mut world, _) = World::start(strict);
    world.send(updates("raise", "u1", ""));
    let deaf = drift(&world, async |ctx| {
        ctx.signals("end").recv().await;
        Ok(None)
    });
    assert_eq!(deaf.difference, Difference::Refused);
    expect![[r#"refuses updates ["u1"] / refuses updates []"#]]
        .assert_eq(&format!("{} / {}", deaf.recorded, deaf.asked));
}

#[test]
fn events_about_unknown_things_are_a_mismatch() {
    let mut world = recorded();
    world.send(completes(world.newest(), ""));
    let tamper = |change: fn(&mut Vec<Event>)| {
        let mut other = recorded();
        other.send(completes(other.newest(), ""));
        change(&mut other.history);
        drift(&other, two_steps)
    };
    let unknown = tamper(|history| {
        for event in history {
            if let EventKind::ActivityCompleted(e) = &mut event.kind {
                e.activity.0 += 90;
            }
        }
    });
    assert_eq!(unknown.difference, Difference::Unknown);
    expect![[r#"
        the code does not do what history says it did
          where:    event 7
          recorded: the end of activity 95
          asked:    no activity 95 that is open
          hint:     if the code was changed, ask `patched` which way to go. Otherwise look for
                    choices that are not the same each time: `tokio::select!` without `biased`
                    (use the select of this crate), iteration over a HashMap, clocks or random
                    numbers that are not the context's"#]]
    .assert_eq(&unknown.to_string());
    let skipped = tamper(|history| {
        for event in history {
            if let EventKind::TurnScheduled(_) = &event.kind {
                event.notes.push(Note::Skipped(Ranges::from(bowline_core::EventId(77))));
            }
        }
    });
    assert_eq!(skipped.difference, Difference::Unknown);
}

#[test]
fn a_history_out_of_order_is_told_as_such() {
    let tamper = |change: fn(&mut Vec<Event>)| {
        let mut other = recorded();
        other.send(completes(other.newest(), ""));
        change(&mut other.history);
        drift(&other, two_steps)
    };
    let changes: [fn(&mut Vec<Event>); 6] = [
        |history| drop(history.remove(0)),
        |history| drop(history.remove(3)),
        |history| history.swap(2, 3),
        |history| {
            let mut last = history.last().unwrap().clone();
            last.id = last.id.plus(1);
            history.push(last);
        },
        |history| {
            let mut first = history[0].clone();
            first.id = history.last().unwrap().id.plus(1);
            history.truncate(5);
            first.id = history.last().unwrap().id.plus(1);
            history.push(first);
        },
        |history| {
            // A message between the start of a turn and its end.
            let mut message = history[6].clone();
            history.truncate(3);
            message.id = history.last().unwrap().id.plus(1);
            history.push(message);
        },
    ];
    for change in changes {
        let mismatch = tamper(change);
        assert_eq!(mismatch.difference, Difference::Disorder, "{mismatch}");
    }
}

#[test]
fn a_dead_replay_says_the_same_for_ever() {
    let world = recorded();
    let code = async |ctx: Context| {
        ctx.activity(activity("other")).await;
        Ok(None)
    };
    let workflow = move |ctx: Context, _| code(ctx);
    let mut replay =
        bowline_replay::Replay::new(std::sync::Arc::new(workflow), bowline_core::RunId::default());
    let fault = world.history.iter().find_map(|event| replay.feed(event).err()).unwrap();
    assert_eq!(replay.settle().unwrap_err(), fault);
    assert_eq!(replay.commands().unwrap_err(), fault);
    assert_eq!(replay.feed(&world.history[0]).unwrap_err(), fault);
    assert!(replay.query("anything", None).is_err());
}
