//! Timers.

use bowline_core::{EventId, TimerCancelled, TimerId, WorkflowCompleted};

use crate::{
    code::{cancel_timer, complete, timer},
    sdk::{refuses, replays, step},
    story::Story,
};

#[test]
fn one_that_rings() {
    let mut story = Story::new();
    story.turn();
    let id = story.timer("1");
    story.timer_fired(id, "1");
    story.turn();
    story.push(WorkflowCompleted { turn: story.turn, ..Default::default() });
    replays(&story, [step("start [1]", [timer(1)]), step("timer 1", [complete()])]);
}

#[test]
fn one_that_is_unset() {
    let mut story = Story::new();
    story.turn();
    let id = story.timer("1");
    story.signalled("stop");
    story.turn();
    story.timer_cancelled(id, "1");
    story.push(WorkflowCompleted { turn: story.turn, ..Default::default() });
    let asks = [cancel_timer(1), complete()];
    replays(&story, [step("start [1]", [timer(1)]), step("signal stop", asks)]);
}

/// A turn that unsets a timer must take back its ringing from the messages that wait.
#[test]
fn ringing_after_it_was_unset_is_refused() {
    let mut story = Story::new();
    story.turn();
    let id = story.timer("1");
    story.signalled("stop");
    story.turn();
    story.timer_cancelled(id, "1");
    story.timer_fired(id, "1");
    story.turn();
    story.push(WorkflowCompleted { turn: story.turn, ..Default::default() });
    let script = [
        step("start [1]", [timer(1)]),
        step("signal stop", [cancel_timer(1)]),
        step("timer 1", [complete()]),
    ];
    refuses(&story, script, "TimerMachine in state Canceled");
}

/// An operator cannot unset a timer of a remote run: the event would have no command.
#[test]
fn unsetting_by_an_operator_is_refused() {
    let mut story = Story::new();
    story.turn();
    let timer_id = story.timer("1");
    let id = TimerId::from("1");
    let turn = EventId(0);
    story.push(TimerCancelled { timer: timer_id, id, turn, ..Default::default() });
    story.turn();
    story.push(WorkflowCompleted { turn: story.turn, ..Default::default() });
    let script = [step("start [1]", [timer(1)]), step("timer 1", [complete()])];
    refuses(&story, script, "No command scheduled for event");
}
