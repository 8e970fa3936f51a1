//! Scopes with code that really runs: clean-ups wait for it, learn what became of it, and come
//! from the inside to the outside.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use bowline_core::{
    ActivitySpec, Cause, ChildSpec, Code as CauseCode, Ladder, Payload, RunEnding, Status,
};
use bowline_engine::{Builder, StartOptions};
use bowline_replay::{Context, Either, Ended, Stopped, either};
use bowline_store::Phase;

use crate::{
    support::{
        flows::{Flows, work},
        probe::Probe,
        stage::{self, cancel, comes_clean, reaches, settle_down},
    },
    world::{Code, QUEUE, activity, done, ending, kinds, signal, start, text, until},
};

const MINUTE: Duration = Duration::from_secs(60);

/// Every clean-up step, with what of `work` was running when it began.
#[derive(Clone, Default)]
struct Undone(Arc<Mutex<Vec<(String, usize)>>>);

impl Undone {
    fn steps(&self) -> Vec<(String, usize)> {
        self.0.lock().unwrap().clone()
    }
}

trait Undoes {
    fn undoes(self, undone: &Undone, probe: &Probe) -> Self;
}

impl Undoes for Builder {
    fn undoes(self, undone: &Undone, probe: &Probe) -> Self {
        let (undone, probe) = (undone.clone(), probe.clone());
        self.act("undo", move |_, input| {
            undone.0.lock().unwrap().push((text(&input), probe.running()));
            async { Ok(None) }
        })
    }
}

async fn undo(ctx: &Context, what: &str) -> Result<(), Ended> {
    done(ctx.activity(activity("undo", &format!("{what:?}"))).await).map(drop)
}

fn quoted(steps: &[&str]) -> Vec<(String, usize)> {
    steps.iter().map(|step| (format!("{step:?}"), 0)).collect()
}

fn codes(cause: &Cause) -> Vec<CauseCode> {
    cause.chain().map(|cause| cause.code).collect()
}

/// The code inside takes its time to stop. No clean-up begins before it has, and the inner one
/// comes first, although nobody waits for either any more.
#[tokio::test]
async fn nested_clean_ups_wait_for_running_code_and_come_from_the_inside() {
    stage::each(async |stage| {
        let (probe, undone) = (Probe::new(), Undone::default());
        let nested = |ctx: Context, _| async move {
            let inner = ctx.scope(async { done(ctx.activity(activity("work", "1")).await) });
            let inner = inner.name("inner").cleanup(async |ctx, _| undo(&ctx, "inner").await);
            let outer = ctx.scope(async { Ok(inner.await?) });
            let outer = outer.name("outer").cleanup(async |ctx, _| undo(&ctx, "outer").await);
            Ok(outer.await?)
        };
        let builder = stage.builder().flow("nested", nested).undoes(&undone, &probe);
        let engine = builder.activity("work", probe.completes_late()).up().await;
        let run = start(&engine, "nested", "nested-1").await;
        probe.has_begun(1).await;
        let receipt = cancel(&engine, run).await;
        probe.was_told(1).await;
        settle_down(&engine, run).await;
        assert_eq!(undone.steps(), [], "it has not stopped yet");
        probe.finish(1);
        let left = comes_clean(&engine, receipt).await;
        assert_eq!(undone.steps(), quoted(&["inner", "outer"]));
        assert_eq!(left.runs[0].status, Status::Cancelled);
        let told = codes(&probe.causes()[0]);
        assert_eq!(told.first(), Some(&CauseCode::ScopeExit), "{told:?}");
        assert_eq!(told.last(), Some(&CauseCode::Requested), "{told:?}");
    })
    .await;
}

/// N9: the clean-up is told what had completed, late successes included, what was cancelled, and
/// what was given up.
#[tokio::test]
async fn n9_a_clean_up_is_told_what_became_of_everything() {
    stage::each(async |stage| {
        let (late, stops, stays) = (Probe::new(), Probe::new(), Probe::new());
        let told = Arc::new(Mutex::new(None::<Stopped>));
        let kept = told.clone();
        let books = move |ctx: Context, _| {
            let kept = kept.clone();
            async move {
                let scope = ctx.scope(async {
                    done(ctx.activity(activity("quick", "1")).await)?;
                    let given_up = Ladder { detach: true, ..work(10, 5).ladder };
                    let stays = ActivitySpec { ladder: given_up, ..activity("stays", "1") };
                    let all = [activity("late", "1"), activity("stops", "1"), stays];
                    let calls: Vec<_> = all.map(|spec| ctx.activity(spec).start()).into();
                    bowline_replay::join_all(calls).await;
                    Ok(None)
                });
                let scope = scope.cleanup(async move |ctx, stopped| {
                    kept.lock().unwrap().replace(stopped);
                    undo(&ctx, "all").await
                });
                Ok(scope.await?)
            }
        };
        let undone = Undone::default();
        let builder = stage.builder().flow("books", books).undoes(&undone, &late);
        let engine = builder
            .act("quick", |_, _| async { Ok(Some(Payload::json("\"quick\""))) })
            .activity("late", late.completes_late())
            .activity("stops", stops.obeys())
            .activity("stays", stays.completes_late())
            .up()
            .await;
        let run = start(&engine, "books", "books-1").await;
        for probe in [&late, &stops, &stays] {
            probe.has_begun(1).await;
        }
        let receipt = cancel(&engine, run).await;
        for probe in [&late, &stops, &stays] {
            probe.was_told(1).await;
        }
        late.finish(1);
        late.has_ended(1).await;
        settle_down(&engine, run).await;
        assert_eq!(undone.steps(), [], "one of them has not climbed its whole ladder");
        stage.passes(10).await;
        reaches(&engine, receipt, Phase::Settled).await;
        let stopped = told.lock().unwrap().take().expect("the clean-up has run");
        let names = |items: &[bowline_replay::Item]| -> Vec<String> {
            items.iter().map(|i| format!("{} {}", i.name, text(&i.result))).collect()
        };
        assert_eq!(names(&stopped.completed), ["quick \"quick\"", "late \"late\""]);
        assert_eq!(names(&stopped.cancelled), ["stops "]);
        assert_eq!(names(&stopped.abandoned), ["stays "]);
        assert!(matches!(&stopped.why, Ended::Cancelled(_)), "{:?}", stopped.why);
        stays.finish(1);
        comes_clean(&engine, receipt).await;
    })
    .await;
}

