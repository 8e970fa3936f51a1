//! The code that all processes run.

use std::{future::ready, sync::Arc, time::Duration};

use bowline_core::{
    ActivitySpec, ChildSpec, Failure, Name, Outcome, Payload, Queue, RunId, Rung, UpdateRequest,
};
use bowline_engine::{
    Builder, QueueOptions,
    worker::{activity::ActivityContext, registry::activity_fn},
};
use bowline_replay::{Context, Either, Ended, either};

/// What children work on.
pub(crate) const QUEUE: &str = "q";

/// Two builds of the same program. Neither can go on with what the other has begun: `order` has
/// another step, which one of them has not registered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Build {
    Old,
    New,
}

impl Build {
    pub(crate) fn read(name: &str) -> Self {
        match name {
            "new" => Self::New,
            _ => Self::Old,
        }
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Old => "old",
            Self::New => "new",
        }
    }
}

/// An engine that runs all of it, as a build has it.
pub(crate) fn registered(builder: Builder, build: Build) -> Builder {
    let builder = match build {
        Build::Old => known(builder),
        Build::New => others(builder)
            .workflow("order", Arc::new(order_anew))
            .activity("extra", activity_fn(|_, input| async move { Ok(input) })),
    };
    builder
        .queue(QUEUE, QueueOptions::default())
        .activity("step", activity_fn(|_, input| async move { Ok(input) }))
        .activity("hold", activity_fn(until_told))
        .activity("linger", activity_fn(lingers))
        .activity("process", activity_fn(has_process))
        .activity("pulse", activity_fn(pulses))
}

/// An engine that knows the workflows, so that it can be asked about them, and works on nothing.
pub(crate) fn known(builder: Builder) -> Builder {
    others(builder).workflow("order", Arc::new(order))
}

/// The workflows that are the same in both builds.
fn others(builder: Builder) -> Builder {
    builder
        .workflow("leaf", Arc::new(leaf))
        .workflow("hold", Arc::new(hold))
        .workflow("linger", Arc::new(linger))
        .workflow("fan", Arc::new(fan))
        .workflow("count", Arc::new(count))
        .workflow("crew", Arc::new(crew))
        .workflow("hand", Arc::new(hand))
        .workflow("pulse", Arc::new(pulse))
}

fn activity(name: &str) -> ActivitySpec {
    let (name, queue) = (Name::from(name), Queue::from(QUEUE));
    ActivitySpec { name, queue, input: Some(Payload::json("1")), ..ActivitySpec::default() }
}

fn child(name: &str) -> ChildSpec {
    ChildSpec { name: name.into(), ..ChildSpec::default() }
}

fn done(outcome: Outcome) -> Result<(), Ended> {
    match outcome {
        Outcome::Completed(_) => Ok(()),
        Outcome::Cancelled(cause, ..) => Err(Ended::Cancelled(cause)),
        other => Err(Ended::Failed(Failure::new(format!("{other:?}")))),
    }
}

/// Works, has a child, holds something until it is told to go on or to stop, and cleans up if it
/// is stopped.
async fn order(ctx: Context, _: Option<Payload>) -> Result<Option<Payload>, Ended> {
    let inner = ctx.clone();
    let held = ctx.scope(async move {
        done(inner.activity(activity("step")).await)?;
        inner.child(child("leaf")).await?;
        let (go, hold) = (inner.signals("go"), inner.activity(activity("hold")));
        match either(go.recv(), hold).await {
            Either::Left(_) => Ok(()),
            Either::Right(outcome) => done(ready(outcome).await),
        }
    });
    let clean = async |ctx: Context, _stopped| done(ctx.activity(activity("step")).await);
    if let Err(stopped) = held.cleanup(clean).await {
        return Err(stopped.why);
    }
    ctx.timer(Duration::from_millis(1)).await.map_err(Ended::Cancelled)?;
    done(ctx.activity(activity("step")).await)?;
    Ok(None)
}

/// The same in the newer build.
async fn order_anew(ctx: Context, input: Option<Payload>) -> Result<Option<Payload>, Ended> {
    done(ctx.activity(activity("extra")).await)?;
    order(ctx, input).await
}

/// A short life.
async fn leaf(ctx: Context, _: Option<Payload>) -> Result<Option<Payload>, Ended> {
    done(ctx.activity(activity("step")).await)?;
    ctx.timer(Duration::from_millis(20)).await.map_err(Ended::Cancelled)?;
    Ok(None)
}

/// One activity that goes on until it is cancelled; the run says how that ended.
async fn hold(ctx: Context, _: Option<Payload>) -> Result<Option<Payload>, Ended> {
    let said = match ctx.activity(activity("hold")).await {
        Outcome::Cancelled(_, Rung::Signal, _) => "\"told\"".to_owned(),
        other => format!("{:?}", format!("{other:?}")),
    };
    Ok(Some(Payload::json(said)))
}

