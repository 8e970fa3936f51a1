//! Guards of the user's whose `Drop` uses the context: in a turn they speak, elsewhere they say
//! nothing, and they never panic. A second panic while the first unwinds would end the process.

use std::{
    cell::Cell,
    collections::BTreeMap,
    rc::Rc,
    task::{self, Poll, Waker},
};

use bowline_core::{CancelExternal, ContinueAsNew, Failure, SignalExternal};
use bowline_replay::{Context, Fault, Handle, either, join_all};
use expect_test::expect;

use crate::support::*;

/// Does everything that can be done with a context, when it is dropped.
struct Guard {
    ctx: Context,
    held: Option<Handle<bowline_core::ActivitySpec>>,
    /// Another guard, which is dropped with this one.
    next: Option<Box<Self>>,
}

impl Guard {
    fn pair(ctx: &Context) -> Self {
        let next = Self { ctx: ctx.clone(), held: None, next: None };
        Self { ctx: ctx.clone(), held: None, next: Some(Box::new(next)) }
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        drop(self.next.take());
        let ctx = &self.ctx;
        if let Some(held) = self.held.take() {
            drop(held.cancel());
        }
        drop(ctx.activity(activity("guard")).start());
        ctx.activity(activity("last words")).detach();
        drop(ctx.timer(seconds(1)).start());
        drop(ctx.child(child("guard")).start());
        ctx.signal_external(SignalExternal::default()).detach();
        ctx.cancel_external(CancelExternal::default()).detach();
        ctx.child(child("heir")).start().detach();
        let (name, now, why) = (ctx.info().run, ctx.now(), ctx.cause());
        let _ = (name, now, why, ctx.random(), ctx.uuid(), ctx.history());
        ctx.patched("in a guard");
        ctx.upsert_search(BTreeMap::new());
        ctx.modify_memo(BTreeMap::new());
        ctx.marker(bowline_core::RecordMarker::default());
        let own = ctx.clone();
        ctx.expose("guard", move |_| Ok(json(own.now().0.to_string())));
        let _ = ctx.signals("guard").try_recv();
        polled(ctx.signals("guard").recv());
        polled(ctx.updates("guard").recv());
        polled(ctx.activity(activity("polled")));
        let inner = ctx.clone();
        polled(ctx.shield(async move { inner.activity(activity("shielded")).await }));
        let inner = ctx.clone();
        let cleanup = async move |_: Context, _| {
            drop(inner);
            Ok(())
        };
        polled(ctx.scope(async { ok(ctx.activity(activity("scoped")).await) }).cleanup(cleanup));
        polled(join_all([ctx.timer(seconds(3))]));
        polled(ctx.continue_as_new(ContinueAsNew::default()));
    }
}

/// Polls a future once, as nobody, and drops it.
fn polled(future: impl Future) {
    let mut future = Box::pin(future);
    let polled = future.as_mut().poll(&mut task::Context::from_waker(Waker::noop()));
    drop((polled.is_ready(), future));
}

/// A body with guards wherever it can have them.
async fn guarded(ctx: Context) -> Body {
    let _first = Guard::pair(&ctx);
    let mut second = Guard::pair(&ctx);
    second.held = Some(ctx.activity(activity("held")).start());
    let shown = Guard::pair(&ctx);
    ctx.expose("state", move |_| {
        let _shown = &shown;
        Ok(None)
    });
    let (shielded, inner) = (Guard::pair(&ctx), ctx.clone());
    let shield = ctx.shield(async move {
        let _shielded = shielded;
        inner.signals("never").recv().await
    });
    let cleaned = Guard::pair(&ctx);
    let scope = ctx.scope(async {
        either(shield, ctx.signals("leave").recv()).await;
        ok(ctx.activity(activity("part")).await)
    });
    let cleanup = async move |ctx: Context, _| {
        let _cleaned = cleaned;
        ok(ctx.activity(activity("clean")).await).map(drop)
    };
    scope.deadline(seconds(60)).cleanup(cleanup).await?;
    drop(second);
    Ok(None)
}

/// Eviction and shutdown drop a replay between two turns. A guard's panic was caught there, and
/// the second guard's ended the process.
#[test]
fn guards_are_evicted_in_peace() {
    let (mut world, _) = World::start(guarded);
    let before = world.history.clone();
    world.evict();
    assert_eq!(world.history, before);
    // Also with a shield that the run has adopted, and in the middle of a clean-up.
    world.send(signals("leave", ""));
    world.evict();
    world.send(fails(world.number("part"), "no"));
    world.evict();
    world.check_prefixes();
}

