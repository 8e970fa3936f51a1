//! `bowline receipt`.

use std::{process::ExitCode, time::Duration};

use anyhow::Result;
use bowline_http::model::Receipt;

use super::follow::Following;
use crate::{
    args::{ReceiptArgs, Until},
    compose::Site,
    print::Printer,
    target::{asking, receipt as at},
    text::{self, LocalTime},
};

pub(crate) async fn run(site: &Site, args: ReceiptArgs, print: Printer) -> Result<ExitCode> {
    let ReceiptArgs { on, receipt, follow, wait } = args;
    let wanted = match follow {
        true => {
            let within = wait.within.map(Duration::from_secs);
            Some((wait.wait.unwrap_or(Until::Clean), within))
        }
        false => wait.wanted()?,
    };
    asking(site, async |target| {
        let namespace = on.namespace.as_str();
        if let Some((until, within)) = wanted {
            let receipt = receipt.as_str();
            return Following { target, namespace, receipt, until, within, print }.watch().await;
        }
        let found: Receipt = target.get(at(namespace, &receipt)).await?;
        print.answer(&found, || text::receipt(&found, &LocalTime::here(), print.paint))?;
        Ok(ExitCode::SUCCESS)
    })
    .await
}
