//! What an event tells the code, and how the run's state hears of it.

use bowline_core::{
    Cause, ChildRefusal, Code, Event, EventId, EventKind, ExternalRefusal, Failure, Note, Outcome,
    Payload, Ranges, Rung, Timeout, UpdateRequest, WorkflowSignalled, WorkflowStarted,
};

use crate::{
    Difference, Ended, Mismatch,
    run::{End, Run, What},
};

/// What the code has to be told.
pub(super) enum Delivery {
    Start(Box<WorkflowStarted>),
    Signal(Box<WorkflowSignalled>),
    Cancel(Cause),
    Update(Box<UpdateRequest>),
    /// An activity ended with its code's own outcome.
    Activity(EventId, Outcome),
    /// An activity ended cancelled; unless history says why, for the reason that the code gave.
    ActivityCancelled(EventId, Option<Cause>, Rung, Option<Payload>),
    Timer(EventId, Result<(), Cause>),
    /// A child began: nobody waits for that.
    ChildBegan(EventId),
    Child(EventId, Result<Option<Payload>, Ended>),
    ChildCancelled(EventId, Option<Cause>),
    External(EventId, Result<(), ExternalRefusal>),
    /// A turn was scheduled, and these activities were over without ever starting; an operator
    /// has cancelled others.
    Turn {
        skipped: Ranges,
        cancelled: Vec<(EventId, Cause)>,
    },
}

impl Delivery {
    /// What an event tells the code, if it does.
    pub(super) fn of(event: &Event) -> Option<Self> {
        use EventKind as K;
        Some(match &event.kind {
            K::WorkflowStarted(e) => Self::Start(e.clone()),
            K::WorkflowSignalled(e) => Self::Signal(e.clone()),
            K::WorkflowCancelRequested(e) => Self::Cancel(e.cause.clone()),
            K::UpdateAdmitted(e) => Self::Update(Box::new(e.request.clone())),
            K::ActivityCompleted(e) => {
                Self::Activity(e.activity, Outcome::Completed(e.result.clone()))
            }
            K::ActivityFailed(e) => Self::Activity(e.activity, Outcome::Failed(e.failure.clone())),
            K::ActivityTimedOut(e) => Self::Activity(e.activity, Outcome::TimedOut(e.timeout)),
            K::ActivityCancelled(e) => {
                let (cause, details) = (cause(event), e.details.clone());
                Self::ActivityCancelled(e.activity, cause, rung(event), details)
            }
            K::TimerFired(e) => Self::Timer(e.timer, Ok(())),
            K::TimerCancelled(e) => Self::Timer(e.timer, Err(some_cause(event))),
            K::ChildStarted(e) => Self::ChildBegan(e.child),
            K::ChildStartFailed(e) => Self::Child(e.child, Err(refused(e.refusal))),
            K::ChildCompleted(e) => Self::Child(e.child, Ok(e.result.clone())),
            K::ChildFailed(e) => Self::Child(e.child, Err(Ended::Failed(e.failure.clone()))),
            K::ChildCancelled(e) => Self::ChildCancelled(e.child, cause(event)),
            K::ChildTimedOut(e) => {
                Self::Child(e.child, Err(Ended::TimedOut(Timeout::StartToClose)))
            }
            K::ChildTerminated(e) => {
                Self::Child(e.child, Err(Ended::Terminated(some_cause(event))))
            }
            K::ExternalCancelRequested(e) => Self::External(e.initiated, Ok(())),
            K::ExternalCancelFailed(e) => Self::External(e.initiated, Err(e.refusal)),
            K::ExternalSignalled(e) => Self::External(e.initiated, Ok(())),
            K::ExternalSignalFailed(e) => Self::External(e.initiated, Err(e.refusal)),
            K::TurnScheduled(_) => scheduled(event),
            _ => return None,
        })
    }

    /// The thing that it is the end of.
    pub(super) fn end_of(&self) -> Option<EventId> {
        let target = self.target().filter(|_| !matches!(self, Self::ChildBegan(_)));
        target.map(|(id, _)| id)
    }

    /// The thing that it is about.
    fn target(&self) -> Option<(EventId, What)> {
        match self {
            Self::Activity(id, _) | Self::ActivityCancelled(id, ..) => Some((*id, What::Activity)),
            Self::Timer(id, _) => Some((*id, What::Timer)),
            Self::ChildBegan(id) | Self::Child(id, _) | Self::ChildCancelled(id, _) => {
                Some((*id, What::Child))
            }
            Self::External(id, _) => Some((*id, What::External)),
            _ => None,
        }
    }
}

