//! Attempts counted, paused and timed.

use expect_test::expect;

use super::*;
use crate::{Span, Timeouts};

/// What happens to an activity that always ends so, until it has its outcome.
fn always(spec: &ActivitySpec, ending: &Ending) -> (u32, ActivityLive) {
    let mut live = queued();
    let mut now = Time(0);
    loop {
        let Place::Queued { due } = live.place else { return (live.attempt, live) };
        now = now.max(due);
        start(&mut live, native(), "worker".into(), now);
        let attempt = live.attempt;
        settle(spec, &mut live, attempt, ending.clone(), None, now);
        assert!(live.attempt < 100, "it ends");
    }
}

#[test]
fn a_lost_worker_is_tried_ten_times() {
    let (attempts, live) = always(&plain(), &Ending::Lost { seen: true });
    assert_eq!(attempts, limits::LOST_ATTEMPTS_MAX);
    assert_eq!(line(&live), "worker_lost: its worker was lost, AttemptsUsed");
    let policy = RetryPolicy { attempts_max: 3, ..RetryPolicy::default() };
    let spec = ActivitySpec { retry: Some(policy), ..plain() };
    let (attempts, live) = always(&spec, &Ending::Lost { seen: false });
    assert_eq!(attempts, 3, "a policy of its own counts instead");
    assert_eq!(
        line(&live),
        "worker_lost: its worker was lost, AttemptsUsed, Silent, Silent, Silent"
    );
}

