//! Retry policies, as senders give them.

use std::time::Duration;

use bowline_core::{RetryPolicy, Span};
use temporalio_protos::temporal::api::common::v1 as wire;

use super::time;

/// A policy; what is unset in it is as in Temporal's own default.
pub(crate) fn take(sent: &wire::RetryPolicy) -> RetryPolicy {
    let unset = RetryPolicy::default();
    let coefficient = match sent.backoff_coefficient {
        0.0 => unset.coefficient,
        given => given,
    };
    RetryPolicy {
        initial: time::given_limit(sent.initial_interval.as_ref()).unwrap_or(unset.initial),
        coefficient,
        interval_max: time::given_limit(sent.maximum_interval.as_ref()),
        attempts_max: u32::try_from(sent.maximum_attempts).unwrap_or(0),
        non_retryable: sent.non_retryable_error_types.clone(),
    }
}

/// An activity is always tried again, unless its policy says otherwise. A longest pause that is
/// not given is a hundred times the first one, and is said so in history.
pub(crate) fn of_activity(sent: Option<&wire::RetryPolicy>) -> RetryPolicy {
    let policy = sent.map(take).unwrap_or_default();
    let longest = policy.initial.0.checked_mul(100).unwrap_or(Duration::MAX);
    RetryPolicy { interval_max: policy.interval_max.or(Some(Span(longest))), ..policy }
}
