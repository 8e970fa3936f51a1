//! Children.

use temporalio_protos::coresdk::child_workflow::ChildWorkflowCancellationType::{
    self, Abandon, TryCancel, WaitCancellationCompleted, WaitCancellationRequested,
};

use bowline_core::{
    ChildCancelled, ChildCompleted, ChildFailed, ChildInitiated, ChildRefusal, ChildSpec,
    ChildStartFailed, ChildStarted, ChildTerminated, ChildTimedOut, EventId, External,
    ExternalCancelInitiated, ExternalCancelRequested, Failure, Name, ParentClose, RetryState,
    WorkflowCompleted, WorkflowId,
};

use crate::{
    code::{cancel_child, child, complete},
    sdk::{Step, refuses, replays, step},
    story::{Story, run, sent},
};

fn id() -> WorkflowId {
    WorkflowId::from("c")
}

fn name() -> Name {
    Name::from("Child")
}

fn initiate(story: &mut Story) -> EventId {
    let close = ParentClose::Terminate;
    let spec = ChildSpec { name: name(), workflow_id: id(), close, ..Default::default() };
    story.push(ChildInitiated { spec, run: run(2), turn: story.turn })
}

fn begin_child(story: &mut Story, child: EventId) -> EventId {
    let (workflow_id, name) = (id(), name());
    story.push(ChildStarted { child, run: run(2), workflow_id, name, ..Default::default() })
}

/// A parent whose child has begun, as a turn of its own has heard.
fn begun() -> (Story, EventId, EventId) {
    let mut story = Story::new();
    story.turn();
    let child = initiate(&mut story);
    let started = begin_child(&mut story, child);
    story.turn();
    (story, child, started)
}

fn complete_in_a_turn(story: &mut Story) {
    story.turn();
    story.push(WorkflowCompleted { turn: story.turn, ..Default::default() });
}

fn waits(told: &'static str) -> [Step; 3] {
    [
        step("start [1]", [child(1, WaitCancellationCompleted)]),
        step("child 1 began", []),
        step(told, [complete()]),
    ]
}

#[test]
fn each_end_reaches_the_parent() {
    let told = ["completed 7", "failed", "cancelled", "failed", "failed"];
    let told = told.map(|how| &*format!("child 1 {how}").leak());
    for (end, told) in told.into_iter().enumerate() {
        let (mut story, child, started) = begun();
        let (run, workflow_id, name) = (run(2), id(), name());
        match end {
            0 => {
                let result = sent("7");
                story.push(ChildCompleted { child, started, run, workflow_id, name, result })
            }
            1 => {
                let (failure, retry) = (Failure::new("no"), RetryState::NoPolicy);
                let failed = ChildFailed { child, started, run, workflow_id, name, failure, retry };
                story.push(failed)
            }
            2 => {
                let details = None;
                story.push(ChildCancelled { child, started, run, workflow_id, name, details })
            }
            3 => {
                let retry = RetryState::NoPolicy;
                story.push(ChildTimedOut { child, started, run, workflow_id, name, retry })
            }
            _ => story.push(ChildTerminated { child, started, run, workflow_id, name }),
        };
        complete_in_a_turn(&mut story);
        replays(&story, waits(told));
    }
}

#[test]
fn one_whose_id_is_taken() {
    let mut story = Story::new();
    story.turn();
    let child_id = initiate(&mut story);
    story.push(ChildStartFailed {
        child: child_id,
        refusal: ChildRefusal::IdTaken,
        workflow_id: id(),
        name: name(),
        turn: story.turn,
    });
    complete_in_a_turn(&mut story);
    let script = [step("start [1]", [child(1, Abandon)]), step("child 1 refused", [complete()])];
    replays(&story, script);
}

/// Told to stop, the parent asks for its child's cancel, and waits as the kind of cancel says.
fn stops(on_cancel: ChildWorkflowCancellationType) -> [Step; 4] {
    [
        step("start [1]", [child(1, on_cancel)]),
        step("child 1 began", []),
        step("signal stop", [cancel_child(1)]),
        step("child 1 cancelled", [complete()]),
    ]
}

fn stopping() -> (Story, EventId, EventId, External) {
    let (mut story, child, started) = begun();
    story.signalled("stop");
    story.turn();
    let target = External { workflow_id: id(), run: None, child_only: true };
    (story, child, started, target)
}

/// The SDKs' core of this version takes "wait until requested" for "wait until completed".
#[test]
fn waiting_for_a_cancelled_one() {
    for on_cancel in [WaitCancellationCompleted, WaitCancellationRequested] {
        let (mut story, child, started, target) = stopping();
        let reason = "enough".to_owned();
        let (turn, asked) = (story.turn, target.clone());
        let initiated = story.push(ExternalCancelInitiated { target: asked, reason, turn, child });
        story.push(ExternalCancelRequested { initiated, target });
        story.turn();
        let (run, workflow_id, name) = (run(2), id(), name());
        let details = None;
        story.push(ChildCancelled { child, started, run, workflow_id, name, details });
        complete_in_a_turn(&mut story);
        replays(&story, stops(on_cancel));
    }
}

#[test]
fn trying_to_cancel_one_does_not_wait() {
    let (mut story, child, _, target) = stopping();
    let (turn, reason) = (story.turn, "enough".to_owned());
    story.push(ExternalCancelInitiated { target, reason, turn, child });
    story.push(WorkflowCompleted { turn, ..Default::default() });
    replays(&story, stops(TryCancel));
}

#[test]
fn an_end_without_a_beginning_is_refused() {
    let mut story = Story::new();
    story.turn();
    let child_id = initiate(&mut story);
    story.push(ChildCompleted { child: child_id, workflow_id: id(), ..Default::default() });
    complete_in_a_turn(&mut story);
    let script = [step("start [1]", [child(1, Abandon)]), step("child 1 completed", [complete()])];
    refuses(&story, script, "ChildWorkflowMachine in state StartEventRecorded");
}

#[test]
fn another_id_than_the_code_gave_is_refused() {
    let mut story = Story::new();
    story.turn();
    let workflow_id = WorkflowId::from("other");
    let spec = ChildSpec { name: name(), workflow_id, ..Default::default() };
    let child_id = story.push(ChildInitiated { spec, run: run(2), turn: story.turn });
    begin_child(&mut story, child_id);
    complete_in_a_turn(&mut story);
    let script = [step("start [1]", [child(1, Abandon)]), step("child 1 began", [complete()])];
    refuses(&story, script, "'other' does not match");
}
