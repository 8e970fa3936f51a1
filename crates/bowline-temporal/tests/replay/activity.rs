//! Activities that nobody cancels.

use temporalio_protos::coresdk::workflow_commands::ActivityCancellationType::TryCancel;

use bowline_core::{EventId, WorkflowCompleted};

use crate::{
    code::{activity, complete, timer},
    sdk::{Step, refuses, replays, step, stops_short},
    story::Story,
};

/// Schedules one activity, waits for it, and is done.
fn waits(told: &'static str) -> [Step; 2] {
    [step("start [1]", [activity(1, TryCancel)]), step(told, [complete()])]
}

#[test]
fn its_result_reaches_the_code() {
    let mut story = Story::new();
    story.turn();
    let activity = story.activity("1");
    let started = story.activity_started(activity, 1);
    story.activity_completed(activity, started);
    story.turn();
    story.push(WorkflowCompleted { turn: story.turn, ..Default::default() });
    replays(&story, waits("activity 1 completed 42"));
}

/// Retries leave no trace but the number of the attempt on the one start that is written.
#[test]
fn a_start_that_was_put_off_over_retries() {
    let mut story = Story::new();
    story.turn();
    let activity = story.activity("1");
    let started = story.activity_started(activity, 3);
    story.activity_completed(activity, started);
    story.turn();
    story.push(WorkflowCompleted { turn: story.turn, ..Default::default() });
    replays(&story, waits("activity 1 completed 42"));
}

#[test]
fn failures_and_timeouts_reach_the_code() {
    for started in [true, false] {
        let mut story = Story::new();
        story.turn();
        let activity = story.activity("1");
        match started {
            true => {
                let started = story.activity_started(activity, 1);
                story.activity_failed(activity, started)
            }
            false => story.activity_timed_out(activity, EventId(0)),
        };
        story.turn();
        story.push(WorkflowCompleted { turn: story.turn, ..Default::default() });
        replays(&story, waits("activity 1 failed"));
    }
}

/// Outcomes go behind the other messages that waited; each of them is told in that order.
#[test]
fn a_signal_during_the_turn_comes_before_the_outcomes() {
    let mut story = Story::new();
    story.turn();
    let first = story.activity("1");
    let second = story.activity("2");
    story.signalled("go");
    let started = story.activity_started(second, 1);
    story.activity_completed(second, started);
    let started = story.activity_started(first, 1);
    story.activity_failed(first, started);
    story.turn();
    story.push(WorkflowCompleted { turn: story.turn, ..Default::default() });
    replays(
        &story,
        [
            step("start [1]", [activity(1, TryCancel), activity(2, TryCancel)]),
            step("signal go, activity 2 completed 42, activity 1 failed", [complete()]),
        ],
    );
}

#[test]
fn an_open_run_goes_on_where_its_history_ends() {
    let mut story = Story::new();
    story.turn();
    let id = story.activity("1");
    let started = story.activity_started(id, 1);
    story.activity_completed(id, started);
    story.turn_scheduled();
    story.turn_started();
    replays(
        &story,
        [step("start [1]", [activity(1, TryCancel)]), step("activity 1 completed 42", [timer(2)])],
    );
}

#[test]
fn a_result_without_a_start_is_refused() {
    let mut story = Story::new();
    story.turn();
    let activity = story.activity("1");
    story.activity_completed(activity, EventId(0));
    story.turn();
    story.push(WorkflowCompleted { turn: story.turn, ..Default::default() });
    let words = "invalid during event EventInfo { event_id: 6, event_type: ActivityTaskCompleted";
    refuses(&story, waits("activity 1 completed 42"), words);
}

#[test]
fn a_result_without_a_start_is_refused_in_the_last_turn_of_an_open_run() {
    let mut story = Story::new();
    story.turn();
    let activity = story.activity("1");
    story.activity_completed(activity, EventId(0));
    story.turn_scheduled();
    story.turn_started();
    stops_short(&story, waits("activity 1 completed 42"));
}

#[test]
fn another_id_than_the_code_gave_is_refused() {
    let mut story = Story::new();
    story.turn();
    let activity = story.activity("other");
    let started = story.activity_started(activity, 1);
    story.activity_completed(activity, started);
    story.turn();
    story.push(WorkflowCompleted { turn: story.turn, ..Default::default() });
    refuses(&story, waits("activity 1 completed 42"), "'other' does not match");
}

#[test]
fn another_order_than_the_code_asked_in_is_refused() {
    let mut story = Story::new();
    story.turn();
    story.activity("2");
    story.timer("1");
    story.signalled("go");
    story.turn();
    story.push(WorkflowCompleted { turn: story.turn, ..Default::default() });
    let script =
        [step("start [1]", [timer(1), activity(2, TryCancel)]), step("signal go", [complete()])];
    refuses(&story, script, "Timer machine does not handle this event");
}
