//! `bowline show`.

use std::{path::Path, process::ExitCode};

use anyhow::Result;
use serde_json::json;

use super::{list, moment};
use crate::{compose, print::Printer};

pub(crate) async fn run(store: &Path, workflow_id: &str, print: Printer) -> Result<ExitCode> {
    let engine = compose::engine(store).await?;
    let head = engine.current(workflow_id).await?;
    print.line(|| list::text(&head), list::json(&head));
    if let Some(quarantine) = &head.quarantine {
        print.line(
            || format!("quarantined after {} tries: {}", quarantine.failures, quarantine.reason),
            json!({ "quarantine": quarantine.reason, "failures": quarantine.failures }),
        );
    }
    for event in engine.history(head.run).await? {
        let (time, kind) = (moment(event.time), event.kind.name());
        let notes: Vec<String> = event.notes.iter().map(|note| format!("{note:?}")).collect();
        let text = || match notes.is_empty() {
            true => format!("{:>6}  {time}  {kind}", event.id),
            false => format!("{:>6}  {time}  {kind}  {}", event.id, notes.join(", ")),
        };
        print
            .line(text, json!({ "event": event.id.0, "time": time, "kind": kind, "notes": notes }));
    }
    Ok(ExitCode::SUCCESS)
}
