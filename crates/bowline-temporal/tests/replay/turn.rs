//! Turns that did not go well.

use bowline_core::{Timeout, TurnFault, WorkflowCompleted};

use crate::{
    code::{complete, timer},
    sdk::{Step, replays, step},
    story::Story,
};

/// A run whose timer rang.
fn rung() -> Story {
    let mut story = Story::new();
    story.turn();
    let timer = story.timer("1");
    story.timer_fired(timer, "1");
    story
}

fn rings() -> [Step; 2] {
    [step("start [1]", [timer(1)]), step("timer 1", [complete()])]
}

fn complete_in_a_turn(mut story: Story) -> Story {
    story.turn();
    story.push(WorkflowCompleted { turn: story.turn, ..Default::default() });
    story
}

/// Only the first failure is written; what is tried in between leaves no event, and the attempt
/// that succeeds is written as a whole.
#[test]
fn one_that_failed_is_tried_again() {
    let mut story = Story::new();
    story.turn_scheduled();
    story.turn_started();
    story.turn_failed(TurnFault::CodeFailed, None);
    replays(&complete_in_a_turn(story), [step("start [1]", [complete()])]);

    let mut story = rung();
    story.turn_scheduled();
    story.turn_started();
    story.turn_failed(TurnFault::Nondeterminism, None);
    replays(&complete_in_a_turn(story), rings());
}

/// What arrived during the failed attempt stands before the next one.
#[test]
fn a_signal_that_arrived_meanwhile_is_told_with_the_next_attempt() {
    let mut story = rung();
    story.turn_scheduled();
    story.turn_started();
    story.turn_failed(TurnFault::Unhandled, None);
    story.signalled("go");
    let script = [step("start [1]", [timer(1)]), step("signal go, timer 1", [complete()])];
    replays(&complete_in_a_turn(story), script);
}

#[test]
fn one_that_waited_too_long_in_a_workers_own_queue() {
    let mut story = rung();
    let scheduled = story.turn_scheduled();
    story.turn_timed_out(scheduled, Timeout::ScheduleToStart);
    replays(&complete_in_a_turn(story), rings());
}

#[test]
fn one_that_a_worker_never_answered() {
    let mut story = rung();
    let scheduled = story.turn_scheduled();
    story.turn_started();
    story.turn_timed_out(scheduled, Timeout::StartToClose);
    replays(&complete_in_a_turn(story), rings());
}
