//! The tables: medians, and how many times better the first system is than each other one.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write,
};

use super::{Verdict, target};

/// Numbers that help to understand others; the JSON lines have them.
const SIDE: &[&str] = &[
    "max_ms",
    "started_ms",
    "returned_ms",
    "stall_before_ms",
    "other_runs",
    "runs",
    "cpu_ms",
    "unserved_ms",
    "events",
];

/// The middle of the rounds, by workload, metric and system.
pub(super) struct Medians(BTreeMap<(String, String, String), f64>);

impl Medians {
    fn new(results: &[(String, String, Verdict)]) -> Self {
        let mut values: BTreeMap<(String, String, String), Vec<f64>> = BTreeMap::new();
        for (workload, system, verdict) in results {
            let Verdict::Measured(metrics) = verdict else { continue };
            for (metric, value) in metrics {
                let place = (workload.clone(), metric.clone(), system.clone());
                values.entry(place).or_default().push(*value);
            }
        }
        Self(values.into_iter().map(|(place, found)| (place, median(found))).collect())
    }

    pub(super) fn of(&self, workload: &str, metric: &str, system: &str) -> Option<f64> {
        self.0.get(&(workload.to_owned(), metric.to_owned(), system.to_owned())).copied()
    }
}

#[cfg(test)]
impl<const N: usize> From<[((&str, &str, &str), f64); N]> for Medians {
    fn from(values: [((&str, &str, &str), f64); N]) -> Self {
        let owned = values.map(|((workload, metric, system), value)| {
            ((workload.to_owned(), metric.to_owned(), system.to_owned()), value)
        });
        Self(owned.into())
    }
}

/// One workload's number: its name, and one value per system.
type Row = (String, Vec<Option<f64>>);

/// The tables, and below them why a cell is empty.
pub(super) fn tables(
    results: &[(String, String, Verdict)],
    systems: &[&str],
    is_trial: bool,
) -> String {
    let mut text = String::from("\n");
    if is_trial {
        text.push_str("A trial, tiny or without optimisation: the numbers mean nothing.\n\n");
    }
    let medians = Medians::new(results);
    let rows = rows(results, &medians, systems);
    let _ = write!(text, "Medians:\n\n{}", head(systems));
    for (name, values) in &rows {
        let cells = values.iter().map(|value| value.map_or("–".into(), number));
        let _ = writeln!(text, "| {name} | {} |", cells.collect::<Vec<_>>().join(" | "));
    }
    if systems.len() > 1 {
        let _ = write!(text, "\nHow many times better {} is:\n\n{}", systems[0], head(systems));
        for (name, values) in &rows {
            let cells = values.iter().map(|value| ratio(name, values[0], *value));
            let _ = writeln!(text, "| {name} | {} |", cells.collect::<Vec<_>>().join(" | "));
        }
    }
    text + &target::table(&medians) + &reasons(results)
}

fn head(systems: &[&str]) -> String {
    format!("| workload | {} |\n|---|{}\n", systems.join(" | "), "---:|".repeat(systems.len()))
}

/// In the order of their first results; the numbers of one workload stay together, though systems
/// may have different ones.
fn rows(results: &[(String, String, Verdict)], medians: &Medians, systems: &[&str]) -> Vec<Row> {
    let mut workloads: Vec<(&str, BTreeSet<&str>)> = Vec::new();
    for (workload, _, verdict) in results {
        let Verdict::Measured(metrics) = verdict else { continue };
        let known = workloads.iter().position(|(known, _)| known == workload);
        let at = known.unwrap_or_else(|| {
            workloads.push((workload, BTreeSet::new()));
            workloads.len() - 1
        });
        workloads[at].1.extend(metrics.keys().map(String::as_str).filter(|name| is_main(name)));
    }
    let row = |workload: &str, metric: &str| {
        let cells = systems.iter().map(|system| medians.of(workload, metric, system));
        (format!("{workload} {metric}"), cells.collect())
    };
    workloads
        .iter()
        .flat_map(|(workload, metrics)| metrics.iter().map(move |metric| row(workload, metric)))
        .collect()
}

fn is_main(metric: &str) -> bool {
    !SIDE.contains(&metric) && !metric.ends_with("_max_ms")
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// Three digits that matter.
pub(super) fn number(value: f64) -> String {
    match value.abs() {
        size if size >= 1_000.0 => format!("{value:.0}"),
        size if size >= 100.0 => format!("{value:.0}"),
        size if size >= 10.0 => format!("{value:.1}"),
        size if size >= 1.0 => format!("{value:.2}"),
        _ => format!("{value:.3}"),
    }
}

/// More is better for rates only.
fn ratio(name: &str, first: Option<f64>, value: Option<f64>) -> String {
    match (first, value) {
        (Some(first), Some(value)) if first > 0.0 && value > 0.0 => {
            let ratio = if name.ends_with("per_second") { first / value } else { value / first };
            format!("{}×", number(ratio))
        }
        _ => "–".into(),
    }
}

/// Why there is no number, each reason once.
fn reasons(results: &[(String, String, Verdict)]) -> String {
    let mut said: BTreeMap<(&str, String), Vec<&str>> = BTreeMap::new();
    for (workload, system, verdict) in results {
        let reason = match verdict {
            Verdict::Measured(_) => continue,
            Verdict::Cannot(reason) => format!("cannot: {reason}"),
            Verdict::Failed(error) => format!("failed: {error}"),
            Verdict::Absent(reason) => format!("not installed: {reason}"),
        };
        let workloads = said.entry((system, reason)).or_default();
        if !workloads.contains(&workload.as_str()) {
            workloads.push(workload);
        }
    }
    let mut text = String::new();
    for ((system, reason), workloads) in said {
        let _ = write!(text, "\n- {system}, {}: {reason}", workloads.join(", "));
    }
    if text.is_empty() { text } else { format!("{text}\n") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measured(metric: &str, value: f64) -> Verdict {
        Verdict::Measured([(metric.to_owned(), value)].into())
    }

    #[test]
    fn rates_and_times_are_compared_in_their_own_direction() {
        let result = |workload: &str, system: &str, verdict| {
            (workload.to_owned(), system.to_owned(), verdict)
        };
        let text = tables(
            &[
                result("hello", "a", measured("per_second", 1_000.0)),
                result("hello", "b", measured("per_second", 250.0)),
                result("chain", "a", measured("step_ms", 2.0)),
                result("chain", "b", measured("step_ms", 1.0)),
                result("idle", "b", Verdict::Cannot("has no process".into())),
            ],
            &["a", "b"],
            false,
        );
        assert!(text.contains("| hello per_second | 1.00× | 4.00× |"), "{text}");
        assert!(text.contains("| chain step_ms | 1.00× | 0.500× |"), "{text}");
        assert!(text.contains("- b, idle: cannot: has no process"), "{text}");
    }

    #[test]
    fn the_middle_of_the_rounds_is_shown() {
        let results: Vec<_> = [3.0, 1.0, 2.0]
            .map(|value| ("chain".to_owned(), "a".to_owned(), measured("step_ms", value)))
            .into();
        assert!(tables(&results, &["a"], true).contains("| chain step_ms | 2.00 |"));
    }
}
