//! The fenced steps of an activity's row: start, settle, time out, cancel. All rules, no storage.
//!
//! In:    the row as it stands, and what somebody reports about one attempt.
//! Out:   the row as it stands now, and whether the run must be told.
//! Never: lets a second outcome, or an attempt that is not the newest, change the first.

mod late;

use self::late::late;
use super::{
    ActivityLive, ActivitySpec, CancelRecord, End, Gone, Holder, Outcome, Place, Rung, Sight,
    Start, Timeout, UnseenAttempt,
};
use crate::{
    Cause, Epoch, Failure, Identity, Payload, RetryState, Time, limits,
    planted::{Defect, planted},
    retry::{self, Next},
};

/// What is reported about an attempt.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Ending {
    /// The code returned a result.
    Completed(Option<Payload>),
    /// The code failed or panicked.
    Failed(Failure),
    /// The code stopped because it was told to.
    Cancelled(Option<Payload>),
    /// The attempt passed a limit.
    TimedOut(Timeout),
    /// Its worker died; `seen` if it is certain that the code died with it.
    Lost {
        /// Whether the end of the code is certain.
        seen: bool,
    },
    /// The worker handed it back untried.
    Returned,
    /// The ladder's last rung: the code runs on, and nobody waits for it.
    Abandoned,
    /// No end: the next report will end the attempt although its code runs on.
    RunsOn,
    /// The code of an attempt that had ended without it has ended too.
    Stopped,
}

/// What a step did to the row.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Step {
    /// It waits again, from this moment on.
    Requeued(Time),
    /// It has its outcome: the run must be told.
    Ended,
    /// The outcome stood already; what came too late is kept beside it.
    Late,
    /// Where it stands is as it was; something was noted beside it.
    Noted,
    /// Not the attempt that is out: nothing changed.
    Stale,
}

/// What a cancel met.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Hit {
    /// No worker ever had it: it is over.
    NeverStarted,
    /// No worker has it now, though one had: it is over.
    Waiting,
    /// A worker has it and must be told, for the first time or that it is pushed harder now.
    Started,
    /// A cancel stood already; the first cause stays.
    Already,
    /// It had its outcome already.
    Ended,
}

/// Hands the activity out as its next attempt. The caller has checked that it is queued, due and
/// not cancelled.
pub fn start(live: &mut ActivityLive, holder: Holder, worker: Identity, now: Time) {
    let Place::Queued { due } = live.place else { panic!("only a queued activity can be started") };
    live.attempt += 1;
    live.place = Place::Started(Start { at: now, holder, worker, heard_at: now, due: Some(due) });
}

/// Cancels the activity, whatever its attempts are doing.
pub fn cancel(live: &mut ActivityLive, cause: &Cause, now: Time) -> Hit {
    if let Some(record) = &mut live.cancel {
        // A remote attempt has one rung, and has been told.
        let climbs = matches!(live.place, Place::Started(Start { holder: Holder::Native(_), .. }));
        return match climbs && hasten(record, cause) {
            true => Hit::Started,
            false => Hit::Already,
        };
    }
    match &live.place {
        Place::Ended(_) => return Hit::Ended,
        Place::Started(_) => {
            live.cancel = Some(CancelRecord::new(cause.clone(), now));
            return Hit::Started;
        }
        Place::Queued { .. } => {}
    }
    let (hit, rung) = match live.attempt > 0 && !planted(Defect::NeverStarted) {
        true => (Hit::Waiting, Rung::Waiting),
        false => (Hit::NeverStarted, Rung::NeverStarted),
    };
    let record = CancelRecord { rung: Some(rung), ..CancelRecord::new(cause.clone(), now) };
    live.cancel = Some(record);
    end(live, Outcome::Cancelled(cause.clone(), rung, None), RetryState::CancelRequested, now);
    all_seen(live, now);
    hit
}

