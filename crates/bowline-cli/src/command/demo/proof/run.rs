//! How every run ended, and what was tried again.

use std::collections::BTreeMap;

use anyhow::Result;
use bowline_engine::{
    Engine,
    core::{EventKind, RunEnding},
    store::{Filter, Head, Order},
};
use serde_json::{Value, json};

use crate::command::demo::{print::Teller, story::list};

/// How many runs are looked at; the fleet has about ten.
const RUNS_MAX: usize = 1_000;

/// Tells every run's end, and returns those that have none.
pub(super) async fn tell(engine: &Engine, tell: &Teller) -> Result<Vec<String>> {
    tell.heading("How it ended")?;
    let filter = Filter { limit: RUNS_MAX, order: Order::Oldest, ..Filter::default() };
    let heads = engine.find(filter).await?.runs;
    let mut open = Vec::new();
    for head in &heads {
        if head.status.is_open() {
            open.push(head.workflow_id.to_string());
        }
        let ending = match head.status.is_open() {
            true => None,
            false => Some(engine.result(head.run).await?.1),
        };
        outcome(head, ending.as_ref(), tell)?;
    }
    tell.heading("What had to be done again")?;
    for head in &heads {
        again(engine, head, tell).await?;
    }
    Ok(open)
}

fn outcome(head: &Head, ending: Option<&RunEnding>, tell: &Teller) -> Result<()> {
    let result = match ending {
        Some(RunEnding::Completed(Some(payload))) => {
            serde_json::from_slice(payload.bytes.as_slice()).unwrap_or(Value::Null)
        }
        _ => Value::Null,
    };
    let cause = match ending {
        Some(RunEnding::Cancelled(_, cause)) => cause.as_ref().map(ToString::to_string),
        Some(RunEnding::Terminated(cause)) => Some(cause.to_string()),
        _ => None,
    };
    let (id, status) = (head.workflow_id.as_str(), head.status.to_string());
    let said = match (&result, &cause) {
        (_, Some(cause)) => cause.clone(),
        (Value::String(text), None) => text.clone(),
        (Value::Null, None) => String::new(),
        (other, None) => other.to_string(),
    };
    let text = format!("  {id:<24} {status:<11} {said}");
    let more = json!({
        "id": id,
        "workflow": head.name.as_str(),
        "run": head.run.to_string(),
        "status": status,
        "cause": cause,
        "result": result,
    });
    Ok(tell.fact("outcome", &text, more)?)
}

/// Activities that ended in a later attempt than their first, as history has it.
async fn again(engine: &Engine, head: &Head, tell: &Teller) -> Result<()> {
    let (mut names, mut told) = (BTreeMap::new(), Vec::new());
    let id = head.workflow_id.as_str();
    for event in engine.history(head.run).await? {
        match event.kind {
            EventKind::ActivityScheduled(scheduled) => {
                names.insert(event.id, scheduled.spec.name);
            }
            EventKind::ActivityStarted(started) if started.attempt > 1 => {
                let name = names.get(&started.activity).map(ToString::to_string);
                let (name, attempt) = (name.unwrap_or_default(), started.attempt);
                let before = started.last_failure.map(|failure| failure.to_string());
                let why = before.as_deref().unwrap_or("nobody knows why").to_owned();
                let more = json!({
                    "id": id,
                    "activity": name,
                    "number": started.activity.0,
                    "attempt": attempt,
                    "worker": started.worker.as_str(),
                    "before": before,
                });
                tell.silent("again", more)?;
                told.push(format!("{name}, attempt {attempt} ({why})"));
            }
            _ => {}
        }
    }
    match told.is_empty() {
        true => Ok(()),
        false => Ok(tell.say(&format!("  {id:<24} {}", list(&told)))?),
    }
}
