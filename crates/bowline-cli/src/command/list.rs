//! `bowline list`.

use std::process::ExitCode;

use anyhow::Result;
use bowline_http::model::{RunList, RunSummary};
use clap::ValueEnum;

use crate::{
    args::List,
    compose::Site,
    print::Printer,
    target::{Path, asking, space},
    text::{self, LocalTime},
};

/// How many runs are asked for at once.
const PAGE: usize = 500;

pub(crate) async fn run(site: &Site, list: List, print: Printer) -> Result<ExitCode> {
    let most = usize::from(list.limit);
    let (runs, is_all) = asking(site, async |target| {
        let mut runs: Vec<RunSummary> = Vec::new();
        let mut cursor = None;
        loop {
            let wanted = (most - runs.len()).min(PAGE);
            let path = path(&list).with("limit", wanted).maybe("cursor", cursor.as_ref());
            let page: RunList = target.get(path).await?;
            runs.extend(page.runs);
            cursor = page.next;
            if cursor.is_none() || runs.len() >= most {
                return Ok((runs, cursor.is_none()));
            }
        }
    })
    .await?;
    if print.json {
        runs.iter().try_for_each(|run| print.answer(run, Vec::new))?;
        return Ok(ExitCode::SUCCESS);
    }
    if runs.is_empty() {
        print.talk("no runs");
        return Ok(ExitCode::SUCCESS);
    }
    print.answer(&(), || text::runs(&runs, &LocalTime::here(), print.paint))?;
    if !is_all {
        print.talk("(there are more: --limit shows them)");
    }
    Ok(ExitCode::SUCCESS)
}

fn path(list: &List) -> Path {
    let words = list.status.iter().filter_map(ValueEnum::to_possible_value);
    let words: Vec<String> = words.map(|word| word.get_name().to_owned()).collect();
    let status = match list.parked {
        true => Some("parked".to_owned()),
        false => Some(words.join(",")).filter(|words| !words.is_empty()),
    };
    let path = space(&list.on.namespace)
        .then("runs")
        .maybe("status", status)
        .maybe("type", list.workflow.as_ref())
        .maybe("id_prefix", list.prefix.as_ref())
        .maybe("queue", list.queue.as_ref())
        .maybe("parent", list.parent.as_ref())
        .maybe("started_from", list.from.as_ref())
        .maybe("started_before", list.before.as_ref())
        .maybe("order", list.oldest.then_some("oldest"));
    list.search.iter().fold(path, |path, pair| path.with("search", pair))
}
