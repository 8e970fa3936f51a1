//! Reports about attempts that are not out: late ones, lost ones that come back, code that runs on.

use super::*;

/// An attempt that is not the newest changes nothing while another one waits or runs.
#[test]
fn a_stale_attempt_changes_nothing() {
    let mut live = started(native());
    settle(&retrying(), &mut live, 1, Ending::Failed(Failure::new("no")), None, Time(5));
    for place in 0..2 {
        for ending in endings() {
            let before = live.clone();
            let step = settle(&retrying(), &mut live, 1, ending.clone(), None, Time(9));
            assert_eq!((step, &live), (Step::Stale, &before), "{place} {ending:?}");
        }
        if place == 0 {
            start(&mut live, native(), "other".into(), Time(8));
        }
    }
    assert_eq!(lose(&retrying(), &mut queued(), true, Time(9)), Step::Stale);
}

/// The report of the outcome itself, sent twice, is no late result.
#[test]
fn a_late_result_is_kept_once() {
    let mut live = cancelled(native(), true);
    settle(&plain(), &mut live, 1, Ending::Abandoned, None, Time(9));
    let result = |n: &str| Ending::Completed(text(n));
    assert_eq!(settle(&plain(), &mut live, 1, result("1"), None, Time(10)), Step::Late);
    assert_eq!(settle(&plain(), &mut live, 1, result("2"), None, Time(11)), Step::Stale);
    let late = live.ended().unwrap().late.clone();
    assert_eq!((late, live.unseen.may_run()), (Some(Outcome::Completed(text("1"))), true));
    let mut live = started(native());
    settle(&plain(), &mut live, 1, result("1"), None, Time(9));
    assert_eq!(settle(&plain(), &mut live, 1, result("1"), None, Time(10)), Step::Stale);
    assert_eq!(live.ended().unwrap().late, None);
}

/// Its worker was silent, and comes back after all: then its code is known to have ended.
#[test]
fn a_lost_one_that_reports_is_found() {
    for ending in
        [Ending::Completed(None), Ending::Failed(Failure::new("no")), Ending::Cancelled(None)]
    {
        let mut live = cancelled(remote(), true);
        let limit = Ending::TimedOut(Timeout::Heartbeat);
        settle(&from_afar(), &mut live, 1, limit, None, Time(9));
        assert_eq!(line(&live), "Heartbeat, CancelRequested, Silent; not seen to stop");
        let step = settle(&from_afar(), &mut live, 1, ending.clone(), None, Time(10));
        assert_eq!(step, Step::Late, "{ending:?}");
        assert_eq!(line(&live), "Heartbeat, CancelRequested; stopped");
    }
}

/// Its limit passed, and its code did not stop: that is known until the code has stopped after
/// all, or its process has.
#[test]
fn code_that_runs_on_after_its_attempt_is_known_until_it_stops() {
    let mut live = cancelled(native(), true);
    let mut report = |ending| settle(&plain(), &mut live, 1, ending, None, Time(9));
    assert_eq!(report(Ending::Stopped), Step::Stale, "nothing runs on yet");
    assert_eq!(report(Ending::RunsOn), Step::Noted);
    assert_eq!(report(Ending::RunsOn), Step::Noted, "said twice, it counts once");
    assert_eq!(report(Ending::TimedOut(Timeout::StartToClose)), Step::Ended);
    assert_eq!(line(&live), "StartToClose, CancelRequested, RunsOn; not seen to stop");
    let mut gone = live.clone();
    assert!(!process_gone(&mut gone, Epoch(77), &Gone::Seen, Some(Time(11))));
    assert!(!process_gone(&mut gone, Epoch::default(), &Gone::Back, Some(Time(11))));
    assert!(process_gone(&mut gone, Epoch::default(), &Gone::Seen, Some(Time(11))));
    assert_eq!(line(&gone), "StartToClose, CancelRequested; stopped");
    let mut report = |ending| settle(&plain(), &mut live, 1, ending, None, Time(12));
    assert_eq!(report(Ending::Stopped), Step::Noted);
    assert_eq!(report(Ending::Stopped), Step::Stale);
    assert_eq!(live.cancel.as_ref().unwrap().stopped_at, Some(Time(12)));
    assert!(live.unseen.is_empty());
}

