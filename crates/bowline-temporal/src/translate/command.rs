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
    enums::v1::CommandType,
    history::v1::{HistoryEvent, history_event::Attributes as Kept},
    protocol::v1::Message,
};

use super::{payload::Fault, time, update};

/// What a turn's answer asks for, in order, of a run in the namespace `space`. What does not read
/// is a command too: the one that fails the turn, with a cause that history keeps.
pub(crate) fn take(
    commands: &[wire::Command],
    messages: &[Message],
    space: &str,
    new_run: &dyn Fn() -> RunId,
) -> Vec<Asked> {
    let mut left: BTreeMap<&str, &Message> =
        messages.iter().map(|message| (message.id.as_str(), message)).collect();
    let mut asked = Vec::with_capacity(commands.len());
    for command in commands {
        let read = one(command, &mut left, space, new_run);
        asked.push(read.unwrap_or_else(unreadable));
    }
    // A message that no command gives a place: a refusal, which leaves no event.
    let placeless = messages.iter().filter(|message| left.contains_key(message.id.as_str()));
    let first = placeless.map(|message| match update::take_message(message) {
        Ok(command) => command.into(),
        Err(why) => unreadable((TurnFault::BadUpdate, why)),
    });
    let mut all: Vec<Asked> = first.collect();
    all.append(&mut asked);
    all
}

fn unreadable((fault, why): Fault) -> Asked {
    Command::Unreadable(fault, why).into()
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

fn of(fault: TurnFault) -> impl Fn(String) -> Fault {
    move |why| (fault, why)
}

/// A command that says what it is, but not what it wants; or one of a kind that is new.
fn empty(sent: &wire::Command) -> Fault {
    use CommandType as C;
    use TurnFault as F;
    let fault = match C::try_from(sent.command_type) {
        Ok(C::ScheduleActivityTask) => F::BadActivity,
        Ok(C::RequestCancelActivityTask) => F::BadActivityCancel,
        Ok(C::StartTimer) => F::BadTimer,
        Ok(C::CancelTimer) => F::BadTimerCancel,
        Ok(C::CompleteWorkflowExecution) => F::BadComplete,
        Ok(C::FailWorkflowExecution) => F::BadFail,
        Ok(C::CancelWorkflowExecution) => F::BadCancel,
        Ok(C::RequestCancelExternalWorkflowExecution) => F::BadExternalCancel,
        Ok(C::RecordMarker) => F::BadMarker,
        Ok(C::ContinueAsNewWorkflowExecution) => F::BadContinue,
        Ok(C::StartChildWorkflowExecution) => F::BadChild,
        Ok(C::SignalExternalWorkflowExecution) => F::BadSignal,
        Ok(C::UpsertWorkflowSearchAttributes) => F::BadSearch,
        Ok(C::ProtocolMessage) => F::BadUpdate,
        Ok(C::ModifyWorkflowProperties) => F::BadMemo,
        Ok(C::ScheduleNexusOperation) => F::BadNexus,
        Ok(C::RequestCancelNexusOperation) => F::BadNexusCancel,
        Ok(C::Unspecified) | Err(_) => {
            let kind = sent.command_type;
            return (F::Unknown, format!("this server knows no command of type {kind}"));
        }
    };
    (fault, "the command has no attributes".to_owned())
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
) -> Result<Asked, Fault> {
    use Attributes as A;
    use TurnFault as F;
    let (command, kept) = match sent.attributes.as_ref().ok_or_else(|| empty(sent))? {
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
        A::UpsertWorkflowSearchAttributesCommandAttributes(a) => (record::search(a)?, None),
        A::ModifyWorkflowPropertiesCommandAttributes(a) => (record::memo(a), None),
        A::StartChildWorkflowExecutionCommandAttributes(a) => {
            same_space(&a.namespace, space).map_err(of(F::BadChild))?;
            child::start(a, sent.user_metadata.as_ref(), new_run())?
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
        A::FailWorkflowExecutionCommandAttributes(a) => (finish::fail(a)?, None),
        A::CancelWorkflowExecutionCommandAttributes(a) => (finish::cancel(a), None),
        A::ContinueAsNewWorkflowExecutionCommandAttributes(a) => {
            (finish::continue_as_new(a, new_run())?, None)
        }
        A::ScheduleNexusOperationCommandAttributes(a) => {
            return Err((F::BadNexus, format!("endpoint {:?} not found", a.endpoint)));
        }
        A::RequestCancelNexusOperationCommandAttributes(a) => {
            let id = a.scheduled_event_id;
            return Err((F::BadNexusCancel, format!("no Nexus operation has number {id}")));
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
