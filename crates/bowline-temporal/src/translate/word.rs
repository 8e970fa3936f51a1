//! Words that both sides have: closed sets on ours, numbers on the wire.
//!
//! Core's sets may grow. A word that this door does not know yet is `Unspecified`, which every
//! SDK reads as "something else".

use bowline_core::{
    ChildRefusal, Conflict, ExternalRefusal, Initiator, ParentClose, RetryState, Reuse, Status,
    Timeout, TurnFault,
};
use temporalio_protos::temporal::api::enums::v1 as wire;

/// Which limit was passed.
pub(super) fn timeout(timeout: Timeout) -> i32 {
    use wire::TimeoutType as W;
    let word = match timeout {
        Timeout::ScheduleToStart => W::ScheduleToStart,
        Timeout::StartToClose => W::StartToClose,
        Timeout::ScheduleToClose => W::ScheduleToClose,
        Timeout::Heartbeat => W::Heartbeat,
        _ => W::Unspecified,
    };
    word.into()
}

/// Why there is no further attempt.
pub(super) fn retry_state(state: RetryState) -> i32 {
    use wire::RetryState as W;
    let word = match state {
        RetryState::InProgress => W::InProgress,
        RetryState::NonRetryable => W::NonRetryableFailure,
        RetryState::Timeout => W::Timeout,
        RetryState::AttemptsUsed => W::MaximumAttemptsReached,
        RetryState::NoPolicy => W::RetryPolicyNotSet,
        RetryState::CancelRequested => W::CancelRequested,
        _ => W::Unspecified,
    };
    word.into()
}

/// Why a run goes on as another one.
pub(super) fn initiator(initiator: Initiator) -> i32 {
    use wire::ContinueAsNewInitiator as W;
    let word = match initiator {
        Initiator::Workflow => W::Workflow,
        Initiator::Retry => W::Retry,
        Initiator::Cron => W::CronSchedule,
        _ => W::Unspecified,
    };
    word.into()
}

/// What becomes of a child when its parent closes.
pub(crate) fn parent_close(close: ParentClose) -> i32 {
    use wire::ParentClosePolicy as W;
    let word = match close {
        ParentClose::Cancel => W::RequestCancel,
        ParentClose::Terminate => W::Terminate,
        ParentClose::Abandon => W::Abandon,
        _ => W::Unspecified,
    };
    word.into()
}

/// Whether a workflow id may be used again.
pub(super) fn reuse(reuse: Reuse) -> i32 {
    use wire::WorkflowIdReusePolicy as W;
    let word = match reuse {
        Reuse::Allow => W::AllowDuplicate,
        Reuse::AllowUnlessCompleted => W::AllowDuplicateFailedOnly,
        Reuse::Refuse => W::RejectDuplicate,
        _ => W::Unspecified,
    };
    word.into()
}

/// What becomes of a child when its parent closes, as a sender says it.
pub(crate) fn take_parent_close(word: i32) -> ParentClose {
    use wire::ParentClosePolicy as W;
    match W::try_from(word) {
        Ok(W::Abandon) => ParentClose::Abandon,
        Ok(W::RequestCancel) => ParentClose::Cancel,
        _ => ParentClose::Terminate,
    }
}

/// Whether a workflow id may be used again, as a sender says it.
pub(crate) fn take_reuse(word: i32) -> Reuse {
    use wire::WorkflowIdReusePolicy as W;
    match W::try_from(word) {
        Ok(W::AllowDuplicateFailedOnly) => Reuse::AllowUnlessCompleted,
        Ok(W::RejectDuplicate) => Reuse::Refuse,
        _ => Reuse::Allow,
    }
}

/// What a start does if a run is open, as a sender says it.
// The third word for reuse is deprecated, and still what older SDKs say.
#[allow(deprecated)]
pub(crate) fn take_conflict(word: i32, reuse: i32, unsaid: Conflict) -> Conflict {
    use wire::{WorkflowIdConflictPolicy as W, WorkflowIdReusePolicy as R};
    if R::try_from(reuse) == Ok(R::TerminateIfRunning) {
        return Conflict::TerminateExisting;
    }
    match W::try_from(word) {
        Ok(W::UseExisting) => Conflict::UseExisting,
        Ok(W::TerminateExisting) => Conflict::TerminateExisting,
        Ok(W::Fail) => Conflict::Refuse,
        _ => unsaid,
    }
}

/// Where a run stands.
pub(crate) fn status(status: Status) -> wire::WorkflowExecutionStatus {
    use wire::WorkflowExecutionStatus as W;
    match status {
        Status::Running | Status::Cancelling => W::Running,
        Status::Completed => W::Completed,
        Status::Failed => W::Failed,
        Status::Cancelled => W::Canceled,
        Status::TimedOut => W::TimedOut,
        Status::Terminated => W::Terminated,
        Status::ContinuedAsNew => W::ContinuedAsNew,
        _ => W::Unspecified,
    }
}

/// Why a worker cannot answer a turn.
pub(crate) fn take_fault(word: i32) -> TurnFault {
    use wire::WorkflowTaskFailedCause as W;
    match W::try_from(word) {
        Ok(W::NonDeterministicError) => TurnFault::Nondeterminism,
        Ok(W::ResetStickyTaskQueue) => TurnFault::StickyReset,
        Ok(W::PayloadsTooLarge) => TurnFault::TooLarge,
        _ => TurnFault::CodeFailed,
    }
}

