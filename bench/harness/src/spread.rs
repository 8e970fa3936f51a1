//! Many durations, and the few numbers that are said of them.

use std::time::Duration;

use crate::Metrics;

/// Durations, in order.
#[derive(Clone, Debug, Default)]
pub struct Spread(Vec<Duration>);

impl Spread {
    /// Of these.
    pub fn new(mut spans: Vec<Duration>) -> Self {
        spans.sort_unstable();
        Self(spans)
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The duration that this share of all (0 to 1) does not pass; zero if there is none.
    pub fn at(&self, share: f64) -> Duration {
        let rank = (share * self.0.len() as f64).ceil() as usize;
        self.0
            .get(rank.saturating_sub(1).min(self.0.len().saturating_sub(1)))
            .copied()
            .unwrap_or_default()
    }

    /// The longest.
    pub fn longest(&self) -> Duration {
        self.0.last().copied().unwrap_or_default()
    }

    /// Adds p50, p99 and the longest, in milliseconds, under this name.
    pub fn into_metrics(&self, name: &str, metrics: &mut Metrics) {
        for (label, span) in
            [("p50", self.at(0.5)), ("p99", self.at(0.99)), ("max", self.longest())]
        {
            let name = if name.is_empty() { String::new() } else { format!("{name}_") };
            metrics.insert(format!("{name}{label}_ms"), millis(span));
        }
    }
}

/// As milliseconds.
pub(crate) fn millis(span: Duration) -> f64 {
    span.as_secs_f64() * 1_000.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_are_those_of_the_nearest_rank() {
        let spread = Spread::new((1..=100).rev().map(Duration::from_millis).collect());
        assert_eq!(spread.at(0.5), Duration::from_millis(50));
        assert_eq!(spread.at(0.99), Duration::from_millis(99));
        assert_eq!(spread.longest(), Duration::from_millis(100));
        assert_eq!(Spread::default().at(0.5), Duration::ZERO);
    }
}
