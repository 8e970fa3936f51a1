//! Runs that leave memory and come back: replay gives the same answers, and is had only once.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use bowline_core::{Payload, RunEnding};
use bowline_engine::Builder;
use parking_lot::Mutex;

use crate::world::{Code, World, activity, done, ending, kinds, signal, start, text, until};

crate::world::on_every_store! {
    what_the_code_saw_it_sees_again_at_every_replay,
    a_patch_divides_old_runs_from_new_ones,
    a_run_in_memory_is_not_replayed,
}

/// What the code has seen, each time that it was run from the beginning.
#[derive(Clone, Default)]
struct Seen(Arc<Mutex<Vec<Vec<String>>>>);

impl Seen {
    fn enter(&self) -> usize {
        let mut all = self.0.lock();
        all.push(Vec::new());
        all.len() - 1
    }

    fn see(&self, place: usize, what: impl ToString) {
        self.0.lock()[place].push(what.to_string());
    }
}

/// Draws, looks at the clock, and waits for signals in between.
fn diviner(builder: Builder, seen: Seen) -> Builder {
    builder.flow("diviner", move |ctx, _| {
        let seen = seen.clone();
        async move {
            let place = seen.enter();
            for _ in 0..4 {
                seen.see(place, ctx.random());
                seen.see(place, ctx.uuid());
                seen.see(place, format!("{:?}", ctx.now()));
                seen.see(place, ctx.patched("newer"));
                let result = done(ctx.activity(activity("echo", "1")).await)?;
                seen.see(place, text(&result));
                ctx.signals("next").recv().await;
            }
            Ok(None)
        }
    })
}

/// now, random, uuid and patched are the same at every replay, whether the run was evicted or the
/// process is another one.
async fn what_the_code_saw_it_sees_again_at_every_replay(mut world: World) {
    let seen = Seen::default();
    let build = |world: &World| {
        diviner(world.builder(), seen.clone())
            .act("echo", |_, input| async move { Ok(input) })
            .flow("other", |_, _| async { Ok(None) })
            .cached_runs(1)
            .threads(1)
    };
    let engine = build(&world).start().await.expect("starts");
    let run = start(&engine, "diviner", "d-1").await;
    until(&engine, run, "ActivityCompleted").await;
    world.advance(Duration::from_millis(123));
    engine.signal(run, signal("next")).await.expect("taken");
    crate::world::idle(&engine, run).await;
    let other = start(&engine, "other", "o-1").await;
    ending(&engine, other).await;
    world.advance(Duration::from_millis(456));
    engine.signal(run, signal("next")).await.expect("taken");
    crate::world::idle(&engine, run).await;
    world.reopen();
    let engine = build(&world).start().await.expect("starts");
    engine.signal(run, signal("next")).await.expect("taken");
    engine.signal(run, signal("next")).await.expect("taken");
    assert_eq!(ending(&engine, run).await, RunEnding::Completed(None));
    let seen = seen.0.lock();
    assert!(seen.len() >= 3, "first, evicted, another process: {}", seen.len());
    let whole = seen.last().expect("it ran");
    assert_eq!(whole.len(), 20);
    for earlier in seen.iter() {
        assert_eq!(earlier[..], whole[..earlier.len()]);
    }
    assert_ne!(whole[0], whole[5], "each draw is another one");
}

/// A run that began before a change stays on its old side; one that begins after it is on the new
/// one; both go on under the same code.
async fn a_patch_divides_old_runs_from_new_ones(mut world: World) {
    let old = |world: &World| {
        world.builder().flow("w", |ctx, _| async move {
            let first = done(ctx.activity(activity("old", "1")).await)?;
            ctx.signals("go").recv().await;
            Ok(first)
        })
    };
    let acts = |builder: Builder| {
        builder
            .act("old", |_, _| async { Ok(Some(Payload::json("\"old\""))) })
            .act("new", |_, _| async { Ok(Some(Payload::json("\"new\""))) })
    };
    let engine = acts(old(&world)).start().await.expect("starts");
    let before = start(&engine, "w", "w-1").await;
    until(&engine, before, "ActivityCompleted").await;
    crate::world::idle(&engine, before).await;
    world.reopen();
    let changed = world.builder().flow("w", |ctx, _| async move {
        let which = if ctx.patched("better") { "new" } else { "old" };
        let first = done(ctx.activity(activity(which, "1")).await)?;
        ctx.signals("go").recv().await;
        Ok(first)
    });
    let engine = acts(changed).start().await.expect("starts");
    let after = start(&engine, "w", "w-2").await;
    until(&engine, after, "ActivityCompleted").await;
    for run in [before, after] {
        engine.signal(run, signal("go")).await.expect("taken");
    }
    let said = |json: &str| RunEnding::Completed(Some(Payload::json(json)));
    assert_eq!(ending(&engine, before).await, said("\"old\""));
    assert_eq!(ending(&engine, after).await, said("\"new\""));
    assert!(!kinds(&engine, before).await.contains(&"MarkerRecorded"));
    assert!(kinds(&engine, after).await.contains(&"MarkerRecorded"));
}

/// A turn on a run in memory does not run its code again from the beginning.
async fn a_run_in_memory_is_not_replayed(world: World) {
    let begun = Arc::new(AtomicUsize::new(0));
    let counted = begun.clone();
    let engine = world
        .builder()
        .flow("steps", move |ctx, _| {
            counted.fetch_add(1, Ordering::Relaxed);
            async move {
                for _ in 0..50 {
                    ctx.signals("next").recv().await;
                }
                Ok(None)
            }
        })
        .start()
        .await
        .expect("starts");
    let run = start(&engine, "steps", "s-1").await;
    for _ in 0..50 {
        engine.signal(run, signal("next")).await.expect("taken");
        crate::world::idle(&engine, run).await;
    }
    ending(&engine, run).await;
    assert_eq!(begun.load(Ordering::Relaxed), 1);
}
