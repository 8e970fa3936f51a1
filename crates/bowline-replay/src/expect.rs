//! What a turn asked for beside what history says that it asked for.
//!
//! Compared are kinds and names, in order; not inputs, durations or causes: those may be mended
//! while a run is open.

use std::{collections::BTreeSet, fmt};

use bowline_core::{
    Cancelled, Command, Event, EventId, EventKind, Name, Note, Ranges, ScopeStep, UpdateId,
    WorkflowId,
};

use crate::{
    Difference, Mismatch,
    context::patch_of,
    run::{Asked, targets},
};

/// One thing that a turn asks for and that is an event of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Said {
    Activity(Name),
    CancelActivity(EventId),
    Timer,
    CancelTimer(EventId),
    Marker(Name, Option<String>),
    Child(Name, WorkflowId),
    CancelChild(EventId),
    CancelExternal,
    SignalExternal(Name),
    Search,
    Memo,
    AcceptUpdate(UpdateId),
    CompleteUpdate(UpdateId),
    Close(&'static str),
}

/// Something that history says a turn asked for.
#[derive(Clone, Debug)]
pub(crate) struct Recorded {
    pub(crate) id: EventId,
    pub(crate) said: Said,
}

/// What `TurnCompleted` says of the turn.
pub(crate) struct Completed {
    pub(crate) id: EventId,
    cancels: Ranges,
    detached: Ranges,
    refused: Vec<UpdateId>,
    steps: Vec<ScopeStep>,
}

impl Said {
    /// What a command asks for, if that is an event of its own.
    pub(crate) fn asked(command: &Command) -> Option<Self> {
        Some(match command {
            Command::ScheduleActivity(spec) => Self::Activity(spec.name.clone()),
            Command::CancelActivity(activity) => Self::CancelActivity(*activity),
            Command::StartTimer(..) => Self::Timer,
            Command::CancelTimer(timer, _) => Self::CancelTimer(*timer),
            Command::RecordMarker(marker) => {
                Self::Marker(marker.name.clone(), patch_of(&marker.name, &marker.details))
            }
            Command::StartChild(spec, _) => {
                Self::Child(spec.name.clone(), spec.workflow_id.clone())
            }
            Command::CancelExternal(_) => Self::CancelExternal,
            Command::SignalExternal(signal) => Self::SignalExternal(signal.name.clone()),
            Command::UpsertSearch(_) => Self::Search,
            Command::ModifyMemo(_) => Self::Memo,
            Command::AcceptUpdate(accept) => Self::AcceptUpdate(accept.request.id.clone()),
            Command::CompleteUpdate(done) => Self::CompleteUpdate(done.request.id.clone()),
            Command::Complete(_) => Self::Close("completed"),
            Command::Fail(_) => Self::Close("failed"),
            Command::Cancel(..) => Self::Close("cancelled"),
            Command::ContinueAsNew(..) => Self::Close("continued as new"),
            _ => return None,
        })
    }

    /// What an event says was asked for, if a turn's code asked for it.
    pub(crate) fn recorded(kind: &EventKind) -> Option<Self> {
        Some(match kind {
            EventKind::ActivityScheduled(e) => Self::Activity(e.spec.name.clone()),
            EventKind::ActivityCancelRequested(e) => Self::CancelActivity(e.activity),
            EventKind::TimerStarted(_) => Self::Timer,
            // An operator's has no turn.
            EventKind::TimerCancelled(e) if e.turn.0 > 0 => Self::CancelTimer(e.timer),
            EventKind::MarkerRecorded(e) => {
                Self::Marker(e.name.clone(), patch_of(&e.name, &e.details))
            }
            EventKind::ChildInitiated(e) => {
                Self::Child(e.spec.name.clone(), e.spec.workflow_id.clone())
            }
            EventKind::ExternalCancelInitiated(e) if e.child.0 > 0 => Self::CancelChild(e.child),
            EventKind::ExternalCancelInitiated(_) => Self::CancelExternal,
            EventKind::ExternalSignalInitiated(e) => Self::SignalExternal(e.name.clone()),
            EventKind::SearchUpserted(_) => Self::Search,
            EventKind::MemoModified(_) => Self::Memo,
            EventKind::UpdateAccepted(e) => Self::AcceptUpdate(e.request.id.clone()),
            EventKind::UpdateCompleted(e) => Self::CompleteUpdate(e.id.clone()),
            EventKind::WorkflowCompleted(_) => Self::Close("completed"),
            EventKind::WorkflowFailed(_) => Self::Close("failed"),
            EventKind::WorkflowCancelled(_) => Self::Close("cancelled"),
            EventKind::WorkflowContinuedAsNew(_) => Self::Close("continued as new"),
            _ => return None,
        })
    }

