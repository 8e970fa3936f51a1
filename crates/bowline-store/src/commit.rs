//! A decision, ready to be written: everything that becomes visible at once.

pub mod rule;

use std::sync::Arc;

use bowline_core::{
    ActivityLive, ActivitySpec, Alarm, Batch, Birth, Cause, Code, CommitId, EventId, Fence, Fields,
    Holder, Identity, Number, Parked, Post, Ranges, Received, RunId, SearchAttributes, Status,
    Time, TurnRecord, Version,
    planted::{Defect, planted},
    start,
};

use crate::{Head, OfferedEnd, RunCancel, Snapshot};

/// One decision about one run.
#[derive(Clone, Debug)]
pub struct Commit {
    /// The run.
    pub run: RunId,
    /// The version that it was decided on; any other is a [`Conflict`](crate::Error::Conflict).
    pub expected: Version,
    /// Names this attempt. A run whose last commit is this one has it already: it is answered as
    /// done, and nothing is written again.
    pub id: CommitId,
    /// The lease of the member that decided, where one is needed.
    pub fence: Option<Fence>,
    /// Now.
    pub now: Time,
    /// Messages are consumed up to this number.
    pub consumed: Number,
    /// Later messages that are dropped unread. Where nothing else is unread, they count as
    /// consumed: a run is not ready for messages that are gone.
    pub forgotten: Vec<Number>,
    /// Attempts of this run whose ends the decision has taken in before they stand anywhere. They
    /// are written with it, and no message is sent; where one would say anything else by now than
    /// was expected, that is a [`Conflict`](crate::Error::Conflict). So is an inbox that is ahead
    /// of `consumed`: what was acknowledged first is heard first.
    pub ended: Vec<OfferedEnd>,
    /// What happened.
    pub batch: Option<Batch>,
    /// The id of the event that will come next.
    pub next_event: EventId,
    /// About how many bytes history takes now.
    pub history_bytes: u64,
    /// Where the run stands now.
    pub status: Status,
    /// Set when the run closes: then an inbox that is ahead of `consumed` is a conflict.
    pub close: Option<Close>,
    /// How far a cancel of the run has come, if that changed.
    pub cancel: Option<RunCancel>,
    /// What a remote run keeps beside its history.
    pub record: TurnRecord,
    /// Search attributes, if they changed.
    pub search: Option<SearchAttributes>,
    /// Memo, if it changed.
    pub memo: Option<Fields>,
    /// New activities, ascending. Above a bound their rows may follow the commit.
    pub activities: Vec<NewActivity>,
    /// Cancels of activities, after the new ones were added: records on their rows, or marks.
    pub cancels: Vec<(Ranges, Cause)>,
    /// Alarms that are set.
    pub arm: Vec<Alarm>,
    /// Alarms that are unset, by the very value that set them.
    pub disarm: Vec<Alarm>,
    /// New runs. Children are answered by message, in the own inbox.
    pub births: Vec<Birth>,
    /// Messages for other runs, in order. Those that want it are answered by message.
    pub posts: Vec<Post>,
    /// The state after `batch`, now and then.
    pub snapshot: Option<Snapshot>,
    /// Parks the run, or lets everybody try it again. What is written under a lease takes its run
    /// out by itself: whoever holds it could go on.
    pub parked: Option<Option<Parked>>,
    /// The member no longer works on the run.
    pub release: bool,
}

impl Commit {
    /// A decision that says nothing yet, about a run of which nothing is known but its version.
    pub fn new(run: RunId, expected: Version, id: CommitId, now: Time) -> Self {
        Self {
            run,
            expected,
            id,
            fence: None,
            now,
            consumed: Number::default(),
            forgotten: Vec::new(),
            ended: Vec::new(),
            batch: None,
            next_event: EventId(1),
            history_bytes: 0,
            status: Status::default(),
            close: None,
            cancel: None,
            record: TurnRecord::default(),
            search: None,
            memo: None,
            activities: Vec::new(),
            cancels: Vec::new(),
            arm: Vec::new(),
            disarm: Vec::new(),
            births: Vec::new(),
            posts: Vec::new(),
            snapshot: None,
            parked: None,
            release: false,
        }
    }

    /// A decision that leaves everything as the head says.
    pub fn unchanged(head: &Head, id: CommitId, now: Time) -> Self {
        Self {
            consumed: head.consumed,
            next_event: head.next_event,
            history_bytes: head.history_bytes,
            status: head.status,
            record: head.record.clone(),
            ..Self::new(head.run, head.version, id, now)
        }
    }

    /// Whether one of its own cancels reaches an activity.
    pub fn cancels(&self, activity: EventId) -> bool {
        self.cancels.iter().any(|(ranges, _)| ranges.contains(activity))
    }

