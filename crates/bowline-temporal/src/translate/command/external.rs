//! What the code asks of other runs.

use bowline_core::{CancelExternal, Command, External, RunId, SignalExternal};
use temporalio_protos::temporal::api::command::v1::{
    RequestCancelExternalWorkflowExecutionCommandAttributes,
    SignalExternalWorkflowExecutionCommandAttributes,
};

use super::run_id;
use crate::translate::payload;

fn target(id: &str, run: &str, child_only: bool, like: RunId) -> Result<External, String> {
    Ok(External { workflow_id: id.into(), run: run_id(run, like)?, child_only })
}

pub(super) fn cancel(
    sent: &RequestCancelExternalWorkflowExecutionCommandAttributes,
    like: RunId,
) -> Result<Command, String> {
    let target = target(&sent.workflow_id, &sent.run_id, sent.child_workflow_only, like)?;
    Ok(Command::CancelExternal(Box::new(CancelExternal {
        target,
        reason: sent.reason.clone(),
        ..CancelExternal::default()
    })))
}

pub(super) fn signal(
    sent: &SignalExternalWorkflowExecutionCommandAttributes,
    like: RunId,
) -> Result<Command, String> {
    let to = sent.execution.clone().unwrap_or_default();
    Ok(Command::SignalExternal(Box::new(SignalExternal {
        target: target(&to.workflow_id, &to.run_id, sent.child_workflow_only, like)?,
        name: sent.signal_name.as_str().into(),
        input: payload::take(sent.input.as_ref()),
        header: payload::take_header(sent.header.as_ref()),
    })))
}
