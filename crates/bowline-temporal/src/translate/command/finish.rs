//! How the code ends its run.

use bowline_core::{Command, ContinueAsNew, Name, Queue, RunId, TurnFault};
use temporalio_protos::temporal::api::command::v1::{
    CancelWorkflowExecutionCommandAttributes, CompleteWorkflowExecutionCommandAttributes,
    ContinueAsNewWorkflowExecutionCommandAttributes, FailWorkflowExecutionCommandAttributes,
};

use crate::translate::{
    failure,
    payload::{self, Fault},
    retry,
    time::given_limit,
};

pub(super) fn complete(sent: &CompleteWorkflowExecutionCommandAttributes) -> Command {
    Command::Complete(payload::take(sent.result.as_ref()))
}

pub(super) fn fail(sent: &FailWorkflowExecutionCommandAttributes) -> Result<Command, Fault> {
    let none = || (TurnFault::BadFail, "the command has no failure".to_owned());
    let failure = sent.failure.as_ref().ok_or_else(none)?;
    Ok(Command::Fail(failure::take(failure)))
}

pub(super) fn cancel(sent: &CancelWorkflowExecutionCommandAttributes) -> Command {
    Command::Cancel(payload::take(sent.details.as_ref()), None)
}

pub(super) fn continue_as_new(
    sent: &ContinueAsNewWorkflowExecutionCommandAttributes,
    run: RunId,
) -> Result<Command, Fault> {
    let name = sent.workflow_type.as_ref().map(|t| Name::from(t.name.as_str()));
    let queue = sent.task_queue.as_ref().map(|queue| Queue::from(queue.name.as_str()));
    let search = sent.search_attributes.as_ref();
    let next = ContinueAsNew {
        name: name.filter(|name| !name.is_empty()),
        queue: queue.filter(|queue| !queue.is_empty()),
        input: payload::take(sent.input.as_ref()),
        header: payload::take_header(sent.header.as_ref()),
        run_timeout: given_limit(sent.workflow_run_timeout.as_ref()),
        turn_timeout: given_limit(sent.workflow_task_timeout.as_ref()),
        delay: given_limit(sent.backoff_start_interval.as_ref()),
        retry: sent.retry_policy.as_ref().map(retry::take),
        memo: sent.memo.as_ref().map(|memo| payload::take_fields(&memo.fields)),
        search: search.map(|search| payload::take_search(Some(search))).transpose()?,
        cron: Some(sent.cron_schedule.clone()).filter(|schedule| !schedule.is_empty()),
    };
    Ok(Command::ContinueAsNew(Box::new(next), run))
}
