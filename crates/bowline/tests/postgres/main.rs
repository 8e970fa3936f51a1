//! The same program on a database, twice at once. `cargo xtask test` starts a Postgres for it.

mod driver;
mod silent;
mod transaction;

use std::time::Duration;

use bowline::{Failure, prelude::*};

const VARIABLE: &str = "BOWLINE_TEST_POSTGRES";
const GO: Signal<u32> = Signal::new("go");

async fn double(n: u32) -> bowline::Result<u32> {
    Ok(n * 2)
}

async fn hold(ctx: ActivityCtx) -> bowline::Result<()> {
    let why = ctx.cancelled().await;
    Err(Failure::new(why.to_string()).into())
}

async fn adds(ctx: Ctx) -> bowline::Result<u32> {
    let n = ctx.signal(GO).recv().await;
    Ok(ctx.activity(double, n).await?)
}

async fn holds(ctx: Ctx) -> bowline::Result<()> {
    Ok(ctx.activity(hold, ()).await?)
}

async fn program() -> Bowline {
    let url = std::env::var(VARIABLE)
        .unwrap_or_else(|_| panic!("{VARIABLE} is not set: run `cargo xtask test`"));
    let app = Bowline::open(url).workflow(adds).workflow(holds).activity(double).activity(hold);
    app.start().await.expect("it starts")
}

/// An id that no earlier test of this cluster has used.
fn id(name: &str) -> String {
    format!("{name}-{}", std::process::id())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_one_program_starts_another_one_signals_and_cancels() {
    let (one, two) = (program().await, program().await);
    let sum = one.start(adds, id("sum"), ()).await.expect("it is started");
    two.run(id("sum")).signal(GO, 21).await.expect("it is sent");
    assert_eq!(sum.result().await.expect("it ends"), 42);

    one.start(holds, id("hold"), ()).await.expect("it is started");
    let run = two.attach(holds, id("hold"));
    let receipt = run.cancel("enough").by("two").await.expect("it is asked");
    let tree = receipt.wait(Phase::Clean).await.expect("nothing is left");
    assert!(tree.is_clean(), "{tree}");
    let ended = run.outcome().await.expect("it ends").expect_err("it is cancelled");
    assert_eq!(ended.cause().map(|cause| cause.requested_by.to_string()), Some("two".into()));
    one.close(Duration::from_secs(10)).await.expect("it closes");
    two.close(Duration::from_secs(10)).await.expect("it closes");
}

/// A process had a workflow registered and not its activities: a run that came to it was parked,
/// while another process had everything. It is passed on to that one, and whoever waits for it is
/// none the wiser.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_goes_on_where_its_activities_are_registered() {
    let url = std::env::var(VARIABLE).expect("it is set");
    let part = Bowline::open(url).workflow(adds).start().await.expect("it starts");
    let whole = program().await;
    let mut sums = Vec::new();
    for n in 0..5 {
        // Whoever starts a run has its first turn.
        let id = id(&format!("part-{n}"));
        sums.push(part.start(adds, id.clone(), ()).await.expect("it is started"));
        part.run(id).signal(GO, n).await.expect("it is sent");
    }
    for (n, sum) in (0..).zip(sums) {
        let result = tokio::time::timeout(Duration::from_secs(60), sum.result()).await;
        assert_eq!(result.expect("it ends").expect("it is not parked"), n * 2);
    }
    part.close(Duration::from_secs(10)).await.expect("it closes");
    whole.close(Duration::from_secs(10)).await.expect("it closes");
}

#[tokio::test]
async fn a_database_that_is_not_there_is_named() {
    let refused = Bowline::open("postgres://nobody@127.0.0.1:1/nothing").workflow(adds).start();
    let error = refused.await.expect_err("nobody listens there").to_string();
    assert!(error.contains("127.0.0.1") || error.contains("connect"), "{error}");
}
