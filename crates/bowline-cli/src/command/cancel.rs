//! `bowline cancel` and `bowline terminate`.

use std::process::ExitCode;

use anyhow::Result;
use bowline_engine::{
    CancelRequest,
    core::{Cause, ReceiptId, RunId},
};
use serde_json::json;

use crate::{
    compose::{Site, asking},
    print::Printer,
};

pub(crate) async fn cancel(
    site: &Site,
    workflow_id: &str,
    reason: String,
    by: String,
    print: Printer,
) -> Result<ExitCode> {
    let asked = asking(site, async |engine| {
        let run = engine.current(workflow_id).await?.run;
        Ok((run, engine.cancel(run, CancelRequest::new(reason, by)).await?))
    });
    let (run, receipt) = asked.await?;
    say(print, "cancel requested of", run, receipt);
    Ok(ExitCode::SUCCESS)
}

pub(crate) async fn terminate(
    site: &Site,
    workflow_id: &str,
    reason: String,
    by: String,
    print: Printer,
) -> Result<ExitCode> {
    let asked = asking(site, async |engine| {
        let run = engine.current(workflow_id).await?.run;
        Ok((run, engine.terminate(run, Cause::requested(reason, by)).await?))
    });
    let (run, receipt) = asked.await?;
    say(print, "termination requested of", run, receipt);
    Ok(ExitCode::SUCCESS)
}

fn say(print: Printer, what: &str, run: RunId, receipt: ReceiptId) {
    print.line(
        || format!("{what} run {run}, receipt {receipt}"),
        json!({ "run": run.to_string(), "receipt": receipt.to_string() }),
    );
}
