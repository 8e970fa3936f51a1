//! What a replay does not look at: fields that only people and programs read, and what was kept.

use bowline_core::{
    ActivityCancelRequested, ActivityCancelled, ActivityCompleted, ActivityFailed,
    ActivityScheduled, ActivityStarted, ActivityTimedOut, Blob, Cause, ChildCancelled,
    ChildCompleted, ChildFailed, ChildInitiated, ChildStartFailed, ChildStarted, ChildTerminated,
    ChildTimedOut, Code, ExternalCancelFailed, ExternalCancelInitiated, ExternalCancelRequested,
    ExternalSignalFailed, ExternalSignalInitiated, ExternalSignalled, MarkerRecorded, MemoModified,
    RequestId, RetryState, SearchUpserted, Time, Timeout, TimerCancelled, TimerFired, TimerStarted,
    TurnCompleted, TurnFailed, TurnFault, TurnScheduled, TurnStarted, TurnTimedOut, UpdateAccepted,
    UpdateAdmitted, UpdateAnswer, UpdateCompleted, UpdateId, WorkflowCancelRequested,
    WorkflowCancelled, WorkflowCompleted, WorkflowContinuedAsNew, WorkflowFailed,
    WorkflowSignalled, WorkflowStarted, WorkflowTerminated, WorkflowTimedOut,
};
use prost::Message;
use temporalio_protos::temporal::api::{
    common::v1::{Payload as WirePayload, Priority},
    enums::v1::{EventType as T, TaskQueueKind, WorkflowTaskFailedCause},
    history::v1::{
        ActivityTaskScheduledEventAttributes, TimerFiredEventAttributes,
        WorkflowTaskFailedEventAttributes,
    },
    sdk::v1::{UserMetadata, WorkflowTaskCompletedMetadata},
};

use super::*;

const RUN: Run<'_> = Run { namespace: "space", namespace_id: "space-id", queue: "own" };

fn stored(kind: impl Into<EventKind>) -> Event {
    Event { id: EventId(7), time: Time(2_000_001), kind: kind.into(), notes: vec![], wire: None }
}

fn keeping(kind: impl Into<EventKind>, kept: &HistoryEvent) -> Event {
    Event { wire: Some(Blob::from(kept.encode_to_vec())), ..stored(kind) }
}

fn told(kind: impl Into<EventKind>) -> Attributes {
    event(&stored(kind), RUN).unwrap().attributes.unwrap()
}

fn cause() -> Cause {
    Cause::requested("enough", "alice")
}

fn activity_timed_out() -> ActivityTimedOut {
    ActivityTimedOut {
        activity: EventId(5),
        started: EventId(6),
        timeout: Timeout::Heartbeat,
        retry: RetryState::AttemptsUsed,
        last_failure: None,
        heartbeat: None,
    }
}

fn update_completed() -> UpdateCompleted {
    UpdateCompleted {
        id: UpdateId::from("u"),
        name: Name::default(),
        accepted: EventId(5),
        answer: UpdateAnswer::Done(None),
        turn: EventId(4),
    }
}

