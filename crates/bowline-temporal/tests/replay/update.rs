//! Updates.

use bowline_core::{
    EventId, Failure, Name, UpdateAccepted, UpdateAdmitted, UpdateAnswer, UpdateCompleted,
    UpdateId, UpdateRequest, WorkflowCompleted,
};
use temporalio_protos::coresdk::workflow_commands::ActivityCancellationType::TryCancel;

use crate::{
    code::{accept, activity, answer, complete, fail_update, timer},
    sdk::{refuses, replays, step},
    story::{Story, sent},
};

fn request() -> UpdateRequest {
    let (id, name) = (UpdateId::from("u"), Name::from("raise"));
    UpdateRequest { id, name, input: sent("5"), ..Default::default() }
}

/// Taken by the turn whose `TurnScheduled` is named: requests are ordered behind that event.
fn accepted(story: &mut Story, sequencing: EventId) -> EventId {
    let message_id = "u/request".to_owned();
    let turn = story.turn;
    story.push(UpdateAccepted { request: request(), message_id, sequencing, turn })
}

fn answered(story: &mut Story, accepted: EventId, answer: UpdateAnswer) {
    let (id, name, turn) = (UpdateId::from("u"), Name::from("raise"), story.turn);
    story.push(UpdateCompleted { id, name, accepted, answer, turn });
}

/// A run that waits for a timer, and the id of that.
fn waiting() -> (Story, EventId) {
    let mut story = Story::new();
    story.turn();
    let timer = story.timer("1");
    (story, timer)
}

fn ring_and_complete(story: &mut Story, timer: EventId) {
    story.timer_fired(timer, "1");
    story.turn();
    story.push(WorkflowCompleted { turn: story.turn, ..Default::default() });
}

#[test]
fn taken_and_answered_in_the_first_turn() {
    let mut story = Story::new();
    let scheduled = story.turn_scheduled();
    story.turn_started();
    story.turn_completed();
    let taken = accepted(&mut story, scheduled);
    answered(&mut story, taken, UpdateAnswer::Done(sent("6")));
    story.push(WorkflowCompleted { turn: story.turn, ..Default::default() });
    let asks = [accept("u"), answer("u"), complete()];
    replays(&story, [step("start [1], update raise 5", asks)]);
}

#[test]
fn answered_in_a_later_turn() {
    let (mut story, timer_id) = waiting();
    let scheduled = story.turn_scheduled();
    story.turn_started();
    story.turn_completed();
    let taken = accepted(&mut story, scheduled);
    let id = story.activity("2");
    let started = story.activity_started(id, 1);
    story.activity_completed(id, started);
    story.turn();
    answered(&mut story, taken, UpdateAnswer::Failed(Failure::new("no")));
    ring_and_complete(&mut story, timer_id);
    replays(
        &story,
        [
            step("start [1]", [timer(1)]),
            step("update raise 5", [accept("u"), activity(2, TryCancel)]),
            step("activity 2 completed 42", [fail_update("u")]),
            step("timer 1", [complete()]),
        ],
    );
}

/// A refused update leaves no event of its own, only the turn that refused it.
#[test]
fn refused_it_leaves_an_empty_turn() {
    let (mut story, timer_id) = waiting();
    story.turn();
    ring_and_complete(&mut story, timer_id);
    replays(&story, [step("start [1]", [timer(1)]), step("timer 1", [complete()])]);
}

#[test]
fn taken_right_after_a_turn_that_refused_another() {
    let (mut story, timer_id) = waiting();
    story.turn();
    let scheduled = story.turn_scheduled();
    story.turn_started();
    story.turn_completed();
    let taken = accepted(&mut story, scheduled);
    answered(&mut story, taken, UpdateAnswer::Done(None));
    ring_and_complete(&mut story, timer_id);
    replays(
        &story,
        [
            step("start [1]", [timer(1)]),
            step("update raise 5", [accept("u"), answer("u")]),
            step("timer 1", [complete()]),
        ],
    );
}

/// After a fork, an update of the old history is admitted by an event, and asked again.
#[test]
fn taken_over_from_a_forked_history() {
    let (mut story, timer_id) = waiting();
    let admitted = story.push(UpdateAdmitted { request: request() });
    story.turn();
    let taken = accepted(&mut story, admitted);
    answered(&mut story, taken, UpdateAnswer::Done(None));
    ring_and_complete(&mut story, timer_id);
    replays(
        &story,
        [
            step("start [1]", [timer(1)]),
            step("update raise 5", [accept("u"), answer("u")]),
            step("timer 1", [complete()]),
        ],
    );
}

#[test]
fn an_answer_without_having_been_taken_is_refused() {
    let (mut story, timer_id) = waiting();
    story.turn();
    answered(&mut story, EventId(1), UpdateAnswer::Done(None));
    ring_and_complete(&mut story, timer_id);
    let script = [step("start [1]", [timer(1)]), step("timer 1", [complete()])];
    refuses(&story, script, "WorkflowExecutionUpdateCompleted");
}