/// Once it is over, and the end of every attempt was seen, nothing of it runs any more.
fn all_seen(live: &mut ActivityLive, now: Time) {
    if live.ended().is_some()
        && live.unseen.is_empty()
        && let Some(record) = &mut live.cancel
    {
        record.stopped_at = record.stopped_at.or(Some(now));
    }
}

/// A later request may push harder than the cancel that stands; its cause stays. True if it does.
fn hasten(record: &mut CancelRecord, by: &Cause) -> bool {
    let Some(by) = by.activity_ladder() else { return false };
    let before = record.cause.effective();
    let mut after = before;
    after.hasten_activities(by);
    if after == before {
        return false;
    }
    record.cause.ladders = Some(Box::new(after));
    true
}

/// Ends attempt number `attempt`, if it is the one that is out: with a retry, or for good.
/// `rung` says how far it had to be pushed, where it was told to stop.
pub fn settle(
    spec: &ActivitySpec,
    live: &mut ActivityLive,
    attempt: u32,
    ending: Ending,
    rung: Option<Rung>,
    now: Time,
) -> Step {
    let Some(start) = live.started().filter(|_| live.attempt == attempt) else {
        return late(live, attempt, ending, rung, now);
    };
    let start = start.clone();
    if ending == Ending::Stopped {
        return if live.unseen.remove(attempt) { Step::Noted } else { Step::Stale };
    }
    if let Some(sight) = unseen(&start, &ending, live.unseen.find(attempt)) {
        live.unseen.add(entry(attempt, &start, sight, now));
    }
    if ending == Ending::RunsOn {
        return Step::Noted;
    }
    live.last_worker = start.worker;
    if ending != Ending::Returned {
        live.last = Some((start.at, now));
    }
    if let Some(record) = &mut live.cancel {
        // This attempt never ran, but one before it may have, even one that was handed back.
        record.rung = match rung.or(record.rung).unwrap_or(own_rung(&ending)) {
            Rung::NeverStarted if live.attempt > 1 => Some(Rung::Waiting),
            rung => Some(rung),
        };
    }
    match live.cancel.clone() {
        Some(record) => settle_cancelled(spec, live, &record, ending, now),
        None => settle_plain(spec, live, ending, now),
    }
    all_seen(live, now);
    if live.ended().is_none() && planted(Defect::UnseenForgotten) {
        live.unseen = Default::default();
    }
    match &live.place {
        Place::Queued { due } => Step::Requeued(*due),
        Place::Ended(_) => Step::Ended,
        Place::Started(_) => unreachable!("an attempt that is settled is not out any more"),
    }
}

/// What is known of the code of an attempt that is over, where its end was not seen. A remote
/// worker that passes a limit may run on, and a silent one too; native code is watched by somebody
/// who ends it first, or says that it cannot.
fn unseen(start: &Start, ending: &Ending, known: Option<&UnseenAttempt>) -> Option<Sight> {
    let native = matches!(start.holder, Holder::Native(_));
    match ending {
        Ending::RunsOn if !native => None,
        Ending::RunsOn | Ending::Abandoned => Some(Sight::RunsOn),
        Ending::Lost { seen: false } => Some(known.map_or(Sight::Silent, |own| own.sight.clone())),
        Ending::TimedOut(_) if !native => Some(Sight::Silent),
        _ => None,
    }
}

fn entry(attempt: u32, start: &Start, sight: Sight, now: Time) -> UnseenAttempt {
    let epoch = match &start.holder {
        Holder::Native(fence) => Some(fence.epoch),
        Holder::Remote { .. } => None,
    };
    UnseenAttempt { attempt, epoch, worker: start.worker.clone(), since: now, sight }
}

/// Something has become known of the process in which attempts of that epoch ran. True if it
/// changes the row.
pub fn process_gone(live: &mut ActivityLive, epoch: Epoch, gone: &Gone, now: Option<Time>) -> bool {
    let changed = live.unseen.hear(epoch, gone);
    if let (true, Some(now)) = (changed, now) {
        all_seen(live, now);
    }
    changed
}

