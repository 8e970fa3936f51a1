//! Every cancel, hop by hop: from its receipt, or from the rows of what was stopped.

use std::{collections::BTreeSet, time::Duration};

use anyhow::Result;
use bowline::{Bowline, CancelTree, CancelledActivity, CancelledRun};
use serde_json::{Value, json};

use crate::command::demo::{
    print::{Look, Teller},
    story::Told,
};

/// What was told.
#[derive(Default)]
pub(super) struct Trees {
    pub(super) count: usize,
    pub(super) unclean: usize,
    /// What keeps them from being clean, in words.
    pub(super) left: Vec<String>,
}

/// Tells the tree of every receipt, and of every run that has none.
pub(super) async fn tell(bowline: &Bowline, told: &Told, tell: &Teller) -> Result<Trees> {
    tell.heading("Every stop, hop by hop")?;
    let mut trees = Trees::default();
    for (id, receipt) in &told.receipts {
        trees.show(id, Some(receipt), &bowline.receipt(receipt)?.tree().await?, tell)?;
    }
    let runs = bowline.list().oldest_first().all().await?;
    for run in runs.into_iter().filter(|run| run.parent.is_none()) {
        if told.receipts.iter().all(|(id, _)| *id != run.id) {
            trees.show(&run.id, None, &bowline.run(&run.id).tree().await?, tell)?;
        }
    }
    Ok(trees)
}

impl Trees {
    fn show(
        &mut self,
        id: &str,
        receipt: Option<&str>,
        tree: &CancelTree,
        tell: &Teller,
    ) -> Result<()> {
        self.count += 1;
        if !tree.is_clean() {
            self.unclean += 1;
            let phase = format!("{id} is only {:?}", tree.phase());
            self.left.extend(std::iter::once(phase).chain(tree.remainder()));
        }
        tell.say("")?;
        let shown = tree.to_string();
        let (above, last) = shown.rsplit_once('\n').unwrap_or(("", &shown));
        for line in above.lines() {
            tell.say(&format!("  {line}"))?;
        }
        for why in causes(tree) {
            tell.say(&tell.paint(Look::Faint, &format!("  why: {why}")))?;
        }
        let look = if tree.is_clean() { Look::Good } else { Look::Bad };
        tell.say(&format!("  {}", tell.paint(look, last)))?;
        self.facts(id, receipt, tree, tell)
    }

    /// The same for programs.
    fn facts(
        &self,
        id: &str,
        receipt: Option<&str>,
        tree: &CancelTree,
        tell: &Teller,
    ) -> Result<()> {
        for run in tree.runs() {
            fact("stopped_run", id, json_run(&run), tell)?;
        }
        for activity in tree.activities() {
            fact("stopped_activity", id, json_activity(&activity), tell)?;
        }
        let more = json!({
            "receipt": receipt,
            "cause": tree.cause().map(ToString::to_string),
            "phase": format!("{:?}", tree.phase()),
            "clean": tree.is_clean(),
            "never_started": tree.never_started(),
        });
        fact("tree", id, more, tell)
    }
}

/// Why things in the tree were stopped, down to the first mover; only reasons that are not part of
/// another one.
fn causes(tree: &CancelTree) -> Vec<String> {
    let runs = tree.runs().into_iter().map(|run| run.cause);
    let activities = tree.activities().into_iter().map(|one| one.cause);
    let causes = runs.chain(activities).flatten();
    let all: BTreeSet<String> = causes.map(|cause| cause.to_string()).collect();
    let is_part = |why: &&String| all.iter().any(|other| other != *why && other.ends_with(*why));
    all.iter().filter(|why| !is_part(why)).cloned().collect()
}

/// For programs only: people have seen the tree.
fn fact(fact: &str, tree: &str, mut more: Value, tell: &Teller) -> Result<()> {
    more["tree"] = json!(tree);
    Ok(tell.silent(fact, more)?)
}

fn json_run(run: &CancelledRun) -> Value {
    json!({
        "id": run.id,
        "workflow": run.workflow,
        "run": run.run,
        "parent": run.parent,
        "status": run.status.to_string(),
        "code": run.cause.as_ref().map(|cause| cause.code.as_str()),
        "cause": run.cause.as_ref().map(ToString::to_string),
        "decided_ms": millis(run.decided),
        "closed_ms": millis(run.closed),
    })
}

fn json_activity(one: &CancelledActivity) -> Value {
    json!({
        "run": one.run,
        "activity": one.name,
        "number": one.number,
        "attempt": one.attempt,
        "running": one.running,
        "code": one.cause.as_ref().map(|cause| cause.code.as_str()),
        "cause": one.cause.as_ref().map(ToString::to_string),
        "decided_ms": millis(one.decided),
        "delivered_ms": millis(one.delivered),
        "observed_ms": millis(one.observed),
        "stopped_ms": millis(one.stopped),
        "rung": one.rung.map(|rung| format!("{rung:?}")),
        "ended": one.ended.map(|kind| format!("{kind:?}")),
        "leaked": one.leaked,
        "lost": one.lost,
        "late": one.late,
    })
}

fn millis(span: Option<Duration>) -> Option<f64> {
    Some(span?.as_secs_f64() * 1_000.0)
}