/// A worker that hands an attempt back untried has not used it up; its number is gone all the
/// same, so that the late report of a returned attempt is never taken for that of a later one.
#[test]
fn returned_attempts_do_not_count() {
    let policy = RetryPolicy { attempts_max: 2, ..RetryPolicy::default() };
    let spec = ActivitySpec { retry: Some(policy), ..plain() };
    let mut live = queued();
    let failed = || Ending::Failed(Failure::new("no"));
    let endings = [Ending::Returned, failed(), Ending::Returned, Ending::Returned, failed()];
    let steps: Vec<_> = endings
        .into_iter()
        .map(|ending| {
            start(&mut live, native(), "worker".into(), Time(0));
            let attempt = live.attempt;
            settle(&spec, &mut live, attempt, ending, None, Time(0));
            format!("{attempt}: {}", line(&live))
        })
        .collect();
    expect![[r#"
        1: queued from 0s
        2: queued from 1s
        3: queued from 0s
        4: queued from 0s
        5: no, AttemptsUsed"#]]
    .assert_eq(&steps.join("\n"));
    assert_eq!((live.attempt, live.returned), (5, 3));
}

/// The next attempt may read how the one before failed, who had it, and how far it had got.
#[test]
fn an_attempt_leaves_word_for_the_next() {
    let mut live = started(native());
    live.heartbeat = text("half");
    settle(&retrying(), &mut live, 1, Ending::Failed(Failure::new("no")), None, Time(5));
    assert_eq!(live.last_failure, Some(Failure::new("no")));
    assert_eq!((live.last_worker.as_str(), live.heartbeat.clone()), ("worker", text("half")));
    start(&mut live, native(), "other".into(), Time(6));
    settle(&retrying(), &mut live, 2, Ending::Returned, None, Time(7));
    assert_eq!(live.last_failure, Some(Failure::new("no")), "a returned one had nothing to say");
}

#[test]
fn there_is_no_retry_when_the_whole_time_is_up() {
    let timeouts = Timeouts { schedule_to_close: Some(span(1)), ..Timeouts::default() };
    let spec = ActivitySpec { timeouts, ..retrying() };
    let mut live = started(native());
    settle(&spec, &mut live, 1, Ending::Failed(Failure::new("no")), None, Time(5));
    assert_eq!(line(&live), "no, Timeout");
}

/// Where only time is missing for another attempt, a remote worker is told of the limit of all.
#[test]
fn no_time_for_another_attempt_is_a_limit_of_its_own() {
    let timeouts = Timeouts { schedule_to_close: Some(span(1)), ..Timeouts::default() };
    let ends = |spec: ActivitySpec, holder| {
        let mut live = started(holder);
        let late = Ending::TimedOut(Timeout::StartToClose);
        settle(&ActivitySpec { timeouts, ..spec }, &mut live, 1, late, None, Time(5));
        line(&live)
    };
    assert_eq!(ends(retrying(), native()), "StartToClose, Timeout");
    assert_eq!(ends(from_afar(), remote()), "ScheduleToClose, Timeout, Silent");
}

/// Of two limits that pass together, the one of all attempts is told of a running one; one that
/// nobody took has waited too long.
#[test]
fn of_two_limits_that_pass_together_one_counts() {
    let second = Some(span(1));
    let timeouts = Timeouts {
        schedule_to_start: second,
        start_to_close: second,
        schedule_to_close: second,
        heartbeat: second,
    };
    let spec = ActivitySpec { timeouts, ..from_afar() };
    let mut live = queued();
    let passed = |live: &ActivityLive| deadline(&spec, live).map(|(_, limit)| limit);
    assert_eq!(passed(&live), Some(Timeout::ScheduleToStart));
    start(&mut live, remote(), "worker".into(), Time(0));
    assert_eq!(passed(&live), Some(Timeout::ScheduleToClose));
}

/// Each limit of each place, and which of them passes first.
#[test]
fn limits_pass_in_each_place() {
    let all = Timeouts {
        schedule_to_start: Some(span(10)),
        start_to_close: Some(span(20)),
        schedule_to_close: Some(span(60)),
        heartbeat: Some(span(5)),
    };
    let spec = ActivitySpec { timeouts: all, ..plain() };
    let second = |n: i64| Time(n * 1_000_000);
    let due = |spec: &ActivitySpec, live: &ActivityLive| deadline(spec, live);
    assert_eq!(due(&spec, &queued()), Some((second(10), Timeout::ScheduleToStart)));
    let later = ActivityLive::queued(second(0), second(55));
    assert_eq!(due(&spec, &later), Some((second(60), Timeout::ScheduleToClose)));
    let mut live = started(remote());
    assert_eq!(due(&spec, &live), Some((Time(5_000_001), Timeout::Heartbeat)));
    if let Place::Started(start) = &mut live.place {
        start.heard_at = second(18);
    }
    assert_eq!(due(&spec, &live), Some((Time(20_000_001), Timeout::StartToClose)));
    assert_eq!(due(&spec, &started(native())), None, "its supervisor watches it");
    assert_eq!(due(&plain(), &queued()), None);
    settle(&spec, &mut live, 1, Ending::Completed(None), None, second(19));
    assert_eq!(due(&spec, &live), None);
}

#[test]
fn a_limit_that_has_passed_is_applied() {
    let timeouts = |f: fn(Span) -> Timeouts| ActivitySpec { timeouts: f(span(5)), ..retrying() };
    let none = Timeouts::default;
    let waiting = timeouts(|s| Timeouts { schedule_to_start: Some(s), ..Timeouts::default() });
    let mut live = queued();
    assert_eq!(time_out(&waiting, &mut live, Time(4_999_999)), None);
    assert_eq!(time_out(&waiting, &mut live, Time(5_000_000)), Some(Step::Ended));
    assert_eq!(line(&live), "ScheduleToStart, Timeout");
    let running = timeouts(|s| Timeouts { start_to_close: Some(s), ..Timeouts::default() });
    let mut live = started(remote());
    assert_eq!(time_out(&running, &mut live, Time(5_000_000)), None);
    let step = time_out(&running, &mut live, Time(5_000_001));
    assert_eq!(step, Some(Step::Requeued(Time(6_000_001))), "it is tried again, after a pause");
    let whole = timeouts(|s| Timeouts { schedule_to_close: Some(s), ..Timeouts::default() });
    let mut live = started(remote());
    assert_eq!(time_out(&whole, &mut live, Time(5_000_000)), Some(Step::Ended));
    assert_eq!(line(&live), "ScheduleToClose, Timeout, Silent");
    assert_eq!(none(), plain().timeouts);
}

#[test]
#[should_panic(expected = "only a queued activity can be started")]
fn a_started_one_cannot_be_started() {
    start(&mut started(native()), native(), "other".into(), Time(2));
}
