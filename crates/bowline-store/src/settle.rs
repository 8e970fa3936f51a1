//! The end of an attempt.

use bowline_core::{
    ActivityLive, EndActivity, Ending, EventId, Message, Number, Outcome, RunId, Rung, Start, Step,
    Time,
};

use crate::Proof;

/// What is reported about an attempt.
#[derive(Clone, Debug)]
pub struct Settle {
    /// Its run.
    pub run: RunId,
    /// Its activity.
    pub activity: EventId,
    /// Which attempt.
    pub attempt: u32,
    /// That the reporter is the one who has it.
    pub proof: Proof,
    /// What became of it.
    pub ending: Ending,
    /// How far it had to be pushed.
    pub rung: Option<Rung>,
    /// When word of a cancel reached the worker, if it did.
    pub delivered_at: Option<Time>,
    /// When the running code looked, if it did.
    pub observed_at: Option<Time>,
    /// Now.
    pub now: Time,
}

/// What came of the report.
#[derive(Clone, Debug, PartialEq)]
pub struct Settled {
    /// What it did to the row.
    pub step: Step,
    /// The message that its run got.
    pub message: Option<Number>,
}

/// What a run is told when one of its activities has ended; none if it has not. `start` is the
/// attempt that was out until then.
pub fn end_activity(
    activity: EventId,
    live: &ActivityLive,
    start: Option<&Start>,
) -> Option<Message> {
    let end = live.ended()?;
    Some(Message::EndActivity(Box::new(EndActivity {
        activity,
        attempt: start.map_or(0, |_| live.attempt),
        started_at: start.map(|start| start.at),
        worker: start.map(|start| start.worker.clone()).unwrap_or_default(),
        last_failure: live.last_failure.clone(),
        outcome: end.outcome.clone(),
        retry: end.retry,
        heartbeat: live.heartbeat.clone(),
    })))
}

/// Whether the row of an ended activity is kept, because a receipt or a late result may want it.
/// What was cancelled in its queue is only counted; what a worker had, and never began, is listed.
pub fn keeps_row(live: &ActivityLive) -> bool {
    let Some(end) = live.ended() else { return true };
    match &end.outcome {
        _ if !live.adrift.is_empty() => true,
        Outcome::Cancelled(_, Rung::NeverStarted, _) => {
            live.cancel.as_ref().is_some_and(|record| record.delivered_at.is_some())
        }
        Outcome::TimedOut(_) => true,
        _ => live.cancel.is_some() || end.leaked || end.lost,
    }
}
