//! The way of a notice to its worker: kept until it is acknowledged or pointless, each worker by
//! itself, all that there is in one answer.

use bowline_core::{Cause, Ending, EventId, NoticeId, RunId, StopAttempt};
use bowline_engine::Engine;
use bowline_store::Phase;

use crate::{
    support::{
        flows::{Flows, work},
        probe::Probe,
        remote::{acknowledge, activity, next_notices, notices, scheduled},
        stage::{self, cancel, comes_clean},
    },
    world::{Code, done, start, within},
};

fn ids(notices: &[StopAttempt]) -> Vec<NoticeId> {
    notices.iter().map(StopAttempt::id).collect()
}

fn about(notices: &[StopAttempt]) -> Vec<EventId> {
    let mut about: Vec<_> = notices.iter().map(|notice| notice.activity).collect();
    about.sort();
    about
}

async fn terminate(engine: &Engine, run: RunId) -> bowline_core::ReceiptId {
    let cause = Cause::requested("enough", "alice");
    engine.terminate(run, cause).await.expect("it is taken")
}

/// R6, H1: a notice that its worker has not acknowledged is handed out again after ten seconds,
/// with the same id, also to a poll that waits since before; what is acknowledged is not.
#[tokio::test]
async fn r6_h1_a_notice_is_handed_out_with_its_id_until_it_is_acknowledged() {
    stage::each(async |stage| {
        let engine = stage.builder().up().await;
        let run = scheduled(&engine, "r-1", 2).await;
        let (one, two) = (activity(&engine, "c").await, activity(&engine, "c").await);
        terminate(&engine, run).await;
        let mut first = next_notices(&engine, "c").await;
        while first.len() < 2 {
            first.extend(next_notices(&engine, "c").await);
        }
        assert_eq!(about(&first), [one.activity, two.activity]);
        assert_eq!(notices(&engine, "c").await, [], "the worker has ten seconds");
        let waiting = tokio::spawn({
            let engine = engine.clone();
            async move { next_notices(&engine, "c").await }
        });
        stage.passes(10).await;
        let again = within("the poll", waiting).await.expect("it ends");
        assert_eq!(ids(&again), ids(&first), "H1: known by their ids");
        assert_eq!(again, first);
        acknowledge(&engine, "c", &again[..1]).await;
        stage.advance(10);
        assert_eq!(ids(&notices(&engine, "c").await), ids(&again[1..]));
        acknowledge(&engine, "c", &again).await;
        stage.advance(10);
        assert_eq!(notices(&engine, "c").await, []);
    })
    .await;
}

/// R7: a worker that never comes for its notices delays nobody else, however much waits for it.
#[tokio::test]
async fn r7_a_worker_that_never_comes_delays_nobody_else() {
    stage::each(async |stage| {
        let engine = stage.builder().up().await;
        let absent = scheduled(&engine, "absent", 50).await;
        for _ in 0..50 {
            activity(&engine, "absent").await;
        }
        let run = scheduled(&engine, "present", 1).await;
        let own = activity(&engine, "present").await;
        let lost = terminate(&engine, absent).await;
        stage::reaches(&engine, lost, Phase::Decided).await;
        let receipt = terminate(&engine, run).await;
        let told = next_notices(&engine, "present").await;
        assert_eq!(about(&told), [own.activity]);
        acknowledge(&engine, "present", &told).await;
        let end = engine.end_activity(own.token.as_slice(), Ending::Cancelled(None));
        end.await.expect("it ends");
        comes_clean(&engine, receipt).await;
        let left = engine.receipt(lost).await.expect("it is there");
        assert_eq!(left.phase(), Phase::Decided, "nobody has told the absent one");
    })
    .await;
}

/// R8, H6: all that a worker must be told comes in one answer: here everything that one commit
/// cancelled.
#[tokio::test]
async fn r8_h6_several_cancels_come_in_one_answer() {
    stage::each(async |stage| {
        let engine = stage.builder().up().await;
        let run = scheduled(&engine, "r-1", 5).await;
        let mut own = Vec::new();
        for _ in 0..5 {
            own.push(activity(&engine, "c").await.activity);
        }
        let receipt = terminate(&engine, run).await;
        stage::reaches(&engine, receipt, Phase::Decided).await;
        let told = next_notices(&engine, "c").await;
        assert_eq!(about(&told), own);
        acknowledge(&engine, "c", &told).await;
        let left = stage::reaches(&engine, receipt, Phase::Delivered).await;
        assert!(left.attempts.iter().all(|line| line.delivered_at.is_some()), "{left:#?}");
    })
    .await;
}

