//! What a turn asked for beside what history says that it asked for.
//!
//! Compared are kinds, names and what calls are given, in order; not durations or causes: those may
//! be mended while a run is open. So may an input, where the call says so.

use std::{collections::BTreeSet, fmt};

use bowline_core::{
    Cancelled, Command, Event, EventId, EventKind, Format, Name, Note, Payload, Ranges, ScopeStep,
    UpdateId, WorkflowId,
    planted::{Defect, planted},
};

use crate::{
    Difference, Mismatch,
    context::patch_of,
    json,
    run::{Asked, targets},
};

/// How many bytes of an input a report shows.
const INPUT_SHOWN: usize = 60;

/// One thing that a turn asks for and that is an event of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Said {
    Activity(Name, Given),
    CancelActivity(EventId),
    Timer,
    CancelTimer(EventId),
    Marker(Name, Option<String>),
    Child(Name, WorkflowId, Given),
    CancelChild(EventId),
    CancelExternal(WorkflowId),
    SignalExternal(Name, WorkflowId),
    Search,
    Memo,
    AcceptUpdate(UpdateId),
    CompleteUpdate(UpdateId),
    Close(&'static str),
}

/// What a call is given. The bytes are shared with whoever has them anyway.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Given {
    Input(Option<Payload>),
    /// Whatever history has: the call's input was mended.
    Any,
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
            Command::ScheduleActivity(spec) => {
                Self::Activity(spec.name.clone(), Given::Input(spec.input.clone()))
            }
            Command::CancelActivity(activity) => Self::CancelActivity(*activity),
            Command::StartTimer(..) => Self::Timer,
            Command::CancelTimer(timer, _) => Self::CancelTimer(*timer),
            Command::RecordMarker(marker) => {
                Self::Marker(marker.name.clone(), patch_of(&marker.name, &marker.details))
            }
            Command::StartChild(spec, _) => {
                let given = Given::Input(spec.input.clone());
                Self::Child(spec.name.clone(), spec.workflow_id.clone(), given)
            }
            Command::CancelExternal(cancel) => {
                Self::CancelExternal(cancel.target.workflow_id.clone())
            }
            Command::SignalExternal(signal) => {
                Self::SignalExternal(signal.name.clone(), signal.target.workflow_id.clone())
            }
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
            EventKind::ActivityScheduled(e) => {
                Self::Activity(e.spec.name.clone(), Given::Input(e.spec.input.clone()))
            }
            EventKind::ActivityCancelRequested(e) => Self::CancelActivity(e.activity),
            EventKind::TimerStarted(_) => Self::Timer,
            // An operator's has no turn.
            EventKind::TimerCancelled(e) if e.turn.0 > 0 => Self::CancelTimer(e.timer),
            EventKind::MarkerRecorded(e) => {
                Self::Marker(e.name.clone(), patch_of(&e.name, &e.details))
            }
            EventKind::ChildInitiated(e) => {
                let given = Given::Input(e.spec.input.clone());
                Self::Child(e.spec.name.clone(), e.spec.workflow_id.clone(), given)
            }
            EventKind::ExternalCancelInitiated(e) if e.child.0 > 0 => Self::CancelChild(e.child),
            EventKind::ExternalCancelInitiated(e) => {
                Self::CancelExternal(e.target.workflow_id.clone())
            }
            EventKind::ExternalSignalInitiated(e) => {
                Self::SignalExternal(e.name.clone(), e.target.workflow_id.clone())
            }
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

    /// The call was mended: whatever it was given then will do.
    pub(crate) fn mend(&mut self) {
        if let Self::Activity(_, given) | Self::Child(_, _, given) = self {
            *given = Given::Any;
        }
    }

    /// Whether what was asked is what was recorded, up to what it is given. A child's workflow id
    /// counts if the code gives it one; a cancel of a child may be asked for as one of any run.
    fn agrees(&self, recorded: &Self) -> bool {
        match (self, recorded) {
            (Self::Activity(name, _), Self::Activity(was, _)) => name == was,
            (Self::Child(name, id, _), Self::Child(was, had, _)) => {
                name == was && (id.is_empty() || id == had)
            }
            (Self::CancelExternal(_), Self::CancelChild(_)) => true,
            _ => self == recorded,
        }
    }

    fn given(&self) -> Option<&Given> {
        match self {
            Self::Activity(_, given) | Self::Child(_, _, given) => Some(given),
            _ => None,
        }
    }

    /// Whether it is given what was recorded.
    fn is_given(&self, recorded: &Self) -> bool {
        match (self.given(), recorded.given()) {
            (Some(Given::Any), _) => true,
            _ if planted(Defect::OtherInput) => true,
            (Some(Given::Input(Some(given))), Some(Given::Input(Some(was)))) => same(given, was),
            (given, was) => given == was,
        }
    }

    /// The same in words, with what it is given.
    fn with_input(&self) -> String {
        match self.given() {
            Some(Given::Input(Some(payload))) => format!("{self} with {}", shown(payload)),
            Some(Given::Input(None)) => format!("{self} with nothing"),
            _ => self.to_string(),
        }
    }
}

impl fmt::Display for Said {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Activity(name, _) => write!(f, "activity {name:?}"),
            Self::CancelActivity(number) => write!(f, "cancel of activity {number}"),
            Self::Timer => f.write_str("a timer"),
            Self::CancelTimer(number) => write!(f, "cancel of timer {number}"),
            Self::Marker(_, Some(patch)) => write!(f, "patch {patch:?}"),
            Self::Marker(name, None) => write!(f, "marker {name:?}"),
            Self::Child(name, id, _) if id.is_empty() => write!(f, "child {name:?}"),
            Self::Child(name, id, _) => write!(f, "child {name:?} as {id:?}"),
            Self::CancelChild(number) => write!(f, "cancel of child {number}"),
            Self::CancelExternal(id) => write!(f, "cancel of another run, {id:?}"),
            Self::SignalExternal(name, id) => write!(f, "signal {name:?} to another run, {id:?}"),
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
            (Some(r), Some(said)) if said.agrees(&r.said) => {
                if !said.is_given(&r.said) {
                    let (was, is) = (r.said.with_input(), said.with_input());
                    return told(r.id, decision, Difference::Input, was, is);
                }
            }
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

/// Members of JSON objects have no order.
fn same(given: &Payload, was: &Payload) -> bool {
    let is_json = given.format == Format::Json && was.format == Format::Json;
    let is_same = || json::is_same(given.bytes.as_slice(), was.bytes.as_slice());
    given == was || (is_json && is_same())
}

/// A payload in a few words.
fn shown(payload: &Payload) -> String {
    let bytes = payload.bytes.as_slice();
    let text = String::from_utf8_lossy(&bytes[..bytes.len().min(INPUT_SHOWN)]);
    match bytes.len() > INPUT_SHOWN {
        true => format!("{text}… ({} bytes)", bytes.len()),
        false => text.into_owned(),
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
