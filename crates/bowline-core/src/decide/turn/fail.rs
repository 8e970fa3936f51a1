//! A remote turn fails, or time passes over it.
//!
//! The first failure is written. Later attempts leave no trace until one succeeds, or until
//! something else happens to the run: then there is a new first attempt.

use super::{FailTurn, remote};
use crate::{
    Blob, Draft, EventId, Failure, Identity, Received, Refusal, Time, Timeout, Token, Turn,
    TurnFailed, TurnFault, TurnTimedOut, decide::close, intake,
};

/// How a turn came to nothing.
pub(super) enum Cut {
    /// It failed.
    Failed {
        fault: TurnFault,
        failure: Option<Failure>,
        worker: Identity,
        /// What is stored with the event.
        wire: Option<Blob>,
    },
    /// It took too long.
    TimedOut,
}

/// Whether a token speaks of the turn that is out.
pub(super) fn check(draft: &Draft, token: Token) -> Result<(), Refusal> {
    let turn = draft.record.turn.as_ref().ok_or(Refusal::NoSuchTurn)?;
    let started = turn.started.as_ref().ok_or(Refusal::NoSuchTurn)?;
    let same = turn.matches(token.scheduled, token.attempt)
        && started.event == token.started
        && token.serial == draft.record.serial
        && token.run == draft.state.run;
    match same {
        true => Ok(()),
        false => Err(Refusal::NoSuchTurn),
    }
}

/// Whether something waits that closes the run whatever the worker says. It came first, so the
/// turn is as good as gone; taking such messages in is left to intake.
pub(super) fn check_closers(draft: &Draft, inbox: &[Received]) -> Result<(), Refusal> {
    match crate::decide::closer(draft, inbox).is_some() {
        true => Err(Refusal::NoSuchTurn),
        false => Ok(()),
    }
}

impl Draft {
    /// Remote rules: a worker says that it cannot.
    ///
    /// # Errors
    /// If it speaks of no turn that is out, or something waits that closes the run.
    pub fn fail_turn(&mut self, fail: FailTurn, inbox: &[Received]) -> Result<(), Refusal> {
        check(self, fail.token)?;
        check_closers(self, inbox)?;
        let FailTurn { token: _, worker, fault, failure, wire, hopeless } = fail;
        let cut = Cut::Failed { fault, failure, worker, wire };
        match hopeless {
            Some(why) => {
                cut_off(self, cut, inbox);
                close::give_up(self, why);
            }
            None => end(self, cut, inbox),
        }
        intake::consume(self, inbox);
        Ok(())
    }

    /// Remote rules: the worker that had the run in its cache is gone, before its time was up. A
    /// turn that waits for it waits for anybody from now on.
    pub fn reset_sticky(&mut self) {
        let waits = |turn: &Turn| turn.sticky && turn.started.is_none();
        match self.record.turn.as_ref().is_some_and(waits) {
            true => {
                move_on(self);
                remote::schedule(self);
            }
            false => self.record.sticky = None,
        }
    }
}

/// The alarm of a turn that nobody has taken: it waited too long in one worker's own queue. An
/// alarm that was meant for an earlier turn of the same number is too early, or not expected.
pub(crate) fn time_out(draft: &mut Draft, at: Time, scheduled: EventId, attempt: u32) {
    let Some(turn) = &draft.record.turn else { return };
    let due = turn.deadline.is_some_and(|due| due <= draft.now.max(at));
    if !turn.matches(scheduled, attempt) || turn.started.is_some() || !due {
        return;
    }
    move_on(draft);
}

/// A turn that waits in one worker's own queue waits for anybody from now on.
fn move_on(draft: &mut Draft) {
    remote::disarm(draft);
    draft.record.sticky = None;
    let Some(turn) = draft.record.turn.take() else { return };
    match turn.provisional {
        // It stood nowhere, so nothing has to be taken back; it waits elsewhere now.
        true => remote::provisional(draft, turn.attempt, turn.speculative, turn.first_scheduled_at),
        false => {
            let (scheduled, started) = (turn.scheduled, EventId(0));
            draft.event(TurnTimedOut { scheduled, started, timeout: Timeout::ScheduleToStart });
            draft.insists = true;
        }
    }
}

/// The alarm of a turn that a worker has, beside what else waited.
pub(crate) fn time_out_started(draft: &mut Draft, waiting: &[Received]) {
    end(draft, Cut::TimedOut, waiting);
}

/// More waits than a turn may keep waiting.
pub(crate) fn overrun(draft: &mut Draft, waiting: &[Received]) {
    let fault = TurnFault::TooManyWaiting;
    let cut = Cut::Failed { fault, failure: None, worker: Identity::default(), wire: None };
    end(draft, cut, waiting);
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
    let Some(turn) = cut_off(draft, cut, waiting) else { return };
    close::bound(draft);
    if !draft.state.status.is_open() {
        return;
    }
    match draft.insists {
        true => remote::schedule(draft),
        // Only an attempt that anybody could have taken counts.
        false if turn.sticky => {
            draft.insists = true;
            remote::schedule(draft);
        }
        false => {
            remote::provisional(draft, turn.attempt + 1, false, turn.first_scheduled_at);
        }
    }
}

/// Ends the turn that is out and lets in what waited. Whoever had the run in its cache has failed
/// it, so whatever comes next goes to anybody.
pub(super) fn cut_off(draft: &mut Draft, cut: Cut, waiting: &[Received]) -> Option<Turn> {
    remote::disarm(draft);
    let turn = draft.record.turn.take()?;
    let started = turn.started.as_ref().map_or(EventId(0), |start| start.event);
    if !turn.provisional {
        let scheduled = turn.scheduled;
        match cut {
            Cut::Failed { fault, failure, worker, wire } => {
                let event = TurnFailed { scheduled, started, fault, failure, worker, forked: None };
                draft.record_at(draft.now, event, Vec::new(), wire);
            }
            Cut::TimedOut => {
                let timeout = Timeout::StartToClose;
                draft.event(TurnTimedOut { scheduled, started, timeout });
            }
        }
    }
    draft.record.sticky = None;
    draft.insists = false;
    intake::flush(draft, waiting);
    Some(turn)
}
