//! What a run asks of runs that are not itself.

use bowline_core::{
    EventId, External, ExternalCancelFailed, ExternalCancelInitiated, ExternalCancelRequested,
    ExternalRefusal, ExternalSignalFailed, ExternalSignalInitiated, ExternalSignalled, Name,
    WorkflowCompleted, WorkflowId,
};

use crate::{
    code::{cancel_other, complete, signal_other},
    sdk::{refuses, replays, step},
    story::Story,
};

fn other() -> External {
    External { workflow_id: WorkflowId::from("x"), ..Default::default() }
}

/// A run that sends a signal and a cancel.
fn sending() -> (Story, EventId, EventId) {
    let mut story = Story::new();
    story.turn();
    let turn = story.turn;
    let signal =
        ExternalSignalInitiated { target: other(), name: Name::from("go"), turn, ..<_>::default() };
    let signal = story.push(signal);
    let cancel =
        story.push(ExternalCancelInitiated { target: other(), turn, ..Default::default() });
    (story, signal, cancel)
}

#[test]
fn both_arrive() {
    let (mut story, signal, cancel) = sending();
    story.push(ExternalCancelRequested { initiated: cancel, target: other() });
    story.push(ExternalSignalled { initiated: signal, target: other() });
    story.turn();
    story.push(WorkflowCompleted { turn: story.turn, ..Default::default() });
    let script = [
        step("start [1]", [signal_other(1), cancel_other(2)]),
        step("cancel 2 arrived, signal 1 arrived", [complete()]),
    ];
    replays(&story, script);
}

#[test]
fn there_is_no_such_run() {
    let (mut story, signal, cancel) = sending();
    let (turn, refusal) = (story.turn, ExternalRefusal::NotFound);
    story.push(ExternalSignalFailed { initiated: signal, target: other(), refusal, turn });
    story.push(ExternalCancelFailed { initiated: cancel, target: other(), refusal, turn });
    story.turn();
    story.push(WorkflowCompleted { turn: story.turn, ..Default::default() });
    let script = [
        step("start [1]", [signal_other(1), cancel_other(2)]),
        step("signal 1 failed, cancel 2 failed", [complete()]),
    ];
    replays(&story, script);
}

#[test]
fn an_answer_to_nothing_that_was_asked_is_refused() {
    let mut story = Story::new();
    story.turn();
    story.push(ExternalSignalled { initiated: EventId(3), target: other() });
    story.turn();
    story.push(WorkflowCompleted { turn: story.turn, ..Default::default() });
    let script = [step("start [1]", []), step("signal 1 arrived", [complete()])];
    refuses(&story, script, "ExternalWorkflowExecutionSignaled");
}
