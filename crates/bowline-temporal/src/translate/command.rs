//! What workflow code asks for, in Temporal's words: the one match. Each family has a file.
//!
//! In:    a command, and the messages that came with it.
//! Out:   core's command, beside what core has no place for (`wire`).
//! Never: refuses what only the run's state can judge; it names what it cannot read.

mod activity;
mod child;
mod external;
mod finish;
mod record;

use std::collections::{BTreeMap, BTreeSet};

use bowline_core::{ActivityId, Asked, Blob, Command, EventId, RunId, TurnFault};
use prost::Message as _;
use temporalio_protos::temporal::api::{
    command::v1::{self as wire, command::Attributes},
    history::v1::{HistoryEvent, history_event::Attributes as Kept},
    protocol::v1::Message,
};

use super::{time, update};

/// Why nothing of an answer may be taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Bad {
    /// It is in no words that this server has: the call is wrong, and the turn stays out.
    Call(String),
    /// A command says something that cannot be: the turn has failed, for this cause.
    Turn(TurnFault, String),
}

/// What a turn's answer asks for, in order, of a run in the namespace `space`.
///
/// # Errors
/// Names what cannot be read: nothing of the answer may then be taken.
pub(crate) fn take(
    commands: &[wire::Command],
    messages: &[Message],
    space: &str,
    new_run: &dyn Fn() -> RunId,
) -> Result<Vec<Asked>, Bad> {
    let mut left: BTreeMap<&str, &Message> =
        messages.iter().map(|message| (message.id.as_str(), message)).collect();
    let mut asked = Vec::with_capacity(commands.len());
    for command in commands {
        asked.push(one(command, &mut left, space, new_run)?);
    }
    // A message that no command gives a place: a refusal, which leaves no event.
    let placeless = messages.iter().filter(|message| left.contains_key(message.id.as_str()));
    let first: Result<Vec<_>, _> =
        placeless.map(|message| update::take_message(message).map(Asked::from)).collect();
    let mut all = first.map_err(of(TurnFault::BadUpdate))?;
    all.append(&mut asked);
    Ok(all)
}

/// The activities that the worker would take itself, at once.
pub(crate) fn eager(commands: &[wire::Command]) -> BTreeSet<ActivityId> {
    let wanted = commands.iter().filter_map(|command| match &command.attributes {
        Some(Attributes::ScheduleActivityTaskCommandAttributes(a)) => {
            a.request_eager_execution.then(|| a.activity_id.as_str().into())
        }
        _ => None,
    });
    wanted.collect()
}

fn of(fault: TurnFault) -> impl Fn(String) -> Bad {
    move |why| Bad::Turn(fault, why)
}

/// Commands reach no further than their run's own namespace.
fn same_space(named: &str, space: &str) -> Result<(), String> {
    match named.is_empty() || named == space {
        true => Ok(()),
        false => Err(format!("a command cannot reach into the namespace {named:?}")),
    }
}

// The namespace of a command is deprecated on the wire: it can only be the run's own.
#[allow(deprecated)]
fn one(
    sent: &wire::Command,
    messages: &mut BTreeMap<&str, &Message>,
    space: &str,
    new_run: &dyn Fn() -> RunId,
) -> Result<Asked, Bad> {
    use Attributes as A;
    use TurnFault as F;
    let unread = || {
        let kind = sent.command_type;
        Bad::Call(format!("a command of type {kind} that this server does not know"))
    };
    let (command, kept) = match sent.attributes.as_ref().ok_or_else(unread)? {
        A::ScheduleActivityTaskCommandAttributes(a) => activity::schedule(a),
        A::RequestCancelActivityTaskCommandAttributes(a) => (
            Command::CancelActivity(EventId(u64::try_from(a.scheduled_event_id).unwrap_or(0))),
            None,
        ),
        A::StartTimerCommandAttributes(a) => {
            let after = time::given(a.start_to_fire_timeout.as_ref()).unwrap_or_default();
            (Command::StartTimer(a.timer_id.as_str().into(), after), None)
        }
        A::CancelTimerCommandAttributes(a) => {
            (Command::CancelTimerNamed(a.timer_id.as_str().into()), None)
        }
        A::RecordMarkerCommandAttributes(a) => (record::marker(a), None),
        A::UpsertWorkflowSearchAttributesCommandAttributes(a) => {
            (record::search(a).map_err(of(F::BadSearch))?, None)
        }
        A::ModifyWorkflowPropertiesCommandAttributes(a) => (record::memo(a), None),
        A::StartChildWorkflowExecutionCommandAttributes(a) => {
            same_space(&a.namespace, space).map_err(of(F::BadChild))?;
            child::start(a, sent.user_metadata.as_ref(), new_run()).map_err(of(F::BadChild))?
        }
        A::RequestCancelExternalWorkflowExecutionCommandAttributes(a) => {
            same_space(&a.namespace, space).map_err(of(F::BadExternalCancel))?;
            external::cancel(a, new_run()).map_err(of(F::BadExternalCancel))?
        }
        A::SignalExternalWorkflowExecutionCommandAttributes(a) => {
            same_space(&a.namespace, space).map_err(of(F::BadSignal))?;
            external::signal(a, new_run()).map_err(of(F::BadSignal))?
        }
        A::ProtocolMessageCommandAttributes(a) => {
            let message = messages.remove(a.message_id.as_str());
            let none = || of(F::BadUpdate)(format!("no message of id {:?}", a.message_id));
            let message = message.ok_or_else(none)?;
            (update::take_message(message).map_err(of(F::BadUpdate))?, None)
        }
        A::CompleteWorkflowExecutionCommandAttributes(a) => (finish::complete(a), None),
        A::FailWorkflowExecutionCommandAttributes(a) => (finish::fail(a), None),
        A::CancelWorkflowExecutionCommandAttributes(a) => (finish::cancel(a), None),
        A::ContinueAsNewWorkflowExecutionCommandAttributes(a) => {
            (finish::continue_as_new(a, new_run()).map_err(of(F::BadContinue))?, None)
        }
        A::ScheduleNexusOperationCommandAttributes(_)
        | A::RequestCancelNexusOperationCommandAttributes(_) => {
            return Err(Bad::Call("this server has no Nexus operations".to_owned()));
        }
    };
    Ok(Asked { command, wire: wire_of(sent, kept) })
}

/// What is stored with the event because core has no place for it.
fn wire_of(sent: &wire::Command, kept: Option<Kept>) -> Option<Blob> {
    let event = HistoryEvent {
        user_metadata: sent.user_metadata.clone(),
        event_group_markers: sent.event_group_markers.clone(),
        attributes: kept,
        ..Default::default()
    };
    let bytes = event.encode_to_vec();
    (!bytes.is_empty()).then(|| bytes.into())
}

/// A run id as text; empty text is none.
pub(crate) fn run_id(text: &str, like: RunId) -> Result<Option<RunId>, String> {
    if text.is_empty() {
        return Ok(None);
    }
    let plain: String = text.split('-').collect();
    let is_id = plain.len() == 32 && plain.bytes().all(|byte| byte.is_ascii_hexdigit());
    let uuid = is_id.then(|| u128::from_str_radix(&plain, 16).ok()).flatten();
    let uuid = uuid.ok_or_else(|| format!("Invalid RunId: {text:?}"))?;
    Ok(Some(RunId { uuid, ..like }))
}
