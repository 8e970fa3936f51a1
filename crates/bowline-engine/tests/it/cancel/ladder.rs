//! The ladder: of an activity that is told and does not stop, and of a run whose clean-up does not
//! end. Every rung has its moment, and a crash in between forgets none.

use std::{
    io::{BufRead, BufReader, Read as _},
    process::{Command, Stdio},
    time::Duration,
};

use bowline_core::{
    Code as CauseCode, Failure, Outcome, RunEnding, RunId, RunLadder, Rung, Span, Status,
    WorkflowStarted,
};
use bowline_engine::{Builder, Engine, StartOptions, worker::registry::activity_fn};
use bowline_replay::Context;
use bowline_store::Phase;
use tokio::sync::oneshot;

use crate::{
    support::{
        code::once,
        flows::{Flows, work},
        probe::Probe,
        stage::{self, cancel, comes_clean, reaches, settle_down, slots},
    },
    world::{Code, QUEUE, activity, ending, history, start, until, within},
};

/// R34, R35, K3: code that ignores its cancel is aborted after its grace period, not before; its
/// slot is free then, and the receipt names the rung.
#[tokio::test]
async fn n4_code_that_ignores_its_cancel_is_aborted_after_its_grace_period() {
    stage::each(async |stage| {
        let (probe, other) = (Probe::new(), Probe::new());
        let builder = stage.builder_with(slots(1)).fan(work(10, 5), 1);
        let engine = builder
            .activity("work", probe.ignores())
            .activity("other", other.obeys())
            .flow("other", |ctx, _| async move {
                let done = ctx.activity(activity("other", "1")).await;
                assert!(matches!(done, Outcome::Completed(_)), "{done:?}");
                Ok(None)
            })
            .up()
            .await;
        let run = start(&engine, "fan", "fan-1").await;
        probe.has_begun(1).await;
        let next = start(&engine, "other", "other-1").await;
        let receipt = cancel(&engine, run).await;
        let left = reaches(&engine, receipt, Phase::Delivered).await;
        assert_eq!(left.phase(), Phase::Delivered, "told, and it does not look");
        stage.passes_until(9, 10).await;
        settle_down(&engine, run).await;
        assert_eq!((probe.running(), other.begun()), (1, 0), "the grace period is its own");
        stage.advance(1);
        let left = comes_clean(&engine, receipt).await;
        let line = &left.attempts[0];
        assert_eq!((line.rung, line.observed_at), (Some(Rung::Abort), None));
        assert_eq!(line.stopped_at, Some(stage.after(0)));
        other.has_begun(1).await;
        other.finish(1);
        assert_eq!(ending(&engine, next).await, RunEnding::Completed(None));
    })
    .await;
}

/// R32, K20: an activity that says nothing of a ladder has ten seconds, to the millisecond.
#[tokio::test]
async fn r32_the_grace_period_is_ten_seconds_unless_it_is_set() {
    stage::each(async |stage| {
        let probe = Probe::new();
        let builder = stage.builder().fan(activity("work", "1"), 1);
        let engine = builder.activity("work", probe.ignores()).up().await;
        let run = start(&engine, "fan", "fan-1").await;
        probe.has_begun(1).await;
        let receipt = cancel(&engine, run).await;
        reaches(&engine, receipt, Phase::Delivered).await;
        let due = stage.clock.until_next_due(stage.after(10));
        within("the rung after ten seconds", due).await;
        stage.clock.advance(Duration::from_millis(9_999));
        settle_down(&engine, run).await;
        assert_eq!(probe.running(), 1, "it has another millisecond");
        stage.clock.advance(Duration::from_millis(1));
        let left = comes_clean(&engine, receipt).await;
        assert_eq!((left.attempts[0].rung, probe.running()), (Some(Rung::Abort), 0));
    })
    .await;
}

/// A child process, and what it started, die with the ladder; the engine says so.
#[tokio::test]
async fn n4_a_process_group_is_killed_through_the_engine() {
    stage::each(async |stage| {
        let (sender, receiver) = oneshot::channel();
        let code = once(sender, |ctx, sender| async move {
            let mut command = Command::new("/bin/sh");
            command.args(["-c", "sleep 1000 & echo begun; wait"]).stdin(Stdio::null());
            command.stdout(Stdio::piped());
            let mut child = ctx.spawn_process(command).expect("a shell can be started");
            sender.send(child.stdout.take().expect("it was asked for")).ok();
            child.wait().await.expect("its end is told");
            Ok(None)
        });
        let builder = stage.builder().fan(work(10, 5), 1);
        let engine = builder.activity("work", code).up().await;
        let run = start(&engine, "fan", "fan-1").await;
        let stdout = within("the process", receiver).await.expect("it has begun");
        let mut reader = BufReader::new(stdout);
        reader.read_line(&mut String::new()).expect("it says so");
        let receipt = cancel(&engine, run).await;
        reaches(&engine, receipt, Phase::Delivered).await;
        stage.passes(10).await;
        let left = comes_clean(&engine, receipt).await;
        assert_eq!(left.attempts[0].rung, Some(Rung::Kill));
        // Both held the pipe: its end is the end of both.
        let rest = tokio::task::spawn_blocking(move || reader.read_to_end(&mut Vec::new()));
        within("both to be dead", rest).await.expect("no panic").expect("a pipe can be read");
    })
    .await;
}

