//! Inbox rows become events, without workflow code.
//!
//! In:    a run's unread messages, in order.
//! Out:   their events, and a scheduled turn if one is wanted.
//! Never: runs code, or appends while a worker has the turn, unless that ends the turn or the run.

use crate::{Draft, Message, Received, RunAlarm, decide};

/// Takes what may be taken now.
pub(crate) fn intake(draft: &mut Draft, inbox: &[Received]) {
    if let Some(closer) = inbox.iter().find(|r| decide::is_closing(draft, &r.message)) {
        return close(draft, inbox, closer);
    }
    if frozen(draft) {
        if let Some(alarm) = inbox.iter().find(|r| ends_turn(draft, &r.message)) {
            let waiting: Vec<_> = inbox.iter().filter(|r| r.number != alarm.number).collect();
            decide::turn::time_out_started(draft, &waiting);
            consume(draft, inbox);
        }
        return;
    }
    inbox.iter().for_each(|received| decide::message(draft, received));
    consume(draft, inbox);
    if !draft.state.rules().is_native() {
        decide::turn::schedule(draft);
    }
}

/// Appends what waited while a turn was out. Under remote rules outcomes go behind everything
/// else, as the SDKs expect of every such flush.
pub(crate) fn flush<'m>(draft: &mut Draft, waiting: impl IntoIterator<Item = &'m Received>) {
    let (outcomes, others): (Vec<_>, Vec<_>) =
        waiting.into_iter().partition(|r| draft.state.rules().outcomes_wait() && is_outcome(r));
    for received in others.into_iter().chain(outcomes) {
        if !ends_turn(draft, &received.message) {
            decide::message(draft, received);
        }
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
    let waiting =
        inbox.iter().filter(|r| !decide::is_closing(draft, &r.message)).collect::<Vec<_>>();
    flush(draft, waiting);
    decide::closing(draft, closer);
    consume(draft, inbox);
}

fn ends_turn(draft: &Draft, message: &Message) -> bool {
    let Message::TimeOut(RunAlarm::Turn(scheduled, attempt)) = message else { return false };
    match &draft.record.turn {
        Some(turn) => turn.started.is_some() && turn.matches(*scheduled, *attempt),
        None => false,
    }
}

fn is_outcome(received: &&Received) -> bool {
    matches!(
        received.message,
        Message::EndActivity(_) | Message::SkipActivities(_) | Message::EndChild(_)
    )
}
