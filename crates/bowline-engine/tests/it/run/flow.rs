//! Signals, timers, races and joins, end to end: what workflow code is told, and in which order.

use std::time::Duration;

use bowline_core::{EventKind, Payload, RunEnding, Signal};
use bowline_engine::{Error, StartOptions};
use bowline_replay::{Either, either, join_all};

use crate::world::{
    Code, QUEUE, World, activity, current, done, ending, history, kinds, signal, start, text, until,
};

crate::world::on_every_store! {
    a_timer_rings_after_ninety_nine_years,
    signals_wait_in_order_until_somebody_asks,
    a_repeated_signal_counts_once,
    a_signal_looks_at_nothing_before_it_is_sent,
    a_start_with_a_signal_starts_or_signals,
    h9_a_signal_for_nobody_is_an_error_and_wedges_nobody,
    r61_a_race_has_one_winner_and_its_loser_is_cancelled,
    blocks_beside_each_other_are_joined_in_order,
    timers_of_one_moment_ring_in_the_order_of_their_setting,
}

fn numbered(name: &str, number: usize) -> Signal {
    Signal { input: Some(Payload::json(number.to_string())), ..signal(name) }
}

/// A signal that comes before anybody asks for it waits, and all of them keep their order.
async fn signals_wait_in_order_until_somebody_asks(world: World) {
    let flow = world.builder().flow("gather", |ctx, _| async move {
        ctx.timer(Duration::from_secs(5)).await.expect("nobody cancels it");
        let signals = ctx.signals("s");
        let mut got = String::new();
        for _ in 0..500 {
            got += &text(&signals.recv().await.input);
            got += " ";
        }
        Ok(Some(Payload::json(format!("{got:?}"))))
    });
    let engine = flow.start().await.expect("the engine starts");
    let run = start(&engine, "gather", "gather-1").await;
    until(&engine, run, "TimerStarted").await;
    for number in 0..400 {
        engine.signal(run, numbered("s", number)).await.expect("the signal is taken");
    }
    world.advance(Duration::from_secs(5));
    until(&engine, run, "TimerFired").await;
    for number in 400..500 {
        engine.signal(current("gather-1"), numbered("s", number)).await.expect("taken");
    }
    let wanted: String = (0..500).map(|number| format!("{number} ")).collect();
    let wanted = Payload::json(format!("{wanted:?}"));
    assert_eq!(ending(&engine, run).await, RunEnding::Completed(Some(wanted)));
}

/// A request that is sent again counts once, before and after it was consumed.
async fn a_repeated_signal_counts_once(world: World) {
    let engine = world
        .builder()
        .flow("two", |ctx, _| async move {
            ctx.signals("go").recv().await;
            ctx.signals("go").recv().await;
            Ok(Some(Payload::json(ctx.signals("go").waiting().to_string())))
        })
        .start()
        .await
        .expect("the engine starts");
    let run = start(&engine, "two", "two-1").await;
    let once = Signal { request_id: "r1".into(), ..signal("go") };
    engine.signal(run, once.clone()).await.expect("taken");
    engine.signal(run, once.clone()).await.expect("taken again");
    until(&engine, run, "WorkflowSignalled").await;
    engine.signal(run, once).await.expect("taken again");
    engine.signal(run, Signal { request_id: "r2".into(), ..signal("go") }).await.expect("taken");
    assert_eq!(ending(&engine, run).await, RunEnding::Completed(Some(Payload::json("0"))));
    let signals = kinds(&engine, run).await;
    assert_eq!(signals.iter().filter(|kind| **kind == "WorkflowSignalled").count(), 2);
}

/// The store knows by itself whether there is room for a signal: nobody reads the run first.
async fn a_signal_looks_at_nothing_before_it_is_sent(world: World) {
    let engine = world.builder().start().await.expect("the engine starts");
    let options = StartOptions::new("nobody-has-it", "far-1", QUEUE, None);
    let run = engine.start(options).await.expect("it begins");
    let before = world.book.counts();
    for number in 0..10 {
        engine.signal(run, numbered("s", number)).await.expect("taken");
        engine.signal(current("far-1"), numbered("s", number)).await.expect("taken");
    }
    let after = world.book.counts();
    assert_eq!(after.of("post") - before.of("post"), 20);
    assert_eq!(after.of("read"), before.of("read"));
}

/// Start-with-signal starts once; while that run is open, the signal goes to it.
async fn a_start_with_a_signal_starts_or_signals(world: World) {
    let engine = world
        .builder()
        .flow("cart", |ctx, _| async move {
            let first = ctx.signals("add").recv().await;
            let second = ctx.signals("add").recv().await;
            let both = format!("[{},{}]", text(&first.input), text(&second.input));
            Ok(Some(Payload::json(both)))
        })
        .start()
        .await
        .expect("the engine starts");
    let with = |number| StartOptions {
        signal: Some(numbered("add", number)),
        ..StartOptions::new("cart", "cart-1", QUEUE, None)
    };
    let run = engine.start(with(1)).await.expect("it starts");
    until(&engine, run, "TurnCompleted").await;
    let same = engine.start(with(2)).await.expect("the signal is taken");
    assert_eq!(same, run);
    assert_eq!(ending(&engine, run).await, RunEnding::Completed(Some(Payload::json("[1,2]"))));
    let kinds = kinds(&engine, run).await;
    assert_eq!(kinds[..3], ["WorkflowStarted", "WorkflowSignalled", "TurnScheduled"]);
    let next = engine.start(with(3)).await.expect("a closed run makes room");
    assert_ne!(next, run);
}

