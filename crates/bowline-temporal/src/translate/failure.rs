//! Failures: the sender's own form if there is one, else an application failure.

use bowline_core::{ActivityTimedOut, Failure, RetryState, Timeout, Verdict};
use prost::Message;
use temporalio_protos::temporal::api::common::v1::Payloads;
use temporalio_protos::temporal::api::failure::v1 as wire;
use temporalio_protos::temporal::api::failure::v1::failure::FailureInfo;

use super::{Result, payload, read, time, word};

/// A failure as a Temporal client reads it.
///
/// # Errors
/// If it was kept in the sender's form and does not read as that.
pub fn failure(failure: &Failure) -> Result<wire::Failure> {
    if let Some(kept) = &failure.wire {
        return read(kept);
    }
    if let Some(timeout) = failure.timeout {
        return Ok(passed(timeout, timeout_text(timeout), None, None));
    }
    let pause = match failure.verdict {
        Verdict::After(pause) => Some(time::span(pause.0)),
        _ => None,
    };
    let info = wire::ApplicationFailureInfo {
        r#type: failure.kind.clone(),
        non_retryable: failure.verdict == Verdict::Never,
        details: payload::payloads(&failure.details)?,
        next_retry_delay: pause,
        ..Default::default()
    };
    Ok(wire::Failure {
        message: failure.message.clone(),
        stack_trace: failure.trace.clone(),
        cause: failure.source.as_deref().map(self::failure).transpose()?.map(Box::new),
        failure_info: Some(FailureInfo::ApplicationFailureInfo(info)),
        ..Default::default()
    })
}

pub(crate) use failure as show;

/// The same, where there may be none.
pub(crate) fn option(failure: &Option<Failure>) -> Result<Option<wire::Failure>> {
    failure.as_ref().map(self::failure).transpose()
}

/// The failure that stands for an activity that has passed a limit for good.
pub(super) fn timed_out(e: &ActivityTimedOut) -> Result<wire::Failure> {
    // Not the limit itself was passed, but the next attempt would have.
    let text = match (e.timeout, e.retry) {
        (Timeout::ScheduleToClose, RetryState::Timeout) => NO_TIME.to_owned(),
        (timeout, _) => timeout_text(timeout),
    };
    let heartbeat = payload::payloads(&e.heartbeat)?;
    Ok(passed(e.timeout, text, heartbeat, option(&e.last_failure)?))
}

fn passed(
    timeout: Timeout,
    text: String,
    last_heartbeat_details: Option<Payloads>,
    cause: Option<wire::Failure>,
) -> wire::Failure {
    let timeout_type = word::timeout(timeout);
    let info = wire::TimeoutFailureInfo { timeout_type, last_heartbeat_details };
    wire::Failure {
        message: text,
        source: "Server".to_owned(),
        cause: cause.map(Box::new),
        failure_info: Some(FailureInfo::TimeoutFailureInfo(info)),
        ..Default::default()
    }
}

/// What a client reads where only time is missing for another attempt.
const NO_TIME: &str = "no time is left for another attempt before the ScheduleToClose timeout";

/// What a client reads of a passed limit, in Temporal's words.
fn timeout_text(timeout: Timeout) -> String {
    format!("activity {timeout:?} timeout")
}

/// A failure that a sender reports: the whole of it is kept, and what rules read is read.
pub(crate) fn take(sent: &wire::Failure) -> Failure {
    use FailureInfo as I;
    let (kind, verdict) = match &sent.failure_info {
        Some(I::ApplicationFailureInfo(info)) => {
            let pause = time::given_limit(info.next_retry_delay.as_ref());
            let verdict = match (info.non_retryable, pause) {
                (true, _) => Verdict::Never,
                (false, Some(pause)) => Verdict::After(pause),
                (false, None) => Verdict::ByPolicy,
            };
            (info.r#type.clone(), verdict)
        }
        Some(I::CanceledFailureInfo(_)) => ("Canceled".to_owned(), Verdict::Never),
        Some(I::TerminatedFailureInfo(_)) => ("Terminated".to_owned(), Verdict::Never),
        Some(I::ServerFailureInfo(info)) if info.non_retryable => (String::new(), Verdict::Never),
        _ => (String::new(), Verdict::ByPolicy),
    };
    Failure {
        message: sent.message.clone(),
        kind,
        verdict,
        wire: Some(sent.encode_to_vec().into()),
        ..Failure::default()
    }
}

#[cfg(test)]
mod tests {
    use bowline_core::Blob;
    use prost::Message;

    use super::*;

    #[test]
    fn the_senders_own_form_wins() {
        let sent = wire::Failure { message: "mine".into(), source: "Sdk".into(), ..<_>::default() };
        let kept = Failure { wire: Some(Blob::from(sent.encode_to_vec())), ..Failure::new("ours") };
        assert_eq!(failure(&kept), Ok(sent));
    }

    #[test]
    fn a_native_failure_keeps_kind_verdict_and_source() {
        let native = Failure {
            source: Some(Box::new(Failure::new("below"))),
            ..Failure::new("above").kind("Bad").final_()
        };
        let read = failure(&native).unwrap();
        let Some(FailureInfo::ApplicationFailureInfo(info)) = read.failure_info else {
            panic!("not an application failure");
        };
        assert_eq!((info.r#type.as_str(), info.non_retryable), ("Bad", true));
        assert_eq!(read.cause.unwrap().message, "below");
    }
}
