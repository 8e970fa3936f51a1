//! `bowline retry`.

use std::process::ExitCode;

use anyhow::Result;
use bowline_engine::{core::Name, store::Filter};
use serde_json::json;

use crate::{
    compose::{Site, asking},
    print::Printer,
};

/// Which parked runs: one, or all that fit.
pub(crate) struct Which {
    pub(crate) workflow_id: Option<String>,
    pub(crate) workflow: Option<String>,
    pub(crate) prefix: Option<String>,
}

pub(crate) async fn run(site: &Site, which: Which, print: Printer) -> Result<ExitCode> {
    let filter = Filter {
        name: which.workflow.map(Name::from),
        workflow_id_prefix: which.prefix,
        ..Filter::default()
    };
    let retried = asking(site, async |engine| {
        let Some(id) = which.workflow_id else { return Ok(engine.retry_all(filter).await?) };
        let head = engine.current(id).await?;
        let is_parked = head.status.is_open() && head.parked.is_some();
        engine.retry(head.run).await?;
        Ok(usize::from(is_parked))
    });
    let retried = retried.await?;
    print.line(
        || match retried {
            0 => "no run is parked there".to_owned(),
            1 => "1 parked run will be tried again".to_owned(),
            many => format!("{many} parked runs will be tried again"),
        },
        json!({ "retried": retried }),
    );
    Ok(ExitCode::SUCCESS)
}