/// R20: once its activity is over nobody is told of its cancel any more: neither what was handed
/// out is repeated, nor what nobody has come for yet.
#[tokio::test]
async fn r20_a_notice_ends_with_its_activity() {
    stage::each(async |stage| {
        let engine = stage.builder().up().await;
        let run = scheduled(&engine, "r-1", 2).await;
        let (one, two) = (activity(&engine, "one").await, activity(&engine, "two").await);
        terminate(&engine, run).await;
        let told = next_notices(&engine, "one").await;
        assert_eq!(about(&told), [one.activity]);
        for activity in [&one, &two] {
            let end = engine.end_activity(activity.token.as_slice(), Ending::Cancelled(None));
            end.await.expect("it ends");
        }
        stage.advance(10);
        assert_eq!(notices(&engine, "one").await, [], "it was not acknowledged, and is over");
        assert_eq!(notices(&engine, "two").await, [], "nobody had come for it");
    })
    .await;
}

/// R20, R47: while cancelled code runs, every renewal says so again; with its end that stops,
/// although other code of the same worker goes on renewing.
#[tokio::test]
async fn r20_renewals_fall_silent_when_the_activity_is_over() {
    stage::each(async |stage| {
        let (doomed, other) = (Probe::new(), Probe::new());
        let engine = stage
            .builder()
            .fan(work(60_000, 60_000), 1)
            .activity("work", doomed.completes_late())
            .flow("other", |ctx, _| async move {
                done(ctx.activity(crate::world::activity("other", "1")).await)
            })
            .activity("other", other.obeys())
            .up()
            .await;
        start(&engine, "other", "other-1").await;
        other.has_begun(1).await;
        let run = start(&engine, "fan", "fan-1").await;
        doomed.has_begun(1).await;
        let receipt = cancel(&engine, run).await;
        stage::reaches(&engine, receipt, Phase::Observed).await;
        let before = stage.gates.renewed().len();
        for _ in 0..3 {
            stage.passes(10_000).await;
        }
        renewals(&stage, before + 3).await;
        assert_eq!(stage.gates.renewed()[before..before + 3], [1, 1, 1]);
        doomed.finish(1);
        comes_clean(&engine, receipt).await;
        let before = stage.gates.renewed().len();
        for _ in 0..3 {
            stage.passes(10_000).await;
        }
        renewals(&stage, before + 3).await;
        assert_eq!(stage.gates.renewed()[before..before + 3], [0, 0, 0]);
        assert_eq!(doomed.causes().len(), 1, "R19: told once, however often it was said");
        assert_eq!(other.causes(), [], "it is nobody else's business");
    })
    .await;
}

/// Waits until so many renewals were answered.
async fn renewals(stage: &stage::Stage, count: usize) {
    within("a renewal", async {
        while stage.gates.renewed().len() < count {
            tokio::task::yield_now().await;
        }
    })
    .await;
}

/// K22, R16: a worker without a control channel is not sent anything; the receipt says so as long
/// as it matters, and its next heartbeat tells it.
#[tokio::test]
async fn k22_the_receipt_says_who_has_no_control_channel() {
    stage::each(async |stage| {
        let engine = stage.builder().up().await;
        let run = scheduled(&engine, "r-1", 2).await;
        let (deaf, told) = (activity(&engine, "").await, activity(&engine, "c").await);
        let receipt = terminate(&engine, run).await;
        let left = stage::reaches(&engine, receipt, Phase::Decided).await;
        let line = |id| left.attempts.iter().find(|line| line.activity == id).expect("it is there");
        assert!(line(deaf.activity).deaf && !line(told.activity).deaf, "{left:#?}");
        assert_eq!(about(&next_notices(&engine, "c").await), [told.activity]);
        let beat = engine.heartbeat(deaf.token.as_slice(), None).await.expect("answered");
        assert!(matches!(beat, bowline_engine::RemoteHeartbeat::Cancelled(_)), "{beat:?}");
        for activity in [&deaf, &told] {
            let end = engine.end_activity(activity.token.as_slice(), Ending::Cancelled(None));
            end.await.expect("it ends");
        }
        let left = comes_clean(&engine, receipt).await;
        assert!(left.attempts.iter().all(|line| !line.deaf), "{left:#?}");
    })
    .await;
}
