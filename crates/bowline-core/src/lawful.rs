//! Every ordering rule of history, checked event by event.
//!
//! In:    a run's events, in order; the first one fixes whose rules they follow.
//! Out:   the first rule that an event breaks, by name.
//! Never: asks [`State`](crate::State) or the deciding code. It keeps a small model of its own, so
//!        that a mistake there cannot hide itself here.

mod activity;
mod child;
mod external;
mod note;
mod request;
mod run;
mod timer;
mod turn;
mod update;

use std::fmt;

use crate::{Event, EventId, EventKind, Rules, RunId, Time};

/// A rule of history that is broken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unlawful {
    /// The event that breaks it.
    pub event: EventId,
    /// The rule, in the same words every time.
    pub rule: &'static str,
    /// What is wrong with this event.
    pub what: String,
}

impl fmt::Display for Unlawful {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "event {} breaks the rule that {}: {}", self.event, self.rule, self.what)
    }
}

impl std::error::Error for Unlawful {}

/// Checks a history as it grows. After an error it is of no further use.
#[derive(Clone, Debug)]
pub struct Lawful {
    run: RunId,
    next: EventId,
    time: Time,
    rules: Option<Rules>,
    closed: bool,
    whole: run::Whole,
    turns: turn::Turns,
    activities: activity::Activities,
    timers: timer::Timers,
    children: child::Children,
    externals: external::Externals,
    updates: update::Updates,
    requests: request::KnownRequests,
    promised: note::Promised,
}

/// A rule that does not hold, and why.
struct Breach {
    rule: &'static str,
    what: String,
}

type Law = Result<(), Breach>;

/// Holds the rule, or says what is wrong.
fn must(holds: bool, rule: &'static str, what: impl FnOnce() -> String) -> Law {
    match holds {
        true => Ok(()),
        false => Err(Breach { rule, what: what() }),
    }
}

impl Lawful {
    /// A checker of a history without events.
    pub fn new(run: RunId) -> Self {
        Self {
            run,
            next: EventId(1),
            time: Time(i64::MIN),
            rules: None,
            closed: false,
            whole: Default::default(),
            turns: Default::default(),
            activities: Default::default(),
            timers: Default::default(),
            children: Default::default(),
            externals: Default::default(),
            updates: Default::default(),
            requests: Default::default(),
            promised: Default::default(),
        }
    }

    /// The next event.
    ///
    /// # Errors
    /// If it breaks a rule.
    pub fn check(&mut self, event: &Event) -> Result<(), Unlawful> {
        let law = self.shape(event).and_then(|()| self.place(event)).and_then(|()| {
            note::check(self, event)?;
            self.kind(event)?;
            note::close(self, event)
        });
        self.next = event.id.plus(1);
        self.time = event.time;
        self.closed |= event.kind.closes();
        law.map_err(|Breach { rule, what }| Unlawful { event: event.id, rule, what })
    }

    /// What must hold between two commits, where the history may be read: nothing is half said,
    /// and whatever a remote worker's code has not seen has its turn scheduled.
    ///
    /// # Errors
    /// If a rule does not hold.
    pub fn check_commit(&mut self) -> Result<(), Unlawful> {
        let law = self.rest();
        let event = EventId(self.next.0.saturating_sub(1));
        law.map_err(|Breach { rule, what }| Unlawful { event, rule, what })
    }

    fn rest(&mut self) -> Law {
        self.promised.kept()?;
        self.activities.rest()?;
        self.turns.rest(self.native())?;
        let unseen = self.turns.unseen || !self.turns.begun;
        let wanted = unseen && !self.whole.waits(&self.turns);
        let stuck = !self.closed && !self.native() && wanted && self.turns.scheduled.is_none();
        must(!stuck, "what the code has not seen has its turn", || {
            "no turn is scheduled behind it".to_owned()
        })
    }

    fn native(&self) -> bool {
        self.rules.is_none_or(Rules::is_native)
    }

    /// Ids, times, the first event and the last.
    fn shape(&mut self, event: &Event) -> Law {
        must(event.id == self.next, "ids rise by one", || {
            format!("it should be event {}", self.next)
        })?;
        must(event.time >= self.time, "times never go backwards", || {
            format!("{:?} is before {:?}", event.time, self.time)
        })?;
        must(!self.closed, "nothing follows the closing event", || {
            format!("{} does", event.kind.name())
        })?;
        let started = matches!(event.kind, EventKind::WorkflowStarted(_));
        must(started == (event.id == EventId(1)), "a history begins once", || {
            format!("{} is event {}", event.kind.name(), event.id)
        })?;
        if let EventKind::WorkflowStarted(started) = &event.kind {
            self.rules = Some(started.rules);
        }
        Ok(())
    }

