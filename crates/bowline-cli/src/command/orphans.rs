//! `bowline orphans`.

use std::process::ExitCode;

use anyhow::Result;
use serde_json::json;

use crate::{
    compose::{Site, asking},
    print::Printer,
};

pub(crate) async fn run(site: &Site, print: Printer) -> Result<ExitCode> {
    let left = asking(site, async |engine| Ok(engine.orphans().await?)).await?;
    for line in &left.runs {
        print.line(
            || format!("run {} ({}) is {}", line.run, line.workflow_id, line.status),
            json!({ "run": line.run.to_string(), "status": line.status.as_str() }),
        );
    }
    for line in &left.attempts {
        print.line(
            || format!("activity {} ({}) of run {}", line.activity, line.name, line.run),
            json!({
                "run": line.run.to_string(),
                "activity": line.activity.0,
                "name": line.name.as_str(),
            }),
        );
    }
    let found = left.runs.len() + left.attempts.len();
    if found == 0 && left.queued == 0 {
        print.line(|| "nothing is left over".to_owned(), json!({ "orphans": 0 }));
        return Ok(ExitCode::SUCCESS);
    }
    print.line(
        || {
            format!(
                "{found} found, and {} more activities wait although their run is closed",
                left.queued
            )
        },
        json!({ "orphans": found, "queued": left.queued }),
    );
    Ok(ExitCode::from(1))
}
