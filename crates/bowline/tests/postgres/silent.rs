//! A process that fell silent, and of which nobody will ever hear: what a policy may say of it.

use std::time::Duration;

use bowline::{Failure, prelude::*};
use tokio::{runtime::Runtime, sync::Notify};

use super::{VARIABLE, id};

const LEASE: Duration = Duration::from_secs(2);

static BEGUN: Notify = Notify::const_new();

async fn silent_work(ctx: ActivityCtx) -> bowline::Result<()> {
    BEGUN.notify_one();
    let why = ctx.cancelled().await;
    Err(Failure::new(why.to_string()).into())
}

async fn silent(ctx: Ctx) -> bowline::Result<()> {
    Ok(ctx.activity(silent_work, ()).await?)
}

fn builder(name: &str) -> bowline::Builder {
    let url = std::env::var(VARIABLE).expect("it is set: run `cargo xtask test`");
    let app = Bowline::open(url).identity(name).lease(LEASE).workflow(silent);
    app.activity(silent_work)
}

/// A process runs an activity, and is never heard of again. By itself nobody ever says more than
/// that; where a policy presumes it dead, the receipt says so, and is not clean.
#[test]
fn what_is_presumed_dead_is_called_so_and_is_never_clean() {
    let (ghost, here) = (Runtime::new().expect("a runtime"), Runtime::new().expect("a runtime"));
    let name = id("silent");
    let started = name.clone();
    let held = ghost.block_on(async move {
        let app = builder("ghost").start().await.expect("it starts");
        app.start(silent, started, ()).await.expect("it is started");
        BEGUN.notified().await;
        app
    });
    // Nobody drives it any more, and nobody said goodbye. The process itself is still there.
    ghost.shutdown_background();
    drop(held);
    here.block_on(async move {
        let app = builder("witness").presume_dead_after(LEASE);
        let app = app.start().await.expect("it starts");
        let run = app.attach(silent, name);
        let receipt = run.cancel("enough").by("witness").await.expect("it is asked");
        receipt.wait(Phase::Settled).await.expect("it settles");
        let presumed = async {
            loop {
                let tree = receipt.tree().await.expect("it is there");
                assert!(!tree.is_clean(), "{tree}");
                if tree.to_string().contains("presumed dead: its worker ghost") {
                    return tree;
                }
                tokio::task::yield_now().await;
            }
        };
        let tree = tokio::time::timeout(Duration::from_secs(60), presumed).await;
        let tree = tree.expect("a policy says so in time");
        assert_ne!(tree.phase(), Phase::Clean, "{tree}");
        app.close(Duration::from_secs(10)).await.expect("it closes");
    });
}

#[tokio::test]
async fn a_silence_of_no_time_is_refused() {
    let refused = builder("nobody").presume_dead_after(Duration::ZERO).lease(Duration::ZERO);
    let error = refused.start().await.expect_err("it makes no sense");
    let error = error.to_string();
    assert!(
        error.contains("after which silence") && error.contains("a lease of no time"),
        "{error}"
    );
}
