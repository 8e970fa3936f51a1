//! Receipts: the tree that a cancel hit, with the time of every hop, and what is still awaited.

use bowline_http::model::{Hops, OrphanList, Receipt, TreeActivity, TreeRun, Why};

use super::{LocalTime, Look, Paint, Table, look_of, safe, span};

/// The phases of a cancel, in their order.
const PHASES: [&str; 7] =
    ["requested", "decided", "delivered", "observed", "stopped", "settled", "clean"];

/// A receipt as a tree.
pub(crate) fn receipt(receipt: &Receipt, local: &LocalTime, paint: Paint) -> Vec<String> {
    let mut forest = Forest { told: &receipt.why, paint, lines: Vec::new() };
    let asked = local.both(&receipt.requested_at);
    forest.lines.push(format!(
        "cancel {}, asked {asked}",
        paint.text(Look::Strong, &safe(&receipt.why.words))
    ));
    forest.lines.push(way(&receipt.phase, paint));
    for run in &receipt.tree {
        forest.branch(run, "", "");
    }
    let mut lines = forest.lines;
    if receipt.never_started > 0 {
        lines.push(format!("{} had never started", activities(receipt.never_started)));
    }
    if receipt.truncated {
        lines.push("(there is more: lists are cut at a thousand lines)".to_owned());
    }
    if !receipt.awaited.is_empty() {
        lines.push(paint.text(Look::Busy, "awaited"));
        lines.extend(receipt.awaited.iter().map(|one| {
            let kind = paint.text(Look::Faint, &format!("{:<8}", one.kind));
            format!("  {kind} {}", safe(&one.words))
        }));
    }
    lines.push(last(receipt, paint));
    lines
}

/// How far it has come, on the way that every cancel goes.
fn way(phase: &str, paint: Paint) -> String {
    let reached = PHASES.iter().position(|one| *one == phase).unwrap_or(0);
    let each = PHASES.iter().enumerate().map(|(at, one)| match at {
        at if at < reached => paint.text(Look::Faint, one),
        at if at == reached => paint.text(Look::Strong, &one.to_uppercase()),
        _ => (*one).to_owned(),
    });
    each.collect::<Vec<_>>().join(" > ")
}

fn last(receipt: &Receipt, paint: Paint) -> String {
    let took = receipt.took_ms.map(|ms| format!(" ({})", span(ms as f64))).unwrap_or_default();
    match (receipt.clean, receipt.settled) {
        (true, _) => paint.text(Look::Good, &format!("clean: nothing is left running{took}")),
        (false, true) => {
            paint.text(Look::Bad, &format!("settled{took}, and not clean: see what is awaited"))
        }
        _ => format!("{}, {} so far", receipt.phase, span(receipt.age_ms as f64)),
    }
}

struct Forest<'a> {
    /// The cause that the first line has told.
    told: &'a Why,
    paint: Paint,
    lines: Vec<String>,
}

impl Forest<'_> {
    /// A run, its activities, and the runs below it.
    fn branch(&mut self, run: &TreeRun, head: &str, below: &str) {
        let status = self.paint.text(look_of(&run.status), &safe(&run.status));
        let words = match run.words.strip_prefix("is closed: ") {
            Some(_) => status,
            None => format!("{status}, {}", safe(&run.words)),
        };
        let why = self.why(run.why.as_ref().filter(|why| *why != self.told));
        let (id, name, hops) = (safe(&run.id), safe(&run.workflow), self.hops(&run.hops));
        self.lines.push(format!("{head}{id} ({name}) {words}{why}{hops}"));
        let mut rest = run.activities.len() + run.children.len();
        for activity in &run.activities {
            rest -= 1;
            let (fork, trunk) = forks(rest);
            self.activity(activity, &format!("{below}{fork}"), &format!("{below}{trunk}"));
        }
        for child in &run.children {
            rest -= 1;
            let (fork, trunk) = forks(rest);
            self.branch(child, &format!("{below}{fork}"), &format!("{below}{trunk}"));
        }
    }

    /// An activity by its newest attempt, and earlier ones whose end nobody saw.
    fn activity(&mut self, one: &TreeActivity, head: &str, below: &str) {
        let attempt = match one.attempt {
            0 | 1 => String::new(),
            attempt => format!(" attempt {attempt}"),
        };
        let words = self.paint.text(look(one), &safe(&one.words));
        let (name, number) = (safe(&one.name), one.number);
        let (why, hops) = (self.why(one.why.as_ref()), self.hops(&one.hops));
        self.lines.push(format!("{head}{name} #{number}{attempt} {words}{why}{hops}"));
        for own in one.unseen.iter().filter(|own| own.attempt != one.attempt) {
            let words = self.paint.text(Look::Bad, &safe(&own.words));
            self.lines.push(format!("{below}attempt {}: {words}", own.attempt));
        }
    }

    fn why(&self, why: Option<&Why>) -> String {
        why.map(|why| format!(" [{}]", safe(&why.code))).unwrap_or_default()
    }

    /// When each hop was taken, counted from the request.
    fn hops(&self, hops: &Hops) -> String {
        let all = [
            ("decided", hops.decided_ms),
            ("delivered", hops.delivered_ms),
            ("observed", hops.observed_ms),
            ("stopped", hops.stopped_ms),
            ("closed", hops.closed_ms),
        ];
        let each = all.iter().filter_map(|(hop, at)| Some(format!("{hop} +{}", span((*at)?))));
        let each: Vec<String> = each.collect();
        match each.is_empty() {
            true => String::new(),
            false => self.paint.text(Look::Faint, &format!("  {}", each.join("  "))),
        }
    }
}

