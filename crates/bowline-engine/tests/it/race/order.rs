//! End of an attempt ‖ message: of two acknowledged things the first is heard first, on the short
//! ways too, by which an end reaches its run without standing in the inbox.

use bowline_core::{Command, Ending, Message, Payload, RunEnding, RunId};
use bowline_engine::Engine;
use bowline_replay::{Either, either};
use bowline_store::{
    Commit, Posting,
    memory::{Method, When},
};

use crate::{
    support::{
        flows::{Flows, commit, work},
        gate::Lost,
        probe::Probe,
        remote,
        stage::{self, Stage, settle_down},
    },
    world::{Code, ending, kinds, signal, start, text, until, within},
};

/// How many ends of attempts a busy run has.
const ENDS: usize = 12;

/// A commit that carries the end of an attempt.
fn carries(commit: &Commit) -> bool {
    !commit.ended.is_empty()
}

/// A workflow that says what it heard of first, its activity or a signal, when it is told to.
async fn listening(stage: &Stage, probe: &Probe) -> (Engine, RunId) {
    let code = probe.answers(|_| Ok(None));
    let engine = stage
        .builder()
        .flow("listens", |ctx, _| async move {
            let call = ctx.activity(work(10, 5)).start();
            let signals = ctx.signals("first");
            let heard = match either(call, signals.recv()).await {
                Either::Left(_) => "the activity",
                Either::Right(_) => "the signal",
            };
            ctx.signals("say").recv().await;
            Ok(Some(Payload::json(heard)))
        })
        .activity("work", code)
        .up()
        .await;
    let run = start(&engine, "listens", "listens-1").await;
    probe.has_begun(1).await;
    (engine, run)
}

/// A signal for the run, as another process would take it.
async fn post_elsewhere(stage: &Stage, engine: &Engine, run: RunId) {
    let message = Message::Signal(Box::new(signal("first")));
    let posting = Posting::Message { to: run.into(), message, now: engine.now(), receipt: None };
    stage.store().post(vec![posting]).await.remove(0).expect("the signal is taken");
}

async fn heard(engine: &Engine, run: RunId) -> String {
    engine.signal(run, signal("say")).await.expect("the signal is taken");
    match ending(engine, run).await {
        RunEnding::Completed(result) => text(&result),
        other => panic!("{other:?}"),
    }
}

/// The turn that follows from an end has been had, and its commit is on the way, when a signal is
/// acknowledged. The commit does not know of it, and is decided again.
#[tokio::test]
async fn a_signal_beside_the_commit_of_an_end_is_heard_first() {
    stage::each(async |stage| {
        let probe = Probe::new();
        let (engine, run) = listening(&stage, &probe).await;
        let end = stage.gates.hold(Method::Commit, When::Before, commit(carries));
        probe.finish(1);
        end.reached().await;
        engine.signal(run, signal("first")).await.expect("the signal is taken");
        end.release();
        assert_eq!(heard(&engine, run).await, "the signal");
    })
    .await;
}

/// The signal is acknowledged, and nobody reads it, because every hint of it is lost: the end must
/// not be taken before it.
#[tokio::test]
async fn a_signal_that_nobody_was_told_of_is_heard_first() {
    stage::each(async |stage| {
        let probe = Probe::new();
        let (engine, run) = listening(&stage, &probe).await;
        stage.gates.lose(Lost::Everything);
        engine.signal(run, signal("first")).await.expect("the signal is taken");
        probe.finish(1);
        probe.has_ended(1).await;
        settle_down(&engine, run).await;
        stage.gates.lose(Lost::Nothing);
        assert_eq!(heard(&engine, run).await, "the signal");
    })
    .await;
}

/// However many signals come while ends are written, a turn is had again a few times at most: after
/// the first time, ends go through the inbox for a while.
#[tokio::test]
async fn a_crowd_of_signals_does_not_have_every_turn_repeated() {
    stage::each(async |stage| {
        let engine = stage
            .builder()
            .flow("counts", |ctx, _| async move {
                for _ in 0..ENDS {
                    ctx.activity(work(10, 5)).await;
                }
                Ok(None)
            })
            .act("work", |_, _| async { Ok(None) })
            .up()
            .await;
        let run = start(&engine, "counts", "counts-1").await;
        let claims = |stage: &Stage| {
            let calls = stage.gates.calls();
            calls.iter().filter(|call| **call == Method::ClaimRuns).count()
        };
        let before = claims(&stage);
        let (mut held, mut ends) = (0, 0);
        while engine.head(run).await.expect("it is there").status.is_open() {
            let end = stage.gates.hold(Method::Commit, When::Before, commit(carries));
            let closed = within("an end", async {
                tokio::select! {
                    () = end.reached() => false,
                    () = async { engine.outcome(run).await.map(drop).expect("it ends") } => true,
                }
            });
            if closed.await {
                break;
            }
            held += 1;
            post_elsewhere(&stage, &engine, run).await;
            end.release();
            ends += 1;
        }
        assert!(held >= 1 && ends <= 3, "{held} commits were decided again");
        let claimed = claims(&stage) - before;
        assert!(claimed <= 3 * ends + 3, "the run was claimed {claimed} times");
    })
    .await;
}

/// The same at a remote worker: its report is turned into a decision about the run as it is at
/// hand, and a signal is acknowledged before that is written.
#[tokio::test]
async fn a_signal_beside_a_remote_report_is_taken_in_first() {
    stage::each(async |stage| {
        let engine = stage.builder().up().await;
        let run = remote::scheduled(&engine, "r-1", 1).await;
        let taken = remote::activity(&engine, "control").await;
        let end = stage.gates.hold(Method::Commit, When::Before, commit(carries));
        let report = tokio::spawn({
            let (engine, done) = (engine.clone(), Ending::Completed(None));
            async move { engine.end_activity(taken.token.as_slice(), done).await }
        });
        end.reached().await;
        post_elsewhere(&stage, &engine, run).await;
        end.release();
        report.await.expect("it lives").expect("the report is taken");
        until(&engine, run, "ActivityCompleted").await;
        let kinds = kinds(&engine, run).await;
        let at = |kind| kinds.iter().position(|own| *own == kind).expect("it is there");
        assert!(at("WorkflowSignalled") < at("ActivityCompleted"), "{kinds:?}");
        let turn = remote::turn(&engine).await;
        remote::answer(&engine, &turn, vec![Command::Complete(None)]).await;
    })
    .await;
}
