//! The end of an attempt.

use bowline_core::{
    ActivityLive, ActivitySpec, EndActivity, Ending, EventId, Holder, Message, Number, Outcome,
    Place, RunId, Rung, Sight, Start, Step, Time, Token, settle, start,
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

impl Settle {
    /// Whether it says only what the code does, and ends nothing: that is true whoever says it, a
    /// member that was given up among them.
    pub fn is_fact(&self) -> bool {
        matches!(self.ending, Ending::RunsOn | Ending::Stopped)
    }

    /// Whether it is about an attempt that nobody has.
    pub fn is_outside(&self) -> bool {
        matches!(self.proof, Proof::Outside(_))
    }

    /// Begins an attempt that is reported from outside, so that its end is that of an attempt.
    /// False if it does not wait any more, or was cancelled; true of every other report. The caller
    /// has checked that no mark covers it.
    pub fn begin_outside(&self, live: &mut ActivityLive) -> bool {
        let Proof::Outside(worker) = &self.proof else { return true };
        let waits = matches!(live.place, Place::Queued { .. }) && live.cancel.is_none();
        if !waits || live.attempt + 1 != self.attempt {
            return false;
        }
        let token = Token::activity(self.run, self.activity, self.attempt).to_blob();
        let holder = Holder::Remote { token, control: Default::default() };
        start(live, holder, worker.clone(), self.now);
        true
    }
}

/// What came of the report.
#[derive(Clone, Debug, PartialEq)]
pub struct Settled {
    /// What it did to the row.
    pub step: Step,
    /// The message that its run got.
    pub message: Option<Number>,
}

/// The end of an attempt, and what its run was told on the strength of it before it was written.
#[derive(Clone, Debug)]
pub struct OfferedEnd {
    /// The report.
    pub settle: Settle,
    /// What the run took it for.
    pub message: Message,
}

impl OfferedEnd {
    /// What a report will tell its run, provided that the row stays as it is. None if it will tell
    /// nothing, or if the attempt was told something itself: then the row knows more than this.
    pub fn new(spec: &ActivitySpec, live: &ActivityLive, report: Settle) -> Option<Self> {
        let (_, message) = ended(spec, live, &report)?;
        Some(Self { settle: report, message })
    }

    /// The row after the report, if its run is told by it exactly what was expected.
    pub fn holds(&self, spec: &ActivitySpec, live: &ActivityLive) -> Option<ActivityLive> {
        let (after, message) = ended(spec, live, &self.settle)?;
        (message == self.message).then_some(after)
    }
}

/// A row that a report ends, and what its run hears of that.
fn ended(
    spec: &ActivitySpec,
    live: &ActivityLive,
    report: &Settle,
) -> Option<(ActivityLive, Message)> {
    let start = live.started().filter(|_| live.attempt == report.attempt)?;
    if live.cancel.is_some() || !report.proof.fits(&start.holder) {
        return None;
    }
    let mut after = live.clone();
    let ending = report.ending.clone();
    let step = settle(spec, &mut after, report.attempt, ending, report.rung, report.now);
    let message = end_activity(report.activity, &after, Some(start))?;
    (step == Step::Ended).then_some((after, message))
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
        _ if runs_on(live) => true,
        Outcome::Cancelled(_, Rung::NeverStarted, _) => {
            live.cancel.as_ref().is_some_and(|record| record.delivered_at.is_some())
        }
        Outcome::TimedOut(_) => true,
        _ => live.cancel.is_some(),
    }
}

/// Whether code of an activity may still run although its row says that it waits, or has ended. A
/// closed run of which no activity waits, is out or runs on is over for ever.
pub fn runs_on(live: &ActivityLive) -> bool {
    !live.unseen.is_empty()
}

/// Whether code of an activity may run in a process of which more may become known. Of a remote
/// attempt that passed its limit nobody may ever hear, and what a policy presumes dead is not
/// waited for.
pub fn lingers(live: &ActivityLive) -> bool {
    let is_awaited = |sight: &Sight| matches!(sight, Sight::RunsOn | Sight::Silent);
    let mut unseen = live.unseen.iter();
    unseen.any(|own| own.epoch.is_some() && is_awaited(&own.sight))
}
