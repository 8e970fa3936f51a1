//! Long runs, many runs and wide runs: what they cost is counted, not timed.

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use bowline_core::{Outcome, Payload, RunEnding};
use bowline_engine::{Builder, Engine, StartOptions};
use bowline_replay::join_all;
use bowline_store::{Filter, Read};

use crate::{
    checked::Counts,
    support::{
        flows::{Flows, all, work},
        probe::Probe,
        stage::{self, comes_clean, slots},
    },
    world::{Code, QUEUE, World, activity, ending, idle, signal, start, text, until, within},
};

// The others count what the engine asks of its store: the same of every store, and dear on some.
crate::world::on_every_store! {
    a_decision_without_code_begins_at_a_snapshot,
    the_bound_on_held_runs_is_never_passed,
    two_thousand_activities_are_scheduled_by_one_turn,
}

/// Calls an activity as often as its input says, one after the other.
fn stairs(builder: Builder) -> Builder {
    builder
        .flow("stairs", |ctx, input| async move {
            let steps: u64 = text(&input).parse().expect("a number");
            for _ in 0..steps {
                let end = ctx.activity(activity("step", "1")).await;
                assert!(matches!(end, Outcome::Completed(_)), "{end:?}");
            }
            ctx.signals("end").recv().await;
            Ok(input)
        })
        .act("step", |_, _| async { Ok(None) })
}

async fn climb(engine: &Engine, id: &str, steps: u64) -> bowline_core::RunId {
    let input = Some(Payload::json(steps.to_string()));
    let run = engine.start(StartOptions::new("stairs", id, QUEUE, input)).await.expect("starts");
    within(&format!("{steps} steps"), async {
        // Start, first turn, and six events for every step.
        engine.grown(run, bowline_core::EventId(4 + 6 * steps)).await.expect("it is there");
    })
    .await;
    idle(engine, run).await;
    run
}

fn difference(before: &Counts, after: &Counts) -> BTreeMap<&'static str, u64> {
    let mut counts: BTreeMap<_, _> =
        after.calls.iter().map(|(name, calls)| (*name, calls - before.of(name))).collect();
    counts.insert("events written", after.events_written - before.events_written);
    counts.insert("events read", after.events_read - before.events_read);
    counts.insert("rows written", after.rows_written - before.rows_written);
    counts
}

/// Ten thousand steps cost, per step, what ten steps cost: nothing grows with the history.
#[tokio::test]
async fn a_step_of_a_long_run_costs_what_one_of_a_short_run_costs() {
    const MANY: u64 = 10_000;
    let world = World::memory();
    let engine = stairs(world.builder()).threads(1).start().await.expect("starts");
    let begun = world.book.counts();
    let counts = async |events: u64| {
        // A commit is visible a moment before it is counted.
        let counted = || world.book.counts().events_written - begun.events_written >= events;
        within("the last commit to be counted", async {
            while !counted() {
                tokio::task::yield_now().await;
            }
        })
        .await;
        world.book.counts()
    };
    // All events of a run but its first come with commits.
    climb(&engine, "none", 0).await;
    let none = counts(3).await;
    climb(&engine, "ten", 10).await;
    let ten = counts(3 + 63).await;
    climb(&engine, "many", MANY).await;
    let many = counts(3 + 63 + 3 + 6 * MANY).await;
    let empty = difference(&begun, &none);
    let short = difference(&none, &ten);
    let long = difference(&ten, &many);
    let fixed = |name: &str| empty.get(name).copied().unwrap_or(0);
    for name in ["commit", "settle", "events written", "rows written"] {
        let per_ten = short.get(name).copied().unwrap_or(0).saturating_sub(fixed(name));
        let of_many = long.get(name).copied().unwrap_or(0).saturating_sub(fixed(name));
        // An end that finds its thread busy for too long is written by itself.
        let slack = if ["commit", "settle"].contains(&name) { MANY / 20 } else { 0 };
        let difference = of_many.abs_diff(per_ten * MANY / 10);
        assert!(difference <= slack, "{name}: {short:?} against {long:?}");
    }
    // What an engine does when it has begun may come late, and has nothing to do with steps.
    for name in ["claim_runs", "sweep"] {
        assert!(long.get(name).is_none_or(|calls| *calls <= 10), "{name}: {long:?}");
    }
    // The waiting of the test itself reads heads; the engine reads an inbox now and then.
    assert_eq!(long["events read"], 0, "nothing is read that was just written: {long:?}");
    assert!(long["commit"] <= MANY + MANY / 20, "a step is one commit: {long:?}");
    assert!(long["read"] <= 4 * MANY, "{long:?}");
    assert!(long["claim_activities"] <= 2 * MANY, "{long:?}");
}

