//! `bowline start`, `signal`, `query` and `update`.

use std::process::ExitCode;

use anyhow::Result;
use bowline_http::model::{
    QueryAnswered, QueryBody, SignalBody, Signalled, StartBody, StartedRun, UpdateAnswered,
    UpdateBody,
};

use super::{FOUND, NOT_YET, by};
use crate::{
    args::{IfClosed, IfOpen, Query, SignalArgs, Start, Update},
    compose::Site,
    print::Printer,
    target::{asking, run, space},
    text::{Length, data, failure, safe},
};

pub(crate) async fn start(site: &Site, args: Start, print: Printer) -> Result<ExitCode> {
    let on_conflict = match args.if_open {
        IfOpen::Refuse => "refuse",
        IfOpen::Use => "use_existing",
        IfOpen::Replace => "terminate_existing",
    };
    let reuse = match args.if_closed {
        IfClosed::Start => "allow",
        IfClosed::UnlessCompleted => "allow_unless_completed",
        IfClosed::Refuse => "refuse",
    };
    let body = StartBody {
        workflow: args.workflow,
        id: args.id,
        queue: args.queue,
        input: args.given.value()?,
        on_conflict: Some(on_conflict.to_owned()),
        reuse: Some(reuse.to_owned()),
        by: by(args.by.as_deref())?,
        ..StartBody::default()
    };
    asking(site, async |target| {
        let path = space(&args.on.namespace).then("runs");
        let started: StartedRun = target.post(path, &body).await?;
        let says = match started.met.as_str() {
            "started" => "is started",
            _ => "was there already",
        };
        let (id, run) = (safe(&started.id), safe(&started.run));
        print.answer(&started, || vec![format!("{id} {says}: run {run}")])?;
        Ok(ExitCode::SUCCESS)
    })
    .await
}

pub(crate) async fn signal(site: &Site, args: SignalArgs, print: Printer) -> Result<ExitCode> {
    let (input, by) = (args.given.value()?, by(args.by.as_deref())?);
    let body = SignalBody { name: args.name, input, by };
    asking(site, async |target| {
        let path = run(&args.at.on.namespace, &args.at.run).then("signal");
        let signalled: Signalled = target.post(path, &body).await?;
        let (name, run) = (safe(&body.name), safe(&signalled.run));
        print.answer(&signalled, || vec![format!("signal {name} is sent to run {run}")])?;
        Ok(ExitCode::SUCCESS)
    })
    .await
}

pub(crate) async fn query(site: &Site, args: Query, print: Printer) -> Result<ExitCode> {
    let body = QueryBody { name: args.name, input: args.given.value()? };
    asking(site, async |target| {
        let path = run(&args.at.on.namespace, &args.at.run).then("query").with("payloads", "full");
        let answered: QueryAnswered = target.post(path, &body).await?;
        let shown = || answered.answer.as_ref().map(|answer| data(answer, Length::Full));
        print.answer(&answered, || vec![shown().unwrap_or_else(|| "(no value)".to_owned())])?;
        Ok(ExitCode::SUCCESS)
    })
    .await
}

pub(crate) async fn update(site: &Site, args: Update, print: Printer) -> Result<ExitCode> {
    let (input, by) = (args.given.value()?, by(args.by.as_deref())?);
    asking(site, async |target| {
        // Where nobody else has the store, nobody can answer.
        let within = if target.is_alone() { 0 } else { args.within };
        let body = UpdateBody {
            name: args.name,
            input,
            update: args.id,
            within_ms: Some(within * 1_000),
            by,
        };
        let path = run(&args.at.on.namespace, &args.at.run).then("update").with("payloads", "full");
        let answered: UpdateAnswered = target.post(path, &body).await?;
        print.answer(&answered, || vec![of_update(&answered)])?;
        Ok(match answered.stage.as_str() {
            "completed" => ExitCode::SUCCESS,
            "rejected" | "failed" | "unanswered" => ExitCode::from(FOUND),
            _ => {
                let id = safe(&answered.update);
                print.talk(&format!("the request stands; --id {id} asks for its answer again"));
                ExitCode::from(NOT_YET)
            }
        })
    })
    .await
}

/// How far an update has come.
fn of_update(answered: &UpdateAnswered) -> String {
    let failed = || answered.failure.as_ref().map(|failed| failure(failed, "  ", Length::Full));
    let failed = |what: &str| format!("{what}\n{}", failed().unwrap_or_default());
    match answered.stage.as_str() {
        "completed" => match &answered.answer {
            Some(answer) => data(answer, Length::Full),
            None => "(no value)".to_owned(),
        },
        "rejected" => failed("the run's code refuses"),
        "failed" => failed("the run's code failed"),
        "unanswered" => "the run closed before it answered".to_owned(),
        "accepted" => "the run's code has accepted it, and has not answered yet".to_owned(),
        _ => "asked for; no code has looked at it yet".to_owned(),
    }
}
