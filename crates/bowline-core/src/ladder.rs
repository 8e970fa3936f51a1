//! How hard a single request pushes what it cancels, and what a later one may change about that.
//!
//! The ladders ride on the request's [`Cause`](crate::Cause): so they reach whatever the cancel
//! reaches, through scopes and children, and stand wherever the cause does.

use minicbor::{Decode, Encode};

use crate::{Alarm, AlarmKind, Ladder, Message, RunAlarm, RunLadder, Time};

/// The ladders of one request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub struct Ladders {
    /// What is done to a run that stays open, instead of what it was started with.
    #[n(0)]
    pub run: Option<RunLadder>,
    /// How running activities are stopped, instead of as they say themselves.
    #[n(1)]
    pub activities: Option<Ladder>,
    /// The ladder of activities came after their cancel: only what is quicker of it counts.
    #[n(2)]
    pub hastens: bool,
}

impl Ladders {
    /// What stands for activities, after a later request asked for `by`. A later request may only
    /// hasten: shorten a wait, or bring back the rungs that the first one wanted to skip.
    pub(crate) fn hasten_activities(&mut self, by: Ladder) {
        match self.activities {
            Some(own) => self.activities = Some(own.hastened(by)),
            None => (self.activities, self.hastens) = (Some(by), true),
        }
    }
}

impl Message {
    /// The alarm that is set when this message stands in a run's inbox: a run that is asked to
    /// cancel climbs its ladder from that moment on, whether or not anybody has its code. `own` is
    /// what the run was started with. It counts unless the request says otherwise, and for the
    /// first request only: a later one may hasten, and so must say by how much.
    ///
    /// Where a run has several of these, the earliest ends it, and it takes the others with it.
    pub fn arms(&self, own: Option<RunLadder>, is_first: bool, at: Time) -> Option<Alarm> {
        let asked = match self {
            Self::Cancel(cancel) => cancel.cause.run_ladder(),
            Self::TimeOut(RunAlarm::Deadline) => None,
            _ => return None,
        };
        let ladder = asked.or(own.filter(|_| is_first))?;
        let due = at.after(ladder.terminate_after.0);
        Some(Alarm { due, what: AlarmKind::Run(RunAlarm::Ladder) })
    }

    /// True if it asks the run to cancel.
    pub(crate) fn cancels(&self) -> bool {
        matches!(self, Self::Cancel(_) | Self::TimeOut(RunAlarm::Deadline))
    }
}

impl Ladder {
    /// This ladder, with whatever is quicker about the other one.
    pub fn hastened(self, by: Self) -> Self {
        Self {
            grace: self.grace.min(by.grace),
            step: self.step.min(by.step),
            detach: self.detach && by.detach,
        }
    }
}
