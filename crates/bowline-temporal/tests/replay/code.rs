//! What the scripted workflow asks for, by the number that its SDK gives each thing.

use prost_wkt_types::Duration;
use temporalio_protos::{
    coresdk::{
        child_workflow::ChildWorkflowCancellationType,
        common::NamespacedWorkflowExecution,
        workflow_commands::{
            ActivityCancellationType, CancelChildWorkflowExecution, CancelTimer,
            CancelWorkflowExecution, CompleteWorkflowExecution, ContinueAsNewWorkflowExecution,
            FailWorkflowExecution, ModifyWorkflowProperties, RequestCancelActivity,
            RequestCancelExternalWorkflowExecution, ScheduleActivity, ScheduleLocalActivity,
            SetPatchMarker, SignalExternalWorkflowExecution, StartChildWorkflowExecution,
            StartTimer, UpdateResponse, UpsertWorkflowSearchAttributes,
            signal_external_workflow_execution::Target, update_response::Response,
            workflow_command::Variant as Command,
        },
    },
    temporal::api::{
        common::v1::{Payload, SearchAttributes},
        failure::v1::Failure,
    },
};

fn seconds(seconds: i64) -> Option<Duration> {
    Some(Duration { seconds, nanos: 0 })
}

/// Run an activity; its id is its number.
pub(crate) fn activity(seq: u32, on_cancel: ActivityCancellationType) -> Command {
    Command::ScheduleActivity(ScheduleActivity {
        seq,
        activity_id: seq.to_string(),
        activity_type: "Activity".to_owned(),
        task_queue: "own".to_owned(),
        start_to_close_timeout: seconds(5),
        cancellation_type: on_cancel.into(),
        ..Default::default()
    })
}

/// Cancel an activity, in the way that it was scheduled with.
pub(crate) fn cancel_activity(seq: u32) -> Command {
    Command::RequestCancelActivity(RequestCancelActivity { seq })
}

/// Run an activity in the worker itself.
pub(crate) fn local_activity(seq: u32) -> Command {
    Command::ScheduleLocalActivity(ScheduleLocalActivity {
        seq,
        activity_id: seq.to_string(),
        activity_type: "Activity".to_owned(),
        start_to_close_timeout: seconds(60),
        ..Default::default()
    })
}

/// Ring after a second; the timer's id is its number.
pub(crate) fn timer(seq: u32) -> Command {
    Command::StartTimer(StartTimer { seq, start_to_fire_timeout: seconds(1) })
}

/// Do not ring.
pub(crate) fn cancel_timer(seq: u32) -> Command {
    Command::CancelTimer(CancelTimer { seq })
}

/// Start the child `c`.
pub(crate) fn child(seq: u32, on_cancel: ChildWorkflowCancellationType) -> Command {
    Command::StartChildWorkflowExecution(StartChildWorkflowExecution {
        seq,
        workflow_id: "c".to_owned(),
        workflow_type: "Child".to_owned(),
        cancellation_type: on_cancel.into(),
        ..Default::default()
    })
}

/// Cancel a child, in the way that it was started with.
pub(crate) fn cancel_child(child_workflow_seq: u32) -> Command {
    let reason = "enough".to_owned();
    Command::CancelChildWorkflowExecution(CancelChildWorkflowExecution {
        child_workflow_seq,
        reason,
    })
}

fn other_run() -> NamespacedWorkflowExecution {
    NamespacedWorkflowExecution {
        namespace: "space".to_owned(),
        workflow_id: "x".to_owned(),
        ..Default::default()
    }
}

/// Send the signal `go` to the run `x`.
pub(crate) fn signal_other(seq: u32) -> Command {
    Command::SignalExternalWorkflowExecution(SignalExternalWorkflowExecution {
        seq,
        target: Some(Target::WorkflowExecution(other_run())),
        signal_name: "go".to_owned(),
        ..Default::default()
    })
}

/// Ask for the cancel of the run `x`.
pub(crate) fn cancel_other(seq: u32) -> Command {
    Command::RequestCancelExternalWorkflowExecution(RequestCancelExternalWorkflowExecution {
        seq,
        workflow_execution: Some(other_run()),
        ..Default::default()
    })
}

/// Ask whether a patch is in.
pub(crate) fn patch(id: &str) -> Command {
    Command::SetPatchMarker(SetPatchMarker { patch_id: id.to_owned(), deprecated: false })
}

/// Change a search attribute.
pub(crate) fn upsert(key: &str) -> Command {
    let indexed_fields = [(key.to_owned(), Payload::default())].into();
    let search_attributes = Some(SearchAttributes { indexed_fields });
    Command::UpsertWorkflowSearchAttributes(UpsertWorkflowSearchAttributes { search_attributes })
}

/// Change the memo.
pub(crate) fn modify_memo() -> Command {
    Command::ModifyWorkflowProperties(ModifyWorkflowProperties::default())
}

fn respond(id: &str, response: Response) -> Command {
    let response = Some(response);
    Command::UpdateResponse(UpdateResponse { protocol_instance_id: id.to_owned(), response })
}

/// Take an update.
pub(crate) fn accept(id: &str) -> Command {
    respond(id, Response::Accepted(()))
}

/// Answer an update.
pub(crate) fn answer(id: &str) -> Command {
    respond(id, Response::Completed(Payload::default()))
}

/// Answer an update with a failure.
pub(crate) fn fail_update(id: &str) -> Command {
    respond(id, Response::Rejected(Failure::default()))
}

/// Close with a result.
pub(crate) fn complete() -> Command {
    Command::CompleteWorkflowExecution(CompleteWorkflowExecution::default())
}

/// Close with a failure.
pub(crate) fn fail() -> Command {
    Command::FailWorkflowExecution(FailWorkflowExecution { failure: Some(Failure::default()) })
}

/// Close as cancelled.
pub(crate) fn cancel() -> Command {
    Command::CancelWorkflowExecution(CancelWorkflowExecution::default())
}

/// Close and go on as a new run.
pub(crate) fn continue_as_new() -> Command {
    let workflow_type = "Workflow".to_owned();
    Command::ContinueAsNewWorkflowExecution(ContinueAsNewWorkflowExecution {
        workflow_type,
        ..Default::default()
    })
}
