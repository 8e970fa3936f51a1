//! DBOS Transact, embedded in the peer's own process, on Postgres.
//!
//! In:    `dbos-peer postgres <folder> <url>`.
//! Out:   the harness's line protocol.

mod system;
mod work;

use anyhow::bail;
use harness::Hello;

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [_, _, url] = words.as_slice() else { bail!("usage: dbos-peer postgres <folder> <url>") };
    let settings = [
        ("connections", "10 (default)"),
        ("what is held", "a preemptible step, told by its future being dropped"),
        ("what is queued", "child workflows: a queue holds workflows, not steps"),
        ("wait for a run of another process", "polls every second (default)"),
        ("everything else", "default"),
    ];
    let hello = Hello {
        version: "dbos 0.5 (crates.io)".to_owned(),
        durability: "Postgres, synchronous_commit=on, fsync=on: survives power loss".to_owned(),
        settings: settings.map(|(name, value)| (name.to_owned(), value.to_owned())).into(),
    };
    match system::Dbos::open(url).await {
        Ok(system) => harness::serve(system, hello).await,
        Err(error) => harness::start_line(&error),
    }
}
