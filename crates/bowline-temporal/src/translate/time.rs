//! Moments and spans.

use std::time::Duration;

use bowline_core::{Span, Time};
use prost_wkt_types::{Duration as WireSpan, Timestamp};

const MICROS: i64 = 1_000_000;

/// A moment.
pub(crate) fn moment(time: Time) -> Timestamp {
    let nanos = i32::try_from(time.0.rem_euclid(MICROS) * 1_000).expect("below a second");
    Timestamp { seconds: time.0.div_euclid(MICROS), nanos }
}

/// A span; one beyond the wire's range becomes the longest that it has.
pub(crate) fn span(span: Duration) -> WireSpan {
    let nanos = i32::try_from(span.subsec_nanos()).expect("below a second");
    WireSpan { seconds: i64::try_from(span.as_secs()).unwrap_or(i64::MAX), nanos }
}

/// A limit of a run, where there is one: SDKs tell none from zero.
pub(crate) fn run_limit(limit: Option<Span>) -> Option<WireSpan> {
    limit.map(|limit| span(limit.0))
}

/// A limit, or zero for none: SDKs count on the field, and the one for TypeScript fails without.
pub(crate) fn limit(limit: Option<Span>) -> Option<WireSpan> {
    Some(limit.map_or_else(WireSpan::default, |limit| span(limit.0)))
}

/// A span that a sender gave; a negative one is none.
pub(crate) fn given(span: Option<&WireSpan>) -> Option<Span> {
    let span = span?;
    let seconds = u64::try_from(span.seconds).ok()?;
    let nanos = u32::try_from(span.nanos).ok()?;
    Some(Span(Duration::new(seconds, nanos)))
}

/// A limit that a sender gave; zero stands for none.
pub(crate) fn given_limit(limit: Option<&WireSpan>) -> Option<Span> {
    given(limit).filter(|span| !span.0.is_zero())
}

/// A moment in the form that JSON has for it.
pub(crate) fn read_moment(text: &str) -> Option<Time> {
    let at: Timestamp = text.parse().ok()?;
    let micros = at.seconds.checked_mul(MICROS)?;
    Some(Time(micros.checked_add(i64::from(at.nanos / 1_000))?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_before_the_epoch_have_positive_nanos() {
        assert_eq!(moment(Time(1_500_000)), Timestamp { seconds: 1, nanos: 500_000_000 });
        assert_eq!(moment(Time(-1)), Timestamp { seconds: -1, nanos: 999_999_000 });
    }

    #[test]
    fn no_limit_is_told_as_zero() {
        assert_eq!(limit(None), Some(WireSpan { seconds: 0, nanos: 0 }));
        assert_eq!(given_limit(limit(None).as_ref()), None);
        let second_and_a_half = Span(Duration::from_millis(1_500));
        let expected = WireSpan { seconds: 1, nanos: 500_000_000 };
        assert_eq!(limit(Some(second_and_a_half)), Some(expected));
    }
}