/// H9: a signal for a run that is missing or closed is an error, and disturbs nobody else.
async fn h9_a_signal_for_nobody_is_an_error_and_wedges_nobody(world: World) {
    let engine = world
        .builder()
        .flow("quick", |_, _| async move { Ok(None) })
        .start()
        .await
        .expect("the engine starts");
    let run = start(&engine, "quick", "quick-1").await;
    ending(&engine, run).await;
    let closed = engine.signal(run, signal("s")).await.expect_err("it is closed");
    assert!(matches!(closed, Error::Closed { run: named, .. } if named == run), "{closed}");
    let missing = engine.signal(current("nobody"), signal("s")).await.expect_err("no such run");
    assert!(matches!(missing, Error::NotFound("run")), "{missing}");
    let healthy = start(&engine, "quick", "quick-2").await;
    assert_eq!(ending(&engine, healthy).await, RunEnding::Completed(None));
}

/// A timer may be set for most of a century, and rings when the clock comes there, not before.
async fn a_timer_rings_after_ninety_nine_years(world: World) {
    const YEAR: Duration = Duration::from_secs(365 * 24 * 3600);
    let engine = world
        .builder()
        .flow("patience", |ctx, _| async move {
            let before = ctx.now();
            ctx.timer(YEAR * 99).await.expect("nobody cancels it");
            let years = ctx.now().since(before).as_secs() / YEAR.as_secs();
            Ok(Some(Payload::json(years.to_string())))
        })
        .start()
        .await
        .expect("the engine starts");
    let run = start(&engine, "patience", "patience-1").await;
    until(&engine, run, "TimerStarted").await;
    world.advance(YEAR * 98);
    let beside = start(&engine, "patience", "patience-2").await;
    until(&engine, beside, "TimerStarted").await;
    assert!(!kinds(&engine, run).await.contains(&"TimerFired"));
    world.advance(YEAR);
    assert_eq!(ending(&engine, run).await, RunEnding::Completed(Some(Payload::json("99"))));
    assert!(!kinds(&engine, beside).await.contains(&"TimerFired"));
}

/// R61: the loser of a race is cancelled in the turn that decided it; the winner's value counts.
async fn r61_a_race_has_one_winner_and_its_loser_is_cancelled(world: World) {
    let engine = world
        .builder()
        .flow("race", |ctx, _| async move {
            let quick = ctx.timer(Duration::from_secs(1));
            let slow = ctx.timer(Duration::from_secs(9));
            match either(slow, quick).await {
                Either::Left(_) => Ok(Some(Payload::json("\"slow\""))),
                Either::Right(_) => Ok(Some(Payload::json("\"quick\""))),
            }
        })
        .start()
        .await
        .expect("the engine starts");
    let run = start(&engine, "race", "race-1").await;
    until(&engine, run, "TimerStarted").await;
    world.advance(Duration::from_secs(1));
    assert_eq!(ending(&engine, run).await, RunEnding::Completed(Some(Payload::json("\"quick\""))));
    let events = history(&engine, run).await;
    let started: Vec<_> = events.iter().filter(|e| e.kind.name() == "TimerStarted").collect();
    let cancelled = events.iter().find_map(|event| match &event.kind {
        EventKind::TimerCancelled(e) => Some(e.timer),
        _ => None,
    });
    assert_eq!(cancelled, Some(started[0].id), "the slow one was asked for first");
}

/// Async blocks beside each other, each with several steps, give their values in their order.
async fn blocks_beside_each_other_are_joined_in_order(world: World) {
    let engine = world
        .builder()
        .flow("fan", |ctx, _| async move {
            let blocks = (0..20).map(|number| {
                let ctx = ctx.clone();
                async move {
                    ctx.timer(Duration::from_secs(20 - number)).await.expect("it rings");
                    let doubled = activity("double", &number.to_string());
                    done(ctx.activity(doubled).await)
                }
            });
            let mut all = Vec::new();
            for value in join_all(blocks).await {
                all.push(text(&value?));
            }
            Ok(Some(Payload::json(format!("[{}]", all.join(",")))))
        })
        .act("double", |_, input| async move {
            let number: u64 = text(&input).parse().expect("a number");
            Ok(Some(Payload::json((2 * number).to_string())))
        })
        .start()
        .await
        .expect("the engine starts");
    let run = start(&engine, "fan", "fan-1").await;
    until(&engine, run, "TimerStarted").await;
    world.advance(Duration::from_secs(20));
    let wanted: Vec<_> = (0..20).map(|number| (2 * number).to_string()).collect();
    let wanted = Payload::json(format!("[{}]", wanted.join(",")));
    assert_eq!(ending(&engine, run).await, RunEnding::Completed(Some(wanted)));
}

/// Two timers of the same moment ring in the order in which they were set.
async fn timers_of_one_moment_ring_in_the_order_of_their_setting(world: World) {
    let engine = world
        .builder()
        .flow("order", |ctx, _| async move {
            let timers: Vec<_> =
                (0..8).map(|_| ctx.timer(Duration::from_secs(3)).start()).collect();
            for timer in timers {
                timer.await.expect("it rings");
            }
            Ok(None)
        })
        .start()
        .await
        .expect("the engine starts");
    let run = start(&engine, "order", "order-1").await;
    until(&engine, run, "TimerStarted").await;
    world.advance(Duration::from_secs(3));
    ending(&engine, run).await;
    let events = history(&engine, run).await;
    let fired: Vec<_> = events
        .iter()
        .filter_map(|event| match &event.kind {
            EventKind::TimerFired(e) => Some(e.timer),
            _ => None,
        })
        .collect();
    assert_eq!(fired.len(), 8);
    assert!(fired.is_sorted());
}
