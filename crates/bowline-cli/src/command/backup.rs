//! `bowline backup`.

use std::{path::Path, process::ExitCode};

use anyhow::Result;
use serde_json::json;

use crate::{
    compose::Site,
    print::{Bar, Printer},
};

pub(crate) async fn run(site: &Site, to: &Path, print: Printer) -> Result<ExitCode> {
    let store = site.file("copy it with its own tools, such as pg_dump")?;
    let mut bar = Bar::new(print);
    store.backup(to, move |copied| bar.draw(copied.pages, copied.of)).await?;
    let bytes = std::fs::metadata(to)?.len();
    print.line(
        || format!("{} now holds a copy of {bytes} bytes", to.display()),
        json!({ "to": to.display().to_string(), "bytes": bytes }),
    );
    Ok(ExitCode::SUCCESS)
}
