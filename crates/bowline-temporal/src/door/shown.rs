//! Small words that many answers have in common.

use bowline_core::{EventId, Name, RunId, WorkflowId};
use temporalio_protos::temporal::api::common::v1::{WorkflowExecution, WorkflowType};

pub(super) fn execution(run: RunId, workflow_id: &WorkflowId) -> WorkflowExecution {
    WorkflowExecution { workflow_id: workflow_id.to_string(), run_id: run.to_string() }
}

pub(super) fn workflow_type(name: &Name) -> WorkflowType {
    WorkflowType { name: name.to_string() }
}

pub(super) fn number(id: EventId) -> i64 {
    i64::try_from(id.0).unwrap_or(i64::MAX)
}
