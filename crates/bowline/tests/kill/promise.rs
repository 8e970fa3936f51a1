//! The code that the children and the last, surviving process run.

use std::{future::ready, sync::Arc, time::Duration};

use bowline_engine::{
    Builder, Engine, QueueOptions,
    core::{ActivitySpec, Failure, Name, Outcome, Payload, Queue},
    worker::registry::activity_fn,
};
use bowline_replay::{Context, Either, Ended, either};
use bowline_sqlite::SqliteStore;

/// The queue of native work.
pub(crate) const QUEUE: &str = "work";
/// The queue that the fake remote worker serves.
pub(crate) const REMOTE: &str = "remote";

/// The engine on the file, with everything that runs in this test.
pub(crate) fn builder(folder: &std::path::Path) -> Builder {
    let store = SqliteStore::open(folder.join("kill.db"));
    let store = store.expect("the store opens after every kill");
    Engine::builder(Arc::new(store))
        .crash_file(folder.join("kill.db.turns"))
        .queue(QUEUE, QueueOptions::default())
        .workflow("order", Arc::new(order))
        .activity("step", activity_fn(|_, input| async move { Ok(input) }))
        .activity(
            "hold",
            activity_fn(|ctx, _| async move {
                let cause = ctx.cancelled().await;
                Err(Failure::new(cause.to_string()))
            }),
        )
}

fn step(name: &str) -> ActivitySpec {
    ActivitySpec {
        name: Name::from(name),
        queue: Queue::from(QUEUE),
        input: Some(Payload::json("1")),
        ..ActivitySpec::default()
    }
}

async fn done(call: impl Future<Output = Outcome>) -> Result<(), Ended> {
    match call.await {
        Outcome::Completed(_) => Ok(()),
        Outcome::Cancelled(cause, ..) => Err(Ended::Cancelled(cause)),
        other => Err(Ended::Failed(Failure::new(format!("{other:?}")))),
    }
}

/// Works, holds something until it is told to go on or to stop, and cleans up if it is stopped.
async fn order(ctx: Context, _: Option<Payload>) -> Result<Option<Payload>, Ended> {
    let inner = ctx.clone();
    let held = ctx.scope(async move {
        done(inner.activity(step("step"))).await?;
        let go = inner.signals("go");
        let hold = inner.activity(step("hold"));
        match either(go.recv(), hold).await {
            Either::Left(_) => Ok(()),
            Either::Right(outcome) => done(ready(outcome)).await,
        }
    });
    let cleaned =
        held.cleanup(async |ctx: Context, _stopped| done(ctx.activity(step("step"))).await);
    match cleaned.await {
        Ok(()) => {}
        Err(stopped) => return Err(stopped.why),
    }
    ctx.timer(Duration::from_millis(1)).await.map_err(Ended::Cancelled)?;
    done(ctx.activity(step("step"))).await?;
    Ok(None)
}
