//! How failures are tried again.

use std::time::Duration;

use bowline_engine::core::{RetryPolicy, Span};

/// How often and how fast a failed activity or workflow is tried again.
///
/// Without one, an error that the code returns is final; a lost worker is always tried again.
#[derive(Clone, Debug, PartialEq)]
#[must_use = "give it to a call with `.retry(…)`"]
pub struct Retry(pub(crate) RetryPolicy);

impl Retry {
    /// Pauses that double: this long after the first failure, never longer than a hundred times
    /// that, without an end.
    pub fn exponential(first: Duration) -> Self {
        Self(RetryPolicy { initial: Span(first), ..RetryPolicy::default() })
    }

    /// Pauses that stay the same.
    pub fn every(pause: Duration) -> Self {
        let initial = Span(pause);
        Self(RetryPolicy {
            initial,
            coefficient: 1.0,
            interval_max: Some(initial),
            ..RetryPolicy::default()
        })
    }

    /// Each pause is this many times as long as the one before.
    pub fn growing(mut self, factor: f64) -> Self {
        self.0.coefficient = factor;
        self
    }

    /// No pause is longer than this.
    pub fn at_most_every(mut self, longest: Duration) -> Self {
        self.0.interval_max = Some(Span(longest));
        self
    }

    /// How many attempts there may be in all, the first one included; 0 for no limit.
    pub fn attempts(mut self, most: u32) -> Self {
        self.0.attempts_max = most;
        self
    }

    /// Errors of this kind are final: the name of their type, or of a
    /// [`Failure`](crate::Failure)'s kind.
    pub fn never_on(mut self, kind: impl Into<String>) -> Self {
        self.0.non_retryable.push(kind.into());
        self
    }
}
