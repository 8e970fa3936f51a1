//! Every cell of place × ending × cancel × told, and the races between them.

mod clock;
mod late;

use expect_test::expect;

use super::*;
use crate::{
    Blob, Epoch, Fence, Ladder, Ladders, RetryPolicy,
    testing::{span, text, why},
};

fn native() -> Holder {
    Holder::Native(Fence::default())
}

fn remote() -> Holder {
    Holder::Remote { token: Blob::default(), control: "c".into() }
}

fn plain() -> ActivitySpec {
    ActivitySpec::default()
}

fn retrying() -> ActivitySpec {
    ActivitySpec { retry: Some(RetryPolicy::default()), ..plain() }
}

fn from_afar() -> ActivitySpec {
    ActivitySpec { remote: true, ..retrying() }
}

fn queued() -> ActivityLive {
    ActivityLive::queued(Time(0), Time(0))
}

fn started(holder: Holder) -> ActivityLive {
    let mut live = queued();
    start(&mut live, holder, "worker".into(), Time(1));
    live
}

fn cancelled(holder: Holder, told: bool) -> ActivityLive {
    let mut live = started(holder);
    assert_eq!(cancel(&mut live, &why("stop"), Time(2)), Hit::Started);
    if let Some(record) = &mut live.cancel {
        record.delivered_at = told.then_some(Time(3));
    }
    live
}

fn endings() -> [Ending; 8] {
    [
        Ending::Completed(None),
        Ending::Failed(Failure::new("no")),
        Ending::Cancelled(None),
        Ending::TimedOut(Timeout::StartToClose),
        Ending::Lost { seen: true },
        Ending::Lost { seen: false },
        Ending::Returned,
        Ending::Abandoned,
    ]
}

fn line(live: &ActivityLive) -> String {
    let mut line = match &live.place {
        Place::Queued { due } => format!("queued from {}s", due.0 as f64 / 1e6),
        Place::Started(_) => "started".to_owned(),
        Place::Ended(end) => {
            let outcome = match &end.outcome {
                Outcome::Completed(_) => "Completed".to_owned(),
                Outcome::Failed(failure) => failure.to_string(),
                Outcome::TimedOut(timeout) => format!("{timeout:?}"),
                Outcome::Cancelled(_, rung, _) => format!("Cancelled {rung:?}"),
            };
            format!("{outcome}, {:?}", end.retry)
        }
    };
    for own in live.unseen.iter() {
        line = format!("{line}, {:?}", own.sight);
    }
    if let Some(record) = &live.cancel {
        let seen = if record.stopped_at.is_some() { "stopped" } else { "not seen to stop" };
        line = format!("{line}; {seen}");
    }
    line
}

/// What each ending does to a row, one line for each.
fn table(spec: &ActivitySpec, live: &ActivityLive) -> String {
    let mut table = String::new();
    for ending in endings() {
        let mut live = live.clone();
        let name = format!("{ending:?}");
        let step = settle(spec, &mut live, 1, ending, None, Time(10));
        let ended = live.ended().is_some();
        assert_eq!(ended, step == Step::Ended, "{name}: {step:?}");
        table.push_str(&format!("{name} -> {}\n", line(&live)));
        if ended {
            one_outcome_only(spec, &live);
        }
    }
    table
}

/// Whatever is reported after the end, the outcome stands.
fn one_outcome_only(spec: &ActivitySpec, ended: &ActivityLive) {
    let outcome = |live: &ActivityLive| live.ended().map(|end| (end.outcome.clone(), end.retry));
    for ending in endings() {
        for attempt in [0, 1, 2] {
            let mut live = ended.clone();
            let step = settle(spec, &mut live, attempt, ending.clone(), None, Time(20));
            assert!(matches!(step, Step::Late | Step::Stale | Step::Noted), "{ending:?}: {step:?}");
            assert_eq!(outcome(&live), outcome(ended), "{ending:?}");
            assert_eq!(step == Step::Stale, live == *ended, "{ending:?} changes what it says");
        }
    }
    let mut live = ended.clone();
    let hit = cancel(&mut live, &why("again"), Time(20));
    assert!(matches!(hit, Hit::Ended | Hit::Already));
    assert_eq!(time_out(spec, &mut live, Time::MAX), None);
    assert_eq!(live, *ended);
}

