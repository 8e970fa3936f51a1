//! A remote turn fails, or time passes over it.
//!
//! The first failure is written. Later attempts leave no trace until one succeeds, or until
//! something else happens to the run: then there is a new first attempt.

use super::{FailTurn, answer::heartbeat_is_over, remote};
use crate::{
    Draft, EventId, Failure, Identity, Received, Refusal, Timeout, Token, TurnFailed, TurnFault,
    TurnTimedOut, intake,
};

/// How a turn came to nothing.
pub(super) enum Cut {
    /// It failed.
    Failed { fault: TurnFault, failure: Option<Failure>, worker: Identity },
    /// It took too long.
    TimedOut,
}

/// Whether a token speaks of the turn that is out.
pub(super) fn check(draft: &Draft, token: Token) -> Result<(), Refusal> {
    let turn = draft.record.turn.as_ref().ok_or(Refusal::NoSuchTurn)?;
    let started = turn.started.as_ref().ok_or(Refusal::NoSuchTurn)?;
    let same = turn.matches(token.scheduled, token.attempt)
        && started.event == token.started
        && token.run == draft.state.run;
    match same && !heartbeat_is_over(draft) {
        true => Ok(()),
        false => Err(Refusal::NoSuchTurn),
    }
}

/// A worker says that it cannot.
pub(crate) fn fail(draft: &mut Draft, fail: FailTurn, inbox: &[Received]) -> Result<(), Refusal> {
    check(draft, fail.token)?;
    let cut = Cut::Failed { fault: fail.fault, failure: fail.failure, worker: fail.worker };
    end(draft, cut, inbox);
    intake::consume(draft, inbox);
    Ok(())
}

/// The alarm of a turn that nobody has taken: it waited too long in one worker's own queue.
pub(crate) fn time_out(draft: &mut Draft, scheduled: EventId, attempt: u32) {
    let Some(turn) = &draft.record.turn else { return };
    if !turn.matches(scheduled, attempt) || turn.started.is_some() {
        return;
    }
    let (provisional, speculative) = (turn.provisional, turn.speculative);
    remote::disarm(draft);
    draft.record.turn = None;
    draft.record.sticky = None;
    match provisional {
        // It stood nowhere, so nothing has to be taken back; it waits elsewhere now.
        true => remote::provisional(draft, attempt, speculative),
        false => {
            let timeout = Timeout::ScheduleToStart;
            draft.event(TurnTimedOut { scheduled, started: EventId(0), timeout });
            draft.wants_turn = true;
        }
    }
}

/// The alarm of a turn that a worker has, beside what else waited.
pub(crate) fn time_out_started(draft: &mut Draft, waiting: &[&Received]) {
    let waiting: Vec<Received> = waiting.iter().map(|received| (*received).clone()).collect();
    end(draft, Cut::TimedOut, &waiting);
}

/// The run closes from outside while a turn is out.
pub(crate) fn force_closed(draft: &mut Draft) {
    let out = draft.record.turn.as_ref().is_some_and(|turn| turn.started.is_some());
    remote::disarm(draft);
    let Some(turn) = draft.record.turn.take() else { return };
    if out && !turn.provisional {
        let started = turn.started.map_or(EventId(0), |start| start.event);
        draft.event(TurnFailed {
            scheduled: turn.scheduled,
            started,
            fault: TurnFault::ForceClosed,
            ..TurnFailed::default()
        });
    }
}

/// Ends the turn that is out, lets in what waited, and schedules the next attempt.
pub(super) fn end(draft: &mut Draft, cut: Cut, waiting: &[Received]) {
    remote::disarm(draft);
    let Some(turn) = draft.record.turn.clone() else { return };
    let started = turn.started.as_ref().map_or(EventId(0), |start| start.event);
    if !turn.provisional {
        let scheduled = turn.scheduled;
        match cut {
            Cut::Failed { fault, failure, worker } => {
                let event = TurnFailed { scheduled, started, fault, failure, worker, forked: None };
                draft.event(event);
            }
            Cut::TimedOut => {
                let timeout = Timeout::StartToClose;
                draft.event(TurnTimedOut { scheduled, started, timeout });
            }
        }
    }
    // Whoever had the run in its cache has failed it, so the next attempt goes to anybody; only
    // an attempt that anybody could have taken counts.
    draft.record.sticky = None;
    draft.wants_turn = false;
    draft.record.turn = None;
    intake::flush(draft, waiting);
    match draft.wants_turn {
        true => remote::schedule(draft),
        false if turn.sticky => {
            draft.wants_turn = true;
            remote::schedule(draft);
        }
        false => {
            draft.record.turn = Some(turn.clone());
            remote::provisional(draft, turn.attempt + 1, false);
        }
    }
}
