//! Short words for what workflows ask for and are told.

use std::time::Duration;

use bowline_core::{
    ActivitySpec, Cancel, Cause, ChildSpec, EndActivity, EndChild, EventId, Failure, Identity,
    Message, Name, Outcome, Payload, RequestId, RetryState, RunEnding, RunId, Rung, Signal, Time,
    UpdateRequest,
};
use bowline_replay::Ended;

/// What workflow bodies of tests return.
pub(crate) type Body = Result<Option<Payload>, Ended>;

pub(crate) fn activity(name: &str) -> ActivitySpec {
    ActivitySpec { name: name.into(), ..ActivitySpec::default() }
}

pub(crate) fn child(name: &str) -> ChildSpec {
    ChildSpec { name: name.into(), ..ChildSpec::default() }
}

pub(crate) fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

pub(crate) fn json(text: impl Into<String>) -> Option<Payload> {
    Some(Payload::json(text))
}

/// A payload's text.
pub(crate) fn text(payload: &Option<Payload>) -> String {
    let bytes = payload.as_ref().map(|payload| payload.bytes.as_slice().to_vec());
    String::from_utf8(bytes.unwrap_or_default()).unwrap()
}

/// The text of a completed activity's result; anything else in words.
pub(crate) fn told(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Completed(result) => text(result),
        Outcome::Failed(failure) => format!("failed {failure}"),
        Outcome::TimedOut(timeout) => format!("timed out {timeout:?}"),
        Outcome::Cancelled(cause, rung, _) => format!("cancelled {rung:?} {cause}"),
        other => panic!("{other:?}"),
    }
}

/// The result of an activity, or how it ended instead.
pub(crate) fn ok(outcome: Outcome) -> Body {
    match outcome {
        Outcome::Completed(result) => Ok(result),
        Outcome::Failed(failure) => Err(Ended::Failed(failure)),
        Outcome::TimedOut(timeout) => Err(Ended::TimedOut(timeout)),
        Outcome::Cancelled(cause, ..) => Err(Ended::Cancelled(cause)),
        other => panic!("{other:?}"),
    }
}

pub(crate) fn ends(activity: u64, outcome: Outcome) -> Message {
    Message::EndActivity(Box::new(EndActivity {
        activity: EventId(activity),
        attempt: 1,
        started_at: Some(Time(1)),
        worker: Identity::default(),
        last_failure: None,
        outcome,
        retry: RetryState::NoPolicy,
        heartbeat: None,
    }))
}

pub(crate) fn completes(activity: u64, result: &str) -> Message {
    ends(activity, Outcome::Completed(json(result)))
}

pub(crate) fn fails(activity: u64, why: &str) -> Message {
    ends(activity, Outcome::Failed(Failure::new(why)))
}

/// A running activity stopped because it was told to.
pub(crate) fn stops(activity: u64) -> Message {
    climbs(activity, Rung::Signal)
}

pub(crate) fn climbs(activity: u64, rung: Rung) -> Message {
    let cause = Cause::requested("as the row says", "row");
    ends(activity, Outcome::Cancelled(cause, rung, None))
}

pub(crate) fn skips(activities: &[u64]) -> Message {
    Message::SkipActivities(activities.iter().copied().map(EventId).collect())
}

pub(crate) fn rings(timer: u64) -> Message {
    Message::FireTimer(EventId(timer))
}

pub(crate) fn cancels(by: &str) -> Message {
    Message::Cancel(Box::new(Cancel {
        cause: Cause::requested("enough", by),
        request_id: RequestId::default(),
        external: None,
        wire: None,
    }))
}

pub(crate) fn cancels_one(target: u64, by: &str) -> Message {
    Message::CancelOne(EventId(target), Cause::requested("operator", by))
}

pub(crate) fn signals(name: &str, input: &str) -> Message {
    let signal = Signal { name: name.into(), input: json(input), ..Signal::default() };
    Message::Signal(Box::new(signal))
}

pub(crate) fn updates(name: &str, id: &str, input: &str) -> Message {
    let (id, name) = (id.into(), Name::from(name));
    let request = UpdateRequest { id, name, input: json(input), ..UpdateRequest::default() };
    Message::Update(Box::new(request))
}

pub(crate) fn child_ends(child: u64, ending: RunEnding) -> Message {
    let run = RunId::default();
    Message::EndChild(Box::new(EndChild { child: EventId(child), run, ending, first: None }))
}

pub(crate) fn failed(why: &str) -> Ended {
    Ended::Failed(Failure::new(why))
}