/// The name of a fault, as it is told to the worker whose answer was refused.
pub(crate) fn fault_name(fault: TurnFault) -> String {
    cause_name(wire::WorkflowTaskFailedCause::try_from(turn_fault(fault)).unwrap_or_default())
}

/// The name of a cause, in one word.
pub(crate) fn cause_name(cause: wire::WorkflowTaskFailedCause) -> String {
    let name = cause.as_str_name().trim_start_matches("WORKFLOW_TASK_FAILED_CAUSE_");
    name.split('_').map(capitalised).collect()
}

fn capitalised(word: &str) -> String {
    let (first, rest) = word.split_at(1.min(word.len()));
    format!("{first}{}", rest.to_lowercase())
}

/// Why a child could not be started.
pub(super) fn child_refusal(refusal: ChildRefusal) -> i32 {
    use wire::StartChildWorkflowExecutionFailedCause as W;
    let word = match refusal {
        ChildRefusal::IdTaken => W::WorkflowAlreadyExists,
        ChildRefusal::NoNamespace => W::NamespaceNotFound,
        _ => W::Unspecified,
    };
    word.into()
}

/// Why another run could not be cancelled.
pub(super) fn cancel_refusal(refusal: ExternalRefusal) -> i32 {
    use wire::CancelExternalWorkflowExecutionFailedCause as W;
    let word = match refusal {
        ExternalRefusal::NotFound => W::ExternalWorkflowExecutionNotFound,
        ExternalRefusal::NoNamespace => W::NamespaceNotFound,
        _ => W::Unspecified,
    };
    word.into()
}

/// Why another run could not be signalled.
pub(super) fn signal_refusal(refusal: ExternalRefusal) -> i32 {
    use wire::SignalExternalWorkflowExecutionFailedCause as W;
    let word = match refusal {
        ExternalRefusal::Full => W::SignalCountLimitExceeded,
        ExternalRefusal::NotFound => W::ExternalWorkflowExecutionNotFound,
        ExternalRefusal::NoNamespace => W::NamespaceNotFound,
        _ => W::Unspecified,
    };
    word.into()
}

/// Why a turn's answer was refused.
pub(crate) fn turn_fault(fault: TurnFault) -> i32 {
    use wire::WorkflowTaskFailedCause as W;
    let word = match fault {
        TurnFault::CodeFailed => W::WorkflowWorkerUnhandledFailure,
        TurnFault::ForceClosed | TurnFault::TooManyWaiting => W::ForceCloseCommand,
        TurnFault::Unhandled => W::UnhandledCommand,
        TurnFault::Forked => W::ResetWorkflow,
        TurnFault::BadActivity => W::BadScheduleActivityAttributes,
        TurnFault::ActivityIdTaken => W::ScheduleActivityDuplicateId,
        TurnFault::BadActivityCancel => W::BadRequestCancelActivityAttributes,
        TurnFault::BadTimer => W::BadStartTimerAttributes,
        TurnFault::TimerIdTaken => W::StartTimerDuplicateId,
        TurnFault::BadTimerCancel => W::BadCancelTimerAttributes,
        TurnFault::BadMarker => W::BadRecordMarkerAttributes,
        TurnFault::BadComplete => W::BadCompleteWorkflowExecutionAttributes,
        TurnFault::BadFail => W::BadFailWorkflowExecutionAttributes,
        TurnFault::BadCancel => W::BadCancelWorkflowExecutionAttributes,
        TurnFault::BadContinue => W::BadContinueAsNewAttributes,
        TurnFault::BadChild => W::BadStartChildExecutionAttributes,
        TurnFault::BadSignal => W::BadSignalWorkflowExecutionAttributes,
        TurnFault::BadExternalCancel => W::BadRequestCancelExternalWorkflowExecutionAttributes,
        TurnFault::BadSearch => W::BadSearchAttributes,
        TurnFault::BadMemo => W::BadModifyWorkflowPropertiesAttributes,
        TurnFault::BadUpdate => W::BadUpdateWorkflowExecutionMessage,
        TurnFault::TooManyActivities => W::PendingActivitiesLimitExceeded,
        TurnFault::TooManyChildren => W::PendingChildWorkflowsLimitExceeded,
        TurnFault::TooManySignals => W::PendingSignalsLimitExceeded,
        TurnFault::TooManyCancels => W::PendingRequestCancelLimitExceeded,
        TurnFault::Nondeterminism => W::NonDeterministicError,
        TurnFault::StickyReset => W::ResetStickyTaskQueue,
        TurnFault::TooLarge => W::PayloadsTooLarge,
        TurnFault::Unknown => W::FeatureDisabled,
        TurnFault::BadNexus => W::BadScheduleNexusOperationAttributes,
        TurnFault::BadNexusCancel => W::BadRequestCancelNexusOperationAttributes,
        TurnFault::SearchTooLarge => W::BadSearchAttributes,
        _ => W::Unspecified,
    };
    word.into()
}
