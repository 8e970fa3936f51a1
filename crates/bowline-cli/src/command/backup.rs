//! `bowline backup`.

use std::{path::Path, process::ExitCode};

use anyhow::Result;
use serde_json::json;

use crate::{compose, print::Printer};

pub(crate) async fn run(store: &Path, to: &Path, print: Printer) -> Result<ExitCode> {
    compose::store(store)?.backup(to, |_| {}).await?;
    let bytes = std::fs::metadata(to)?.len();
    print.line(
        || format!("{} now holds a copy of {bytes} bytes", to.display()),
        json!({ "to": to.display().to_string(), "bytes": bytes }),
    );
    Ok(ExitCode::SUCCESS)
}
