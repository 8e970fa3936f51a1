//! Words that both sides have: closed sets on ours, numbers on the wire.
//!
//! Core's sets may grow. A word that this door does not know yet is `Unspecified`, which every
//! SDK reads as "something else".

use bowline_core::{
    ChildRefusal, ExternalRefusal, Initiator, ParentClose, RetryState, Reuse, Timeout, TurnFault,
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
pub(super) fn parent_close(close: ParentClose) -> i32 {
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
        ExternalRefusal::NotFound => W::ExternalWorkflowExecutionNotFound,
        ExternalRefusal::NoNamespace => W::NamespaceNotFound,
        _ => W::Unspecified,
    };
    word.into()
}

/// Why a turn's answer was refused.
pub(super) fn turn_fault(fault: TurnFault) -> i32 {
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
        _ => W::Unspecified,
    };
    word.into()
}