/// A long run that comes back into memory is replayed once, from events that are read once.
#[tokio::test]
async fn a_long_run_is_replayed_once() {
    const STEPS: u64 = 2_000;
    let mut world = World::memory();
    let calls = Arc::new(AtomicUsize::new(0));
    let engine = stairs(world.builder()).start().await.expect("starts");
    let run = climb(&engine, "long", STEPS).await;
    let events = engine.head(run).await.expect("").next_event.0 - 1;
    world.reopen();
    let counted = calls.clone();
    let engine = world
        .builder()
        .act("step", |_, _| async { Ok(None) })
        .flow("stairs", move |ctx, input| {
            counted.fetch_add(1, Ordering::Relaxed);
            async move {
                let steps: u64 = text(&input).parse().expect("a number");
                for _ in 0..steps {
                    ctx.activity(activity("step", "1")).await;
                }
                ctx.signals("end").recv().await;
                Ok(input)
            }
        })
        .start()
        .await
        .expect("starts");
    let before = world.book.counts();
    engine.signal(run, signal("end")).await.expect("taken");
    let end = ending(&engine, run).await;
    assert_eq!(end, RunEnding::Completed(Some(Payload::json(STEPS.to_string()))));
    let after = world.book.counts();
    // The closing batch is read once more, to say how it ended.
    let read = after.events_read - before.events_read;
    assert!((events..events + 20).contains(&read), "{read} of {events}");
    assert_eq!(calls.load(Ordering::Relaxed), 1);
}

/// An engine-only decision on a long run begins at a snapshot instead of the first event.
async fn a_decision_without_code_begins_at_a_snapshot(world: World) {
    const STEPS: u64 = 1_000;
    let engine = stairs(world.builder()).start().await.expect("starts");
    let run = climb(&engine, "long", STEPS).await;
    let read = engine.read(Read::state(run)).await.expect("it reads");
    let snapshot = read.snapshot.expect("there is one");
    let events = engine.head(run).await.expect("").next_event.0 - 1;
    assert!(events - snapshot.at.0 < 2_000, "{events}, {}", snapshot.at.0);
    assert!(read.batches.iter().all(|batch| batch.last > snapshot.at));
}

/// Never more runs are held than was said, however many there are and however they are woken.
async fn the_bound_on_held_runs_is_never_passed(world: World) {
    const MOST: usize = 7;
    let most = Arc::new(AtomicUsize::new(0));
    let engine = world
        .builder()
        .flow("pulse", |ctx, _| async move {
            for _ in 0..3 {
                ctx.signals("beat").recv().await;
            }
            Ok(None)
        })
        .cached_runs(MOST)
        .threads(2)
        .start()
        .await
        .expect("starts");
    let watching = {
        let (engine, most) = (engine.clone(), most.clone());
        tokio::spawn(async move {
            loop {
                let all = Filter { limit: 1_000, ..Filter::default() };
                let page = engine.find(all).await.expect("it lists");
                let held = page.runs.iter().filter(|head| head.holder.is_some()).count();
                most.fetch_max(held, Ordering::SeqCst);
                tokio::task::yield_now().await;
            }
        })
    };
    let mut runs = Vec::new();
    for number in 0..100 {
        runs.push(start(&engine, "pulse", &format!("p-{number}")).await);
    }
    for _ in 0..3 {
        for run in &runs {
            engine.signal(*run, signal("beat")).await.expect("taken");
        }
    }
    for run in runs {
        assert_eq!(ending(&engine, run).await, RunEnding::Completed(None));
    }
    watching.abort();
    let most = most.load(Ordering::SeqCst);
    assert!((1..=MOST).contains(&most), "{most} were held at once");
}