    /// The cancel of something that has an event for it.
    pub(crate) fn cancel(what: Cancelled, target: EventId) -> Self {
        match what {
            Cancelled::Activities => Self::CancelActivity(target),
            Cancelled::Timers => Self::CancelTimer(target),
            Cancelled::Children => Self::CancelChild(target),
        }
    }

    /// The events that must follow a turn's commands, in order.
    pub(crate) fn all(commands: &[Command]) -> Vec<Self> {
        let mut said = Vec::with_capacity(commands.len());
        for command in commands {
            let Command::Drop(decisions) = command else {
                said.extend(Self::asked(command));
                continue;
            };
            for decision in decisions.iter().filter(|d| d.what != Cancelled::Activities) {
                let targets = decision.targets.ids();
                said.extend(targets.map(|target| Self::cancel(decision.what, target)));
            }
        }
        said
    }

    /// The patch that it is the marker of.
    pub(crate) fn patch(&self) -> Option<&str> {
        match self {
            Self::Marker(_, patch) => patch.as_deref(),
            _ => None,
        }
    }

    /// Whether what was asked is what was recorded. A child's workflow id counts if the code
    /// gives it one; a cancel of a child may be asked for as one of any run.
    fn agrees(&self, recorded: &Self) -> bool {
        match (self, recorded) {
            (Self::Child(name, id), Self::Child(was, had)) => {
                name == was && (id.is_empty() || id == had)
            }
            (Self::CancelExternal, Self::CancelChild(_)) => true,
            _ => self == recorded,
        }
    }
}

impl fmt::Display for Said {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Activity(name) => write!(f, "activity {name:?}"),
            Self::CancelActivity(number) => write!(f, "cancel of activity {number}"),
            Self::Timer => f.write_str("a timer"),
            Self::CancelTimer(number) => write!(f, "cancel of timer {number}"),
            Self::Marker(_, Some(patch)) => write!(f, "patch {patch:?}"),
            Self::Marker(name, None) => write!(f, "marker {name:?}"),
            Self::Child(name, id) if id.is_empty() => write!(f, "child {name:?}"),
            Self::Child(name, id) => write!(f, "child {name:?} as {id:?}"),
            Self::CancelChild(number) => write!(f, "cancel of child {number}"),
            Self::CancelExternal => f.write_str("cancel of another run"),
            Self::SignalExternal(name) => write!(f, "signal {name:?} to another run"),
            Self::Search => f.write_str("change of search attributes"),
            Self::Memo => f.write_str("change of the memo"),
            Self::AcceptUpdate(id) => write!(f, "accepted update {id:?}"),
            Self::CompleteUpdate(id) => write!(f, "answer to update {id:?}"),
            Self::Close(how) => write!(f, "the end of the run: {how}"),
        }
    }
}

impl Completed {
    /// What `TurnCompleted` says of the turn, in its notes.
    pub(crate) fn of(event: &Event) -> Self {
        let mut completed = Self {
            id: event.id,
            cancels: Ranges::default(),
            detached: Ranges::default(),
            refused: Vec::new(),
            steps: Vec::new(),
        };
        for note in &event.notes {
            match note {
                Note::Cancels(decisions) => completed.cancels = targets(decisions),
                Note::Detached(ranges) => completed.detached = ranges.clone(),
                Note::RefusedUpdates(ids) => completed.refused.clone_from(ids),
                Note::Scopes(steps) => completed.steps.clone_from(steps),
                _ => {}
            }
        }
        completed
    }
}