/// A policy presumes dead what has been silent since that moment. True if something was.
pub fn presume(live: &mut ActivityLive, since: Time, now: Time) -> bool {
    live.unseen.presume(since, now)
}

/// How far an attempt was pushed that ended so, if nobody says. Who hands one back that had begun
/// does say.
fn own_rung(ending: &Ending) -> Rung {
    match ending {
        Ending::Abandoned => Rung::Abandon,
        Ending::Lost { .. } if planted(Defect::KilledUntold) => Rung::Kill,
        Ending::Lost { seen: false } => Rung::Unknown,
        Ending::Lost { seen: true } => Rung::Died,
        Ending::Returned => Rung::NeverStarted,
        _ => Rung::Signal,
    }
}

/// The next moment at which a limit of this row passes, unless something happens before. Running
/// native code is watched by its supervisor instead, which dies with it.
pub fn deadline(spec: &ActivitySpec, live: &ActivityLive) -> Option<(Time, Timeout)> {
    let limits = &spec.timeouts;
    let whole = limits
        .schedule_to_close
        .map(|span| (live.scheduled_at.after(span.0), Timeout::ScheduleToClose));
    // Of two that pass together, the first of these counts.
    let all = match &live.place {
        Place::Queued { due } => [
            limits.schedule_to_start.map(|span| (due.after(span.0), Timeout::ScheduleToStart)),
            whole,
            None,
        ],
        Place::Started(Start { holder: Holder::Native(_), .. }) => return None,
        Place::Started(start) => [
            whole,
            limits.start_to_close.map(|span| (start.at.after(span.0), Timeout::StartToClose)),
            limits.heartbeat.map(|span| (start.heard_at.after(span.0), Timeout::Heartbeat)),
        ],
        Place::Ended(_) => return None,
    };
    all.into_iter().flatten().min_by_key(|(due, _)| *due)
}

/// Applies the limit that has passed by now, if one has.
pub fn time_out(spec: &ActivitySpec, live: &mut ActivityLive, now: Time) -> Option<Step> {
    let (due, timeout) = deadline(spec, live)?;
    if due > now {
        return None;
    }
    if live.started().is_some() {
        return Some(settle(spec, live, live.attempt, Ending::TimedOut(timeout), None, now));
    }
    end(live, Outcome::TimedOut(timeout), over(spec), now);
    Some(Step::Ended)
}

/// Why there is no further attempt after a limit that leaves no room for one. Remote workers know
/// such limits as failures of a kind that is not tried again.
fn over(spec: &ActivitySpec) -> RetryState {
    match spec.remote {
        true => RetryState::NonRetryable,
        false => RetryState::Timeout,
    }
}

/// The holder of the running attempt is gone. `seen` if its code is certainly gone too.
pub fn lose(spec: &ActivitySpec, live: &mut ActivityLive, seen: bool, now: Time) -> Step {
    let attempt = live.attempt;
    settle(spec, live, attempt, Ending::Lost { seen }, None, now)
}

/// What was lost below a run that is asked to cancel is not begun again before word of that can
/// have come down to it: the run above may have been lost with the same process.
pub fn hold_back(live: &mut ActivityLive, step: Step, now: Time) -> Step {
    match (&mut live.place, step) {
        (Place::Queued { due }, Step::Requeued(_)) => {
            *due = (*due).max(now.after(limits::HELD_BACK));
            Step::Requeued(*due)
        }
        (_, step) => step,
    }
}

