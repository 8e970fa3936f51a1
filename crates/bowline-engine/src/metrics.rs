//! What the engine counts: a few counters and two histograms, without a dependency. A door turns
//! them into whatever its metrics system reads.

use std::{
    collections::BTreeMap,
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

use bowline_core::{Namespace, Time};
use parking_lot::Mutex;

/// The upper bounds of the buckets, in milliseconds; what is longer counts in one bucket more.
pub const BUCKETS: [u64; 14] =
    [1, 2, 5, 10, 25, 50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000, 60_000];

/// What a process has counted since it started.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Metrics {
    /// Turns of workflow code that were committed, native and remote ones.
    pub turns_committed: u64,
    /// Attempts of activities that were started, native and remote ones.
    pub attempts_started: u64,
    /// How many of these a remote worker got with the commit that scheduled them.
    pub eager_activities: u64,
    /// First turns that a remote worker got with the start of their run.
    pub eager_turns: u64,
    /// Notices of cancels and stops that found their worker's channel.
    pub notices_sent: u64,
    /// Notices that did not: the worker has no channel, or does not poll it. It learns of the
    /// cancel from a renewal or a heartbeat instead.
    pub notices_failed: u64,
    /// How often remote workers polled for their notices.
    pub control_polls: u64,
    /// How often other processes gave this one up, and it joined the store again.
    pub rejoins: u64,
    /// How often a run was set aside because its stored bytes do not read, so that nothing else
    /// waits for it.
    pub runs_set_aside: u64,
    /// How many notices those polls returned; one that had to be handed out again counts twice.
    pub control_notices: u64,
    /// What became of the notices for remote workers, by namespace.
    pub commands: BTreeMap<(Namespace, CommandOutcome), u64>,
    /// From the decision to cancel an activity until the worker that runs it was told.
    pub cancel_delivery: Histogram,
    /// From there until the running code looked. Counted when the attempt has ended; not known of
    /// remote workers.
    pub cancel_observation: Histogram,
}

/// What became of a notice for a remote worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum CommandOutcome {
    /// The worker says that it has it.
    Delivered,
    /// The worker has no channel: it learns from the answer to a heartbeat.
    NoChannel,
    /// Too many wait in its channel: it learns when it comes for them.
    Full,
    /// It was handed out, and nobody said that it arrived: it is handed out again.
    Unanswered,
    /// The worker could not do it: it is handed out again.
    Refused,
}

impl CommandOutcome {
    /// Whether the worker has it.
    pub fn is_delivered(self) -> bool {
        self == Self::Delivered
    }
}

/// How often something took how long.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Histogram {
    /// For each of [`BUCKETS`], and one more for what took longer, how often.
    pub counts: [u64; BUCKETS.len() + 1],
    /// The sum of all spans.
    pub sum: Duration,
}

impl Histogram {
    /// Returns how often in all.
    pub fn count(&self) -> u64 {
        self.counts.iter().sum()
    }
}

/// The same while it grows.
#[derive(Debug, Default)]
pub(crate) struct Meter {
    pub(crate) turns_committed: Counter,
    pub(crate) attempts_started: Counter,
    pub(crate) eager_activities: Counter,
    pub(crate) eager_turns: Counter,
    pub(crate) notices_sent: Counter,
    pub(crate) notices_failed: Counter,
    pub(crate) control_polls: Counter,
    pub(crate) rejoins: Counter,
    pub(crate) runs_set_aside: Counter,
    pub(crate) control_notices: Counter,
    commands: Mutex<BTreeMap<(Namespace, CommandOutcome), u64>>,
    pub(crate) cancel_delivery: Buckets,
    pub(crate) cancel_observation: Buckets,
}

#[derive(Debug, Default)]
pub(crate) struct Counter(AtomicU64);

impl Counter {
    pub(crate) fn add(&self, count: usize) {
        self.0.fetch_add(count as u64, Ordering::Relaxed);
    }

    fn value(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

#[derive(Debug, Default)]
pub(crate) struct Buckets {
    counts: [Counter; BUCKETS.len() + 1],
    micros: AtomicU64,
}

impl Buckets {
    /// Something began at one moment and was done at another.
    pub(crate) fn took(&self, from: Time, until: Time) {
        let span = until.since(from);
        let micros = u64::try_from(span.as_micros()).unwrap_or(u64::MAX);
        let bucket = BUCKETS.partition_point(|most| most.saturating_mul(1_000) < micros);
        self.counts[bucket].add(1);
        self.micros.fetch_add(micros, Ordering::Relaxed);
    }

    fn snapshot(&self) -> Histogram {
        let mut histogram = Histogram::default();
        for (count, own) in histogram.counts.iter_mut().zip(&self.counts) {
            *count = own.value();
        }
        histogram.sum = Duration::from_micros(self.micros.load(Ordering::Relaxed));
        histogram
    }
}

impl Meter {
    /// Something became of a notice for a remote worker. Namespaces are bounded, and so is this.
    pub(crate) fn command(&self, namespace: Namespace, outcome: CommandOutcome) {
        if !outcome.is_delivered() {
            self.notices_failed.add(1);
        }
        *self.commands.lock().entry((namespace, outcome)).or_default() += 1;
    }

    /// What was counted so far. Each number is right; they are not all of the same moment.
    pub(crate) fn snapshot(&self) -> Metrics {
        Metrics {
            turns_committed: self.turns_committed.value(),
            attempts_started: self.attempts_started.value(),
            eager_activities: self.eager_activities.value(),
            eager_turns: self.eager_turns.value(),
            notices_sent: self.notices_sent.value(),
            notices_failed: self.notices_failed.value(),
            control_polls: self.control_polls.value(),
            rejoins: self.rejoins.value(),
            runs_set_aside: self.runs_set_aside.value(),
            control_notices: self.control_notices.value(),
            commands: self.commands.lock().clone(),
            cancel_delivery: self.cancel_delivery.snapshot(),
            cancel_observation: self.cancel_observation.snapshot(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_span_has_its_bucket() {
        let buckets = Buckets::default();
        let at = |micros| Time(micros);
        for micros in [0, 1_000, 1_001, 60_000_000, 60_000_001] {
            buckets.took(at(7), at(7 + micros));
        }
        buckets.took(at(7), at(3));
        let seen = buckets.snapshot();
        assert_eq!((seen.counts[0], seen.counts[1]), (3, 1), "time does not run backwards");
        assert_eq!((seen.counts[BUCKETS.len() - 1], seen.counts[BUCKETS.len()]), (1, 1));
        assert_eq!((seen.count(), seen.sum), (6, Duration::from_micros(120_002_002)));
    }
}