/// Ten thousand runs that wait cost nothing when the next process opens the store: none of them is
/// replayed until something happens to it.
#[tokio::test]
async fn ten_thousand_waiting_runs_are_opened_without_being_read() {
    const MANY: usize = 10_000;
    let mut world = World::memory();
    let build = |world: &World| {
        world
            .builder()
            .flow("waiter", |ctx, _| async move {
                ctx.timer(Duration::from_secs(3_600)).await.expect("it rings");
                Ok(None)
            })
            .cached_runs(100)
    };
    let engine = build(&world).start().await.expect("starts");
    let mut runs = Vec::with_capacity(MANY);
    for number in 0..MANY {
        runs.push(start(&engine, "waiter", &format!("w-{number}")).await);
    }
    for run in &runs {
        let set = engine.grown(*run, bowline_core::EventId(5));
        within("the timer to be set", set).await.expect("it is there");
    }
    within("the close", engine.close(Duration::from_secs(1))).await.expect("it closes");
    world.reopen();
    let before = world.book.counts();
    let engine = build(&world).start().await.expect("starts");
    let fresh = start(&engine, "waiter", "fresh").await;
    until(&engine, fresh, "TimerStarted").await;
    let opened = difference(&before, &world.book.counts());
    assert!(opened["events read"] < 100, "{opened:?}");
    assert!(opened.values().sum::<u64>() < 200, "{opened:?}");
    world.advance(Duration::from_secs(3_600));
    for run in runs {
        let (_, end) = within("the run to close", engine.outcome(run)).await.expect("it does");
        assert_eq!(end, RunEnding::Completed(None));
    }
}

/// Two thousand activities are scheduled by one turn, in one commit, and all of them end.
async fn two_thousand_activities_are_scheduled_by_one_turn(world: World) {
    const MANY: usize = 2_000;
    let engine = world
        .builder()
        .flow("fan", |ctx, _| async move {
            let calls = (0..MANY).map(|number| ctx.activity(activity("echo", &number.to_string())));
            let mut sum = 0;
            for end in join_all(calls).await {
                let Outcome::Completed(result) = end else { panic!("{end:?}") };
                sum += text(&result).parse::<usize>().expect("a number");
            }
            Ok(Some(Payload::json(sum.to_string())))
        })
        .act("echo", |_, input| async move { Ok(input) })
        .start()
        .await
        .expect("starts");
    let run = start(&engine, "fan", "fan-1").await;
    let sum = MANY * (MANY - 1) / 2;
    let end = ending(&engine, run).await;
    assert_eq!(end, RunEnding::Completed(Some(Payload::json(sum.to_string()))));
    let read = engine.read(Read::whole(run)).await.expect("it reads");
    let batches = read.batches.iter().map(|batch| batch.events().expect("it reads"));
    let scheduled = batches.map(|events| {
        events.iter().filter(|event| event.kind.name() == "ActivityScheduled").count()
    });
    let scheduled: Vec<_> = scheduled.filter(|count| *count > 0).collect();
    assert_eq!(scheduled, [MANY]);
}

/// R100: a hundred runs with five activities each, more than there are slots and every slot busy,
/// are cancelled together: what ran is told, what waited never starts, every receipt comes clean,
/// and all slots are free for what comes next.
#[tokio::test]
async fn r100_a_hundred_busy_runs_are_cancelled_together_and_every_slot_is_free() {
    const RUNS: usize = 100;
    const SLOTS: usize = 100;
    stage::each(async |stage| {
        let (probe, next) = (Probe::new(), Probe::new());
        let engine = stage
            .builder_with(slots(SLOTS))
            .fan(work(10, 5), 5)
            .activity("work", probe.obeys())
            .flow("next", |ctx, _| async move {
                let ended = all(ctx, activity("next", "1"), SLOTS).await?;
                assert!(ended.iter().all(|end| matches!(end, Outcome::Completed(_))), "{ended:?}");
                Ok(None)
            })
            .activity("next", next.obeys())
            .up()
            .await;
        let mut runs = Vec::new();
        for n in 0..RUNS {
            runs.push(start(&engine, "fan", &format!("fan-{n}")).await);
        }
        probe.has_begun(SLOTS).await;
        let all_queued = async {
            for run in &runs {
                until(&engine, *run, "TurnCompleted").await;
            }
        };
        within("every run to have asked", all_queued).await;
        assert_eq!((probe.running(), probe.begun()), (SLOTS, SLOTS), "every slot is busy");
        let requests = runs.iter().map(|run| stage::cancel(&engine, *run));
        for receipt in join_all(requests).await {
            let left = comes_clean(&engine, receipt).await;
            assert_eq!(left.attempts.len() as u64 + left.never_started, 5, "{left:#?}");
        }
        assert_eq!(probe.running(), 0);
        // While some stop, their slots may be had by what is not cancelled yet, and is then told.
        assert_eq!(probe.causes().len(), probe.begun());
        for run in runs {
            let ended = ending(&engine, run).await;
            assert!(matches!(ended, RunEnding::Cancelled(..)), "{ended:?}");
        }
        let after = start(&engine, "next", "next-1").await;
        next.has_begun(SLOTS).await;
        next.finish(SLOTS);
        assert_eq!(ending(&engine, after).await, RunEnding::Completed(None));
    })
    .await;
}
