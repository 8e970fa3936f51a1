//! Activities that the code asks for.

use bowline_core::{ActivitySpec, Command, Timeouts};
use prost::Message;
use temporalio_protos::temporal::api::{
    command::v1::ScheduleActivityTaskCommandAttributes,
    history::v1::{ActivityTaskScheduledEventAttributes, history_event::Attributes as Kept},
};

use crate::translate::{payload, retry, time::given_limit};

// What is deprecated on the wire is kept all the same: it was sent.
#[allow(deprecated)]
pub(super) fn schedule(sent: &ScheduleActivityTaskCommandAttributes) -> (Command, Option<Kept>) {
    let queue = sent.task_queue.as_ref().map(|queue| queue.name.as_str()).unwrap_or_default();
    let spec = ActivitySpec {
        id: sent.activity_id.as_str().into(),
        name: sent.activity_type.as_ref().map(|t| t.name.as_str()).unwrap_or_default().into(),
        queue: queue.into(),
        input: payload::take(sent.input.as_ref()),
        header: payload::take_header(sent.header.as_ref()),
        timeouts: timeouts(sent),
        retry: Some(retry::of_activity(sent.retry_policy.as_ref())),
        remote: true,
        priority: sent.priority.as_ref().map(|urgent| urgent.encode_to_vec().into()),
        ..ActivitySpec::default()
    };
    let kept = ActivityTaskScheduledEventAttributes {
        use_workflow_build_id: sent.use_workflow_build_id,
        priority: sent.priority.clone(),
        ..Default::default()
    };
    let kept = (kept != ActivityTaskScheduledEventAttributes::default())
        .then_some(Kept::ActivityTaskScheduledEventAttributes(kept));
    (Command::ScheduleActivity(Box::new(spec)), kept)
}

/// What is unset follows from what is set: the whole bounds its parts.
fn timeouts(sent: &ScheduleActivityTaskCommandAttributes) -> Timeouts {
    let whole = given_limit(sent.schedule_to_close_timeout.as_ref());
    let start_to_close = given_limit(sent.start_to_close_timeout.as_ref());
    let schedule_to_start = given_limit(sent.schedule_to_start_timeout.as_ref());
    let heartbeat = given_limit(sent.heartbeat_timeout.as_ref());
    let at_most = |span, bound: Option<_>| match (span, bound) {
        (Some(span), Some(bound)) => Some(std::cmp::min(span, bound)),
        (span, _) => span,
    };
    let start_to_close = at_most(start_to_close.or(whole), whole);
    Timeouts {
        schedule_to_start: at_most(schedule_to_start.or(whole), whole),
        start_to_close,
        schedule_to_close: whole,
        heartbeat: at_most(heartbeat, start_to_close),
    }
}
