//! One command, one file.

mod ask;
mod backup;
mod cancel;
mod check;
mod demo;
mod follow;
mod key;
mod list;
mod manual;
mod member;
mod orphans;
mod receipt;
mod retry;
mod serve;
mod show;

use std::process::ExitCode;

use anyhow::{Result, bail};
use serde_json::Value;

use crate::{
    args::{Args, Command, Given, Member, On, Place},
    compose::{SCHEMA, Site},
    print::Printer,
    secret,
    settings::Settings,
};

/// It is done, and something was found that somebody should look at.
pub(crate) const FOUND: u8 = 1;
/// It is not done, and nothing was changed.
pub(crate) const NOT_DONE: u8 = 2;
/// It is asked for and stands, but what was to be waited for has not come.
pub(crate) const NOT_YET: u8 = 3;
/// Somebody said Ctrl-C; what was asked for stands.
pub(crate) const INTERRUPTED: u8 = 130;

pub(crate) async fn run(args: Args) -> Result<ExitCode> {
    let print = Printer::new(args.json);
    let schema = args.schema;
    let named = schema.clone().unwrap_or_else(|| SCHEMA.to_owned());
    let secret = secret::password(args.password_file.as_deref())?;
    let at = |place: Place| Site {
        place: match &secret {
            Some(secret) => place.with_password(secret),
            None => place,
        },
        schema: named.clone(),
        connections: None,
    };
    let on = |on: &On| at(on.store.clone());
    match args.command {
        Command::Demo { keep, worker } => {
            demo::run(demo::DemoOptions { json: args.json, keep, worker }).await
        }
        Command::List(list) => list::run(&on(&list.on), list, print).await,
        Command::Show(show) => show::run(&on(&show.at.on), show, print).await,
        Command::Start(start) => ask::start(&on(&start.on), start, print).await,
        Command::Signal(signal) => ask::signal(&on(&signal.at.on), signal, print).await,
        Command::Query(query) => ask::query(&on(&query.at.on), query, print).await,
        Command::Update(update) => ask::update(&on(&update.at.on), update, print).await,
        Command::Cancel(cancel) => cancel::cancel(&on(&cancel.at.on), cancel, print).await,
        Command::Receipt(receipt) => receipt::run(&on(&receipt.on), receipt, print).await,
        Command::Terminate(end) => cancel::terminate(&on(&end.at.on), end, print).await,
        Command::Retry(retry) => retry::run(&on(&retry.on), retry, print).await,
        Command::Orphans(orphans) => orphans::run(&on(&orphans.on), orphans, print).await,
        Command::Serve(serve) => {
            let settings = Settings::of(*serve, schema, args.password_file)?;
            serve::run(settings, print).await
        }
        Command::Key(key) => key::run(key, print),
        Command::Member(Member::Gone { store, identity, host, by, reason }) => {
            let gone = member::Gone { identity, host, by, reason };
            member::gone(&at(store), gone, print).await
        }
        Command::Check { store } => check::run(&at(store), print).await,
        Command::Backup { store, to } => backup::run(&at(store), &to, print).await,
        Command::Completions { shell } => manual::completions(shell),
        Command::Man { to } => manual::man(to.as_deref(), print),
    }
}

/// Who asks: whoever was named, or the user of this process, as the environment has it.
fn by(named: Option<&str>) -> Result<Option<String>> {
    if let Some(name) = named {
        match name.trim().is_empty() {
            true => bail!("say who asks: --by has no name"),
            false => return Ok(Some(name.to_owned())),
        }
    }
    let user = ["USER", "LOGNAME"].iter().find_map(|name| std::env::var(name).ok());
    let user = user.filter(|user| !user.trim().is_empty());
    Ok(Some(user.unwrap_or_else(|| "bowline".to_owned())))
}

impl Given {
    /// The value, if there is one.
    fn value(&self) -> Result<Option<Value>> {
        let (text, place) = match (&self.input, &self.input_file) {
            (Some(text), _) => (text.clone(), "--input".to_owned()),
            (None, Some(path)) if path.as_os_str() == "-" => {
                (std::io::read_to_string(std::io::stdin())?, "standard input".to_owned())
            }
            (None, Some(path)) => {
                let read = std::fs::read_to_string(path);
                let place = path.display().to_string();
                let read = read.map_err(|error| {
                    anyhow::anyhow!("the input file {place} cannot be read: {error}")
                })?;
                (read, place)
            }
            (None, None) => return Ok(None),
        };
        match serde_json::from_str(&text) {
            Ok(value) => Ok(Some(value)),
            Err(error) => bail!(
                "what {place} has is not JSON: {error}; a text is JSON in double quotes: \
                 --input '\"a text\"'"
            ),
        }
    }
}
