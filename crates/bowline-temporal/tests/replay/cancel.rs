//! Activities that the code cancels, in each of the ways that an SDK offers.

use temporalio_protos::coresdk::workflow_commands::ActivityCancellationType::{
    self, Abandon, TryCancel, WaitCancellationCompleted as Wait,
};

use bowline_core::{EventId, WorkflowCompleted};

use crate::{
    code::{activity, cancel_activity, complete, timer},
    sdk::{Step, refuses, replays, step},
    story::Story,
};

/// A run with one activity, told to stop, its cancel requested by the turn that just completed.
fn requested() -> (Story, EventId, EventId) {
    let mut story = Story::new();
    story.turn();
    let activity = story.activity("1");
    story.signalled("stop");
    story.turn();
    let requested = story.activity_cancel_requested(activity);
    (story, activity, requested)
}

fn complete_in_a_turn(story: &mut Story) {
    story.turn();
    story.push(WorkflowCompleted { turn: story.turn, ..Default::default() });
}

/// Cancels its one activity when told to stop, and is done when that has ended.
fn stops(on_cancel: ActivityCancellationType, told: &'static str) -> [Step; 3] {
    [
        step("start [1]", [activity(1, on_cancel)]),
        step("signal stop", [cancel_activity(1)]),
        step(told, [complete()]),
    ]
}

/// An activity that never began ends with the same commit, behind all command events.
#[test]
fn one_that_never_began() {
    for on_cancel in [Wait, TryCancel] {
        let (mut story, activity, requested) = requested();
        match on_cancel {
            Wait => {
                story.activity_cancelled(activity, EventId(0), requested);
                complete_in_a_turn(&mut story);
            }
            // The code is told at once, and closes the run in the turn that asked.
            _ => drop(story.push(WorkflowCompleted { turn: story.turn, ..Default::default() })),
        }
        replays(&story, stops(on_cancel, "activity 1 cancelled"));
    }
}

#[test]
fn waiting_for_one_that_runs_ends_with_whatever_it_ends_with() {
    for (told, end) in [
        ("activity 1 cancelled", 0),
        ("activity 1 completed 42", 1),
        ("activity 1 failed", 2),
        ("activity 1 failed", 3),
    ] {
        let (mut story, activity, requested) = requested();
        let started = story.activity_started(activity, 1);
        match end {
            0 => story.activity_cancelled(activity, started, requested),
            1 => story.activity_completed(activity, started),
            2 => story.activity_failed(activity, started),
            _ => story.activity_timed_out(activity, started),
        };
        complete_in_a_turn(&mut story);
        replays(&story, stops(Wait, told));
    }
}

/// Trying to cancel does not wait; the activity's own end arrives later and is told to nobody.
#[test]
fn trying_to_cancel_one_that_runs_leaves_its_end_to_later() {
    for end in 0..4 {
        let (mut story, id, requested) = requested();
        let second = story.timer("2");
        let started = story.activity_started(id, 1);
        match end {
            0 => story.activity_cancelled(id, started, requested),
            1 => story.activity_completed(id, started),
            2 => story.activity_failed(id, started),
            _ => story.activity_timed_out(id, started),
        };
        story.turn();
        story.timer_fired(second, "2");
        complete_in_a_turn(&mut story);
        replays(
            &story,
            [
                step("start [1]", [activity(1, TryCancel)]),
                step("signal stop", [cancel_activity(1)]),
                step("activity 1 cancelled", [timer(2)]),
                step("timer 2", [complete()]),
            ],
        );
    }
}

/// The run that abandons its activity asks nothing of the server, and then waits for a timer.
fn abandoned(end: impl FnOnce(&mut Story, EventId, EventId)) -> Story {
    let mut story = Story::new();
    story.turn();
    let activity = story.activity("1");
    story.signalled("stop");
    story.turn();
    let second = story.timer("2");
    let started = story.activity_started(activity, 1);
    end(&mut story, activity, started);
    story.turn();
    story.timer_fired(second, "2");
    complete_in_a_turn(&mut story);
    story
}

fn abandons() -> [Step; 4] {
    [
        step("start [1]", [activity(1, Abandon)]),
        step("signal stop", [cancel_activity(1)]),
        step("activity 1 cancelled", [timer(2)]),
        step("timer 2", [complete()]),
    ]
}

#[test]
fn an_abandoned_one_may_complete_later() {
    let story = abandoned(|story, activity, started| {
        story.activity_completed(activity, started);
    });
    replays(&story, abandons());
}

/// This is a fault of the SDKs' core, which any server meets: it forgot these two ends of an
/// abandoned activity. When it learns them, this test says so.
#[test]
fn an_abandoned_one_that_fails_or_times_out_is_refused_by_this_version() {
    let story = abandoned(|story, activity, started| {
        story.activity_failed(activity, started);
    });
    refuses(&story, abandons(), "ActivityMachine in state Canceled");
    let story = abandoned(|story, activity, started| {
        story.activity_timed_out(activity, started);
    });
    refuses(&story, abandons(), "ActivityMachine in state Canceled");
}

/// Users of other servers know this as the run that is stuck for ever after a cancel.
#[test]
fn an_end_as_cancelled_that_nobody_asked_for_is_refused() {
    for began in [false, true] {
        let mut story = Story::new();
        story.turn();
        let id = story.activity("1");
        let started = match began {
            true => story.activity_started(id, 1),
            false => EventId(0),
        };
        story.activity_cancelled(id, started, EventId(0));
        complete_in_a_turn(&mut story);
        let script =
            [step("start [1]", [activity(1, Wait)]), step("activity 1 cancelled", [complete()])];
        refuses(&story, script, "event_type: ActivityTaskCanceled");
    }
}

#[test]
fn a_request_that_the_code_did_not_make_is_refused() {
    let (mut story, activity, requested) = requested();
    story.activity_cancelled(activity, EventId(0), requested);
    complete_in_a_turn(&mut story);
    let script = [
        step("start [1]", [crate::code::activity(1, Wait)]),
        step("signal stop", []),
        step("activity 1 cancelled", [complete()]),
    ];
    refuses(&story, script, "No command scheduled for event");
}