/// Says in a copy of this test program that it is to be the one that is killed.
const OWNER: &str = "BOWLINE_TEST_ENGINE_OWNER";

/// The whole program is killed without a warning while an activity of its engine has a child
/// process: nobody is left to clean up, and yet nobody is left.
#[tokio::test]
async fn when_the_engines_process_is_killed_its_process_groups_die_with_it() {
    if std::env::var_os(OWNER).is_some() {
        return own_a_family().await;
    }
    let test = "cancel::ladder::when_the_engines_process_is_killed_its_process_groups_die_with_it";
    let mut owner = Command::new(std::env::current_exe().expect("this program has a path"))
        .args(["--exact", test, "--nocapture", "--test-threads=1"])
        .env(OWNER, "1")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("this program can be started again");
    let stdout = owner.stdout.take().expect("it was asked for");
    let begun = tokio::task::spawn_blocking(move || {
        let (mut reader, mut line) = (BufReader::new(stdout), String::new());
        while !line.ends_with("begun\n") {
            line.clear();
            assert_ne!(reader.read_line(&mut line).expect("a pipe can be read"), 0, "it began");
        }
        reader
    });
    let mut reader = within("the family to begin", begun).await.expect("no panic");
    owner.kill().expect("it can be killed");
    owner.wait().expect("it ends");
    // The family writes into the owner's own output, and so holds it open.
    let rest = tokio::task::spawn_blocking(move || reader.read_to_end(&mut Vec::new()));
    within("all to be dead", rest).await.expect("no panic").expect("a pipe can be read");
}

async fn own_a_family() {
    stage::each(async |stage| {
        let code = activity_fn(|ctx, _| async move {
            let mut command = Command::new("/bin/sh");
            command.args(["-c", "sleep 1000 & echo begun; wait"]).stdin(Stdio::null());
            let mut child = ctx.spawn_process(command).expect("a shell can be started");
            child.wait().await.expect("its end is told");
            Ok(None)
        });
        let engine = stage.builder().fan(work(10, 5), 1).activity("work", code).up().await;
        let run = start(&engine, "fan", "fan-1").await;
        // Should nobody kill this program, it ends by itself and the test fails.
        tokio::time::timeout(Duration::from_secs(120), engine.outcome(run)).await.ok();
    })
    .await;
}

/// A run whose clean-up never ends, and which is terminated so long after its cancel.
fn stubborn(builder: Builder) -> Builder {
    builder.flow("stubborn", |ctx: Context, _| async move {
        let scope = ctx.scope(async {
            ctx.signals("never").recv().await;
            Ok(None)
        });
        let stays = scope.cleanup(async |ctx, _| {
            ctx.activity(activity("undo", "1")).await;
            Ok(())
        });
        Ok(stays.await?)
    })
}

async fn start_with_ladder(engine: &Engine, seconds: u64) -> RunId {
    let options = StartOptions::new("stubborn", "stubborn-1", QUEUE, None);
    let ladder = RunLadder { terminate_after: Span(Duration::from_secs(seconds)) };
    let started = WorkflowStarted { ladder: Some(ladder), ..options.started };
    engine.start(StartOptions { started, ..options }).await.expect("it starts")
}

async fn is_escalated(engine: &Engine, run: RunId) {
    let ended = ending(engine, run).await;
    let RunEnding::Terminated(cause) = &ended else { panic!("{ended:?}") };
    let codes: Vec<_> = cause.chain().map(|cause| cause.code).collect();
    assert_eq!(codes, [CauseCode::Escalated, CauseCode::Requested]);
    assert_eq!(cause.root().requested_by.as_str(), "alice");
}

