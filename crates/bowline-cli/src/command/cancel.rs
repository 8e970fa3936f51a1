//! `bowline cancel` and `bowline terminate`.

use std::{path::Path, process::ExitCode};

use anyhow::Result;
use bowline_engine::{
    CancelRequest,
    core::{Cause, ReceiptId, RunId},
};
use serde_json::json;

use crate::{compose, print::Printer};

pub(crate) async fn cancel(
    store: &Path,
    workflow_id: &str,
    reason: String,
    by: String,
    print: Printer,
) -> Result<ExitCode> {
    let engine = compose::engine(store).await?;
    let run = engine.current(workflow_id).await?.run;
    let receipt = engine.cancel(run, CancelRequest::new(reason, by)).await?;
    say(print, "cancel requested of", run, receipt);
    Ok(ExitCode::SUCCESS)
}

pub(crate) async fn terminate(
    store: &Path,
    workflow_id: &str,
    reason: String,
    by: String,
    print: Printer,
) -> Result<ExitCode> {
    let engine = compose::engine(store).await?;
    let run = engine.current(workflow_id).await?.run;
    let receipt = engine.terminate(run, Cause::requested(reason, by)).await?;
    say(print, "termination requested of", run, receipt);
    Ok(ExitCode::SUCCESS)
}

fn say(print: Printer, what: &str, run: RunId, receipt: ReceiptId) {
    print.line(
        || format!("{what} run {run}, receipt {receipt}"),
        json!({ "run": run.to_string(), "receipt": receipt.to_string() }),
    );
}
