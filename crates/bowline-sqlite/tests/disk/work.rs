//! A small workload that goes through everything that writes to the file: making it, commits of all
//! sizes, the log kept ahead, its copying, its use from the beginning, closing and opening again.

use std::{io::Write, path::Path};

use bowline_sqlite::{Settings, SqliteStore};
use bowline_store::{Error, Store};

use crate::world::{assert_whole, commit, head, run_id, scheduling, signal, spec, starting};

/// How many openings there are, and what happens in each.
const OPENINGS: u128 = 3;
const ROUNDS: u128 = 30;

pub(crate) fn settings() -> Settings {
    let mut settings = Settings::default();
    // Short enough to be used several times.
    settings.log = 256 * 1024;
    settings.busy = std::time::Duration::from_millis(20);
    settings
}

/// Works, and says what was acknowledged, and how whatever failed was told.
pub(crate) async fn work(path: &Path) {
    for opening in 0..OPENINGS {
        match SqliteStore::open_with(path, settings()) {
            Ok(store) => {
                some(&store, opening).await;
                store.close().await;
                say("closed");
            }
            Err(error) => say(&format!("error {}", kind(&error))),
        }
    }
}

async fn some(store: &SqliteStore, opening: u128) {
    for round in 0..ROUNDS {
        let run = run_id(opening * 1_000 + round % 3 + 1);
        if round < 3 {
            told(run.uuid, store.post(vec![starting(run)]).await.remove(0).map(|_| (1, 0)));
        }
        let large = if round % 7 == 3 { 20_000 } else { 300 };
        let posted = store.post(vec![signal(run, large)]).await.remove(0);
        told(run.uuid, posted.map(|posted| (number(&posted), 0)));
        if round % 4 == 1 {
            let read = store.read(bowline_store::Read::head(bowline_store::RunKey::Run(run))).await;
            let Ok(Some(read)) = read else { continue };
            let id = opening << 64 | round << 8 | 1;
            let decided = commit(store, scheduling(&read.head, id, 3, &spec("work"))).await;
            told(run.uuid, decided.map(|done| (0, done.version.0)));
        }
    }
}

fn number(posted: &bowline_store::Posted) -> u64 {
    match posted {
        bowline_store::Posted::Delivered(_, number) => number.0,
        other => panic!("{other:?}"),
    }
}

/// What was acknowledged of a run: the number of a message, or a version.
fn told(uuid: u128, done: Result<(u64, u64), Error>) {
    match done {
        Ok((inbox, version)) => say(&format!("ack {uuid} {inbox} {version}")),
        Err(error) => say(&format!("error {}", kind(&error))),
    }
}

/// The type of an error. A bug in the store is none.
fn kind(error: &Error) -> &'static str {
    match error {
        Error::Busy(_) => "busy",
        Error::Unknown(_) => "unknown",
        Error::ReadOnly(_) => "read_only",
        Error::Open(_) => "open",
        Error::Missing(_) => "missing",
        Error::Shut => "shut",
        Error::Backend(why) if !why.contains("a bug") => "backend",
        other => panic!("an error that nobody expects: {other:?}"),
    }
}

fn say(line: &str) {
    let mut out = std::io::stdout();
    out.write_all(format!("{line}\n").as_bytes()).and_then(|()| out.flush()).expect("a listener");
}

/// Everything that was acknowledged is in the file, and the file is whole.
pub(crate) async fn look(path: &Path, said: &[String]) -> Result<(), String> {
    let acks: Vec<(u128, u64, u64)> = said.iter().filter_map(|line| parse(line)).collect();
    let store = match SqliteStore::open_with(path, settings()) {
        Ok(store) => store,
        // Nobody was told anything: what lies there may be half made, and is left as it is.
        Err(Error::Open(_)) if acks.is_empty() => return Ok(()),
        Err(error) => return Err(format!("it does not open: {error}")),
    };
    let findings = store.check().await.map_err(|error| error.to_string())?;
    if !findings.is_empty() {
        return Err(format!("it is not whole: {findings:?}"));
    }
    for (uuid, inbox, version) in acks {
        let key = bowline_store::RunKey::Run(run_id(uuid));
        let read = store.read(bowline_store::Read::head(key)).await;
        let read = read.map_err(|error| error.to_string())?;
        let Some(read) = read else { return Err(format!("run {uuid} is lost")) };
        let head = read.head;
        if head.inbox.0 < inbox || head.version.0 < version {
            return Err(format!("of run {uuid} message {inbox} or version {version} is lost"));
        }
    }
    // It can be written to.
    let posted = store.post(vec![starting(run_id(9_999))]).await.remove(0);
    posted.map_err(|error| format!("it does not go on: {error}"))?;
    head(&store, run_id(9_999)).await;
    assert_whole(&store).await;
    Ok(())
}

fn parse(line: &str) -> Option<(u128, u64, u64)> {
    let mut words = line.strip_prefix("ack ")?.split(' ').map(str::parse::<u64>);
    let mut next = || words.next()?.ok();
    Some((u128::from(next()?), next()?, next()?))
}
