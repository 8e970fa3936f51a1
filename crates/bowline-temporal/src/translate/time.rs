//! Moments and spans.

use std::time::Duration;

use bowline_core::{Span, Time};
use prost_wkt_types::{Duration as WireSpan, Timestamp};

const MICROS: i64 = 1_000_000;

/// A moment.
pub(super) fn moment(time: Time) -> Timestamp {
    let nanos = i32::try_from(time.0.rem_euclid(MICROS) * 1_000).expect("below a second");
    Timestamp { seconds: time.0.div_euclid(MICROS), nanos }
}

/// A span; one beyond the wire's range becomes the longest that it has.
pub(super) fn span(span: Duration) -> WireSpan {
    let nanos = i32::try_from(span.subsec_nanos()).expect("below a second");
    WireSpan { seconds: i64::try_from(span.as_secs()).unwrap_or(i64::MAX), nanos }
}

/// A span that may be unset.
pub(super) fn limit(limit: Option<Span>) -> Option<WireSpan> {
    limit.map(|limit| span(limit.0))
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
    fn an_unset_limit_stays_unset() {
        assert_eq!(limit(None), None);
        let second_and_a_half = Span(Duration::from_millis(1_500));
        let expected = WireSpan { seconds: 1, nanos: 500_000_000 };
        assert_eq!(limit(Some(second_and_a_half)), Some(expected));
    }
}
