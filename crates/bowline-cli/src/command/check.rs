//! `bowline check`.

use std::process::ExitCode;

use anyhow::Result;
use serde_json::json;

use crate::{compose::Site, print::Printer};

pub(crate) async fn run(site: &Site, print: Printer) -> Result<ExitCode> {
    let findings = site.file("it checks what it stores by itself")?.check().await?;
    for finding in &findings {
        print.line(|| finding.to_string(), json!({ "finding": finding.to_string() }));
    }
    if findings.is_empty() {
        print.line(|| "the file is sound".to_owned(), json!({ "findings": 0 }));
        return Ok(ExitCode::SUCCESS);
    }
    Ok(ExitCode::from(1))
}
