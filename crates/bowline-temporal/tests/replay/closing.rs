//! The ways in which a run closes.

use bowline_core::{
    Cause, Failure, Name, Queue, RequestId, TurnFault, WorkflowCancelRequested, WorkflowCancelled,
    WorkflowCompleted, WorkflowContinuedAsNew, WorkflowFailed, WorkflowTerminated,
    WorkflowTimedOut,
};

use crate::{
    code::{cancel, complete, continue_as_new, fail, timer},
    sdk::{refuses, replays, step},
    story::{Story, run},
};

fn terminated() -> WorkflowTerminated {
    WorkflowTerminated { cause: Cause::requested("enough", "alice"), details: None }
}

#[test]
fn cancelled_after_it_was_asked() {
    let mut story = Story::new();
    story.turn();
    story.timer("1");
    let cause = Cause::requested("enough", "alice");
    let request_id = RequestId::from("r");
    story.push(WorkflowCancelRequested { cause, request_id, external: None });
    story.turn();
    story.push(WorkflowCancelled { turn: story.turn, ..Default::default() });
    replays(&story, [step("start [1]", [timer(1)]), step("cancel enough", [cancel()])]);
}

#[test]
fn failed() {
    let mut story = Story::new();
    story.turn();
    let failure = Failure::new("no");
    story.push(WorkflowFailed { failure, turn: story.turn, ..Default::default() });
    replays(&story, [step("start [1]", [fail()])]);
}

#[test]
fn continued_as_new() {
    let mut story = Story::new();
    story.turn();
    story.push(WorkflowContinuedAsNew {
        next_run: run(2),
        turn: story.turn,
        name: Name::from("Workflow"),
        queue: Queue::from("own"),
        ..Default::default()
    });
    replays(&story, [step("start [1]", [continue_as_new()])]);
}

#[test]
fn timed_out_or_terminated_between_turns() {
    for time_is_up in [true, false] {
        let mut story = Story::new();
        story.turn();
        story.timer("1");
        match time_is_up {
            true => story.push(WorkflowTimedOut::default()),
            false => story.push(terminated()),
        };
        replays(&story, [step("start [1]", [timer(1)])]);
    }
}

/// The turn in a worker's hands is void; its code is told nothing more.
#[test]
fn terminated_during_a_turn() {
    let mut story = Story::new();
    story.turn();
    let ringing = story.timer("1");
    story.timer_fired(ringing, "1");
    story.turn_scheduled();
    story.turn_started();
    story.turn_failed(TurnFault::ForceClosed, None);
    story.push(terminated());
    replays(&story, [step("start [1]", [timer(1)])]);
}

#[test]
fn another_end_than_the_code_asked_for_is_refused() {
    let mut story = Story::new();
    story.turn();
    story.push(WorkflowCompleted { turn: story.turn, ..Default::default() });
    refuses(&story, [step("start [1]", [fail()])], "does not handle this event");
}

#[test]
fn an_event_after_the_end_is_refused() {
    let mut story = Story::new();
    story.turn();
    story.timer("1");
    story.push(terminated());
    story.signalled("late");
    let script = [step("start [1]", [timer(1)]), step("signal late", [complete()])];
    refuses(&story, script, "an event after workflow execution was terminated");
}
