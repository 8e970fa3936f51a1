//! Inbox rows become events, without workflow code.
//!
//! In:    a run's unread messages, in order.
//! Out:   their events, and a scheduled turn if one is wanted.
//! Never: runs code, or appends while a worker has the turn, unless that ends the turn or the run.

use crate::{Draft, Message, Received, RunAlarm, decide, limits};

impl Draft {
    /// Turns messages into events, without workflow code. While a turn is in a worker's hands,
    /// history is frozen: then only what closes the run or ends the turn is taken.
    pub fn intake(&mut self, inbox: &[Received]) {
        if !self.state.status.is_open() {
            turn_away(self, inbox);
            return consume(self, inbox);
        }
        if let Some(closer) = decide::closer(self, inbox) {
            return close(self, inbox, closer);
        }
        if frozen(self) {
            if inbox.iter().any(|received| ends_turn(self, received)) {
                decide::turn::time_out_started(self, inbox);
                consume(self, inbox);
            } else if inbox.len() > limits::WAITING_MAX {
                decide::turn::overrun(self, inbox);
                consume(self, inbox);
            }
            return;
        }
        inbox.iter().for_each(|received| decide::message(self, received));
        consume(self, inbox);
        decide::close::bound(self);
        if self.state.rules().turns_wait() {
            decide::turn::schedule(self);
        }
    }
}

/// A closed run takes nothing in. Whoever waits for an answer of it hears so, or is answered by the
/// run that goes on; everybody else has heard it from the store.
pub(crate) fn turn_away(draft: &mut Draft, inbox: &[Received]) {
    for received in inbox {
        if let Message::Update(request) = &received.message {
            decide::update::leave(draft, request);
        }
    }
}

/// Appends what waited while a turn was out. Under remote rules outcomes go behind everything
/// else, as the SDKs expect of every such flush.
pub(crate) fn flush<'m>(draft: &mut Draft, waiting: impl IntoIterator<Item = &'m Received>) {
    let (outcomes, others): (Vec<_>, Vec<_>) =
        waiting.into_iter().partition(|r| draft.state.rules().outcomes_wait() && is_outcome(r));
    for received in others.into_iter().chain(outcomes) {
        decide::message(draft, received);
    }
}

/// True while a worker has the turn.
pub(crate) fn frozen(draft: &Draft) -> bool {
    draft.record.turn.as_ref().is_some_and(|turn| turn.started.is_some())
}

/// Marks messages as consumed.
pub(crate) fn consume(draft: &mut Draft, inbox: &[Received]) {
    if let Some(last) = inbox.last() {
        draft.consumed = draft.consumed.max(last.number);
    }
}

/// Nothing follows the closing event, so what waits is recorded first.
fn close(draft: &mut Draft, inbox: &[Received], closer: &Received) {
    decide::turn::force_closed(draft);
    let waiting = inbox.iter().filter(|r| !decide::is_closing(&r.message)).collect::<Vec<_>>();
    flush(draft, waiting);
    decide::closing(draft, closer);
    consume(draft, inbox);
}

/// Whether an alarm is that of the turn in a worker's hands. One that was meant for the time when
/// the same turn still waited may have rung just as a worker took it: that one is too early.
fn ends_turn(draft: &Draft, received: &Received) -> bool {
    let Message::TimeOut(RunAlarm::Turn(scheduled, attempt)) = received.message else {
        return false;
    };
    let now = draft.now.max(received.at);
    draft.record.turn.as_ref().is_some_and(|turn| {
        let due = turn.deadline.is_none_or(|due| due <= now);
        turn.started.is_some() && turn.matches(scheduled, attempt) && due
    })
}

fn is_outcome(received: &&Received) -> bool {
    matches!(
        received.message,
        Message::EndActivity(_) | Message::SkipActivities(_) | Message::EndChild(_)
    )
}
