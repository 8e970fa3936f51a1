//! Activities, timers, children, requests and updates that break a rule.

use super::{Tale, run};
use crate::*;

#[test]
fn an_activity_starts_directly_before_it_ends() {
    let tale = Tale::remote().turn().activity("a").activity("b");
    let apart = "an activity's start is written with its end";
    tale.clone().began(5).completed(5, 7).scheduled().is_lawful();
    tale.clone().began(5).breaks(apart);
    tale.clone().began(5).signal("").breaks(apart);
    tale.clone().began(5).completed(6, 7).breaks(apart);
    tale.clone().began(5).completed(5, 6).breaks("an activity's end names its start");
    tale.clone().completed(5, 0).breaks("only what began has a result");
    let failed = ActivityFailed { activity: EventId(5), ..ActivityFailed::default() };
    tale.then(failed).breaks("only what began has a result");
}

#[test]
fn an_activity_ends_once() {
    let ended = Tale::remote().turn().activity("a").began(5).completed(5, 6);
    ended.clone().began(5).breaks("an activity ends once");
    let again = ActivityTimedOut {
        activity: EventId(5),
        started: EventId(0),
        timeout: Timeout::ScheduleToStart,
        retry: RetryState::Timeout,
        last_failure: None,
        heartbeat: None,
    };
    ended.then(again).breaks("an activity ends once");
    Tale::native().began(5).breaks("an activity ends once");
}

#[test]
fn a_remote_cancel_is_requested_once_and_then_named() {
    let request = |activity| ActivityCancelRequested { activity, turn: EventId(4) };
    let tale = Tale::remote().turn().activity("a");
    let once = "an open activity is cancelled once";
    tale.clone().then(request(EventId(4))).breaks(once);
    let asked = tale.clone().then(request(EventId(5)));
    asked.clone().then(request(EventId(5))).breaks(once);
    let over = |requested| ActivityCancelled {
        activity: EventId(5),
        requested: EventId(requested),
        ..ActivityCancelled::default()
    };
    asked.clone().then(over(6)).scheduled().is_lawful();
    asked.then(over(5)).breaks("a cancelled end names its request");
    tale.then(over(0)).breaks("only what was cancelled ends so");
    let native = Tale::native().turn().activity("");
    native.clone().then(over(0)).is_lawful();
    native.then(request(EventId(5))).breaks("native cancels of activities are notes");
}

#[test]
fn open_things_of_a_remote_run_have_ids_of_their_own() {
    Tale::remote()
        .turn()
        .activity("a")
        .activity("a")
        .breaks("open activities have ids of their own");
    Tale::remote().turn().timer("a").timer("a").breaks("open timers have ids of their own");
    Tale::native().turn().timer("").timer("").activity("").activity("").is_lawful();
}

#[test]
fn a_timer_rings_or_is_unset_once() {
    let once = "a timer rings or is unset, once";
    let tale = Tale::native().turn().timer("");
    let timer = EventId(5);
    let fired = || TimerFired { timer, id: TimerId::default() };
    let by_operator = TimerCancelled { timer, ..TimerCancelled::default() };
    let unset = TimerCancelled { turn: EventId(4), ..by_operator.clone() };
    tale.clone().then(fired()).then(fired()).breaks(once);
    tale.clone().then(unset).then(fired()).breaks(once);
    tale.clone().then(by_operator.clone()).then(fired()).breaks(once);
    tale.then(TimerFired { timer: EventId(4), id: TimerId::default() }).breaks(once);
    let remote = Tale::remote().turn().timer("").then(by_operator);
    remote.breaks("commands follow their turn");
}

#[test]
fn a_child_begins_or_is_refused_and_ends_once() {
    let once = "a child begins or is refused, and ends once";
    let tale = Tale::native().turn().child(ParentClose::Cancel);
    let child = EventId(5);
    let refused = ChildStartFailed { child, ..ChildStartFailed::default() };
    let ended = |started| ChildCompleted {
        child,
        started: EventId(started),
        workflow_id: "c".into(),
        ..ChildCompleted::default()
    };
    tale.clone().child_began(5).then(ended(6)).is_lawful();
    tale.clone().then(refused.clone()).is_lawful();
    tale.clone().then(ended(0)).breaks(once);
    tale.clone().child_began(5).child_began(5).breaks(once);
    tale.clone().child_began(5).then(refused.clone()).breaks(once);
    tale.clone().then(refused).child_began(5).breaks(once);
    tale.clone().child_began(5).then(ended(6)).then(ended(6)).breaks(once);
    let spec = ChildSpec::default();
    let own = ChildInitiated { spec, run: run(1), turn: EventId(4) };
    Tale::native().turn().then(own).breaks("a child is another run");
}

#[test]
fn a_request_to_another_run_is_answered_once() {
    let once = "a request to another run is answered once";
    let signal = ExternalSignalInitiated { turn: EventId(4), ..Default::default() };
    let tale = Tale::native().turn().then(signal);
    let initiated = EventId(5);
    let done = || ExternalSignalled { initiated, ..ExternalSignalled::default() };
    tale.clone().then(done()).is_lawful();
    tale.clone().then(done()).then(done()).breaks(once);
    tale.then(ExternalCancelRequested { initiated, ..Default::default() }).breaks(once);
    let child = EventId(9);
    Tale::native()
        .turn()
        .then(ExternalCancelInitiated { turn: EventId(4), child, ..Default::default() })
        .breaks("a cancel names what is open");
}

#[test]
fn an_update_is_admitted_accepted_and_answered_each_once() {
    let order = "an update is admitted, accepted and answered, each once";
    let request = || UpdateRequest { id: "u".into(), ..UpdateRequest::default() };
    let admitted = || UpdateAdmitted { request: request() };
    let accepted =
        |turn| UpdateAccepted { request: request(), turn: EventId(turn), ..Default::default() };
    let answered = |accepted| UpdateCompleted {
        id: "u".into(),
        name: Name::default(),
        accepted: EventId(accepted),
        answer: UpdateAnswer::Done(None),
        turn: EventId(4),
    };
    Tale::native().turn().then(accepted(4)).breaks(order);
    Tale::native().then(admitted()).then(admitted()).breaks(order);
    Tale::native().then(admitted()).turn().then(accepted(5)).is_lawful();
    let refused = || vec![Note::RefusedUpdates(vec!["u".into()])];
    Tale::native().turn_noted(refused()).breaks(order);
    let refused = Tale::native().then(admitted()).turn_noted(refused());
    refused.clone().then(accepted(5)).breaks(order);
    refused.then(admitted()).is_lawful();
    let remote = Tale::remote().turn();
    remote.clone().then(answered(0)).breaks(order);
    let taken = remote.then(accepted(4));
    taken.clone().then(accepted(4)).breaks(order);
    taken.clone().then(answered(4)).breaks(order);
    taken.clone().then(answered(5)).is_lawful();
    taken.then(answered(5)).then(answered(5)).breaks(order);
}
