//! What happens next: one match over messages, one over commands, and no rule of its own.

mod activity;
mod cancel;
mod child;
pub(crate) mod close;
mod external;
mod fork;
mod record;
mod signal;
mod size;
mod start;
mod timer;
pub(crate) mod turn;
pub(crate) mod update;

use crate::{Asked, Command, Draft, EventId, Message, Received, Refusal, RunAlarm, Time};

pub use cancel::CancelTarget;
pub use fork::fork;
pub use start::{Begin, begin_run, begin_run_with, check};

/// One message becomes events. Under native rules an outcome does not insist on a turn: perhaps
/// nobody waits for it.
pub(crate) fn message(draft: &mut Draft, received: &Received) {
    let insisted = draft.insists;
    take(draft, received);
    let gently = received.message.is_outcome() && !draft.state.rules().outcomes_insist();
    if gently && draft.insists && !insisted {
        (draft.insists, draft.told) = (false, true);
    }
}

fn take(draft: &mut Draft, received: &Received) {
    let at = received.at;
    match &received.message {
        Message::Signal(signal) => signal::signal(draft, at, signal),
        Message::Cancel(cancel) => cancel::cancel(draft, at, cancel),
        Message::EndActivity(end) => activity::end(draft, at, end),
        Message::SkipActivities(ranges) => activity::skip(draft, at, ranges),
        Message::FireTimer(timer) => timer::fire(draft, at, *timer),
        Message::ChildBegan(child) => child::began(draft, at, *child),
        Message::RefuseChild(child, why) => child::refused(draft, at, *child, *why),
        Message::EndChild(end) => child::end(draft, at, end),
        Message::ExternalDone(id) => external::done(draft, at, *id),
        Message::RefuseExternal(id, why) => external::refused(draft, at, *id, *why),
        Message::Update(request) => update::admit(draft, at, request),
        Message::CancelOne(target, cause) => cancel::one(draft, at, *target, cause),
        Message::Wake => draft.insists = true,
        Message::TimeOut(RunAlarm::Delay) => draft.insists |= draft.state.delayed,
        Message::TimeOut(RunAlarm::Deadline) => cancel::deadline(draft, at),
        Message::TimeOut(RunAlarm::Turn(scheduled, attempt)) => {
            turn::time_out(draft, at, *scheduled, *attempt);
        }
        // Without a cancel there is nothing to escalate.
        Message::TimeOut(RunAlarm::Ladder) => {}
        Message::Terminate(_) | Message::TimeOut(RunAlarm::Run) => {
            unreachable!("closers go through `closing`")
        }
    }
}

/// The first of these messages that closes the run at once, whatever its code says. The end of a
/// ladder does so even if the cancel that it belongs to waits in front of it, because nobody has
/// the code to take that in; but every cancel has its whole time.
pub(crate) fn closer<'m>(draft: &Draft, inbox: &'m [Received]) -> Option<&'m Received> {
    let own = draft.state.started.ladder;
    let mut is_first = draft.state.cancel.is_none();
    let mut due = (!is_first).then_some(Time(i64::MIN));
    inbox.iter().find(|received| {
        let (message, at) = (&received.message, received.at);
        let armed = message.arms(own, is_first, at).map(|alarm| alarm.due);
        due = due.into_iter().chain(armed).min();
        is_first &= !message.cancels();
        match message {
            Message::Terminate(_) | Message::TimeOut(RunAlarm::Run) => true,
            Message::TimeOut(RunAlarm::Ladder) => due.is_some_and(|due| due <= at),
            _ => false,
        }
    })
}

/// Whether a message could close a run. What is left of such, once a run closes, says nothing.
pub(crate) fn is_closing(message: &Message) -> bool {
    use RunAlarm::{Ladder, Run};
    matches!(message, Message::Terminate(_) | Message::TimeOut(Run | Ladder))
}

/// A message closes the run.
pub(crate) fn closing(draft: &mut Draft, received: &Received) {
    match &received.message {
        Message::Terminate(terminate) => close::terminate(draft, received.at, terminate),
        Message::TimeOut(RunAlarm::Ladder) => close::escalate(draft, received.at),
        Message::TimeOut(_) => close::time_out(draft, received.at),
        _ => unreachable!("only closers come here"),
    }
}

/// One command becomes events. `turn` is the `TurnCompleted` that it belongs to.
pub(crate) fn command(draft: &mut Draft, asked: Asked, turn: EventId) -> Result<(), Refusal> {
    let wire = asked.wire;
    match asked.command {
        Command::ScheduleActivity(spec) => activity::schedule(draft, turn, *spec, wire),
        Command::CancelActivity(target) => activity::cancel(draft, turn, target, wire),
        Command::StartTimer(id, after) => timer::start(draft, turn, id, after, wire),
        Command::CancelTimer(timer, cause) => timer::cancel(draft, turn, timer, cause, wire),
        Command::CancelTimerNamed(id) => timer::cancel_named(draft, turn, &id, wire),
        Command::RecordMarker(marker) => record::marker(draft, turn, *marker, wire),
        Command::StartChild(spec, run) => child::start(draft, turn, *spec, run, wire),
        Command::CancelExternal(cancel) => external::cancel(draft, turn, *cancel, wire),
        Command::SignalExternal(signal) => external::signal(draft, turn, *signal, wire),
        Command::UpsertSearch(changes) => record::search(draft, turn, changes, wire),
        Command::ModifyMemo(changes) => record::memo(draft, turn, changes, wire),
        Command::AcceptUpdate(accept) => update::accept(draft, turn, *accept, wire),
        Command::RejectUpdate(reject) => update::reject(draft, *reject),
        Command::CompleteUpdate(done) => update::complete(draft, turn, *done, wire),
        Command::Drop(decisions) => cancel::dropped(draft, turn, decisions),
        Command::Detach(targets) => cancel::check_detach(draft, &targets),
        // Its note has said it.
        Command::Receive(_) => Ok(()),
        Command::Scopes(_) => Ok(()),
        Command::Complete(result) => close::complete(draft, turn, result, wire),
        Command::Fail(failure) => close::fail(draft, turn, failure, wire),
        Command::Cancel(details, cause) => close::cancelled(draft, turn, details, cause, wire),
        Command::ContinueAsNew(next, run) => close::continued(draft, turn, *next, run, wire),
        Command::Unreadable(fault, why) => Err(Refusal::Command(fault, why)),
    }
}
