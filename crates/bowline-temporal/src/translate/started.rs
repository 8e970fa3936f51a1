//! What is kept of a start because core has no place for it.

use bowline_core::Blob;
use prost::Message;
use temporalio_protos::temporal::api::{
    common::v1::{Header, Link, Priority},
    history::v1::{HistoryEvent, WorkflowExecutionStartedEventAttributes, history_event},
    sdk::v1::UserMetadata,
};

/// What a run is about and how urgent it is, which its successors take over; beside links, which
/// are of the one start. That a header was sent with nothing in it is kept too.
pub(crate) fn kept(
    about: Option<&UserMetadata>,
    links: &[Link],
    urgent: Option<&Priority>,
    header: Option<&Header>,
) -> Option<Blob> {
    let started = WorkflowExecutionStartedEventAttributes {
        priority: urgent.cloned(),
        header: header.filter(|header| header.fields.is_empty()).cloned(),
        ..Default::default()
    };
    let says = started != WorkflowExecutionStartedEventAttributes::default();
    let kept = history_event::Attributes::WorkflowExecutionStartedEventAttributes;
    let event = HistoryEvent {
        user_metadata: about.cloned(),
        links: links.to_vec(),
        attributes: says.then(|| kept(started)),
        ..Default::default()
    };
    let bytes = event.encode_to_vec();
    (!bytes.is_empty()).then(|| bytes.into())
}