    /// Whether this kind of event may come here at all.
    fn place(&mut self, event: &Event) -> Law {
        self.activities.place(&event.kind)?;
        let native = self.native();
        self.turns.place(event, native)?;
        let by_operator =
            matches!(&event.kind, EventKind::TimerCancelled(e) if e.turn == EventId(0));
        if event.kind.commanded() && !(by_operator && native) {
            return self.turns.in_block(event);
        }
        self.turns.block = None;
        self.promised.kept()
    }

    /// The rules of the kind's own family.
    fn kind(&mut self, event: &Event) -> Law {
        use EventKind as K;
        let id = event.id;
        match &event.kind {
            K::WorkflowStarted(e) => self.whole.started(e),
            K::WorkflowSignalled(e) => run::signalled(self, event.id, e),
            K::WorkflowCancelRequested(_) => run::cancel_requested(self),
            K::WorkflowContinuedAsNew(e) => run::goes_on(self, Some(e.next_run)),
            K::WorkflowCompleted(e) => run::goes_on(self, e.next_run),
            K::WorkflowFailed(e) => run::goes_on(self, e.next_run),
            K::WorkflowTimedOut(e) => run::goes_on(self, e.next_run),
            K::WorkflowCancelled(_) | K::WorkflowTerminated(_) => Ok(()),
            K::TurnScheduled(e) => self.turns.scheduled(id, e),
            K::TurnStarted(e) => self.turns.started(id, e),
            K::TurnCompleted(e) => self.turns.completed(id, e),
            K::TurnFailed(e) => self.turns.failed(e),
            K::TurnTimedOut(e) => self.turns.timed_out(e),
            K::ActivityScheduled(e) => activity::scheduled(self, id, e),
            K::ActivityStarted(e) => self.activities.started(id, e.activity),
            K::ActivityCancelRequested(e) => activity::cancel_requested(self, id, e.activity),
            K::ActivityCompleted(e) => activity::ended(self, e.activity, e.started, true),
            K::ActivityFailed(e) => activity::ended(self, e.activity, e.started, true),
            K::ActivityTimedOut(e) => activity::ended(self, e.activity, e.started, false),
            K::ActivityCancelled(e) => activity::cancelled(self, e),
            K::TimerStarted(e) => timer::started(self, id, e),
            K::TimerFired(e) => timer::fired(self, e),
            K::TimerCancelled(e) => timer::cancelled(self, e),
            K::MarkerRecorded(_) | K::SearchUpserted(_) | K::MemoModified(_) => Ok(()),
            K::ChildInitiated(e) => child::initiated(self, id, e),
            K::ChildStarted(e) => child::started(self, id, e),
            K::ChildStartFailed(e) => child::start_failed(self, e),
            K::ChildCompleted(e) => child::ended(self, e.child, e.started, &e.workflow_id),
            K::ChildFailed(e) => child::ended(self, e.child, e.started, &e.workflow_id),
            K::ChildCancelled(e) => child::ended(self, e.child, e.started, &e.workflow_id),
            K::ChildTimedOut(e) => child::ended(self, e.child, e.started, &e.workflow_id),
            K::ChildTerminated(e) => child::ended(self, e.child, e.started, &e.workflow_id),
            K::ExternalCancelInitiated(e) => external::cancel(self, id, e),
            K::ExternalSignalInitiated(e) => self.externals.initiated(id, &e.target, false),
            K::ExternalCancelRequested(e) => external::answered(self, e.initiated, &e.target, true),
            K::ExternalCancelFailed(e) => external::answered(self, e.initiated, &e.target, true),
            K::ExternalSignalled(e) => external::answered(self, e.initiated, &e.target, false),
            K::ExternalSignalFailed(e) => external::answered(self, e.initiated, &e.target, false),
            K::UpdateAdmitted(e) => update::admitted(self, e),
            K::UpdateAccepted(e) => update::accepted(self, id, e),
            K::UpdateCompleted(e) => update::completed(self, e),
        }
    }
}

/// Checks a whole history.
///
/// # Errors
/// Names the first rule that is broken.
pub fn check<'e>(run: RunId, history: impl IntoIterator<Item = &'e Event>) -> Result<(), Unlawful> {
    let mut lawful = Lawful::new(run);
    history.into_iter().try_for_each(|event| lawful.check(event))?;
    lawful.check_commit()
}

#[cfg(test)]
mod tests;