#[test]
fn guards_of_a_run_that_was_never_begun_or_is_closed_are_dropped_in_peace() {
    let world = World::new(guarded);
    drop(world);
    let (world, _) = World::start(async |ctx| {
        let shown = Guard::pair(&ctx);
        ctx.expose("state", move |_| {
            let _shown = &shown;
            Ok(None)
        });
        Ok(None)
    });
    assert!(world.closed());
    drop(world);
}

/// While the user's code unwinds nothing is said, and nobody panics a second time.
#[test]
fn guards_are_unwound_in_peace() {
    let (mut world, _) = World::start(async |ctx| {
        let _first = Guard::pair(&ctx);
        let (second, inner) = (Guard::pair(&ctx), ctx.clone());
        let scope = ctx.scope(async move {
            let _second = second;
            inner.signals("go").recv().await;
            panic!("in the middle")
        });
        let cleaned = Guard::pair(&ctx);
        let cleanup = async move |_, _| {
            drop(cleaned);
            Ok(())
        };
        scope.cleanup(cleanup).await?;
        Ok(None)
    });
    world.post(signals("go", ""));
    let Err(Fault::Panicked(failure)) = world.try_turn() else { panic!("it did not panic") };
    expect!["panic: in the middle"].assert_eq(&failure.to_string());
    drop(world);
}

/// A query must not ask for anything, and says so; its guards do not make that worse.
#[test]
fn guards_in_a_query_do_not_end_the_process() {
    let (mut world, _) = World::start(async |ctx| {
        let inner = ctx.clone();
        ctx.expose("bad", move |_| {
            let (_one, _two) = (Guard::pair(&inner), Guard::pair(&inner));
            let unused = Guard::pair(&inner);
            let cleanup = async move |_, _| {
                drop(unused);
                Ok(())
            };
            polled(inner.scope(async { Ok(()) }).cleanup(cleanup));
            Err(Failure::new("never said"))
        });
        ctx.signals("end").recv().await;
        Ok(None)
    });
    let answer = world.replay.query("bad", None).unwrap_err();
    assert!(answer.to_string().contains("only inside a turn, not in a query"), "{answer}");
    world.send(signals("end", ""));
    assert!(world.closed());
}

/// In a turn a guard speaks like anybody else, and what it says is replayed.
#[test]
fn a_guard_that_is_dropped_in_a_turn_speaks() {
    struct Last(Context);
    impl Drop for Last {
        fn drop(&mut self) {
            self.0.activity(activity("last words")).detach();
        }
    }
    let (mut world, _) = World::start(async |ctx| {
        let _last = Last(ctx.clone());
        ctx.signals("never").recv().await;
        Ok(None)
    });
    expect![[r#"
        9: activity last words
        detach 9
        10: cancelled: requested by alice (enough)
    "#]]
    .assert_eq(&world.send(cancels("alice")));
    world.check_prefixes();
}

/// What the clean-up of a scope has captured is dropped when the scope was done, in the very turn:
/// a call among it is cancelled, and a guard may speak. Both were lost or ended in a panic.
#[test]
fn what_an_unused_clean_up_has_captured_is_dropped_aloud() {
    struct Last(Context);
    impl Drop for Last {
        fn drop(&mut self) {
            self.0.activity(activity("last words")).detach();
        }
    }
    let (mut world, _) = World::start(async |ctx| {
        let (beside, last) = (ctx.activity(activity("beside")).start(), Last(ctx.clone()));
        let scope = ctx.scope(async { ok(ctx.activity(activity("part")).await) });
        let cleanup = async move |_, _| {
            drop((beside, last));
            Ok(())
        };
        scope.cleanup(cleanup).await?;
        ctx.signals("end").recv().await;
        Ok(None)
    });
    expect![[r#"
        12: activity last words
        left 1
        detach 12
        drop Activities 5 in 0: future_dropped
    "#]]
    .assert_eq(&world.send(completes(6, "")));
    world.check_prefixes();
}

/// A context that outlives its run is of no use, and does no harm.
#[test]
fn a_context_that_outlives_its_run_does_nothing() {
    thread_local! {
        static KEPT: Cell<Option<Context>> = const { Cell::new(None) };
    }
    let (world, _) = World::start(async |ctx| {
        KEPT.set(Some(ctx.clone()));
        ctx.signals("never").recv().await;
        Ok(None)
    });
    drop(world);
    let ctx = KEPT.take().unwrap();
    let mut call = Box::pin(ctx.activity(activity("too late")));
    let polled = call.as_mut().poll(&mut task::Context::from_waker(Waker::noop()));
    assert_eq!(polled, Poll::Pending);
    drop(Guard::pair(&ctx));
    // Nobody keeps what is exposed to nobody.
    let kept = Rc::new(());
    let shown = kept.clone();
    ctx.expose("state", move |_| {
        let _shown = &shown;
        Ok(None)
    });
    assert_eq!(Rc::strong_count(&kept), 1);
}