fn every_kind() -> Vec<(EventKind, T)> {
    let timeout = Timeout::StartToClose;
    let turn_timed_out = TurnTimedOut { scheduled: EventId(2), started: EventId(3), timeout };
    let request_id = RequestId::default();
    let cancel = WorkflowCancelRequested { cause: cause(), request_id, external: None };
    let terminated = WorkflowTerminated { cause: cause(), details: None };
    vec![
        (WorkflowStarted::default().into(), T::WorkflowExecutionStarted),
        (WorkflowCompleted::default().into(), T::WorkflowExecutionCompleted),
        (WorkflowFailed::default().into(), T::WorkflowExecutionFailed),
        (WorkflowTimedOut::default().into(), T::WorkflowExecutionTimedOut),
        (WorkflowCancelled::default().into(), T::WorkflowExecutionCanceled),
        (terminated.into(), T::WorkflowExecutionTerminated),
        (WorkflowContinuedAsNew::default().into(), T::WorkflowExecutionContinuedAsNew),
        (cancel.into(), T::WorkflowExecutionCancelRequested),
        (WorkflowSignalled::default().into(), T::WorkflowExecutionSignaled),
        (TurnScheduled::default().into(), T::WorkflowTaskScheduled),
        (TurnStarted::default().into(), T::WorkflowTaskStarted),
        (TurnCompleted::default().into(), T::WorkflowTaskCompleted),
        (TurnFailed::default().into(), T::WorkflowTaskFailed),
        (turn_timed_out.into(), T::WorkflowTaskTimedOut),
        (ActivityScheduled::default().into(), T::ActivityTaskScheduled),
        (ActivityStarted::default().into(), T::ActivityTaskStarted),
        (ActivityCompleted::default().into(), T::ActivityTaskCompleted),
        (ActivityFailed::default().into(), T::ActivityTaskFailed),
        (activity_timed_out().into(), T::ActivityTaskTimedOut),
        (ActivityCancelRequested::default().into(), T::ActivityTaskCancelRequested),
        (ActivityCancelled::default().into(), T::ActivityTaskCanceled),
        (TimerStarted::default().into(), T::TimerStarted),
        (TimerFired::default().into(), T::TimerFired),
        (TimerCancelled::default().into(), T::TimerCanceled),
        (MarkerRecorded::default().into(), T::MarkerRecorded),
        (SearchUpserted::default().into(), T::UpsertWorkflowSearchAttributes),
        (MemoModified::default().into(), T::WorkflowPropertiesModified),
        (ChildInitiated::default().into(), T::StartChildWorkflowExecutionInitiated),
        (ChildStartFailed::default().into(), T::StartChildWorkflowExecutionFailed),
        (ChildStarted::default().into(), T::ChildWorkflowExecutionStarted),
        (ChildCompleted::default().into(), T::ChildWorkflowExecutionCompleted),
        (ChildFailed::default().into(), T::ChildWorkflowExecutionFailed),
        (ChildCancelled::default().into(), T::ChildWorkflowExecutionCanceled),
        (ChildTimedOut::default().into(), T::ChildWorkflowExecutionTimedOut),
        (ChildTerminated::default().into(), T::ChildWorkflowExecutionTerminated),
        (
            ExternalCancelInitiated::default().into(),
            T::RequestCancelExternalWorkflowExecutionInitiated,
        ),
        (ExternalCancelRequested::default().into(), T::ExternalWorkflowExecutionCancelRequested),
        (ExternalCancelFailed::default().into(), T::RequestCancelExternalWorkflowExecutionFailed),
        (ExternalSignalInitiated::default().into(), T::SignalExternalWorkflowExecutionInitiated),
        (ExternalSignalled::default().into(), T::ExternalWorkflowExecutionSignaled),
        (ExternalSignalFailed::default().into(), T::SignalExternalWorkflowExecutionFailed),
        (UpdateAdmitted::default().into(), T::WorkflowExecutionUpdateAdmitted),
        (UpdateAccepted::default().into(), T::WorkflowExecutionUpdateAccepted),
        (update_completed().into(), T::WorkflowExecutionUpdateCompleted),
    ]
}

#[test]
fn every_kind_has_its_word_and_the_same_place_among_commands() {
    for (kind, expected) in every_kind() {
        let told = event(&stored(kind.clone()), RUN).unwrap();
        assert_eq!(told.event_type(), expected, "{}", kind.name());
        assert_eq!((told.event_id, told.worker_may_ignore), (7, false));
        let time = told.event_time.unwrap();
        assert_eq!((time.seconds, time.nanos), (2, 1_000));
        assert_eq!(told.is_command_event(), kind.commanded(), "{}", kind.name());
        assert_eq!(told.is_final_wf_execution_event(), kind.closes(), "{}", kind.name());
    }
}

