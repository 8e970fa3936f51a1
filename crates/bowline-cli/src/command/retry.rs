//! `bowline retry`.

use std::process::ExitCode;

use anyhow::Result;
use bowline_http::model::{Retried, RetryAllBody, RunFilter};

use crate::{
    args::Retry,
    compose::Site,
    print::Printer,
    target::{asking, run as at, space},
};

pub(crate) async fn run(site: &Site, args: Retry, print: Printer) -> Result<ExitCode> {
    let namespace = args.on.namespace;
    asking(site, async |target| {
        let retried: Retried = match &args.run {
            Some(run) => target.post(at(&namespace, run).then("retry"), &()).await?,
            None => {
                let (workflow, id_prefix) = (args.workflow, args.prefix);
                let filter = RunFilter { workflow, id_prefix, ..RunFilter::default() };
                target.post(space(&namespace).then("retry"), &RetryAllBody { filter }).await?
            }
        };
        print.answer(&retried, || {
            vec![match retried.retried {
                0 => "no run is parked there".to_owned(),
                1 => "1 parked run will be tried again".to_owned(),
                many => format!("{many} parked runs will be tried again"),
            }]
        })?;
        Ok(ExitCode::SUCCESS)
    })
    .await
}
