//! Runs: as a table, and one of them as a page.

use bowline_http::model::{PendingActivity, PendingChild, PendingTimer, Run, RunSummary};

use super::{Length, LocalTime, Look, Paint, Table, data, failure, look_of, safe, span};

/// How many letters of a reason a table has.
const REASON: usize = 60;

/// A table of runs.
pub(crate) fn runs(runs: &[RunSummary], local: &LocalTime, paint: Paint) -> Vec<String> {
    let mut table =
        Table::new(&["ID", "WORKFLOW", "STATE", "STARTED", "", "TOOK", "EVENTS", "WHY"]);
    for run in runs {
        let plain = |text: String| (text, None);
        table.row(vec![
            (safe(&run.id), Some(Look::Strong)),
            plain(safe(&run.workflow)),
            (safe(&run.state), Some(look_of(&run.state))),
            plain(local.at(&run.started_at)),
            (local.ago(&run.started_at), Some(Look::Faint)),
            plain(span(run.took_ms as f64)),
            plain(run.events.to_string()),
            plain(why(run)),
        ]);
    }
    table.lines(paint)
}

/// Why a run is as it is: what parked it, or who cancels it.
fn why(run: &RunSummary) -> String {
    let parked = run.parked.as_ref().map(|parked| parked.reason.as_str());
    let cancel = run.cancel.as_ref().map(|cancel| cancel.why.words.as_str());
    let text = safe(parked.or(cancel).unwrap_or_default());
    match text.chars().count() <= REASON {
        true => text,
        false => text.chars().take(REASON).chain(['…']).collect(),
    }
}

/// Everything about a run but its history.
pub(crate) fn page(run: &Run, local: &LocalTime, paint: Paint, length: Length) -> Vec<String> {
    let own = &run.summary;
    let state = paint.text(look_of(&own.state), &safe(&own.state));
    let head = paint.text(Look::Strong, &safe(&own.id));
    let mut lines = vec![format!("{head}  {}  {state}", safe(&own.workflow))];
    let mut say = |what: &str, text: String| {
        lines.push(format!("  {}{text}", paint.text(Look::Faint, &format!("{what:<10}"))));
    };
    say("run", chain(run));
    say("queue", safe(&own.queue));
    let by = match run.started_by.as_str() {
        "" => String::new(),
        by => format!(" by {}", safe(by)),
    };
    say("started", format!("{}{by}", local.both(&own.started_at)));
    if let Some(closed) = &own.closed_at {
        say("closed", local.both(closed));
    }
    say("took", span(own.took_ms as f64));
    if let Some(parent) = &own.parent {
        say("parent", format!("@{} (its event {})", safe(&parent.run), parent.event));
    }
    if let Some(next) = &run.successor {
        say("goes on", format!("as @{}", safe(next)));
    }
    if let Some(cancel) = &own.cancel {
        let decided = if cancel.decided_at.is_some() { "" } else { "; nobody has read it yet" };
        let asked = local.both(&cancel.requested_at);
        say("cancel", format!("{}, asked {asked}{decided}", safe(&cancel.why.words)));
    }
    if let Some(parked) = &own.parked {
        let (since, tries) = (local.both(&parked.since), parked.tries);
        say("parked", format!("since {since}, tried by {tries}: {}", safe(&parked.reason)));
    }
    if let Some(input) = &run.input {
        say("input", data(input, length));
    }
    for (key, value) in &run.memo {
        say("memo", format!("{} {}", safe(key), data(value, length)));
    }
    for (key, value) in &own.search {
        say("search", format!("{} {}", safe(key), safe(&value.to_string())));
    }
    if run.unread > 0 {
        say("unread", format!("{} in its inbox", run.unread));
    }
    if let Some(ended) = &run.ended {
        if let Some(result) = &ended.result {
            say("result", data(result, length));
        }
        if let Some(failed) = &ended.failure {
            say("failure", failure(failed, "            ", length).trim_start().to_owned());
        }
        if let Some(why) = &ended.why {
            say("why", safe(&why.words));
        }
    }
    lines.extend(pending(run, local, paint, length));
    lines
}

fn chain(run: &Run) -> String {
    match run.link {
        0 | 1 => safe(&run.summary.run),
        link => format!("{} (number {link} of its chain)", safe(&run.summary.run)),
    }
}

/// What a run waits for.
fn pending(run: &Run, local: &LocalTime, paint: Paint, length: Length) -> Vec<String> {
    let mut table = Table::new(&["PENDING", "", "STATE", "", ""]);
    for activity in &run.activities {
        table.row(of_activity(activity, local, length));
    }
    for timer in &run.timers {
        table.row(of_timer(timer, local));
    }
    for child in &run.children {
        table.row(of_child(child));
    }
    let shown = (run.activities.len() + run.timers.len() + run.children.len()) as u64;
    let all = run.activities_open + run.timers_open + run.children_open;
    if shown == 0 {
        return Vec::new();
    }
    let mut lines = vec![String::new()];
    lines.extend(table.lines(paint));
    if all > shown {
        lines.push(format!("(and {} more)", all - shown));
    }
    lines
}

type Row = Vec<(String, Option<Look>)>;