/// The next attempt is out while the code of the first one still runs.
#[test]
fn code_of_an_earlier_attempt_may_run_on_beside_the_next() {
    let mut live = started(native());
    settle(&retrying(), &mut live, 1, Ending::RunsOn, None, Time(5));
    let limit = Ending::TimedOut(Timeout::StartToClose);
    let step = settle(&retrying(), &mut live, 1, limit, None, Time(5));
    assert!(matches!(step, Step::Requeued(_)), "{step:?}");
    start(&mut live, native(), "other".into(), Time(8));
    assert!(live.unseen.may_run());
    assert_eq!(settle(&plain(), &mut live, 1, Ending::Stopped, None, Time(9)), Step::Noted);
    assert!(live.unseen.is_empty() && live.started().is_some());
}

/// Its worker fell silent, and the activity is tried again: the attempt of which nobody saw the end
/// is remembered beside whatever comes, until it reports or its process is known to be gone.
#[test]
fn an_attempt_nobody_saw_end_outlives_the_retry() {
    let mut live = started(native());
    assert!(matches!(lose(&plain(), &mut live, false, Time(5)), Step::Requeued(_)));
    assert_eq!(line(&live), "queued from 0.000005s, Silent");
    let mut waiting = live.clone();
    assert_eq!(cancel(&mut waiting, &why("stop"), Time(6)), Hit::Waiting);
    assert_eq!(line(&waiting), "Cancelled Waiting, CancelRequested, Silent; not seen to stop");
    assert_eq!(settle(&plain(), &mut waiting, 1, Ending::Returned, None, Time(7)), Step::Late);
    assert_eq!(line(&waiting), "Cancelled Waiting, CancelRequested; stopped");

    start(&mut live, Holder::Native(Fence { epoch: Epoch(2), counter: 1 }), "b".into(), Time(8));
    assert!(matches!(lose(&plain(), &mut live, false, Time(9)), Step::Requeued(_)));
    assert_eq!(line(&live), "queued from 0.000009s, Silent, Silent");
    assert!(presume(&mut live, Time(5), Time(10)) && !presume(&mut live, Time(5), Time(11)));
    assert!(process_gone(&mut live, Epoch(2), &Gone::Said("ops".into(), Time(12)), None));
    let said = Sight::SaidGone("ops".into(), Time(12));
    assert_eq!(line(&live), format!("queued from 0.000009s, Presumed(10µs), {said:?}"));
    assert!(live.unseen.may_run(), "to presume is not to know");
    assert_eq!(settle(&plain(), &mut live, 1, Ending::RunsOn, None, Time(13)), Step::Noted);
    assert_eq!(settle(&plain(), &mut live, 1, Ending::Stopped, None, Time(14)), Step::Noted);
    assert!(!live.unseen.may_run() && !live.unseen.is_empty());
}

/// None is forgotten for want of room: nothing more begins.
#[test]
fn nothing_begins_that_could_not_be_remembered() {
    let mut live = queued();
    for attempt in 1..=limits::UNSEEN_MAX as u32 {
        start(&mut live, remote(), "worker".into(), Time(1));
        let limit = Ending::TimedOut(Timeout::StartToClose);
        let step = settle(&from_afar(), &mut live, attempt, limit, None, Time(2));
        assert_eq!(step == Step::Ended, attempt as usize == limits::UNSEEN_MAX, "{attempt}");
    }
    let end = live.ended().unwrap();
    assert_eq!(end.outcome, Outcome::TimedOut(Timeout::StartToClose));
    assert_eq!((end.retry, live.unseen.iter().count()), (RetryState::AttemptsUsed, 100));
}

/// A process looked for attempts that stand in its name; meanwhile it began one of them, whose code
/// runs on after its limit. Handing that one back says nothing of its code.
#[test]
fn what_runs_on_is_not_forgotten_because_it_is_handed_back() {
    let mut live = started(native());
    settle(&plain(), &mut live, 1, Ending::RunsOn, None, Time(20));
    settle(&plain(), &mut live, 1, Ending::TimedOut(Timeout::StartToClose), None, Time(20));
    settle(&plain(), &mut live, 1, Ending::Returned, None, Time(30));
    assert!(live.unseen.may_run(), "{live:?}");
    settle(&plain(), &mut live, 1, Ending::Stopped, None, Time(40));
    assert!(live.unseen.is_empty());
}
