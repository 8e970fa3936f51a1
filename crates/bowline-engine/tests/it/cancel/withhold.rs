//! Between the acknowledgement of a run's cancel and its decision no attempt of the run begins:
//! neither by a claim, nor as a retry, nor with the commit that schedules it, nor in the process
//! that takes over. What the decision spares goes on after it, without anybody looking twice.

use bowline_core::{Asked, Cause, Ending, Failure, Queue, Status, TurnAnswer};
use bowline_engine::{Engine, RemoteActivity};
use bowline_store::{
    Commit, Phase,
    memory::{Method, When},
};

use crate::{
    support::{
        flows::{Flows, commit, retried, starting, work},
        gate::Held,
        probe::Probe,
        remote,
        stage::{self, Stage, cancel, comes_clean, reaches, settle_down, slots},
    },
    world::{Code, QUEUE, done, kinds, signal, start, until, within},
};

/// Holds the turn that decides a cancel.
fn undecided(stage: &Stage) -> Held {
    stage.gates.hold(
        Method::Commit,
        When::Before,
        commit(|commit: &Commit| commit.cancel.is_some()),
    )
}

fn open(engine: &Engine, count: usize) {
    engine.configure(QUEUE, slots(count)).expect("the queue is known");
}

/// What waits is not claimed, though there are slots, until the cancel is decided; and then it is
/// cancelled.
#[tokio::test]
async fn what_waits_does_not_begin_before_the_cancel_is_decided() {
    stage::each(async |stage| {
        let probe = Probe::new();
        let builder = stage.builder_with(slots(0)).fan(work(10, 5), 3);
        let engine = builder.activity("work", probe.obeys()).up().await;
        let run = start(&engine, "fan", "fan-1").await;
        until(&engine, run, "ActivityScheduled").await;
        let decision = undecided(&stage);
        let receipt = cancel(&engine, run).await;
        decision.reached().await;
        open(&engine, 2);
        settle_down(&engine, run).await;
        assert_eq!(probe.begun(), 0, "nobody knows yet what the cancel means");
        decision.release();
        let left = comes_clean(&engine, receipt).await;
        assert_eq!((probe.begun(), left.never_started), (0, 3));
    })
    .await;
}

/// An attempt fails while the cancel waits to be decided: it is not tried again meanwhile, and not
/// after it either.
#[tokio::test]
async fn no_retry_begins_before_the_cancel_is_decided() {
    stage::each(async |stage| {
        let probe = Probe::new();
        let builder = stage.builder().fan(retried(1, 0), 1);
        let fails = probe.answers(|_| Err(Failure::new("once")));
        let engine = builder.activity("work", fails).up().await;
        let run = start(&engine, "fan", "fan-1").await;
        probe.has_begun(1).await;
        let decision = undecided(&stage);
        let receipt = cancel(&engine, run).await;
        decision.reached().await;
        probe.finish(9);
        within("the retry to wait", async {
            while engine.leftovers(run).await.expect("it reads").queued == 0 {
                tokio::task::yield_now().await;
            }
        })
        .await;
        stage.advance(5);
        settle_down(&engine, run).await;
        assert_eq!(probe.begun(), 1);
        decision.release();
        comes_clean(&engine, receipt).await;
        assert_eq!(probe.begun(), 1);
    })
    .await;
}

/// A turn has been had, and is on its way to start what it schedules, when the cancel is
/// acknowledged. It is written, and starts nothing.
#[tokio::test]
async fn a_turn_that_does_not_know_of_the_cancel_starts_nothing() {
    stage::each(async |stage| {
        let probe = Probe::new();
        let builder = stage.builder().flow("steps", |ctx, _| async move {
            ctx.signals("go").recv().await;
            done(ctx.activity(work(10, 5)).await)
        });
        let engine = builder.activity("work", probe.obeys()).up().await;
        stage.rests().await;
        let run = start(&engine, "steps", "steps-1").await;
        let turn = stage.gates.hold(Method::Commit, When::Before, starting);
        engine.signal(run, signal("go")).await.expect("the signal is taken");
        turn.reached().await;
        let decision = undecided(&stage);
        let receipt = cancel(&engine, run).await;
        turn.release();
        decision.reached().await;
        assert!(kinds(&engine, run).await.contains(&"ActivityScheduled"), "it is written");
        settle_down(&engine, run).await;
        assert_eq!(probe.begun(), 0);
        decision.release();
        let left = comes_clean(&engine, receipt).await;
        assert_eq!((probe.begun(), left.never_started), (0, 1));
    })
    .await;
}