/// N4, R92: a run that does not obey its cancel is terminated, with cause `escalated`, and what its
/// clean-up was running is told.
#[tokio::test]
async fn n4_a_run_that_does_not_obey_is_terminated() {
    stage::each(async |stage| {
        let undo = Probe::new();
        let engine = stubborn(stage.builder()).activity("undo", undo.obeys()).up().await;
        let run = start_with_ladder(&engine, 60).await;
        until(&engine, run, "TurnCompleted").await;
        let receipt = cancel(&engine, run).await;
        undo.has_begun(1).await;
        let status = engine.head(run).await.expect("it is there").status;
        assert_eq!(status, Status::Cancelling);
        stage.passes_until(59, 60).await;
        settle_down(&engine, run).await;
        assert_eq!((undo.running(), undo.causes().len()), (1, 0), "not a second too early");
        stage.advance(1);
        is_escalated(&engine, run).await;
        comes_clean(&engine, receipt).await;
        assert_eq!(undo.causes()[0].root().requested_by.as_str(), "alice");
    })
    .await;
}

/// N4: the rung is in the store: the process dies in between, and the next one does not forget.
#[tokio::test]
async fn n4_the_ladder_of_a_run_survives_a_crash() {
    stage::each(async |stage| {
        let (old, new) = (Probe::new(), Probe::new());
        let first = stubborn(stage.builder()).activity("undo", old.obeys());
        let first = stage.process(first).await;
        let run = start_with_ladder(&first.engine, 60).await;
        until(&first.engine, run, "TurnCompleted").await;
        let receipt = cancel(&first.engine, run).await;
        old.has_begun(1).await;
        first.kill();
        stage.advance(20);
        stage.reopen();
        let second = stubborn(stage.builder()).activity("undo", new.obeys());
        let second = stage.process(second).await;
        new.has_begun(1).await;
        stage.passes(40).await;
        is_escalated(&second.engine, run).await;
        comes_clean(&second.engine, receipt).await;
    })
    .await;
}

/// The same where nobody has the code any more: the moment comes, and the run is closed.
#[tokio::test]
async fn n4_the_ladder_of_a_run_needs_no_code() {
    stage::each(async |stage| {
        let old = Probe::new();
        let first = stubborn(stage.builder()).activity("undo", old.obeys());
        let first = stage.process(first).await;
        let run = start_with_ladder(&first.engine, 60).await;
        until(&first.engine, run, "TurnCompleted").await;
        let receipt = cancel(&first.engine, run).await;
        old.has_begun(1).await;
        first.kill();
        stage.reopen();
        stage.advance(100);
        let second = stage.process(stage.builder()).await;
        is_escalated(&second.engine, run).await;
        comes_clean(&second.engine, receipt).await;
    })
    .await;
}

/// A clean-up that is done in time is not terminated, and the moment passes unnoticed.
#[tokio::test]
async fn a_ladder_that_is_not_needed_leaves_no_trace() {
    stage::each(async |stage| {
        let undo = Probe::new();
        let engine = stubborn(stage.builder()).activity("undo", undo.obeys()).up().await;
        let run = start_with_ladder(&engine, 60).await;
        until(&engine, run, "TurnCompleted").await;
        let receipt = cancel(&engine, run).await;
        undo.has_begun(1).await;
        undo.finish(1);
        comes_clean(&engine, receipt).await;
        stage.advance(3600);
        settle_down(&engine, run).await;
        assert!(matches!(ending(&engine, run).await, RunEnding::Cancelled(..)));
        let last = history(&engine, run).await;
        assert_eq!(last.last().map(|event| event.kind.name()), Some("WorkflowCancelled"));
    })
    .await;
}

/// A clean-up that fails makes the run fail: cancelled would claim that it was cleaned up.
#[tokio::test]
async fn a_clean_up_that_fails_is_a_failed_run() {
    stage::each(async |stage| {
        let undo = Probe::new();
        let no = |_: &_| Err(Failure::new("cannot undo"));
        let builder = stage.builder().flow("undoes", |ctx: Context, _| async move {
            let scope = ctx.scope(async {
                ctx.signals("never").recv().await;
                Ok(None)
            });
            let undone = scope.cleanup(async |ctx, _| {
                crate::world::done(ctx.activity(activity("undo", "1")).await)?;
                Ok(())
            });
            Ok(undone.await?)
        });
        let engine = builder.activity("undo", undo.answers(no)).up().await;
        let run = start(&engine, "undoes", "undoes-1").await;
        until(&engine, run, "TurnCompleted").await;
        let receipt = cancel(&engine, run).await;
        undo.finish(1);
        let ended = ending(&engine, run).await;
        let RunEnding::Failed(failure, _) = &ended else { panic!("{ended:?}") };
        assert_eq!(failure.message, "cannot undo");
        comes_clean(&engine, receipt).await;
    })
    .await;
}