fn of_activity(one: &PendingActivity, local: &LocalTime, length: Length) -> Row {
    let plain = |text: String| (text, None);
    let attempt =
        if one.attempt > 1 { format!(", attempt {}", one.attempt) } else { String::new() };
    let state = match (&one.cancel, one.state.as_str()) {
        (Some(_), "running") => "running, told to stop".to_owned(),
        (_, state) => safe(state),
    };
    let place = match (&one.worker, &one.started_at, &one.due) {
        (Some(worker), Some(since), _) => {
            format!("on {} since {}{attempt}", safe(worker), local.ago(since).replace(" ago", ""))
        }
        (_, _, Some(due)) => {
            format!("in queue {}, due {}{attempt}", safe(&one.queue), local.ago(due))
        }
        _ => String::new(),
    };
    let mut more = Vec::new();
    more.extend(one.input.as_ref().map(|input| data(input, length)));
    more.extend(one.heartbeat.as_ref().map(|said| format!("says {}", data(said, length))));
    more.extend(
        one.last_failure.as_ref().map(|last| format!("failed before: {}", safe(&last.message))),
    );
    more.extend(one.cancel.as_ref().map(|why| format!("[{}]", safe(&why.words))));
    vec![
        plain(format!("activity #{}", one.number)),
        plain(safe(&one.name)),
        plain(state),
        plain(place),
        plain(more.join("  ")),
    ]
}

fn of_timer(timer: &PendingTimer, local: &LocalTime) -> Row {
    let plain = |text: String| (text, None);
    let rings = format!("{} ({})", local.at(&timer.due), local.ago(&timer.due));
    vec![
        plain(format!("timer #{}", timer.number)),
        plain(safe(&timer.id)),
        plain("set".to_owned()),
        plain(format!("rings {rings}")),
        plain(String::new()),
    ]
}

fn of_child(child: &PendingChild) -> Row {
    let plain = |text: String| (text, None);
    let state = match (child.started, child.cancelled) {
        (_, true) => "told to stop",
        (true, false) => "running",
        (false, false) => "asked for",
    };
    vec![
        plain(format!("child #{}", child.number)),
        plain(safe(&child.workflow)),
        plain(state.to_owned()),
        plain(safe(&child.id)),
        plain(String::new()),
    ]
}

#[cfg(test)]
mod tests {
    use bowline_http::model::{CancelState, DataEncoding, ParkedState, Why};
    use expect_test::expect_file;
    use serde_json::json;

    use super::*;
    use crate::text::moment::tests::local;

    fn summary(id: &str, state: &str) -> RunSummary {
        serde_json::from_value(json!({
            "id": id, "run": "0199a0b1-0000-7000-8000-000000000001", "type": "checkout",
            "queue": "default", "status": "running", "state": state, "rules": "native",
            "started_at": "2026-11-16T10:57:00Z", "took_ms": 180_000, "events": 12,
        }))
        .expect("a run")
    }

    fn asked(reason: &str) -> CancelState {
        let why = Why {
            code: "requested".to_owned(),
            words: format!("requested by alice ({reason})"),
            reason: reason.to_owned(),
            by: "alice".to_owned(),
            request_id: None,
            terminate_after_ms: None,
            grace_ms: None,
            because: None,
        };
        let requested_at = "2026-11-16T10:59:00Z".to_owned();
        CancelState { why, requested_at, decided_at: None }
    }

    #[test]
    fn runs_are_a_table_with_headings() {
        let mut cancelled = summary("order-7", "cancelling");
        cancelled.cancel = Some(asked("lost"));
        let mut long = summary("an-order-with-a-long-name", "parked");
        long.parked = Some(ParkedState {
            reason: "x".repeat(70),
            since: "2026-11-16T10:58:00Z".to_owned(),
            failures: 3,
            tries: 1,
            next: None,
        });
        let lines =
            runs(&[summary("order-42", "running"), cancelled, long], &local(), Paint(false));
        expect_file!["shown/runs.txt"].assert_eq(&format!("{}\n", lines.join("\n")));
    }

    #[test]
    fn a_run_is_a_page() {
        let mut run: Run = serde_json::from_value(json!({
            "id": "order-42", "run": "0199a0b1-0000-7000-8000-000000000001", "type": "checkout",
            "queue": "default", "status": "running", "state": "cancelling", "rules": "native",
            "started_at": "2026-11-16T10:57:00Z", "took_ms": 180_000, "events": 12,
            "started_by": "shop@1", "first_run": "r", "link": 2, "root": "r",
            "history_bytes": 100, "unread": 1, "timers_open": 1, "activities_open": 3,
            "children_open": 1,
            "input":
                { "format": "json", "encoding": "json", "value": { "item": "rope" }, "bytes": 15 },
            "activities": [
                { "number": 3, "id": "3", "name": "charge", "queue": "default", "state": "running",
                  "attempt": 2, "worker": "w-1", "started_at": "2026-11-16T10:59:48Z",
                  "last_failure": { "message": "no\nroute" }, "detached": false },
                { "number": 5, "id": "5", "name": "ship", "queue": "post", "state": "waiting",
                  "attempt": 1, "due": "2026-11-16T11:00:30Z", "detached": false },
            ],
            "timers": [
                { "number": 7, "id": "7", "due": "2026-11-16T13:00:00Z", "in_ms": 7_200_000 },
            ],
            "children": [
                { "number": 9, "id": "mail-42", "run": "r2", "type": "mail", "started": true,
                  "cancelled": false, "detached": false, "on_close": "cancel" },
            ],
        }))
        .expect("a run");
        run.summary.cancel = Some(asked("lost"));
        assert_eq!(run.input.as_ref().expect("it has one").encoding, DataEncoding::Json);
        let lines = page(&run, &local(), Paint(false), Length::Line);
        expect_file!["shown/page.txt"].assert_eq(&format!("{}\n", lines.join("\n")));
    }
}
