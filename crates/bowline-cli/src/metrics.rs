//! What the engine and its door have counted, in the text form that Prometheus reads.

use std::fmt::{Display, Write};

use bowline_engine::metrics::{BUCKETS, Histogram, Metrics};
use bowline_temporal::{Calls, Metrics as Door};

/// All of it.
pub(crate) fn text(engine: &Metrics, door: &Door, calls: &Calls) -> String {
    let mut page = Page::default();
    page.engine(engine);
    page.door(door);
    page.calls(calls);
    page.0
}

#[derive(Default)]
struct Page(String);

impl Page {
    fn engine(&mut self, m: &Metrics) {
        self.counter("bowline_turns_total", "Turns of workflow code committed", m.turns_committed);
        let about = "Attempts of activities started";
        self.counter("bowline_attempts_total", about, m.attempts_started);
        let about = "Notices of cancels that found their worker's channel";
        self.counter("bowline_notices_sent_total", about, m.notices_sent);
        let about = "Notices that did not find it; the worker learns from a renewal or heartbeat";
        self.counter("bowline_notices_failed_total", about, m.notices_failed);
        let about = "How often remote workers polled for their notices";
        self.counter("bowline_control_polls_total", about, m.control_polls);
        let about = "How often other servers gave this one up, and it joined again";
        self.counter("bowline_rejoins_total", about, m.rejoins);
        let about = "Runs set aside because their stored bytes do not read";
        self.counter("bowline_runs_set_aside_total", about, m.runs_set_aside);
        let about = "From the decision to cancel an activity until its worker was told";
        self.histogram("bowline_cancel_delivery_seconds", about, &m.cancel_delivery);
        let about = "From the worker being told until the running code looked";
        self.histogram("bowline_cancel_observation_seconds", about, &m.cancel_observation);
    }

    /// Under the names that operators of such servers know.
    fn door(&mut self, m: &Door) {
        let about = "From the decision to cancel an activity until its worker was told";
        let latency = &m.activity_cancel_notification_latency;
        self.histogram("activity_cancel_notification_latency", about, latency);
        for (name, about, count) in m.counters() {
            self.counter(name, about, count);
        }
        let name = "worker_commands_sent";
        self.head(name, "counter", "Commands to workers, by what became of them");
        for sent in &m.worker_commands_sent {
            let (namespace, outcome) = (&sent.namespace, sent.outcome);
            let kind = sent.command_type;
            let labels =
                [("namespace", &**namespace), ("outcome", outcome), ("command_type", kind)];
            self.line(name, &labelled(&labels), sent.count);
        }
    }

    fn calls(&mut self, calls: &Calls) {
        let name = "bowline_calls_in_flight";
        self.head(name, "gauge", "Calls of SDKs in flight, waiting polls included");
        self.line(name, "", calls.in_flight);
        let name = "bowline_calls_total";
        self.head(name, "counter", "Calls of SDKs that were answered, by gRPC status");
        for ((method, code), count) in &calls.answered {
            self.line(name, &labelled(&[("method", &**method), ("code", code)]), count);
        }
        let name = "bowline_call_bytes";
        self.head(name, "gauge", "Bytes in memory for calls in flight and their answers");
        self.line(name, "", calls.bytes);
        let name = "bowline_connections";
        self.head(name, "gauge", "Connections of SDKs");
        self.line(name, "", calls.connections);
        let about = "How often no further connection was let in for a while";
        self.counter("bowline_connection_pauses_total", about, calls.pauses);
        let about = "Connections ended at once because their address had as many as it may";
        self.counter("bowline_connections_crowded_total", about, calls.crowded);
        let about = "Calls refused because too many were in flight, or too many bytes of them";
        self.counter("bowline_calls_refused_total", about, calls.refused);
        let about = "Turns and activities given back because their worker had gone";
        self.counter("bowline_given_back_total", about, calls.given_back);
    }

    fn head(&mut self, name: &str, kind: &str, about: &str) {
        self.push(format_args!("# HELP {name} {about}.\n# TYPE {name} {kind}\n"));
    }

    fn line(&mut self, name: &str, labels: &str, value: impl Display) {
        self.push(format_args!("{name}{labels} {value}\n"));
    }

    fn push(&mut self, text: std::fmt::Arguments<'_>) {
        self.0.write_fmt(text).expect("memory takes everything");
    }

    fn counter(&mut self, name: &str, about: &str, value: u64) {
        self.head(name, "counter", about);
        self.line(name, "", value);
    }

    fn histogram(&mut self, name: &str, about: &str, histogram: &Histogram) {
        self.head(name, "histogram", about);
        let mut so_far = 0;
        for (most, count) in BUCKETS.iter().zip(&histogram.counts) {
            so_far += count;
            let seconds = *most as f64 / 1_000.0;
            self.line(&format!("{name}_bucket"), &format!("{{le=\"{seconds}\"}}"), so_far);
        }
        self.line(&format!("{name}_bucket"), "{le=\"+Inf\"}", histogram.count());
        self.line(&format!("{name}_sum"), "", histogram.sum.as_secs_f64());
        self.line(&format!("{name}_count"), "", histogram.count());
    }
}

/// Labels as Prometheus reads them. What clients have named may have anything in it.
fn labelled(labels: &[(&str, &str)]) -> String {
    let one = |(name, value): &(&str, &str)| {
        let value = value.replace('\\', r"\\").replace('"', "\\\"").replace('\n', r"\n");
        format!("{name}=\"{value}\"")
    };
    format!("{{{}}}", labels.iter().map(one).collect::<Vec<_>>().join(","))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A namespace may be called anything. One whose name had a line end in it wrote lines of its
    /// own into the page, and one with a quotation mark made all of it unreadable.
    #[test]
    fn a_name_stays_inside_its_label() {
        let labels = labelled(&[("namespace", "a\"b\\c\nd"), ("code", "OK")]);
        assert_eq!(labels, r#"{namespace="a\"b\\c\nd",code="OK"}"#);
    }

    #[test]
    fn a_page_reads_as_prometheus_wants_it() {
        let mut engine = Metrics::default();
        engine.turns_committed = 7;
        engine.cancel_delivery.counts[0] = 2;
        engine.cancel_delivery.counts[BUCKETS.len()] = 1;
        let mut calls = Calls::default();
        calls.answered.insert(("GetSystemInfo".into(), "OK"), 3);
        let page = text(&engine, &Door::default(), &calls);
        for line in [
            "# TYPE bowline_turns_total counter",
            "bowline_turns_total 7",
            "bowline_cancel_delivery_seconds_bucket{le=\"0.001\"} 2",
            "bowline_cancel_delivery_seconds_bucket{le=\"60\"} 2",
            "bowline_cancel_delivery_seconds_bucket{le=\"+Inf\"} 3",
            "bowline_cancel_delivery_seconds_count 3",
            "activity_cancel_notification_failures 0",
            "bowline_calls_total{method=\"GetSystemInfo\",code=\"OK\"} 3",
        ] {
            assert!(page.lines().any(|found| found == line), "{line} is not in\n{page}");
        }
        let named = page.lines().filter(|line| line.starts_with("# TYPE")).count();
        assert_eq!(page.lines().filter(|line| line.starts_with("# HELP")).count(), named);
    }
}