/// A hold is no cancel: what is shielded waits for the decision, and then begins at once. Nobody
/// has to look for it.
#[tokio::test]
async fn what_is_shielded_begins_after_the_decision() {
    stage::each(async |stage| {
        let probe = Probe::new();
        let builder = stage.builder_with(slots(0)).flow("shields", |ctx, _| async move {
            done(ctx.shield(ctx.activity(work(10, 5))).await)
        });
        let engine = builder.activity("work", probe.obeys()).up().await;
        let run = start(&engine, "shields", "shields-1").await;
        until(&engine, run, "ActivityScheduled").await;
        let decision = undecided(&stage);
        let receipt = cancel(&engine, run).await;
        decision.reached().await;
        open(&engine, 1);
        settle_down(&engine, run).await;
        assert_eq!(probe.begun(), 0);
        decision.release();
        probe.has_begun(1).await;
        probe.finish(1);
        comes_clean(&engine, receipt).await;
        assert_eq!(probe.causes(), [], "nobody has told it to stop");
    })
    .await;
}

/// The cancel is acknowledged, the process killed, and another one takes over: the attempt that was
/// lost is not tried again, nor does anything else of the run begin, however long nobody gets to
/// decide.
#[tokio::test(flavor = "multi_thread")]
async fn nothing_begins_in_the_process_that_takes_over() {
    stage::each(async |stage| {
        let probe = Probe::new();
        let builder = || stage.builder_with(slots(1)).fan(work(10, 5), 3);
        let first = stage.process(builder().activity("work", probe.ignores())).await;
        let run = start(&first.engine, "fan", "fan-1").await;
        probe.has_begun(1).await;
        let decision = undecided(&stage);
        let receipt = cancel(&first.engine, run).await;
        decision.reached().await;
        first.kill();
        stage.reopen();
        decision.release();
        let decision = undecided(&stage);
        let engine = builder().activity("work", probe.obeys()).up().await;
        decision.reached().await;
        within("the lost attempt to wait", async {
            while engine.leftovers(run).await.expect("it reads").queued < 3 {
                tokio::task::yield_now().await;
            }
        })
        .await;
        settle_down(&engine, run).await;
        assert_eq!(probe.begun(), 1, "only the one before the kill");
        decision.release();
        let left = reaches(&engine, receipt, Phase::Settled).await;
        assert_eq!((probe.begun(), left.runs[0].status), (1, Status::Cancelled));
    })
    .await;
}

/// Nobody has the run's code, so nobody decides: what waits of it waits on. A termination needs no
/// code, and what was acknowledged is enough to keep the rest from beginning until it is done.
#[tokio::test(flavor = "multi_thread")]
async fn nothing_begins_of_a_run_whose_code_nobody_has() {
    stage::each(async |stage| {
        let probe = Probe::new();
        let first = stage.builder_with(slots(0)).fan(work(10, 5), 2);
        let first = stage.process(first.activity("work", probe.obeys())).await;
        let run = start(&first.engine, "fan", "fan-1").await;
        until(&first.engine, run, "ActivityScheduled").await;
        let decision = undecided(&stage);
        let receipt = cancel(&first.engine, run).await;
        decision.reached().await;
        first.kill();
        stage.reopen();
        decision.release();
        let engine = stage.builder().activity("work", probe.obeys()).up().await;
        settle_down(&engine, run).await;
        assert_eq!(probe.begun(), 0);
        let why = Cause::requested("nobody has its code", "alice");
        engine.terminate(run, why).await.expect("the termination is taken");
        let left = comes_clean(&engine, receipt).await;
        assert_eq!((probe.begun(), left.runs[0].status), (0, Status::Terminated));
    })
    .await;
}

async fn polled(engine: &Engine) -> Option<RemoteActivity> {
    let queue = Queue::from(remote::QUEUE);
    let polled = engine.poll_activity(&queue, "sdk".into(), "control".into(), engine.now());
    within("a poll", polled).await.expect("a poll is answered")
}

/// While a remote worker has the run's turn, its cancel is not taken in, and nothing of the run is
/// handed out.
#[tokio::test]
async fn a_remote_worker_gets_nothing_before_the_cancel_is_taken_in() {
    stage::each(async |stage| {
        let engine = stage.builder().up().await;
        let run = remote::start(&engine, "r-1").await;
        let turn = remote::turn(&engine).await;
        let commands = vec![remote::schedule("a0"), remote::schedule("a1")];
        let asked: Vec<Asked> = commands.into_iter().map(Asked::from).collect();
        let answer = |token| TurnAnswer { again: true, ..TurnAnswer::new(token, asked.clone()) };
        let answered = engine.answer_turn(turn.token.as_slice(), answer, None).await;
        answered.expect("the answer is taken");
        let taken = polled(&engine).await.expect("one is handed out before the cancel");
        let turn = remote::turn(&engine).await;
        cancel(&engine, run).await;
        assert!(polled(&engine).await.is_none(), "the other one waits for the decision");
        let failed = Ending::Failed(Failure::new("no"));
        engine.end_activity(taken.token.as_slice(), failed).await.expect("the report is taken");
        // Longer than the pause before a retry, and shorter than a turn may take.
        stage.advance(5);
        assert!(polled(&engine).await.is_none(), "and so does a retry");
        remote::answer(&engine, &turn, Vec::new()).await;
        until(&engine, run, "WorkflowCancelRequested").await;
        assert!(polled(&engine).await.is_some(), "the code decides what becomes of it");
    })
    .await;
}