fn look(one: &TreeActivity) -> Look {
    match () {
        () if one.leaked || one.lost => Look::Bad,
        () if one.running => Look::Busy,
        () => Look::Good,
    }
}

fn forks(rest: usize) -> (&'static str, &'static str) {
    match rest {
        0 => ("└─ ", "   "),
        _ => ("├─ ", "│  "),
    }
}

fn activities(count: u64) -> String {
    format!("{count} activit{}", if count == 1 { "y" } else { "ies" })
}

/// What should not be there at all.
pub(crate) fn orphans(list: &OrphanList, paint: Paint) -> Vec<String> {
    let mut table = Table::new(&["WHAT", "NAME", "RUN", "", "WHY"]);
    let plain = |text: String| (text, None);
    for run in &list.runs {
        table.row(vec![
            plain("run".to_owned()),
            plain(safe(&run.id)),
            plain(safe(&run.run)),
            (safe(&run.words), Some(Look::Bad)),
            plain(run.why.as_ref().map(|why| safe(&why.words)).unwrap_or_default()),
        ]);
    }
    for one in &list.activities {
        table.row(vec![
            plain(format!("activity #{}", one.number)),
            plain(safe(&one.name)),
            plain(safe(&one.run)),
            (safe(&one.words), Some(Look::Bad)),
            plain(one.why.as_ref().map(|why| safe(&why.words)).unwrap_or_default()),
        ]);
    }
    let told = (list.runs.len() + list.activities.len()) as u64;
    let mut lines = if told > 0 { table.lines(paint) } else { Vec::new() };
    let queued = list.count.saturating_sub(told);
    if queued > 0 {
        lines.push(format!("{} wait although their run is closed", activities(queued)));
    }
    if list.truncated {
        lines.push("(there are more)".to_owned());
    }
    lines
}

#[cfg(test)]
mod tests {
    use expect_test::expect_file;
    use serde_json::{Value, json};

    use super::*;
    use crate::text::moment::tests::local;

    fn why(code: &str) -> Value {
        json!({ "code": code, "words": "requested by alice (lost)" })
    }

    fn activity(number: u64, name: &str, running: bool, words: &str) -> Value {
        json!({
            "run": "r", "number": number, "name": name, "attempt": 1, "running": running,
            "why": why("run_cancelled"), "words": words, "deaf": false, "leaked": false,
            "lost": false, "late": false,
            "hops": { "decided_ms": 4.2, "delivered_ms": 8.0 },
        })
    }

    fn cancelled(phase: &str) -> Receipt {
        let mut lost = activity(13, "scan", false, "nobody saw it end: its worker w-9 is silent");
        lost["lost"] = json!(true);
        lost["attempt"] = json!(2);
        lost["unseen"] = json!([{ "attempt": 1, "worker": "w-8", "since": "2026-11-16T10:59:00Z",
            "state": "lost", "words": "nobody saw it end: its worker w-8 is silent" }]);
        serde_json::from_value(json!({
            "id": "0199", "run": "r", "phase": phase, "settled": false, "clean": false,
            "why": why("requested"), "requested_at": "2026-11-16T10:59:00Z", "age_ms": 60_000,
            "keep_until": "2026-11-17T10:59:00Z", "runs": 2, "activities": 2, "running": 1,
            "never_started": 3, "queued": 0, "truncated": false,
            "awaited": [{ "kind": "running", "count": 1, "words": "print #12 is running" }],
            "tree": [{
                "id": "order-42", "run": "r", "type": "checkout", "status": "cancelling",
                "why": why("requested"), "hops": { "decided_ms": 4.0 }, "left_alone": false,
                "words": "cleans up",
                "activities": [activity(12, "print", true, "is running"), lost],
                "children": [{
                    "id": "mail-42", "run": "r2", "type": "mail", "status": "cancelled",
                    "why": why("parent_cancelled"),
                    "hops": { "decided_ms": 12.0, "closed_ms": 2100.0 },
                    "left_alone": false, "words": "is closed: cancelled", "activities": [],
                    "children": [],
                }],
            }],
        }))
        .expect("a receipt")
    }

    #[test]
    fn a_receipt_is_a_tree() {
        let lines = receipt(&cancelled("delivered"), &local(), Paint(false));
        expect_file!["shown/receipt.txt"].assert_eq(&format!("{}\n", lines.join("\n")));
        let mut clean = cancelled("clean");
        (clean.clean, clean.settled, clean.took_ms) = (true, true, Some(9_400));
        clean.awaited.clear();
        let lines = receipt(&clean, &local(), Paint(false));
        assert_eq!(lines.last().expect("a line"), "clean: nothing is left running (9.4 s)");
        assert!(lines[1].ends_with("settled > CLEAN"));
    }
}
