//! Children that the code asks for.

use bowline_core::{ChildSpec, Command, RunId};
use temporalio_protos::temporal::api::{
    command::v1::StartChildWorkflowExecutionCommandAttributes,
    history::v1::{
        StartChildWorkflowExecutionInitiatedEventAttributes, history_event::Attributes as Kept,
    },
    sdk::v1::UserMetadata,
};

use crate::translate::{
    payload::{self, Fault},
    retry, started,
    time::given_limit,
    word,
};

// What is deprecated on the wire is kept all the same: it was sent.
#[allow(deprecated)]
pub(super) fn start(
    sent: &StartChildWorkflowExecutionCommandAttributes,
    about: Option<&UserMetadata>,
    run: RunId,
) -> Result<(Command, Option<Kept>), Fault> {
    let queue = sent.task_queue.as_ref().map(|queue| queue.name.as_str()).unwrap_or_default();
    let spec = ChildSpec {
        name: sent.workflow_type.as_ref().map(|t| t.name.as_str()).unwrap_or_default().into(),
        workflow_id: sent.workflow_id.as_str().into(),
        queue: queue.into(),
        input: payload::take(sent.input.as_ref()),
        header: payload::take_header(sent.header.as_ref()),
        run_timeout: given_limit(sent.workflow_run_timeout.as_ref()),
        chain_timeout: given_limit(sent.workflow_execution_timeout.as_ref()),
        turn_timeout: given_limit(sent.workflow_task_timeout.as_ref()),
        close: word::take_parent_close(sent.parent_close_policy),
        reuse: word::take_reuse(sent.workflow_id_reuse_policy),
        retry: sent.retry_policy.as_ref().map(retry::take),
        cron: sent.cron_schedule.clone(),
        memo: payload::take_memo(sent.memo.as_ref()),
        search: payload::take_search(sent.search_attributes.as_ref())?,
        deadline: None,
        kept: started::kept(about, &[], sent.priority.as_ref(), sent.header.as_ref()),
    };
    let kept = StartChildWorkflowExecutionInitiatedEventAttributes {
        control: sent.control.clone(),
        priority: sent.priority.clone(),
        ..Default::default()
    };
    let kept = (kept != StartChildWorkflowExecutionInitiatedEventAttributes::default())
        .then_some(Kept::StartChildWorkflowExecutionInitiatedEventAttributes(kept));
    Ok((Command::StartChild(Box::new(spec), run), kept))
}
