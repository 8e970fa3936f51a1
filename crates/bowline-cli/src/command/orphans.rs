//! `bowline orphans`.

use std::process::ExitCode;

use anyhow::Result;
use bowline_http::model::OrphanList;

use super::FOUND;
use crate::{
    args::Orphans,
    compose::Site,
    print::Printer,
    target::{asking, space},
    text,
};

pub(crate) async fn run(site: &Site, args: Orphans, print: Printer) -> Result<ExitCode> {
    let path = space(&args.on.namespace).then("orphans");
    let list: OrphanList = asking(site, async |target| target.get(path).await).await?;
    let is_empty = list.count == 0 && !list.truncated;
    print.answer(&list, || match is_empty {
        true => vec!["nothing is left over".to_owned()],
        false => text::orphans(&list, print.paint),
    })?;
    Ok(if is_empty { ExitCode::SUCCESS } else { ExitCode::from(FOUND) })
}