#[test]
fn what_was_kept_comes_back_beneath_what_core_knows() {
    let kept = HistoryEvent {
        user_metadata: Some(UserMetadata {
            summary: Some(WirePayload { data: b"why".to_vec(), ..Default::default() }),
            ..Default::default()
        }),
        attributes: Some(Attributes::ActivityTaskScheduledEventAttributes(
            ActivityTaskScheduledEventAttributes {
                activity_id: "stale".to_owned(),
                priority: Some(Priority { priority_key: 3, ..Default::default() }),
                ..Default::default()
            },
        )),
        ..Default::default()
    };
    let told = event(&keeping(ActivityScheduled::default(), &kept), RUN).unwrap();
    assert_eq!(told.user_metadata, kept.user_metadata);
    let Some(Attributes::ActivityTaskScheduledEventAttributes(told)) = told.attributes else {
        panic!("another event");
    };
    assert_eq!(told.priority.unwrap().priority_key, 3);
    assert_eq!(told.activity_id, "");
    assert_eq!(told.task_queue.unwrap().name, "own");
}

#[test]
fn attributes_kept_for_another_kind_are_not_used() {
    let kept = HistoryEvent {
        attributes: Some(Attributes::TimerFiredEventAttributes(TimerFiredEventAttributes {
            timer_id: "t".to_owned(),
            started_event_id: 5,
        })),
        ..Default::default()
    };
    let told = event(&keeping(TurnStarted::default(), &kept), RUN).unwrap();
    assert_eq!(told.event_type(), T::WorkflowTaskStarted);
}

#[test]
fn damaged_bytes_are_refused_wherever_they_stand() {
    let damaged = Some(Blob::from(&[0xff, 0xff][..]));
    let whole = Event { wire: damaged.clone(), ..stored(TimerFired::default()) };
    let metadata = TurnCompleted { sdk_metadata: damaged, ..Default::default() };
    for (broken, what) in
        [(whole, "HistoryEvent"), (stored(metadata), "WorkflowTaskCompletedMetadata")]
    {
        match event(&broken, RUN) {
            Err(Untranslatable::Unreadable { what: named, .. }) => assert_eq!(named, what),
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn an_sdks_own_remarks_come_back_as_sent() {
    let sent = WorkflowTaskCompletedMetadata {
        core_used_flags: vec![1, 2, 3, 4],
        sdk_name: "temporal-python".to_owned(),
        ..Default::default()
    };
    let sdk_metadata = Some(Blob::from(sent.encode_to_vec()));
    let told = told(TurnCompleted { sdk_metadata, ..Default::default() });
    let Attributes::WorkflowTaskCompletedEventAttributes(told) = told else {
        panic!("another event");
    };
    assert_eq!(told.sdk_metadata, Some(sent));
}

#[test]
fn a_sticky_queue_names_the_normal_one() {
    let queue = Queue::from("1@host");
    let told = told(TurnScheduled { queue, sticky: true, ..Default::default() });
    let Attributes::WorkflowTaskScheduledEventAttributes(told) = told else {
        panic!("another event");
    };
    let queue = told.task_queue.unwrap();
    assert_eq!((queue.name.as_str(), queue.normal_name.as_str()), ("1@host", "own"));
    assert_eq!(queue.kind(), TaskQueueKind::Sticky);
}

#[test]
fn a_worker_may_name_a_fault_that_core_has_no_rule_for() {
    let named = WorkflowTaskFailedCause::GrpcMessageTooLarge;
    let kept = HistoryEvent {
        attributes: Some(Attributes::WorkflowTaskFailedEventAttributes(
            WorkflowTaskFailedEventAttributes { cause: named.into(), ..Default::default() },
        )),
        ..Default::default()
    };
    let cause_of = |fault| {
        let failed = TurnFailed { fault, ..Default::default() };
        match event(&keeping(failed, &kept), RUN).unwrap().attributes {
            Some(Attributes::WorkflowTaskFailedEventAttributes(told)) => told.cause(),
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(cause_of(TurnFault::CodeFailed), named);
    assert_eq!(cause_of(TurnFault::Unhandled), WorkflowTaskFailedCause::UnhandledCommand);
}

#[test]
fn a_reason_is_the_askers_words_or_the_engines_code() {
    let reason = |cause| match told(WorkflowTerminated { cause, details: None }) {
        Attributes::WorkflowExecutionTerminatedEventAttributes(told) => {
            (told.reason, told.identity)
        }
        other => panic!("{other:?}"),
    };
    assert_eq!(reason(cause()), ("enough".to_owned(), "alice".to_owned()));
    assert_eq!(reason(Cause::new(Code::Escalated)), ("escalated".to_owned(), String::new()));
}
