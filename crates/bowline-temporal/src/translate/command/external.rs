//! What the code asks of other runs.

use bowline_core::{CancelExternal, Command, External, RunId, SignalExternal};
use temporalio_protos::temporal::api::{
    command::v1::{
        RequestCancelExternalWorkflowExecutionCommandAttributes,
        SignalExternalWorkflowExecutionCommandAttributes,
    },
    history::v1::{
        RequestCancelExternalWorkflowExecutionInitiatedEventAttributes,
        SignalExternalWorkflowExecutionInitiatedEventAttributes, history_event::Attributes as Kept,
    },
};

use super::run_id;
use crate::translate::payload;

/// What a request becomes, and what is kept beside it.
type Taken = Result<(Command, Option<Kept>), String>;

fn target(id: &str, run: &str, child_only: bool, like: RunId) -> Result<External, String> {
    Ok(External { workflow_id: id.into(), run: run_id(run, like)?, child_only })
}

// What is deprecated on the wire is kept all the same: the SDK for Go finds its commands by it.
#[allow(deprecated)]
pub(super) fn cancel(
    sent: &RequestCancelExternalWorkflowExecutionCommandAttributes,
    like: RunId,
) -> Taken {
    let target = target(&sent.workflow_id, &sent.run_id, sent.child_workflow_only, like)?;
    let command = Command::CancelExternal(Box::new(CancelExternal {
        target,
        reason: sent.reason.clone(),
        ..CancelExternal::default()
    }));
    let kept = || {
        Kept::RequestCancelExternalWorkflowExecutionInitiatedEventAttributes(
            RequestCancelExternalWorkflowExecutionInitiatedEventAttributes {
                control: sent.control.clone(),
                ..Default::default()
            },
        )
    };
    Ok((command, (!sent.control.is_empty()).then(kept)))
}

#[allow(deprecated)]
pub(super) fn signal(
    sent: &SignalExternalWorkflowExecutionCommandAttributes,
    like: RunId,
) -> Taken {
    let to = sent.execution.clone().unwrap_or_default();
    let command = Command::SignalExternal(Box::new(SignalExternal {
        target: target(&to.workflow_id, &to.run_id, sent.child_workflow_only, like)?,
        name: sent.signal_name.as_str().into(),
        input: payload::take(sent.input.as_ref()),
        header: payload::take_header(sent.header.as_ref()),
    }));
    let kept = || {
        Kept::SignalExternalWorkflowExecutionInitiatedEventAttributes(
            SignalExternalWorkflowExecutionInitiatedEventAttributes {
                control: sent.control.clone(),
                ..Default::default()
            },
        )
    };
    Ok((command, (!sent.control.is_empty()).then(kept)))
}
