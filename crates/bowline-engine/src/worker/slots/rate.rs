//! How fast attempts may begin. Whole numbers only, so that a second of waiting is never lost.

use std::time::Duration;

use bowline_core::Time;

/// At most `count` starts in any `span`, up to `count` of them at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate {
    /// How many may begin; 0 means none at all.
    pub count: u32,
    /// In how long; zero means no limit.
    pub span: Duration,
}

impl Rate {
    /// At most `count` starts in a second.
    pub fn per_second(count: u32) -> Self {
        Self { count, span: Duration::from_secs(1) }
    }

    fn interval(self) -> i128 {
        nanos(self.span) / i128::from(self.count.max(1))
    }
}

/// A rate, and how much of it is used up. It keeps one moment: the one at which everything that
/// began has been paid for. A start moves it on by an interval and must not move it further than
/// a span away from now.
pub(super) struct Throttle {
    rate: Option<Rate>,
    paid: i128,
}

impl Throttle {
    pub(super) fn new(rate: Option<Rate>, now: Time) -> Self {
        Self { rate, paid: moment(now) }
    }

    /// Another rate from now on; what has begun stays paid for.
    pub(super) fn set(&mut self, rate: Option<Rate>, now: Time) {
        self.rate = rate;
        let span = rate.map_or(0, |rate| nanos(rate.span));
        self.paid = self.paid.min(moment(now) + span);
    }

    /// How many of `wanted` may begin now; they count as begun.
    pub(super) fn take(&mut self, wanted: usize, now: Time) -> usize {
        let Some(rate) = self.limited() else {
            return if self.rate.is_some_and(is_closed) { 0 } else { wanted };
        };
        self.paid = self.paid.max(moment(now));
        let room = moment(now) + nanos(rate.span) - self.paid;
        let may = usize::try_from(room / rate.interval()).unwrap_or(0);
        let count = wanted.min(may);
        let begun = i128::try_from(count).expect("a count of slots is far from the limit");
        self.paid += rate.interval() * begun;
        count
    }

    /// One start did not happen.
    pub(super) fn give_back(&mut self) {
        if let Some(rate) = self.limited() {
            self.paid -= rate.interval();
        }
    }

    /// When the next start may happen; unset if that is now, or never.
    pub(super) fn next(&self) -> Option<Time> {
        let rate = self.limited()?;
        let at = self.paid + rate.interval() - nanos(rate.span);
        // Rounded up: a moment too early would find nothing free, and look again and again.
        let micros = at.div_euclid(1_000) + i128::from(at.rem_euclid(1_000) != 0);
        Some(Time(i64::try_from(micros).unwrap_or(i64::MAX)))
    }

    fn limited(&self) -> Option<Rate> {
        self.rate.filter(|rate| !is_closed(*rate) && rate.interval() > 0)
    }
}

fn is_closed(rate: Rate) -> bool {
    rate.count == 0
}

fn nanos(span: Duration) -> i128 {
    i128::try_from(span.as_nanos()).unwrap_or(i128::MAX / 4)
}

fn moment(at: Time) -> i128 {
    i128::from(at.0) * 1_000
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: i64 = 1_000_000;

    #[test]
    fn a_span_of_starts_may_come_at_once_and_then_one_per_interval() {
        let mut pace = Throttle::new(Some(Rate::per_second(4)), Time(0));
        assert_eq!(pace.take(9, Time(0)), 4);
        assert_eq!(pace.next(), Some(Time(SECOND / 4)));
        assert_eq!(pace.take(9, Time(SECOND / 4 - 1)), 0);
        assert_eq!(pace.take(9, Time(SECOND / 4)), 1);
        assert_eq!(pace.take(9, Time(SECOND)), 3);
        assert_eq!(pace.take(9, Time(100 * SECOND)), 4, "what was not used is not saved up");
    }

    #[test]
    fn a_start_that_did_not_happen_is_given_back() {
        let mut pace = Throttle::new(Some(Rate::per_second(2)), Time(0));
        assert_eq!(pace.take(2, Time(0)), 2);
        pace.give_back();
        assert_eq!(pace.take(2, Time(0)), 1);
    }

    #[test]
    fn slow_rates_and_odd_ones_lose_nothing() {
        let slow = Rate { count: 1, span: Duration::from_secs(10) };
        let mut pace = Throttle::new(Some(slow), Time(0));
        assert_eq!((pace.take(5, Time(0)), pace.next()), (1, Some(Time(10 * SECOND))));
        let third = Rate::per_second(3);
        let mut pace = Throttle::new(Some(third), Time(0));
        assert_eq!(pace.take(3, Time(0)), 3);
        let next = pace.next().unwrap();
        assert_eq!(next, Time(333_334));
        assert_eq!(pace.take(1, next), 1, "the moment that it names is early enough");
    }

    #[test]
    fn no_rate_is_no_limit_and_a_rate_of_none_is_a_closed_door() {
        let mut open = Throttle::new(None, Time(0));
        assert_eq!((open.take(1_000_000, Time(0)), open.next()), (1_000_000, None));
        let mut shut = Throttle::new(Some(Rate::per_second(0)), Time(0));
        assert_eq!((shut.take(1, Time(50 * SECOND)), shut.next()), (0, None));
    }

    #[test]
    fn a_faster_rate_counts_at_once() {
        let hour = Rate { count: 1, span: Duration::from_secs(3_600) };
        let mut pace = Throttle::new(Some(hour), Time(0));
        assert_eq!(pace.take(1, Time(0)), 1);
        pace.set(Some(Rate::per_second(10)), Time(0));
        assert_eq!(pace.next(), Some(Time(SECOND / 10)));
    }
}