/// One that takes its time to stop.
async fn linger(ctx: Context, _: Option<Payload>) -> Result<Option<Payload>, Ended> {
    done(ctx.activity(activity("linger")).await)?;
    Ok(None)
}

/// Many of them at once.
async fn fan(ctx: Context, _: Option<Payload>) -> Result<Option<Payload>, Ended> {
    let calls: Vec<_> = (0..100).map(|_| ctx.activity(activity("hold")).start()).collect();
    for outcome in bowline_replay::join_all(calls).await {
        done(outcome)?;
    }
    Ok(None)
}

/// How many children a crew has.
pub(crate) const HANDS: usize = 5;

/// Children, each of which has a process.
async fn crew(ctx: Context, _: Option<Payload>) -> Result<Option<Payload>, Ended> {
    let hands: Vec<_> = (0..HANDS).map(|_| ctx.child(child("hand")).start()).collect();
    for hand in bowline_replay::join_all(hands).await {
        hand?;
    }
    Ok(None)
}

async fn hand(ctx: Context, _: Option<Payload>) -> Result<Option<Payload>, Ended> {
    done(ctx.activity(activity("process")).await)?;
    Ok(None)
}

/// Code that has a process, and leaves it to the engine when it is told to stop.
async fn has_process(ctx: ActivityContext, _: Option<Payload>) -> Result<Option<Payload>, Failure> {
    let mut command = std::process::Command::new("sleep");
    command.arg("600");
    let child = ctx.spawn_process(command).map_err(|error| Failure::new(error.to_string()))?;
    crate::child::say(format_args!("{PROCESS}{}", child.id()));
    let cause = ctx.cancelled().await;
    Err(Failure::new(cause.to_string()))
}

/// One activity that says all the time that it lives.
async fn pulse(ctx: Context, _: Option<Payload>) -> Result<Option<Payload>, Ended> {
    ctx.activity(activity("pulse")).await;
    Ok(None)
}

async fn pulses(ctx: ActivityContext, _: Option<Payload>) -> Result<Option<Payload>, Failure> {
    let _gone = Gone(ctx.info().run);
    loop {
        crate::child::say(format_args!("{PULSE}{}", ctx.info().attempt));
        let pause = tokio::time::timeout(Duration::from_millis(20), ctx.cancelled());
        if let Ok(cause) = pause.await {
            return Err(Failure::new(cause.to_string()));
        }
    }
}

/// What a child says before the number of an attempt whose code lives.
pub(crate) const PULSE: &str = "lives: attempt ";

/// What a child says before the number of a process that its code has begun.
pub(crate) const PROCESS: &str = "has begun process ";

/// Counts what it is told to add, and says how much that is.
async fn count(ctx: Context, _: Option<Payload>) -> Result<Option<Payload>, Ended> {
    let sum = std::rc::Rc::new(std::cell::Cell::new(0));
    let shown = sum.clone();
    ctx.expose("sum", move |_| Ok(Some(Payload::json(shown.get().to_string()))));
    let (adds, end) = (ctx.updates("add"), ctx.signals("end"));
    loop {
        match either(end.recv(), adds.offered()).await {
            Either::Left(_) => return Ok(Some(Payload::json(sum.get().to_string()))),
            Either::Right(offer) => {
                sum.set(sum.get() + 1);
                offer.accept().reply(Ok(Some(Payload::json(sum.get().to_string()))));
            }
        }
    }
}

/// Asks `count` to add one.
pub(crate) fn add(id: &str) -> UpdateRequest {
    UpdateRequest { id: id.into(), name: "add".into(), ..UpdateRequest::default() }
}

async fn until_told(ctx: ActivityContext, _: Option<Payload>) -> Result<Option<Payload>, Failure> {
    let _gone = Gone(ctx.info().run);
    crate::child::say(format_args!("{}", holds(ctx.info().run)));
    let cause = ctx.cancelled().await;
    crate::child::say(format_args!("told {}", cause.code));
    Err(Failure::new(cause.to_string()))
}

/// What a child says when its code has begun to hold something for a run.
pub(crate) fn holds(run: RunId) -> String {
    format!("holds for {run}")
}

/// Says that code of a run is there no more, however it ended.
struct Gone(RunId);

impl Drop for Gone {
    fn drop(&mut self) {
        crate::child::say(format_args!("{}", gone(self.0)));
    }
}

/// What a child says then.
pub(crate) fn gone(run: RunId) -> String {
    format!("gone is code of {run}")
}

/// Code that has something to put away first.
async fn lingers(ctx: ActivityContext, _: Option<Payload>) -> Result<Option<Payload>, Failure> {
    let cause = ctx.cancelled().await;
    let puts_away = std::future::pending::<()>();
    let _ = tokio::time::timeout(Duration::from_millis(700), puts_away).await;
    Err(Failure::new(cause.to_string()))
}
