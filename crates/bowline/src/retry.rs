//! How failures are tried again.

use std::time::Duration;

use bowline_engine::core::{RetryPolicy, Span};

/// How often and how fast a failed activity or workflow is retried.
///
/// Without one, an error that the code returns is final; an attempt whose worker was lost is
/// retried in any case.
#[derive(Clone, Debug, PartialEq)]
#[must_use = "give it to a call with `.retry(…)`"]
pub struct Retry(pub(crate) RetryPolicy);

impl Retry {
    /// Doubles the pause each time, from this long after the first failure up to a hundred times
    /// that. Retries for ever unless you set [`attempts`](Self::attempts).
    pub fn exponential(first: Duration) -> Self {
        Self(RetryPolicy { initial: Span(first), ..RetryPolicy::default() })
    }

    /// Pauses equally long each time. Retries for ever unless you set [`attempts`](Self::attempts).
    pub fn every(pause: Duration) -> Self {
        let initial = Span(pause);
        Self(RetryPolicy {
            initial,
            coefficient: 1.0,
            interval_max: Some(initial),
            ..RetryPolicy::default()
        })
    }

    /// Makes each pause this many times as long as the one before.
    pub fn growing(mut self, factor: f64) -> Self {
        self.0.coefficient = factor;
        self
    }

    /// Limits the length of a pause.
    pub fn at_most_every(mut self, longest: Duration) -> Self {
        self.0.interval_max = Some(Span(longest));
        self
    }

    /// Limits the number of attempts, the first one included; 0 for no limit.
    pub fn attempts(mut self, most: u32) -> Self {
        self.0.attempts_max = most;
        self
    }

    /// Makes errors of this kind final: the name of their type, or the kind of a
    /// [`Failure`](crate::Failure).
    pub fn never_on(mut self, kind: impl Into<String>) -> Self {
        self.0.non_retryable.push(kind.into());
        self
    }
}
