//! A new run from a prefix of another's events.

use bowline_core::{TurnFault, WorkflowCompleted};
use temporalio_protos::coresdk::workflow_commands::ActivityCancellationType::TryCancel;

use crate::{
    code::{activity, complete, timer},
    sdk::{replays, step},
    story::{Story, run},
};

/// The prefix ends with a started turn, which the fork fails; signals of the old history follow.
/// The code goes on with other random numbers than the run that it was forked from.
#[test]
fn the_code_goes_on_from_the_prefix() {
    let mut story = Story::new();
    story.turn();
    let ringing = story.timer("1");
    let open = story.activity("2");
    story.timer_fired(ringing, "1");
    story.turn_scheduled();
    story.turn_started();
    story.turn_failed(TurnFault::Forked, Some((run(1), run(9))));
    story.signalled("again");
    story.turn();
    let started = story.activity_started(open, 1);
    story.activity_completed(open, started);
    story.turn();
    story.push(WorkflowCompleted { turn: story.turn, ..Default::default() });
    replays(
        &story,
        [
            step("start [1]", [timer(1), activity(2, TryCancel)]),
            step("seed, signal again, timer 1", []),
            step("activity 2 completed 42", [complete()]),
        ],
    );
}

/// A fork at the first turn begins anew.
#[test]
fn a_fork_at_the_first_turn() {
    let mut story = Story::new();
    story.turn_scheduled();
    story.turn_started();
    story.turn_failed(TurnFault::Forked, Some((run(1), run(9))));
    story.turn();
    story.push(WorkflowCompleted { turn: story.turn, ..Default::default() });
    replays(&story, [step("start [1], seed", [complete()])]);
}
