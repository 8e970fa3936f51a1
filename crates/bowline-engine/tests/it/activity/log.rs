//! Every step of an attempt's life is in the log, with the same fields.

use std::{future::pending, sync::Arc};

use bowline_engine::worker::registry::{ActivityCode, activity_fn};
use tokio::sync::Notify;

use crate::support::{bench::*, code::once, log};

const WHO: &str = "run=00000000-0000-0000-0000-00000000000a activity=5 name=charge attempt=1";

/// The lines of an attempt that is told to stop and then let go, without the fields that all have.
async fn lines_in_grace(code: Arc<dyn ActivityCode>) -> Vec<String> {
    log::listen();
    let mut bench = Bench::new(1);
    let attempt = bench.start(code);
    tokio::task::yield_now().await;
    attempt.tell(cancel("alice"));
    bench.ended_at_last().await;
    lines()
}

fn lines() -> Vec<String> {
    let lines = log::lines();
    assert!(lines.iter().all(|line| line.contains(WHO)), "{lines:#?}");
    lines.iter().map(|line| line.replacen(&format!(" {WHO}"), "", 1)).collect()
}

fn has(lines: &[String], line: &str) -> bool {
    lines.iter().any(|other| other.starts_with(line))
}

#[tokio::test]
async fn in_the_grace_period_each_way_to_end_has_its_own_line() {
    let completed = lines_in_grace(activity_fn(|ctx, _| async move {
        ctx.cancelled().await;
        Ok(None)
    }));
    let completed = completed.await;
    assert!(has(&completed, "INFO the code was told to stop kind=\"cancel\""), "{completed:#?}");
    assert!(has(&completed, "DEBUG the code knows that it is cancelled"), "{completed:#?}");
    assert!(has(&completed, "INFO the code completed although it was told"), "{completed:#?}");

    let failed = lines_in_grace(activity_fn(|ctx, _| async move {
        ctx.cancelled().await;
        Err(failure("1"))
    }));
    let failed = failed.await;
    assert!(has(&failed, "INFO the code stopped failure=no"), "{failed:#?}");

    let panicked = lines_in_grace(activity_fn(|ctx, _| async move {
        ctx.cancelled().await;
        panic!("bang")
    }));
    let panicked = panicked.await;
    assert!(has(&panicked, "ERROR the code panicked is_told=true failure="), "{panicked:#?}");

    for lines in [completed, failed] {
        let is_calm = !lines.iter().any(|line| line.starts_with("WARN") || line.contains("ERROR"));
        assert!(is_calm, "code that stops in time is no reason to warn: {lines:#?}");
    }
}

#[tokio::test]
async fn every_rung_has_its_line() {
    log::listen();
    let mut bench = Bench::new(1);
    let attempt = bench.start(activity_fn(|_, _| pending()));
    tokio::task::yield_now().await;
    attempt.tell(cancel("alice"));
    bench.clock.until_next_due(at(10)).await;
    bench.advance(10);
    bench.ended_at_last().await;
    let lines = lines();
    assert!(has(&lines, "DEBUG the attempt begins"), "{lines:#?}");
    assert!(has(&lines, "WARN the grace period is over: aborted"), "{lines:#?}");
    assert!(has(&lines, "WARN the code was aborted"), "{lines:#?}");
    assert!(has(&lines, "DEBUG the attempt has ended"), "{lines:#?}");
}

#[tokio::test]
async fn what_is_given_up_and_what_ends_after_all_have_their_lines() {
    log::listen();
    let mut bench = Bench::new(1);
    let go = Arc::new(Notify::new());
    let code = once(Arc::clone(&go), |_, go| async move {
        go.notified().await;
        Ok(None)
    });
    let attempt = bench.start(code);
    tokio::task::yield_now().await;
    attempt.tell(cancel_with("alice", ladder(0, 0, true)));
    bench.ended_at_last().await;
    go.notify_one();
    bench.next().await;
    bench.next().await;
    let lines = lines();
    assert!(has(&lines, "ERROR given up: it runs on and cannot be stopped leak=1 future"));
    assert!(has(&lines, "WARN the code answered after its attempt had ended"), "{lines:#?}");
    assert!(has(&lines, "INFO code that was given up has ended after all"), "{lines:#?}");
}
