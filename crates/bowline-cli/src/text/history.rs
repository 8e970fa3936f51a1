//! A history, told event by event: what was said of a thing before is not forgotten, so that its
//! later events name it.

use std::collections::BTreeMap;

use bowline_http::model::HistoryEvent;
use unicode_width::UnicodeWidthStr;

use super::{Length, LocalTime, Look, Paint, data, failure, safe, span};

/// How wide the column of sentences is.
const WORDS: usize = 44;

/// The teller of one hiteller.
pub(crate) struct HistoryText {
    pub(crate) local: LocalTime,
    pub(crate) paint: Paint,
    pub(crate) length: Length,
    /// What activities, timers and children are called, by number.
    names: BTreeMap<u64, String>,
}

impl HistoryText {
    pub(crate) fn new(local: LocalTime, paint: Paint, length: Length) -> Self {
        Self { local, paint, length, names: BTreeMap::new() }
    }

    /// The headings of what follows.
    pub(crate) fn heads(&self) -> String {
        self.paint.text(Look::Faint, &format!("{:>5}  {:<12}  {:>9}  WHAT", "#", "TIME", "AFTER"))
    }

    /// The lines of one event.
    pub(crate) fn event(&mut self, event: &HistoryEvent) -> String {
        if let (Some(target), Some(name)) = (event.target, &event.name) {
            self.names.insert(target, safe(name));
        }
        let time = self.local.clock(&event.time);
        let after = format!("+{}", span(event.since_start_ms as f64));
        let words = self.words(event);
        let mut more = Vec::new();
        more.extend(event.data.as_ref().map(|value| data(value, self.length)));
        more.extend(event.worker.as_ref().map(|who| format!("by {}", safe(who))));
        more.extend(event.other_run.as_ref().map(|run| format!("@{}", safe(run))));
        let gap = match more.is_empty() {
            true => 0,
            false => WORDS.saturating_sub(words.width()) + 2,
        };
        let mut text = format!("{:>5}  {time:<12}  {after:>9}  {words}", event.id);
        text.push_str(&" ".repeat(gap));
        text.push_str(&self.paint.text(Look::Faint, &more.join("  ")));
        const BELOW: &str = "                                ";
        if let Some(failed) = &event.failure {
            let told = failure(failed, BELOW, self.length);
            // Its message alone stands in the sentence already.
            let is_said = told.trim_start() == safe(&failed.message);
            if !(is_said && event.words.contains(&failed.message)) {
                text.push_str(&format!("\n{told}"));
            }
        }
        for note in &event.notes {
            text.push_str(&format!("\n{BELOW}{}", self.paint.text(Look::Faint, &safe(note))));
        }
        text
    }

    /// What happened, with the name and number of what it happened to.
    fn words(&self, event: &HistoryEvent) -> String {
        let words = safe(&event.words);
        let attempt = match event.attempt {
            Some(attempt) if attempt > 1 => format!(", attempt {attempt}"),
            _ => String::new(),
        };
        match event.target {
            // Its own event says its name already.
            Some(target) if target == event.id => format!("{words} (#{target}){attempt}"),
            Some(target) => {
                let name = self.names.get(&target).map(|name| format!("{name} "));
                format!("{}#{target}: {words}{attempt}", name.unwrap_or_default())
            }
            None => format!("{words}{attempt}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect_file;
    use serde_json::json;

    use super::*;
    use crate::text::moment::tests::local;

    #[test]
    fn later_events_name_what_they_are_about() {
        let mut teller = HistoryText::new(local(), Paint(false), Length::Line);
        let events = json!([
            { "id": 1, "time": "2026-11-16T10:57:00.123Z", "since_start_ms": 0,
              "kind": "WorkflowStarted", "words": "the run of checkout began",
              "worker": "shop@1", "name": "checkout",
              "data": { "format": "json", "encoding": "json", "value": "rope", "bytes": 6 } },
            { "id": 4, "time": "2026-11-16T10:57:00.223Z", "since_start_ms": 100,
              "kind": "ActivityScheduled", "words": "activity charge was scheduled", "target": 4,
              "name": "charge" },
            { "id": 6, "time": "2026-11-16T10:57:02.223Z", "since_start_ms": 2100,
              "kind": "ActivityFailed", "words": "the activity failed: broke", "target": 4,
              "attempt": 2, "worker": "w-1", "failure": { "message": "broke", "kind": "Io" },
              "notes": ["because requested by alice (lost)"] },
        ]);
        let events: Vec<HistoryEvent> = serde_json::from_value(events).expect("events");
        let mut lines = vec![teller.heads()];
        lines.extend(events.iter().map(|event| teller.event(event)));
        expect_file!["shown/history.txt"].assert_eq(&format!("{}\n", lines.join("\n")));
    }
}
