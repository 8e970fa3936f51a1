//! Runs that took their process down.

use std::{sync::Arc, time::Duration};

use bowline_core::RunEnding;
use bowline_engine::Engine;

use crate::world::{Code, World, ending, signal, start, until, within};

crate::world::on_every_store! {
    a_run_that_takes_its_process_down_is_parked,
}

/// A run whose turn was under way whenever the process died is parked by the fourth process,
/// though its replay went well every time.
async fn a_run_that_takes_its_process_down_is_parked(mut world: World) {
    let folder = tempfile::tempdir().expect("a folder");
    let dies = Arc::new(tokio::sync::Notify::new());
    let build = |world: &World| {
        let dies = dies.clone();
        world.builder().threads(1).crash_file(folder.path().join("crash")).flow(
            "bomb",
            move |ctx, _| {
                let dies = dies.clone();
                async move {
                    ctx.signals("go").recv().await;
                    dies.notify_one();
                    // The thread never comes back from here, as in a process that is gone.
                    loop {
                        std::thread::park();
                    }
                }
            },
        )
    };
    let mut engine: Engine = build(&world).start().await.expect("starts");
    let run = start(&engine, "bomb", "b-1").await;
    until(&engine, run, "TurnCompleted").await;
    engine.signal(run, signal("go")).await.expect("taken");
    for time in 1..=3 {
        within(&format!("crash {time}"), dies.notified()).await;
        world.reopen();
        engine = build(&world).start().await.expect("starts");
    }
    let parked = within("the run to be parked", async {
        loop {
            if let Some(parked) = engine.head(run).await.expect("it is there").parked {
                return parked;
            }
            tokio::task::yield_now().await;
        }
    })
    .await;
    assert!(parked.reason.contains("process down 3 times"), "{parked:?}");
    let cause = bowline_core::Cause::requested("enough", "alice");
    engine.terminate(run, cause).await.expect("taken");
    assert!(matches!(ending(&engine, run).await, RunEnding::Terminated(_)));
    world.advance(Duration::from_secs(1));
}