#[test]
fn without_a_policy_only_a_lost_worker_is_tried_again() {
    expect![[r#"
        Completed(None) -> Completed, NonRetryable
        Failed(Failure[no]) -> no, NoPolicy
        Cancelled(None) -> Cancelled: stopped by itself, NonRetryable
        TimedOut(StartToClose) -> StartToClose, NoPolicy
        Lost { seen: true } -> queued from 0.00001s
        Lost { seen: false } -> queued from 0.00001s, Silent
        Returned -> queued from 0.00001s
        Abandoned -> queued from 0.00001s, RunsOn
    "#]]
    .assert_eq(&table(&plain(), &started(native())));
}

#[test]
fn with_a_policy_failures_and_limits_are_tried_again() {
    expect![[r#"
        Completed(None) -> Completed, NonRetryable
        Failed(Failure[no]) -> queued from 1.00001s
        Cancelled(None) -> Cancelled: stopped by itself, NonRetryable
        TimedOut(StartToClose) -> queued from 1.00001s
        Lost { seen: true } -> queued from 1.00001s
        Lost { seen: false } -> queued from 1.00001s, Silent
        Returned -> queued from 0.00001s
        Abandoned -> queued from 1.00001s, RunsOn
    "#]]
    .assert_eq(&table(&retrying(), &started(native())));
    let last = ActivitySpec {
        retry: Some(RetryPolicy { attempts_max: 1, ..RetryPolicy::default() }),
        ..plain()
    };
    expect![[r#"
        Completed(None) -> Completed, NonRetryable
        Failed(Failure[no]) -> no, AttemptsUsed
        Cancelled(None) -> Cancelled: stopped by itself, NonRetryable
        TimedOut(StartToClose) -> StartToClose, AttemptsUsed, Silent
        Lost { seen: true } -> worker_lost: its worker was lost, AttemptsUsed
        Lost { seen: false } -> worker_lost: its worker was lost, AttemptsUsed, Silent
        Returned -> queued from 0.00001s
        Abandoned -> worker_lost: its worker was lost, AttemptsUsed, RunsOn
    "#]]
    .assert_eq(&table(&last, &started(remote())));
}

/// A cancel is final for all attempts: nothing is tried again, whatever the policy says.
#[test]
fn a_cancelled_one_that_was_not_told_ends_as_it_ends() {
    expect![[r#"
        Completed(None) -> Completed, CancelRequested; stopped
        Failed(Failure[no]) -> no, CancelRequested; stopped
        Cancelled(None) -> Cancelled Signal, CancelRequested; stopped
        TimedOut(StartToClose) -> StartToClose, CancelRequested; stopped
        Lost { seen: true } -> Cancelled Died, CancelRequested; stopped
        Lost { seen: false } -> Cancelled Unknown, CancelRequested, Silent; not seen to stop
        Returned -> Cancelled NeverStarted, CancelRequested; stopped
        Abandoned -> Cancelled Abandon, CancelRequested, RunsOn; not seen to stop
    "#]]
    .assert_eq(&table(&retrying(), &cancelled(native(), false)));
}

#[test]
fn a_cancelled_one_that_was_told_ends_cancelled() {
    expect![[r#"
        Completed(None) -> Completed, CancelRequested; stopped
        Failed(Failure[no]) -> Cancelled Signal, CancelRequested; stopped
        Cancelled(None) -> Cancelled Signal, CancelRequested; stopped
        TimedOut(StartToClose) -> StartToClose, CancelRequested; stopped
        Lost { seen: true } -> Cancelled Died, CancelRequested; stopped
        Lost { seen: false } -> Cancelled Unknown, CancelRequested, Silent; not seen to stop
        Returned -> Cancelled NeverStarted, CancelRequested; stopped
        Abandoned -> Cancelled Abandon, CancelRequested, RunsOn; not seen to stop
    "#]]
    .assert_eq(&table(&retrying(), &cancelled(native(), true)));
}

/// A remote worker may fail after it was told, and its run must hear just that.
#[test]
fn a_remote_one_says_itself_whether_it_stopped() {
    expect![[r#"
        Completed(None) -> Completed, CancelRequested; stopped
        Failed(Failure[no]) -> no, CancelRequested; stopped
        Cancelled(None) -> Cancelled Signal, CancelRequested; stopped
        TimedOut(StartToClose) -> StartToClose, CancelRequested, Silent; not seen to stop
        Lost { seen: true } -> Cancelled Died, CancelRequested; stopped
        Lost { seen: false } -> Cancelled Unknown, CancelRequested, Silent; not seen to stop
        Returned -> Cancelled NeverStarted, CancelRequested; stopped
        Abandoned -> Cancelled Abandon, CancelRequested, RunsOn; not seen to stop
    "#]]
    .assert_eq(&table(&from_afar(), &cancelled(remote(), true)));
}

#[test]
fn a_cancel_meets_each_place() {
    let mut live = queued();
    assert_eq!(cancel(&mut live, &why("stop"), Time(5)), Hit::NeverStarted);
    assert_eq!(line(&live), "Cancelled NeverStarted, CancelRequested; stopped");
    assert_eq!(cancel(&mut live, &why("again"), Time(6)), Hit::Already);
    let mut live = started(native());
    assert_eq!(cancel(&mut live, &why("stop"), Time(5)), Hit::Started);
    assert_eq!(cancel(&mut live, &why("again"), Time(6)), Hit::Already);
    assert_eq!(live.cancel.clone().unwrap().cause, why("stop"), "the first cause wins");
    settle(&plain(), &mut live, 1, Ending::Completed(None), None, Time(7));
    assert_eq!(cancel(&mut live, &why("again"), Time(8)), Hit::Already);
    let mut live = started(native());
    settle(&plain(), &mut live, 1, Ending::Completed(None), None, Time(7));
    assert_eq!(cancel(&mut live, &why("late"), Time(8)), Hit::Ended);
    assert_eq!(live.cancel, None);
}

/// Between two attempts nothing runs: it is over at once.
#[test]
fn k7_a_later_cancel_may_only_hasten() {
    let ladder = |grace, step, detach| Ladder { grace: span(grace), step: span(step), detach };
    let by = |name: &str, activities| {
        let ladders = Ladders { activities: Some(activities), ..Ladders::default() };
        Cause { ladders: Some(Box::new(ladders)), ..Cause::requested("stop", name) }
    };
    let stands = |live: &ActivityLive| {
        let cause = &live.cancel.as_ref().unwrap().cause;
        let by = cause.requested_by.as_str().to_owned();
        (by, cause.activity_ladder().unwrap(), cause.only_hastens())
    };
    let mut live = started(native());
    assert_eq!(cancel(&mut live, &by("ann", ladder(60, 5, true)), Time(2)), Hit::Started);
    assert_eq!(cancel(&mut live, &why("again"), Time(3)), Hit::Already);
    assert_eq!(cancel(&mut live, &by("bob", ladder(90, 9, true)), Time(3)), Hit::Already);
    assert_eq!(stands(&live), ("ann".into(), ladder(60, 5, true), false));
    assert_eq!(cancel(&mut live, &by("bob", ladder(2, 9, false)), Time(3)), Hit::Started);
    assert_eq!(stands(&live), ("ann".into(), ladder(2, 5, false), false));
    assert_eq!(cancel(&mut live, &by("bob", ladder(2, 9, false)), Time(4)), Hit::Already);
    // Where the first cancel left it to the activity, only what is quicker than that counts.
    let mut live = cancelled(native(), true);
    assert_eq!(cancel(&mut live, &by("bob", ladder(60, 5, false)), Time(3)), Hit::Started);
    assert_eq!(stands(&live), ("alice".into(), ladder(60, 5, false), true));
    // A remote attempt has one rung, and what is over is over.
    let hasty = by("bob", ladder(0, 0, false));
    assert_eq!(cancel(&mut cancelled(remote(), true), &hasty, Time(3)), Hit::Already);
    settle(&plain(), &mut live, 1, Ending::Cancelled(None), None, Time(5));
    assert_eq!(cancel(&mut live, &hasty, Time(6)), Hit::Already);
}

#[test]
fn a_cancel_between_two_attempts_ends_it() {
    let mut live = started(native());
    settle(&retrying(), &mut live, 1, Ending::Failed(Failure::new("no")), None, Time(5));
    assert_eq!(cancel(&mut live, &why("stop"), Time(6)), Hit::Waiting);
    assert_eq!(line(&live), "Cancelled Waiting, CancelRequested; stopped");
}

/// A mark is folded into the row before anything else is done to it, so a failed attempt that was
/// marked is not tried again.
#[test]
fn a_mark_comes_before_the_retry() {
    let mut live = started(native());
    assert_eq!(cancel(&mut live, &why("mark"), Time(4)), Hit::Started);
    let failed = Ending::Failed(Failure::new("no"));
    assert_eq!(settle(&retrying(), &mut live, 1, failed, None, Time(5)), Step::Ended);
    assert_eq!(line(&live), "no, CancelRequested; stopped");
}

#[test]
fn the_rung_that_it_took_is_kept() {
    let mut live = cancelled(native(), true);
    settle(&plain(), &mut live, 1, Ending::Cancelled(None), Some(Rung::Kill), Time(9));
    assert_eq!(line(&live), "Cancelled Kill, CancelRequested; stopped");
    let mut live = cancelled(native(), true);
    assert_eq!(lose(&plain(), &mut live, true, Time(9)), Step::Ended);
    assert_eq!(line(&live), "Cancelled Died, CancelRequested; stopped");
    let mut live = cancelled(native(), true);
    assert_eq!(lose(&plain(), &mut live, false, Time(9)), Step::Ended);
    let told = "Cancelled Unknown, CancelRequested, Silent; not seen to stop";
    assert_eq!(line(&live), told, "nobody knows that anything was killed");
}

/// An attempt that was handed back untried does not stand for the whole activity: one before it had
/// run, or may have, since what had begun is handed back as well.
#[test]
fn what_is_handed_back_untried_may_have_run_in_an_attempt_before() {
    let again = |first: Ending| {
        let mut live = started(native());
        let spec = retrying();
        settle(&spec, &mut live, 1, first, None, Time(2));
        start(&mut live, native(), "worker".into(), Time(3));
        assert_eq!(cancel(&mut live, &why("stop"), Time(4)), Hit::Started);
        let untried = Some(Rung::NeverStarted);
        assert_eq!(settle(&spec, &mut live, 2, Ending::Returned, untried, Time(5)), Step::Ended);
        line(&live)
    };
    let failed = Ending::Failed(Failure::new("no"));
    assert_eq!(again(failed), "Cancelled Waiting, CancelRequested; stopped");
    assert_eq!(again(Ending::Returned), "Cancelled Waiting, CancelRequested; stopped");
}
