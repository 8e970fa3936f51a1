//! `bowline list`.

use std::process::ExitCode;

use anyhow::Result;
use bowline_engine::{
    core::{Name, Status},
    store::{Filter, Head},
};
use serde_json::json;

use super::moment;
use crate::{
    args,
    compose::{Site, asking},
    print::Printer,
};

/// Which runs.
pub(crate) struct Wanted {
    pub(crate) status: Option<args::Status>,
    pub(crate) workflow: Option<String>,
    pub(crate) parked: bool,
    pub(crate) limit: usize,
}

pub(crate) async fn run(site: &Site, wanted: Wanted, print: Printer) -> Result<ExitCode> {
    let mut filter = Filter {
        statuses: wanted.status.map(status).into_iter().collect(),
        name: wanted.workflow.map(Name::from),
        parked: wanted.parked.then_some(true),
        limit: wanted.limit,
        ..Filter::default()
    };
    let next = asking(site, async |engine| {
        // A page has fewer runs than were asked for where much is looked at for each of them.
        while filter.limit > 0 {
            let page = engine.find(filter.clone()).await?;
            for head in &page.runs {
                print.line(|| text(head), json(head));
            }
            filter.limit -= page.runs.len();
            filter.after = page.next;
            if filter.after.is_none() {
                break;
            }
        }
        Ok(filter.after)
    });
    if next.await?.is_some() && !print.json {
        print.line(|| format!("(more than {} runs: raise --limit)", wanted.limit), json!(null));
    }
    Ok(ExitCode::SUCCESS)
}

pub(super) fn text(head: &Head) -> String {
    let parked = if head.is_parked() { " (parked)" } else { "" };
    let (run, id, name) = (head.run, &head.workflow_id, &head.name);
    format!("{}  {:<16}  {run}  {name}  {id}{parked}", moment(head.started_at), head.status)
}

pub(super) fn json(head: &Head) -> serde_json::Value {
    json!({
        "run": head.run.to_string(),
        "workflow_id": head.workflow_id.as_str(),
        "workflow": head.name.as_str(),
        "queue": head.queue.as_str(),
        "status": head.status.as_str(),
        "started_at": moment(head.started_at),
        "closed_at": head.closed_at.map(moment),
        "events": head.next_event.0 - 1,
        "unread": head.inbox.0 - head.consumed.0,
        "cancel": head.cancel.as_ref().map(|cancel| cancel.cause.to_string()),
        "parked": head.why_parked().map(|parked| parked.reason.clone()),
    })
}

fn status(status: args::Status) -> Status {
    match status {
        args::Status::Running => Status::Running,
        args::Status::Cancelling => Status::Cancelling,
        args::Status::Completed => Status::Completed,
        args::Status::Failed => Status::Failed,
        args::Status::Cancelled => Status::Cancelled,
        args::Status::TimedOut => Status::TimedOut,
        args::Status::Terminated => Status::Terminated,
        args::Status::ContinuedAsNew => Status::ContinuedAsNew,
    }
}
