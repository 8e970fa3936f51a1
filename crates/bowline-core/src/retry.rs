//! Whether to try again, and when: arithmetic without a clock.

use std::time::Duration;

use minicbor::{Decode, Encode};

use crate::{Failure, Span, Verdict, limits};

/// How often and how fast a failed activity or run is tried again.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
pub struct RetryPolicy {
    /// The pause after the first failure.
    #[n(0)]
    pub initial: Span,
    /// By how much each pause is longer than the one before; at least 1.
    #[n(1)]
    pub coefficient: f64,
    /// No pause is longer than this; unset means a hundred times the first.
    #[n(2)]
    pub interval_max: Option<Span>,
    /// How many attempts there may be in all; 0 means no limit.
    #[n(3)]
    pub attempts_max: u32,
    /// Kinds of failure that are never tried again.
    #[n(4)]
    pub non_retryable: Vec<String>,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self {
            initial: Span(Duration::from_secs(1)),
            coefficient: 2.0,
            interval_max: None,
            attempts_max: 0,
            non_retryable: Vec::new(),
        }
    }
}

impl RetryPolicy {
    /// What is wrong with this policy, if anything.
    pub fn fault(&self) -> Option<&'static str> {
        if !self.coefficient.is_finite() || self.coefficient < 1.0 {
            return Some("the retry coefficient must be a number of at least 1");
        }
        if self.initial.0.is_zero() {
            return Some("the first retry interval must be longer than zero");
        }
        if self.initial.0 > limits::SPAN_MAX {
            return Some("the first retry interval is longer than a hundred years");
        }
        if self.interval_max.is_some_and(|max| max < self.initial) {
            return Some("the longest retry interval must not be shorter than the first");
        }
        None
    }

    /// The pause after attempt number `attempt` (from 1) has failed.
    pub fn pause(&self, attempt: u32) -> Duration {
        let first = self.initial.0.as_secs_f64();
        let exponent = i32::try_from(attempt.saturating_sub(1)).unwrap_or(i32::MAX);
        let longest = self.interval_max.map_or(first * 100.0, |max| max.0.as_secs_f64());
        let pause = (first * self.coefficient.powi(exponent)).min(longest);
        Duration::try_from_secs_f64(pause).unwrap_or(limits::SPAN_MAX)
    }
}

/// Why there is no further attempt, or that there is one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Encode, Decode)]
#[cbor(index_only)]
#[non_exhaustive]
pub enum RetryState {
    /// There will be another attempt.
    #[n(0)]
    InProgress,
    /// The failure said never, or the policy named its kind.
    #[n(1)]
    NonRetryable,
    /// There is no time for another attempt.
    #[n(2)]
    Timeout,
    /// All attempts are used up.
    #[n(3)]
    AttemptsUsed,
    /// Nobody asked for retries.
    #[default]
    #[n(4)]
    NoPolicy,
    /// A cancel stands.
    #[n(5)]
    CancelRequested,
}

/// What follows a failed attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// Another attempt, after a pause.
    After(Duration),
    /// None.
    Stop(RetryState),
}

/// What follows when attempt number `attempt` failed with `failure`, with `left` time remaining
/// for the whole activity or chain of runs.
pub fn next(
    policy: Option<&RetryPolicy>,
    attempt: u32,
    failure: Option<&Failure>,
    left: Option<Duration>,
) -> Next {
    let Some(policy) = policy else { return Next::Stop(RetryState::NoPolicy) };
    let mut pause = policy.pause(attempt);
    if let Some(failure) = failure {
        match failure.verdict {
            Verdict::Never => return Next::Stop(RetryState::NonRetryable),
            Verdict::After(span) => pause = span.0,
            Verdict::ByPolicy => {}
        }
        if policy.non_retryable.contains(&failure.kind) {
            return Next::Stop(RetryState::NonRetryable);
        }
    }
    if policy.attempts_max != 0 && attempt >= policy.attempts_max {
        return Next::Stop(RetryState::AttemptsUsed);
    }
    if left.is_some_and(|left| left <= pause) {
        return Next::Stop(RetryState::Timeout);
    }
    Next::After(pause)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_up_to_the_longest() {
        let policy = RetryPolicy { interval_max: Some(Span(Duration::from_secs(5))), ..policy() };
        let pauses: Vec<_> = (1..=5).map(|n| policy.pause(n).as_secs()).collect();
        assert_eq!(pauses, [1, 2, 4, 5, 5]);
        assert_eq!(policy.pause(u32::MAX).as_secs(), 5);
    }

    #[test]
    fn without_a_longest_pause_it_is_a_hundred_times_the_first() {
        assert_eq!(policy().pause(60).as_secs(), 100);
    }

    #[test]
    fn each_reason_to_stop_has_its_name() {
        let failure = Failure::new("no").kind("Bad");
        let named = RetryPolicy { non_retryable: vec!["Bad".into()], ..policy() };
        let used = RetryPolicy { attempts_max: 3, ..policy() };
        let stop = |next| match next {
            Next::Stop(state) => state,
            Next::After(pause) => panic!("retries after {pause:?}"),
        };
        assert_eq!(stop(next(None, 1, None, None)), RetryState::NoPolicy);
        assert_eq!(stop(next(Some(&named), 1, Some(&failure), None)), RetryState::NonRetryable);
        let never = failure.final_();
        assert_eq!(stop(next(Some(&policy()), 1, Some(&never), None)), RetryState::NonRetryable);
        assert_eq!(stop(next(Some(&used), 3, None, None)), RetryState::AttemptsUsed);
        let left = Some(Duration::from_secs(1));
        assert_eq!(stop(next(Some(&policy()), 1, None, left)), RetryState::Timeout);
    }

    #[test]
    fn the_failure_may_choose_the_pause() {
        let verdict = Verdict::After(Span(Duration::from_secs(42)));
        let failure = Failure { verdict, ..Failure::new("busy") };
        let next = next(Some(&policy()), 1, Some(&failure), None);
        assert_eq!(next, Next::After(Duration::from_secs(42)));
    }

    #[test]
    fn a_bad_policy_names_its_fault() {
        for bad in [f64::NAN, 0.5, f64::INFINITY] {
            assert!(RetryPolicy { coefficient: bad, ..policy() }.fault().is_some(), "{bad}");
        }
        assert!(RetryPolicy { initial: Span::default(), ..policy() }.fault().is_some());
        assert_eq!(policy().fault(), None);
    }

    fn policy() -> RetryPolicy {
        RetryPolicy::default()
    }
}
