//! A random workflow: what it does, as a tree.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
};

use bowline_core::ContinueAsNew;
use bowline_replay::{Context, Durable, Ended, Handle, LocalFuture, join_all, race, try_join_all};
use proptest::prelude::*;

use super::log::{self, Scopes};
use crate::support::*;

/// What a part of a workflow does.
#[derive(Clone, Debug)]
pub(crate) enum Plan {
    /// Awaits it.
    Await(Leaf),
    /// Starts it and goes on; it is dropped when the plan around ends.
    Start(Leaf),
    /// Starts it and forgets it.
    Forget(Leaf),
    /// Starts it and lets it go.
    Detach(Leaf),
    /// Starts it, cancels it, awaits its end.
    Cancel(Leaf),
    /// Waits for a signal.
    Signal,
    /// Fails.
    Fail,
    Sequence(Vec<Self>),
    Join(Vec<Self>),
    TryJoin(Vec<Self>),
    Race(Vec<Self>),
    Scope {
        body: Box<Self>,
        deadline: bool,
        cleanup: Option<Box<Self>>,
    },
    Shield(Box<Self>),
    /// Has a guard beside it, which says something when it is dropped.
    Guard(Box<Self>),
    /// Goes on as a new run.
    Continue,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Leaf {
    Activity,
    Timer,
    Child,
}

type Done = Result<(), Ended>;

/// Any plan of a bearable size.
pub(crate) fn any() -> impl Strategy<Value = Plan> {
    let leaf =
        || prop_oneof![4 => Just(Leaf::Activity), 1 => Just(Leaf::Timer), 1 => Just(Leaf::Child)];
    let small = prop_oneof![
        6 => leaf().prop_map(Plan::Await),
        2 => leaf().prop_map(Plan::Start),
        1 => leaf().prop_map(Plan::Forget),
        1 => leaf().prop_map(Plan::Detach),
        1 => leaf().prop_map(Plan::Cancel),
        1 => Just(Plan::Signal),
        1 => Just(Plan::Fail),
        1 => Just(Plan::Continue),
    ];
    small.prop_recursive(5, 24, 4, |inner| {
        let some = || prop::collection::vec(inner.clone(), 1..4);
        let body = inner.clone().prop_map(Box::new);
        let cleanup = prop::option::of(inner.clone().prop_map(Box::new));
        let scope = (body, any_bool(), cleanup).prop_map(|(body, deadline, cleanup)| Plan::Scope {
            body,
            deadline,
            cleanup,
        });
        let undone = (inner.clone(), inner.clone(), inner.clone()).prop_map(undone);
        prop_oneof![
            3 => some().prop_map(Plan::Sequence),
            2 => some().prop_map(Plan::Join),
            1 => some().prop_map(Plan::TryJoin),
            2 => some().prop_map(Plan::Race),
            4 => scope,
            2 => undone,
            2 => inner.clone().prop_map(|inner| Plan::Shield(Box::new(inner))),
            1 => inner.clone().prop_map(|inner| Plan::Guard(Box::new(inner))),
        ]
    })
}

/// Something is done in a shield, and has to be undone if something else does not end well.
fn undone((done, next, cleanup): (Plan, Plan, Plan)) -> Plan {
    let body = Plan::Sequence(vec![Plan::Shield(Box::new(done)), next]);
    Plan::Scope { body: Box::new(body), deadline: false, cleanup: Some(Box::new(cleanup)) }
}

fn any_bool() -> impl Strategy<Value = bool> {
    prop::bool::weighted(0.3)
}

impl Plan {
    /// A workflow that carries the plan out.
    pub(crate) fn workflow(
        &self,
    ) -> impl Fn(Context) -> LocalFuture<'static, Body> + Send + Sync + 'static {
        let plan = Arc::new(self.clone());
        move |ctx| {
            let plan = plan.clone();
            Box::pin(async move {
                carry_out(&ctx, &plan, Scopes::default()).await?;
                Ok(json("done"))
            })
        }
    }
}

/// Carries a plan out, inside these scopes.
fn carry_out(ctx: &Context, plan: &Plan, scopes: Scopes) -> LocalFuture<'static, Done> {
    let (ctx, plan) = (ctx.clone(), plan.clone());
    Box::pin(async move {
        match plan {
            Plan::Await(leaf) => leaf.start(&ctx, &scopes).end().await,
            Plan::Start(leaf) => {
                let _started = leaf.start(&ctx, &scopes);
                Ok(())
            }
            Plan::Forget(leaf) => {
                std::mem::forget(leaf.start(&ctx, &scopes));
                Ok(())
            }
            Plan::Detach(leaf) => {
                leaf.detach(&ctx);
                Ok(())
            }
            Plan::Cancel(leaf) => leaf.start(&ctx, &scopes).cancelled().await,
            Plan::Signal => {
                ctx.signals("s").recv().await;
                Ok(())
            }
            Plan::Fail => Err(failed("planned")),
            Plan::Sequence(parts) => sequence(&ctx, &parts, &scopes).await,
            Plan::Join(parts) => {
                let parts = parts.iter().map(|part| carry_out(&ctx, part, scopes.clone()));
                join_all(parts).await.into_iter().collect()
            }
            Plan::TryJoin(parts) => {
                let parts = parts.iter().map(|part| carry_out(&ctx, part, scopes.clone()));
                try_join_all(parts).await.map(drop)
            }
            Plan::Race(parts) => {
                race(parts.iter().map(|part| carry_out(&ctx, part, scopes.clone()))).await.1
            }
            Plan::Scope { body, deadline, cleanup } => {
                scope(&ctx, &body, deadline, cleanup, &scopes).await
            }
            Plan::Shield(inner) => ctx.shield(carry_out(&ctx, &inner, scopes)).await,
            Plan::Guard(inner) => {
                let _guard = Guard(ctx.clone());
                carry_out(&ctx, &inner, scopes).await
            }
            Plan::Continue => {
                scopes.continued();
                match ctx.continue_as_new(ContinueAsNew::default()).await {}
            }
        }
    })
}