fn settle_cancelled(
    spec: &ActivitySpec,
    live: &mut ActivityLive,
    record: &CancelRecord,
    ending: Ending,
    now: Time,
) {
    let rung = record.rung.unwrap_or(Rung::Signal);
    let cancelled = |details| Outcome::Cancelled(record.cause.clone(), rung, details);
    // A remote worker says in so many words if its code stopped because it was told to.
    let told = record.delivered_at.is_some() && !spec.remote;
    let outcome = match ending {
        Ending::Completed(result) => Outcome::Completed(result),
        // Code that failed before it could know of the cancel failed for a reason of its own.
        Ending::Failed(failure) if !told => Outcome::Failed(failure),
        Ending::Failed(failure) => cancelled(failure.details),
        Ending::Cancelled(details) => cancelled(details),
        Ending::TimedOut(timeout) => Outcome::TimedOut(timeout),
        Ending::Lost { .. } | Ending::Returned | Ending::Abandoned => cancelled(None),
        Ending::RunsOn | Ending::Stopped => unreachable!("that is no end"),
    };
    end(live, outcome, RetryState::CancelRequested, now);
}

fn settle_plain(spec: &ActivitySpec, live: &mut ActivityLive, ending: Ending, now: Time) {
    let tried = live.attempt - live.returned;
    let left =
        spec.timeouts.schedule_to_close.map(|span| live.scheduled_at.after(span.0).since(now));
    let policy = spec.retry.as_ref();
    let (failure, next) = match ending {
        Ending::Completed(result) => {
            return end(live, Outcome::Completed(result), RetryState::NonRetryable, now);
        }
        Ending::Failed(failure) => {
            let next = retry::next(policy, tried, Some(&failure), left);
            (Some((Outcome::Failed(failure.clone()), failure)), next)
        }
        // Nobody told it to stop, so to its run this is a failure like any other.
        Ending::Cancelled(details) => {
            let failure = Failure { details, ..Failure::new("stopped by itself") };
            let failure = failure.kind("Cancelled").final_();
            return end(live, Outcome::Failed(failure), RetryState::NonRetryable, now);
        }
        Ending::TimedOut(timeout) => {
            let failure = Failure::new(format!("timed out: {timeout:?}")).kind("Timeout");
            let failure = Failure { timeout: Some(timeout), ..failure };
            let next = match timeout {
                Timeout::StartToClose | Timeout::Heartbeat => {
                    retry::next(policy, tried, Some(&failure), left)
                }
                _ => Next::Stop(over(spec)),
            };
            // If only time is missing for another attempt, a remote worker is told of that limit.
            let passed = match next {
                Next::Stop(RetryState::Timeout) if spec.remote => Timeout::ScheduleToClose,
                _ => timeout,
            };
            (Some((Outcome::TimedOut(passed), failure)), next)
        }
        Ending::Lost { .. } | Ending::Abandoned => {
            let failure = Failure::new("its worker was lost").kind("worker_lost");
            let next = match policy {
                None if tried < limits::LOST_ATTEMPTS_MAX => Next::After(Default::default()),
                None => Next::Stop(RetryState::AttemptsUsed),
                Some(_) => retry::next(policy, tried, Some(&failure), left),
            };
            (Some((Outcome::Failed(failure.clone()), failure)), next)
        }
        Ending::Returned => {
            live.returned += 1;
            (None, Next::After(Default::default()))
        }
        Ending::RunsOn | Ending::Stopped => unreachable!("that is no end"),
    };
    // Whatever begins must be remembered until it is seen to end.
    let next = match (next, &failure) {
        (Next::After(_), Some(_)) if live.unseen.is_full() => Next::Stop(RetryState::AttemptsUsed),
        (next, _) => next,
    };
    match (next, failure) {
        (Next::After(pause), failure) => {
            live.place = Place::Queued { due: now.after(pause) };
            if let Some((_, failure)) = failure {
                live.last_failure = Some(failure);
            }
        }
        (Next::Stop(state), Some((outcome, _))) => end(live, outcome, state, now),
        (Next::Stop(_), None) => unreachable!("a returned attempt is always queued again"),
    }
}

fn end(live: &mut ActivityLive, outcome: Outcome, retry: RetryState, now: Time) {
    let end = End { at: now, outcome, retry, late: None };
    live.place = Place::Ended(Box::new(end));
}

#[cfg(test)]
mod tests;