/// Compares a whole turn. What differs first is told.
pub(crate) fn compare(
    completed: &Completed,
    recorded: &[Recorded],
    asked: &Asked,
) -> Result<(), Mismatch> {
    let turn = Some(completed.id);
    let told = |at, decision, difference, recorded: String, asked: String| {
        Err(Mismatch { event: at, turn, decision, target: None, difference, recorded, asked })
    };
    let mut kept = recorded.iter().peekable();
    let mut said = asked.said.iter().peekable();
    let mut decision = 0;
    loop {
        decision += 1;
        // A patch that the code asks for no more is passed over.
        while kept.next_if(|r| r.said.patch().is_some() && said.peek() != Some(&&r.said)).is_some()
        {
        }
        match (kept.next(), said.next()) {
            (None, None) => break,
            (Some(recorded), Some(said)) if said.agrees(&recorded.said) => {}
            (Some(r), said) => {
                let (difference, text) = match said {
                    Some(said) => (Difference::Other, said.to_string()),
                    None => (Difference::Less, "nothing more in this turn".to_owned()),
                };
                return told(r.id, decision, difference, r.said.to_string(), text);
            }
            (None, Some(said)) => {
                let at = recorded.last().map_or(completed.id, |last| last.id);
                let text = "nothing more in this turn".to_owned();
                return told(at, decision, Difference::More, text, said.to_string());
            }
        }
    }
    compare_notes(completed, asked)
}

fn compare_notes(completed: &Completed, asked: &Asked) -> Result<(), Mismatch> {
    let (event, turn) = (completed.id, Some(completed.id));
    let sets = [
        (&completed.cancels, &asked.cancels, Difference::Cancels, "cancels"),
        (&completed.detached, &asked.detached, Difference::Detached, "lets go of"),
    ];
    for (was, is, difference, verb) in sets {
        if was != is {
            let text = |ranges: &Ranges| match ranges.is_empty() {
                true => format!("{verb} nothing"),
                false => format!("{verb} {ranges:?}"),
            };
            let (recorded, asked) = (text(was), text(is));
            let target = first_difference(was, is).map(|number| (number, Name::default()));
            let decision = 0;
            return Err(Mismatch { event, turn, decision, target, difference, recorded, asked });
        }
    }
    if completed.refused != asked.refused {
        let text = |ids: &[UpdateId]| format!("refuses updates {ids:?}");
        let (recorded, asked) = (text(&completed.refused), text(&asked.refused));
        let (decision, target, difference) = (0, None, Difference::Refused);
        return Err(Mismatch { event, turn, decision, target, difference, recorded, asked });
    }
    let pairs = completed.steps.iter().zip(&asked.steps);
    let same = pairs.take_while(|(was, is)| same_step(was, is)).count();
    if same == completed.steps.len() && same == asked.steps.len() {
        return Ok(());
    }
    Err(Mismatch {
        event,
        turn,
        decision: same + 1,
        target: None,
        difference: Difference::Scopes,
        recorded: step_text(completed.steps.get(same)),
        asked: step_text(asked.steps.get(same)),
    })
}

/// The first target that is on one side only.
fn first_difference(was: &Ranges, is: &Ranges) -> Option<EventId> {
    let (was, is): (BTreeSet<_>, BTreeSet<_>) = (was.ids().collect(), is.ids().collect());
    was.symmetric_difference(&is).next().copied()
}

/// A scope's name is for people; why it was left is a cause.
fn same_step(was: &ScopeStep, is: &ScopeStep) -> bool {
    match (was, is) {
        (
            ScopeStep::Opened { scope, parent, .. },
            ScopeStep::Opened { scope: other, parent: around, .. },
        ) => scope == other && parent == around,
        (ScopeStep::Left { scope, .. }, ScopeStep::Left { scope: other, .. }) => scope == other,
        _ => false,
    }
}

fn step_text(step: Option<&ScopeStep>) -> String {
    match step {
        None => "no further step of a scope".to_owned(),
        Some(ScopeStep::Opened { scope, parent, name }) => {
            format!("scope {scope} {name:?} opened inside scope {parent}")
        }
        Some(ScopeStep::Left { scope, cause: None }) => format!("scope {scope} left, done"),
        Some(ScopeStep::Left { scope, cause: Some(cause) }) => {
            format!("scope {scope} left: {cause}")
        }
    }
}
