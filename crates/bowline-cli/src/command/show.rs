//! `bowline show`.

use std::process::ExitCode;

use anyhow::Result;
use serde_json::json;

use super::{list, moment};
use crate::{
    compose::{Site, asking},
    print::Printer,
};

pub(crate) async fn run(site: &Site, workflow_id: &str, print: Printer) -> Result<ExitCode> {
    let found = asking(site, async |engine| {
        let head = engine.current(workflow_id).await?;
        let history = engine.history(head.run).await?;
        Ok((head, history))
    });
    let (head, history) = found.await?;
    print.line(|| list::text(&head), list::json(&head));
    if let Some(parked) = head.why_parked() {
        let (since, next) = (moment(parked.since), parked.next.map(moment));
        print.line(
            || format!("parked since {since}, tried by {}: {}", parked.tries, parked.reason),
            json!({
                "parked": parked.reason,
                "since": since,
                "tries": parked.tries,
                "failures": parked.failures,
                "next": next,
            }),
        );
    }
    for event in history {
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
