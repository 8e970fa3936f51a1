//! What is aimed at, and whether these medians reach it.

use std::fmt::Write;

use super::table::{Medians, number};

/// The systems that are not ours.
const PEERS: &[&str] = &["restate", "dbos", "duroxide", "temporal"];

struct Target {
    what: &'static str,
    system: &'static str,
    workload: &'static str,
    metric: &'static str,
    bound: Bound,
}

enum Bound {
    /// This number.
    AtMost(f64),
    /// This part of the best peer's time.
    OfBest(f64),
    /// This many times the best peer's rate.
    TimesBest(f64),
    /// This many times the rate of one peer.
    Times(f64, &'static str),
    /// This many times the system's own number in another workload.
    OfOwn(f64, &'static str, &'static str),
}

const SQLITE: &str = "bowline-sqlite";
const POSTGRES: &str = "bowline-postgres";
const SERVER: &str = "bowline-server";

const fn target(
    what: &'static str,
    system: &'static str,
    place: (&'static str, &'static str),
    bound: Bound,
) -> Target {
    Target { what, system, workload: place.0, metric: place.1, bound }
}

const TARGETS: &[Target] = &[
    target(
        "runs per second, 256 in flight: 5 × the best peer",
        SQLITE,
        ("hello-256", "per_second"),
        Bound::TimesBest(5.0),
    ),
    target(
        "the same on Postgres: 3 × DBOS",
        POSTGRES,
        ("hello-256", "per_second"),
        Bound::Times(3.0, "dbos"),
    ),
    target(
        "one at a time, p50: half of the best peer",
        SQLITE,
        ("hello-1", "p50_ms"),
        Bound::OfBest(0.5),
    ),
    target(
        "a step of a chain: half of the best peer",
        SQLITE,
        ("chain-1000", "step_ms"),
        Bound::OfBest(0.5),
    ),
    target(
        "step 10,000: at most 1.1 × step 10",
        SQLITE,
        ("chain-10000", "step_last_tenth_ms"),
        Bound::OfOwn(1.1, "chain-10", "step_ms"),
    ),
    target(
        "fan-out of 1,000: a quarter of the best peer",
        SQLITE,
        ("fanout-1000", "whole_ms"),
        Bound::OfBest(0.25),
    ),
    target(
        "cancel told in process, p99",
        SQLITE,
        ("cancel-running", "returned_p99_ms"),
        Bound::AtMost(5.0),
    ),
    target(
        "cancel told across processes, p99",
        POSTGRES,
        ("cancel-across", "returned_p99_ms"),
        Bound::AtMost(20.0),
    ),
    target(
        "cancel told to an SDK's worker, p99",
        SERVER,
        ("cancel-running", "returned_p99_ms"),
        Bound::AtMost(30.0),
    ),
    target(
        "2,000 queued: decided",
        SQLITE,
        ("mass-cancel-2000", "decided_ms"),
        Bound::AtMost(10.0),
    ),
    target(
        "100,000 queued: decided",
        SQLITE,
        ("mass-cancel-100000", "decided_ms"),
        Bound::AtMost(20.0),
    ),
    target(
        "100,000 queued: clean",
        SQLITE,
        ("mass-cancel-100000", "clean_ms"),
        Bound::AtMost(3_000.0),
    ),
    target(
        "longest stall of other work meanwhile",
        SQLITE,
        ("mass-cancel-100000", "stall_ms"),
        Bound::AtMost(50.0),
    ),
    target(
        "memory per waiting run, KiB",
        SQLITE,
        ("wait-10000", "kib_per_run"),
        Bound::AtMost(3.0),
    ),
    target("memory of an idle process, MiB", SQLITE, ("idle", "all_mib"), Bound::AtMost(20.0)),
    target(
        "processor time of an idle process, %",
        SQLITE,
        ("idle", "all_cpu_percent"),
        Bound::AtMost(0.1),
    ),
];

/// The table, without targets of which nothing was measured.
pub(super) fn table(medians: &Medians) -> String {
    let mut text = String::new();
    for target in TARGETS {
        let Some(value) = medians.of(target.workload, target.metric, target.system) else {
            continue;
        };
        let (bound, verdict) = match target.bound(medians) {
            None => ("no peer was measured".to_owned(), "–".to_owned()),
            Some((limit, is_rate)) => {
                let short = if is_rate { limit / value } else { value / limit };
                let verdict = match short <= 1.0 {
                    true => "met".to_owned(),
                    false => format!("missed by {}×", number(short)),
                };
                (format!("{} {}", if is_rate { "≥" } else { "≤" }, number(limit)), verdict)
            }
        };
        let Target { what, system, workload, .. } = target;
        let value = number(value);
        let _ = writeln!(text, "| {what} ({system}, {workload}) | {bound} | {value} | {verdict} |");
    }
    if text.is_empty() {
        return text;
    }
    format!("\nTargets:\n\n| target | bound | measured | |\n|---|---:|---:|---|\n{text}")
}

impl Target {
    /// The number that must be reached, and whether it is a rate.
    fn bound(&self, medians: &Medians) -> Option<(f64, bool)> {
        let peers = || PEERS.iter().filter_map(|peer| medians.of(self.workload, self.metric, peer));
        match self.bound {
            Bound::AtMost(limit) => Some((limit, false)),
            Bound::OfBest(part) => Some((part * peers().reduce(f64::min)?, false)),
            Bound::TimesBest(times) => Some((times * peers().reduce(f64::max)?, true)),
            Bound::Times(times, peer) => {
                Some((times * medians.of(self.workload, self.metric, peer)?, true))
            }
            Bound::OfOwn(times, workload, metric) => {
                Some((times * medians.of(workload, metric, self.system)?, false))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_are_taken_from_the_best_peer_and_misses_say_by_how_much() {
        let medians = Medians::from([
            (("hello-256", "per_second", SQLITE), 4_000.0),
            (("hello-256", "per_second", "restate"), 1_000.0),
            (("hello-256", "per_second", "dbos"), 300.0),
            (("fanout-1000", "whole_ms", SQLITE), 50.0),
            (("fanout-1000", "whole_ms", "dbos"), 360.0),
            (("idle", "all_mib", SQLITE), 12.0),
        ]);
        let text = table(&medians);
        assert!(text.contains("| ≥ 5000 | 4000 | missed by 1.25× |"), "{text}");
        assert!(text.contains("| ≤ 90.0 | 50.0 | met |"), "{text}");
        assert!(text.contains("| ≤ 20.0 | 12.0 | met |"), "{text}");
        assert!(!text.contains("chain"), "{text}");
    }
}