impl Run {
    /// Takes in what the code is told. True if the code is to be polled for it.
    pub(super) fn deliver(&mut self, event: EventId, what: &Delivery) -> Result<bool, Mismatch> {
        if let Some((target, kind)) = what.target() {
            self.expect_open(event, target, kind)?;
        }
        match what {
            Delivery::Start(started) => self.start(started),
            Delivery::Signal(signal) => {
                let queue = self.signals.entry(signal.name.clone()).or_default();
                self.wakes.extend(queue.put(event, (**signal).clone()));
            }
            Delivery::Update(request) => {
                let queue = self.updates.entry(request.name.clone()).or_default();
                self.wakes.extend(queue.put(event, (**request).clone()));
            }
            Delivery::Cancel(cause) => drop(self.cancel.get_or_insert(cause.clone())),
            Delivery::Activity(id, outcome) => self.end(*id, End::Activity(outcome.clone())),
            Delivery::ActivityCancelled(id, cause, rung, details) => {
                let cause = cause.clone().unwrap_or_else(|| self.cause_of(*id));
                let outcome = Outcome::Cancelled(cause, *rung, details.clone());
                self.end(*id, End::Activity(outcome));
            }
            Delivery::Timer(id, result) => self.end(*id, End::Timer(result.clone())),
            Delivery::ChildBegan(_) => return Ok(false),
            Delivery::Child(id, result) => self.end(*id, End::Child(result.clone())),
            Delivery::ChildCancelled(id, cause) => {
                let cause = cause.clone().unwrap_or_else(|| self.cause_of(*id));
                self.end(*id, End::Child(Err(Ended::Cancelled(cause))));
            }
            Delivery::External(id, result) => self.end(*id, End::External(*result)),
            Delivery::Turn { skipped, cancelled } => {
                return self.deliver_turn(event, skipped, cancelled);
            }
        }
        Ok(true)
    }

    fn deliver_turn(
        &mut self,
        event: EventId,
        skipped: &Ranges,
        cancelled: &[(EventId, Cause)],
    ) -> Result<bool, Mismatch> {
        for (target, cause) in cancelled {
            self.cancelled_by_operator(*target, cause);
        }
        if !self.knows_all(skipped) {
            for number in skipped.ids() {
                self.expect_open(event, number, What::Activity)?;
            }
        }
        self.skip(skipped);
        Ok(!skipped.is_empty())
    }

    fn expect_open(&self, event: EventId, target: EventId, what: What) -> Result<(), Mismatch> {
        if self.knows(target, what) {
            return Ok(());
        }
        let what = format!("{what:?}").to_lowercase();
        let recorded = format!("the end of {what} {target}");
        let asked = match self.entries.get(&target) {
            Some(entry) => format!("{target} is something else, or over: {:?}", entry.what),
            None => format!("no {what} {target} that is open"),
        };
        Err(Mismatch::new(event, Difference::Unknown, recorded, asked))
    }
}

fn scheduled(event: &Event) -> Delivery {
    let (mut skipped, mut cancelled) = (Ranges::default(), Vec::new());
    for note in &event.notes {
        match note {
            Note::Skipped(ranges) => skipped = ranges.clone(),
            Note::CancelledOne(target, cause) => cancelled.push((*target, cause.clone())),
            _ => {}
        }
    }
    Delivery::Turn { skipped, cancelled }
}

fn cause(event: &Event) -> Option<Cause> {
    event.notes.iter().find_map(|note| match note {
        Note::Cause(cause) => Some(cause.clone()),
        _ => None,
    })
}

fn some_cause(event: &Event) -> Cause {
    cause(event).unwrap_or_else(|| Cause::new(Code::Requested))
}

fn rung(event: &Event) -> Rung {
    let rung = event.notes.iter().find_map(|note| match note {
        Note::Rung(rung) => Some(*rung),
        _ => None,
    });
    rung.unwrap_or(Rung::Signal)
}

fn refused(refusal: ChildRefusal) -> Ended {
    let (text, kind) = match refusal {
        ChildRefusal::IdTaken => ("a run of the child's workflow id is open", "IdTaken"),
        ChildRefusal::NoNamespace => ("there is no such namespace", "NoNamespace"),
        _ => ("the child could not be started", "NotStarted"),
    };
    Ended::Failed(Failure::new(text).kind(kind))
}