/// What an earlier part has started stays until the last one is done.
async fn sequence(ctx: &Context, parts: &[Plan], scopes: &Scopes) -> Done {
    let mut beside = Vec::new();
    for part in parts {
        match part {
            Plan::Start(leaf) => beside.push(leaf.start(ctx, scopes)),
            part => carry_out(ctx, part, scopes.clone()).await?,
        }
    }
    Ok(())
}

async fn scope(
    ctx: &Context,
    body: &Plan,
    deadline: bool,
    cleanup: Option<Box<Plan>>,
    scopes: &Scopes,
) -> Done {
    let (inside, id) = scopes.inner(cleanup.is_some());
    let opened = inside.clone();
    let carried = carry_out(ctx, body, inside.clone());
    let mut scope = ctx.scope(async move {
        opened.opened(id);
        carried.await
    });
    if deadline {
        scope = scope.deadline(seconds(60));
    }
    if let Some(cleanup) = cleanup {
        let inside = inside.clone();
        scope = scope.cleanup(async move |ctx, stopped| {
            inside.cleaning(id, &ctx, &stopped);
            let result = carry_out(&ctx, &cleanup, inside.clone()).await;
            inside.cleaned(id);
            result
        });
    }
    let result = scope.await;
    inside.over(id, ctx, result.is_ok());
    Ok(result?)
}

/// Asks for something when it is dropped; nobody hears of it if that is not in a turn.
struct Guard(Context);

impl Drop for Guard {
    fn drop(&mut self) {
        let speaks = || {
            drop(self.0.timer(seconds(5)).start());
            self.0.activity(activity("last words")).detach();
        };
        if catch_unwind(AssertUnwindSafe(speaks)).is_err() {
            log::panicked();
        }
    }
}

/// Something that was started.
enum Started {
    Activity(Handle<bowline_core::ActivitySpec>),
    Timer(Handle<bowline_replay::Delay>),
    Child(Handle<bowline_core::ChildSpec>),
}

impl Leaf {
    fn start(self, ctx: &Context, scopes: &Scopes) -> Started {
        match self {
            Self::Activity => Started::Activity(noted(ctx.activity(activity("a")).start(), scopes)),
            Self::Timer => Started::Timer(ctx.timer(seconds(9)).start()),
            Self::Child => Started::Child(noted(ctx.child(child("c")).start(), scopes)),
        }
    }

    fn detach(self, ctx: &Context) {
        match self {
            Self::Activity => drop(ctx.activity(activity("a")).detach()),
            Self::Timer => drop(ctx.timer(seconds(9)).detach()),
            Self::Child => drop(ctx.child(child("c")).detach()),
        }
    }
}

fn noted<D: Durable>(handle: Handle<D>, scopes: &Scopes) -> Handle<D> {
    scopes.started(handle.number().0);
    handle
}

impl Started {
    async fn end(self) -> Done {
        match self {
            Self::Activity(handle) => ok(handle.await).map(drop),
            Self::Timer(handle) => handle.await.map_err(Ended::Cancelled),
            Self::Child(handle) => handle.await.map(drop),
        }
    }

    async fn cancelled(self) -> Done {
        let cancelled = match self {
            Self::Activity(handle) => Self::Activity(handle.cancel()),
            Self::Timer(handle) => Self::Timer(handle.cancel()),
            Self::Child(handle) => Self::Child(handle.cancel()),
        };
        // How it ended is no reason to fail.
        drop(cancelled.end().await);
        Ok(())
    }
}