    /// How one of its new activities begins, in a run that stands as `head` after this commit: it
    /// waits, or is started, unless it is cancelled too, or a cancel was acknowledged that this
    /// commit does not know of.
    pub fn live(&self, new: &NewActivity, head: &Head) -> ActivityLive {
        let mut live = ActivityLive::queued(self.now, self.now);
        let may_begin = !head.withholds() && !self.cancels(new.activity);
        if let Some(who) = new.start.as_ref().filter(|_| may_begin) {
            start(&mut live, who.holder.clone(), who.worker.clone(), self.now);
        }
        live
    }

    /// Whether the rows of its activities can be made from its own events, later.
    pub fn tells_activities(&self) -> bool {
        let told = self.batch.as_ref().map(|batch| batch.first..=batch.last);
        let is_told =
            |new: &NewActivity| told.as_ref().is_some_and(|told| told.contains(&new.activity));
        self.activities.iter().all(is_told)
    }

    /// Whether a message that it does not know of is a conflict. After the close nobody would read
    /// it; and an end that was never in the inbox is heard after all that was acknowledged before.
    pub fn minds_newcomers(&self) -> bool {
        let overtakes = planted(Defect::EndOvertakes);
        self.close.is_some() || !(self.ended.is_empty() || overtakes)
    }

    /// Whether those who wait for the run's end must look afterwards.
    pub fn ends(&self) -> bool {
        self.close.is_some() || self.parked.is_some()
    }

    /// Whether another member may have the code that this one has not.
    pub fn parks(&self) -> bool {
        matches!(self.parked, Some(Some(_)))
    }

    /// Whether others may try a parked run after it; `head` is the run as the commit leaves it.
    pub fn frees_parked(&self, head: &Head) -> bool {
        self.parks() || (self.release && head.is_parked())
    }
}

/// A new activity.
#[derive(Clone, Debug, PartialEq)]
pub struct NewActivity {
    /// Its number.
    pub activity: EventId,
    /// What it is.
    pub spec: Arc<ActivitySpec>,
    /// Start it in the same commit, unless the same commit cancels it, or the run
    /// [withholds](Head::withholds) what would begin.
    pub start: Option<StartNow>,
}

/// Who starts an activity in the commit that schedules it.
#[derive(Clone, Debug, PartialEq)]
pub struct StartNow {
    /// What its answers must name.
    pub holder: Holder,
    /// Who has it.
    pub worker: Identity,
}

/// A run closes. Nothing of it rings any more, but the limits of what workers still have; its own
/// answers have nobody to read them and are dropped.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Close {
    /// The run that goes on in its place; it is among the births.
    pub successor: Option<RunId>,
    /// Its rows go as soon as nothing of its subtree is left.
    pub delete: bool,
}

/// What a commit answers.
#[derive(Clone, Debug, Default)]
pub struct Committed {
    /// The run's version now.
    pub version: Version,
    /// What waits in its inbox now, answers to this commit included. Bounded.
    pub unread: Vec<Received>,
    /// Attempts in workers' hands that its cancels hit.
    pub hits: Vec<AttemptHit>,
    /// New activities that were started, with their attempt.
    pub started: Vec<(EventId, u32)>,
}

/// An attempt in a worker's hands that must be told something.
#[derive(Clone, Debug, PartialEq)]
pub struct AttemptHit {
    /// Its run.
    pub run: RunId,
    /// Its activity.
    pub activity: EventId,
    /// Which attempt.
    pub attempt: u32,
    /// Who has it.
    pub holder: Holder,
    /// Why it is told.
    pub cause: Cause,
    /// When that was decided.
    pub decided_at: Time,
    /// True for a cancel, which is final for the activity; false for a stop of this attempt.
    pub cancel: bool,
}

impl AttemptHit {
    /// The cancel that stands against an attempt which is out, if one does.
    pub fn cancelled(run: RunId, activity: EventId, live: &ActivityLive) -> Option<Self> {
        let (holder, record) = (live.started()?.holder.clone(), live.cancel.as_ref()?);
        let (cause, decided_at) = (record.cause.clone(), record.decided_at);
        Some(Self { run, activity, attempt: live.attempt, holder, cause, decided_at, cancel: true })
    }

    /// The end of the time of an attempt which is out, if a remote worker has it: nobody else
    /// tells that.
    pub fn late(run: RunId, activity: EventId, live: &ActivityLive, now: Time) -> Option<Self> {
        let holder @ Holder::Remote { .. } = &live.started()?.holder else { return None };
        let (holder, cause) = (holder.clone(), Cause::new(Code::AttemptTimedOut));
        let attempt = live.attempt;
        Some(Self { run, activity, attempt, holder, cause, decided_at: now, cancel: false })
    }
}
