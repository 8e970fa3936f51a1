//! One command, one file.

mod backup;
mod cancel;
mod check;
mod demo;
mod key;
mod list;
mod member;
mod orphans;
mod retry;
mod serve;
mod show;

use std::process::ExitCode;

use anyhow::Result;
use bowline_engine::core::Time;

use crate::{
    args::{Args, Command, Member, Place},
    compose::{SCHEMA, Site},
    print::Printer,
    secret,
    settings::Settings,
};

pub(crate) async fn run(args: Args) -> Result<ExitCode> {
    let print = Printer { json: args.json };
    let schema = args.schema;
    let named = schema.clone().unwrap_or_else(|| SCHEMA.to_owned());
    let secret = secret::password(args.password_file.as_deref())?;
    let at = |place: Place| Site {
        place: match &secret {
            Some(secret) => place.with_password(secret),
            None => place,
        },
        schema: named,
        connections: None,
    };
    match args.command {
        Command::Demo { keep, worker } => {
            demo::run(demo::DemoOptions { json: args.json, keep, worker }).await
        }
        Command::List { store, status, workflow, parked, limit } => {
            let wanted = list::Wanted { status, workflow, parked, limit: limit.into() };
            list::run(&at(store), wanted, print).await
        }
        Command::Show { store, workflow_id } => show::run(&at(store), &workflow_id, print).await,
        Command::Cancel { store, workflow_id, reason, by } => {
            cancel::cancel(&at(store), &workflow_id, reason, by, print).await
        }
        Command::Retry { store, workflow_id, workflow, prefix, .. } => {
            let which = retry::Which { workflow_id, workflow, prefix };
            retry::run(&at(store), which, print).await
        }
        Command::Terminate { store, workflow_id, reason, by } => {
            cancel::terminate(&at(store), &workflow_id, reason, by, print).await
        }
        Command::Serve(serve) => {
            let settings = Settings::of(*serve, schema, args.password_file)?;
            serve::run(settings, print).await
        }
        Command::Key(key) => key::run(key, print),
        Command::Member(Member::Gone { store, identity, host, by, reason }) => {
            let gone = member::Gone { identity, host, by, reason };
            member::gone(&at(store), gone, print).await
        }
        Command::Orphans { store } => orphans::run(&at(store), print).await,
        Command::Check { store } => check::run(&at(store), print).await,
        Command::Backup { store, to } => backup::run(&at(store), &to, print).await,
    }
}

/// A moment as seconds since the Unix epoch, to the millisecond: readable, and sorts.
fn moment(time: Time) -> String {
    format!("{}.{:03}", time.0.div_euclid(1_000_000), time.0.rem_euclid(1_000_000) / 1_000)
}