/// A shield that loses a race is finished by the run, untouched by it.
#[tokio::test]
async fn a_shield_that_a_select_drops_is_finished() {
    stage::each(async |stage| {
        let probe = Probe::new();
        let pays = |ctx: Context, _| async move {
            let inside = ctx.clone();
            let pay = async move { inside.activity(activity("work", "1")).await };
            let both = either(ctx.shield(pay), ctx.timer(MINUTE)).await;
            assert!(matches!(both, Either::Right(Ok(()))), "the timer wins");
            Ok(Some(Payload::json("1")))
        };
        let builder = stage.builder().flow("pays", pays);
        let engine = builder.activity("work", probe.obeys()).up().await;
        let run = start(&engine, "pays", "pays-1").await;
        probe.has_begun(1).await;
        stage.passes(60).await;
        until(&engine, run, "TimerFired").await;
        settle_down(&engine, run).await;
        let status = engine.head(run).await.expect("it is there").status;
        assert_eq!((status, probe.running()), (Status::Running, 1), "the run stays for it");
        assert_eq!(probe.causes(), [], "nobody has told it to stop");
        probe.finish(1);
        assert_eq!(ending(&engine, run).await, RunEnding::Completed(Some(Payload::json("1"))));
        assert!(kinds(&engine, run).await.contains(&"ActivityCompleted"));
    })
    .await;
}

/// No cancel reaches what is shielded; the run is closed as cancelled when it is done.
#[tokio::test]
async fn a_cancel_waits_for_what_is_shielded() {
    stage::each(async |stage| {
        let probe = Probe::new();
        let pays = |ctx: Context, _| async move {
            let inside = ctx.clone();
            let pay = async move { inside.activity(activity("work", "1")).await };
            done(ctx.shield(pay).await)
        };
        let builder = stage.builder().flow("pays", pays);
        let engine = builder.activity("work", probe.obeys()).up().await;
        let run = start(&engine, "pays", "pays-1").await;
        probe.has_begun(1).await;
        let receipt = cancel(&engine, run).await;
        let left = reaches(&engine, receipt, Phase::Decided).await;
        settle_down(&engine, run).await;
        assert_eq!((left.phase(), probe.causes().len()), (Phase::Decided, 0));
        probe.finish(1);
        let left = comes_clean(&engine, receipt).await;
        assert_eq!(left.runs[0].status, Status::Cancelled);
    })
    .await;
}

/// N10, N11: a deadline flows inwards as remaining time, to activities and children, and ends as a
/// cancel with clean-up. The code inside an inner scope hears the whole chain.
#[tokio::test]
async fn n10_a_deadline_flows_inwards_and_ends_as_a_cancel_with_clean_up() {
    stage::each(async |stage| {
        let (probe, kid, undone) = (Probe::new(), Probe::new(), Undone::default());
        let parent = |ctx: Context, _| async move {
            let outer = ctx.scope(async {
                let spec = ChildSpec { name: "kid".into(), ..ChildSpec::default() };
                let _kid = ctx.child(spec).start();
                let inner = ctx.scope(async { done(ctx.activity(activity("work", "1")).await) });
                Ok(inner.name("inner").await?)
            });
            let outer = outer.name("part").deadline(MINUTE);
            let stopped = outer.cleanup(async |ctx, _| undo(&ctx, "part").await).await;
            let why = stopped.expect_err("it does not end well").why;
            Ok(Some(Payload::json(format!("{:?}", why.cause().map(|cause| cause.code)))))
        };
        let child = |ctx: Context, _| async move {
            let until = ctx.info().deadline.map(|at| at.0.to_string()).unwrap_or_default();
            done(ctx.activity(activity("kid", &until)).await)
        };
        let limits = Arc::new(Mutex::new(Vec::new()));
        let (seen, watched) = (limits.clone(), probe.clone());
        let engine = stage
            .builder()
            .flow("parent", parent)
            .flow("kid", child)
            .undoes(&undone, &probe)
            .act("work", move |ctx, input| {
                seen.lock().unwrap().push((ctx.deadline(), ctx.remaining()));
                watched.obeys().call(ctx, input)
            })
            .activity("kid", kid.obeys())
            .up()
            .await;
        let begins = stage.after(0);
        let run = start(&engine, "parent", "parent-1").await;
        probe.has_begun(1).await;
        kid.has_begun(1).await;
        assert_eq!(limits.lock().unwrap()[..], [(Some(begins.after(MINUTE)), Some(MINUTE))]);
        stage.passes(60).await;
        let said = RunEnding::Completed(Some(Payload::json("Some(Deadline)")));
        assert_eq!(ending(&engine, run).await, said);
        assert_eq!(codes(&probe.causes()[0]), [CauseCode::ScopeExit, CauseCode::Deadline], "N11");
        let chain = codes(&kid.causes()[0]);
        assert!(chain.contains(&CauseCode::Deadline), "{chain:?}");
        assert_eq!(undone.steps(), quoted(&["part"]));
        assert!(kinds(&engine, run).await.contains(&"ChildCancelled"));
        assert!(!kinds(&engine, run).await.contains(&"ActivityTimedOut"), "it is no time-out");
    })
    .await;
}

