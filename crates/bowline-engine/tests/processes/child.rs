//! A process that works on whatever there is, until it is killed.

use std::{io::Read, sync::Arc, time::Duration};

use bowline_core::{ActivitySpec, Failure, Name, Outcome, Payload, Queue};
use bowline_engine::{
    Engine, QueueOptions,
    worker::{activity::ActivityContext, registry::activity_fn},
};
use bowline_replay::{Context, Ended};

use crate::schema;

/// Names the schema that a child works on; unset in the parent.
pub(crate) const SCHEMA: &str = "BOWLINE_TEST_SCHEMA";
pub(crate) const QUEUE: &str = "q";
/// Long enough for a loaded machine to renew in time, short enough to wait for.
pub(crate) const LEASE: Duration = Duration::from_secs(4);

/// Not a test of its own: the parent runs it in a process of its own.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn works_until_it_is_killed() {
    let Ok(name) = std::env::var(SCHEMA) else { return };
    let engine = Engine::builder(Arc::new(schema::open(&name)))
        .identity(format!("child {}", std::process::id()))
        .lease(LEASE)
        .threads(2)
        .queue(QUEUE, QueueOptions::default())
        .workflow("steps", Arc::new(steps))
        .workflow("hold", Arc::new(hold))
        .activity("step", activity_fn(|_, input| async move { Ok(input) }))
        .activity("hold", activity_fn(until_told))
        .start()
        .await
        .expect("the engine starts");
    // The parent reads standard output.
    #[allow(clippy::print_stdout)]
    {
        println!("at work");
    }
    // Ends with the parent, if the parent ends first.
    let ends = tokio::task::spawn_blocking(|| std::io::stdin().read(&mut [0])).await;
    drop((ends, engine));
}

fn activity(name: &str) -> ActivitySpec {
    let (name, queue) = (Name::from(name), Queue::from(QUEUE));
    ActivitySpec { name, queue, ..ActivitySpec::default() }
}

fn done(outcome: Outcome) -> Result<Option<Payload>, Ended> {
    match outcome {
        Outcome::Completed(result) => Ok(result),
        Outcome::Cancelled(cause, ..) => Err(Ended::Cancelled(cause)),
        other => Err(Ended::Failed(Failure::new(format!("{other:?}")))),
    }
}

/// Activities and timers, one after the other.
async fn steps(ctx: Context, _: Option<Payload>) -> Result<Option<Payload>, Ended> {
    for _ in 0..3 {
        done(ctx.activity(activity("step")).await)?;
        ctx.timer(Duration::from_millis(30)).await.expect("nobody cancels it");
    }
    Ok(None)
}

/// One activity that goes on until it is cancelled.
async fn hold(ctx: Context, _: Option<Payload>) -> Result<Option<Payload>, Ended> {
    done(ctx.activity(activity("hold")).await)
}

async fn until_told(ctx: ActivityContext, _: Option<Payload>) -> Result<Option<Payload>, Failure> {
    ctx.cancelled().await;
    Err(Failure::new("told to stop"))
}
