//! What is kept of a start because core has no place for it.

use bowline_core::Blob;
use prost::Message;
use temporalio_protos::temporal::api::{
    common::v1::{Link, Priority},
    history::v1::{HistoryEvent, WorkflowExecutionStartedEventAttributes, history_event},
    sdk::v1::UserMetadata,
};

/// What a run is about and how urgent it is, which its successors take over; beside links, which
/// are of the one start.
pub(crate) fn kept(
    about: Option<&UserMetadata>,
    links: &[Link],
    urgent: Option<&Priority>,
) -> Option<Blob> {
    let started = |urgent: &Priority| WorkflowExecutionStartedEventAttributes {
        priority: Some(urgent.clone()),
        ..Default::default()
    };
    let kept = history_event::Attributes::WorkflowExecutionStartedEventAttributes;
    let event = HistoryEvent {
        user_metadata: about.cloned(),
        links: links.to_vec(),
        attributes: urgent.map(|urgent| kept(started(urgent))),
        ..Default::default()
    };
    let bytes = event.encode_to_vec();
    (!bytes.is_empty()).then(|| bytes.into())
}
