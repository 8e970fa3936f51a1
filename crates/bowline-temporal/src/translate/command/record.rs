//! What the code wants to have remembered.

use bowline_core::{Command, RecordMarker};
use temporalio_protos::temporal::api::command::v1::{
    ModifyWorkflowPropertiesCommandAttributes, RecordMarkerCommandAttributes,
    UpsertWorkflowSearchAttributesCommandAttributes,
};

use crate::translate::{
    failure,
    payload::{self, Fault},
};

pub(super) fn marker(sent: &RecordMarkerCommandAttributes) -> Command {
    Command::RecordMarker(Box::new(RecordMarker {
        name: sent.marker_name.as_str().into(),
        details: payload::take_details(&sent.details),
        header: payload::take_header(sent.header.as_ref()),
        failure: sent.failure.as_ref().map(failure::take),
    }))
}

pub(super) fn search(
    sent: &UpsertWorkflowSearchAttributesCommandAttributes,
) -> Result<Command, Fault> {
    let changes = payload::take_search_changes(sent.search_attributes.as_ref())?;
    Ok(Command::UpsertSearch(changes))
}

pub(super) fn memo(sent: &ModifyWorkflowPropertiesCommandAttributes) -> Command {
    Command::ModifyMemo(payload::take_memo_changes(sent.upserted_memo.as_ref()))
}
