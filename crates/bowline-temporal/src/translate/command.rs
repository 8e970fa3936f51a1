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

use bowline_core::{ActivityId, Asked, Blob, Command, EventId, RunId};
use prost::Message as _;
use temporalio_protos::temporal::api::{
    command::v1::{self as wire, command::Attributes},
    history::v1::{HistoryEvent, history_event::Attributes as Kept},
    protocol::v1::Message,
};

use super::{time, update};

/// What a turn's answer asks for, in order.
///
/// # Errors
/// Names what cannot be read: nothing of the answer may then be taken.
pub(crate) fn take(
    commands: &[wire::Command],
    messages: &[Message],
    new_run: &dyn Fn() -> RunId,
) -> Result<Vec<Asked>, String> {
    let mut left: BTreeMap<&str, &Message> =
        messages.iter().map(|message| (message.id.as_str(), message)).collect();
    let mut asked = Vec::with_capacity(commands.len());
    for command in commands {
        asked.push(one(command, &mut left, new_run)?);
    }
    // A message that no command gives a place: a refusal, which leaves no event.
    let placeless = messages.iter().filter(|message| left.contains_key(message.id.as_str()));
    let first: Result<Vec<_>, _> =
        placeless.map(|message| update::take_message(message).map(Asked::from)).collect();
    let mut all = first?;
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

fn one(
    sent: &wire::Command,
    messages: &mut BTreeMap<&str, &Message>,
    new_run: &dyn Fn() -> RunId,
) -> Result<Asked, String> {
    use Attributes as A;
    let unread =
        || format!("a command of type {} that this server does not know", sent.command_type);
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
        A::UpsertWorkflowSearchAttributesCommandAttributes(a) => (record::search(a)?, None),
        A::ModifyWorkflowPropertiesCommandAttributes(a) => (record::memo(a), None),
        A::StartChildWorkflowExecutionCommandAttributes(a) => child::start(a, new_run())?,
        A::RequestCancelExternalWorkflowExecutionCommandAttributes(a) => {
            external::cancel(a, new_run())?
        }
        A::SignalExternalWorkflowExecutionCommandAttributes(a) => {
            external::signal(a, new_run())?
        }
        A::ProtocolMessageCommandAttributes(a) => {
            let message = messages.remove(a.message_id.as_str());
            let message = message.ok_or_else(|| format!("no message of id {:?}", a.message_id))?;
            (update::take_message(message)?, None)
        }
        A::CompleteWorkflowExecutionCommandAttributes(a) => (finish::complete(a), None),
        A::FailWorkflowExecutionCommandAttributes(a) => (finish::fail(a), None),
        A::CancelWorkflowExecutionCommandAttributes(a) => (finish::cancel(a), None),
        A::ContinueAsNewWorkflowExecutionCommandAttributes(a) => {
            (finish::continue_as_new(a, new_run())?, None)
        }
        A::ScheduleNexusOperationCommandAttributes(_)
        | A::RequestCancelNexusOperationCommandAttributes(_) => {
            return Err("this server has no Nexus operations".to_owned());
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