/// N10: the deadline of a whole run is a cancel of the run, with cause `deadline`.
#[tokio::test]
async fn n10_the_deadline_of_a_run_cancels_it_with_clean_up() {
    stage::each(async |stage| {
        let (probe, undone) = (Probe::new(), Undone::default());
        let one = |ctx: Context, _| async move {
            let scope = ctx.scope(async { done(ctx.activity(activity("work", "1")).await) });
            Ok(scope.cleanup(async |ctx, _| undo(&ctx, "all").await).await?)
        };
        let builder = stage.builder().flow("one", one).undoes(&undone, &probe);
        let engine = builder.activity("work", probe.obeys()).up().await;
        let mut options = StartOptions::new("one", "one-1", QUEUE, None);
        options.started.deadline = Some(stage.after(60));
        let run = engine.start(options).await.expect("it starts");
        probe.has_begun(1).await;
        stage.passes(60).await;
        let ended = ending(&engine, run).await;
        let RunEnding::Cancelled(_, Some(cause)) = &ended else { panic!("{ended:?}") };
        assert_eq!(cause.root().code, CauseCode::Deadline);
        assert_eq!(probe.causes()[0].root().code, CauseCode::Deadline, "N11");
        assert_eq!(undone.steps(), quoted(&["all"]));
    })
    .await;
}

/// R61, R62, R97, R102: the loser of a race is cancelled with `select_lost`: an activity against a
/// timer, which is what every helper with a time-out is made of.
#[tokio::test]
async fn r102_the_loser_of_a_race_is_told_and_the_run_goes_on() {
    stage::each(async |stage| {
        let probe = Probe::new();
        let races = |ctx: Context, _| async move {
            let call = ctx.activity(activity("work", "1"));
            match either(call, ctx.timer(MINUTE)).await {
                Either::Left(outcome) => done(outcome),
                Either::Right(_) => {
                    ctx.signals("end").recv().await;
                    Ok(Some(Payload::json("\"too slow\"")))
                }
            }
        };
        let builder = stage.builder().flow("races", races);
        let engine = builder.activity("work", probe.obeys()).up().await;
        let run = start(&engine, "races", "races-1").await;
        probe.has_begun(1).await;
        assert_eq!(probe.causes(), [], "R97: nobody has told it anything yet");
        stage.passes(60).await;
        probe.was_told(1).await;
        assert_eq!(codes(&probe.causes()[0]), [CauseCode::SelectLost]);
        until(&engine, run, "ActivityCancelled").await;
        engine.signal(run, signal("end")).await.expect("the signal is taken");
        let said = RunEnding::Completed(Some(Payload::json("\"too slow\"")));
        assert_eq!(ending(&engine, run).await, said);
    })
    .await;
}

/// R97: the winner of a race ends the run; what it left behind hears that the run is over.
#[tokio::test]
async fn r97_what_a_finished_run_leaves_behind_is_told() {
    stage::each(async |stage| {
        let probe = Probe::new();
        let ends = |ctx: Context, _| async move {
            let _left = ctx.activity(activity("work", "1")).start();
            ctx.signals("end").recv().await;
            Ok(None)
        };
        let builder = stage.builder().flow("ends", ends);
        let engine = builder.activity("work", probe.obeys()).up().await;
        let run = start(&engine, "ends", "ends-1").await;
        probe.has_begun(1).await;
        engine.signal(run, signal("end")).await.expect("the signal is taken");
        assert_eq!(ending(&engine, run).await, RunEnding::Completed(None));
        probe.was_told(1).await;
        assert_eq!(codes(&probe.causes()[0]), [CauseCode::RunCompleted]);
        let receipt = cancel(&engine, run).await;
        comes_clean(&engine, receipt).await;
    })
    .await;
}
