//! Bowline, embedded in the peer's own process, on SQLite or on Postgres.
//!
//! A library beside its program, so that the tests can play the peer without building it twice.

mod system;
mod work;

use std::path::Path;

use anyhow::{Context, bail};
use harness::Hello;
use system::Embedded;

/// The peer's whole life: `sqlite <folder>`, `postgres <folder> <url>`, or `client` with the same,
/// then the harness's line protocol. A client asks, and runs nothing.
///
/// # Errors
/// If the words make no sense, or the harness is gone.
pub async fn peer(words: &[String]) -> anyhow::Result<()> {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let (place, durability) = match *words.as_slice() {
        ["sqlite", folder] => {
            let file = Path::new(folder).join("bench.db");
            let file = file.to_str().context("the folder's name is text")?.to_owned();
            (file, "SQLite, WAL, synchronous=FULL: an acknowledged commit survives power loss")
        }
        ["postgres", _, url] => {
            (url.to_owned(), "Postgres, synchronous_commit=on, fsync=on: survives power loss")
        }
        ["client", _, url] => (url.to_owned(), "as the process that works"),
        _ => bail!("usage: bowline-peer sqlite <folder> | postgres|client <folder> <url>"),
    };
    let hello = Hello {
        version: format!("bowline {}", env!("CARGO_PKG_VERSION")),
        durability: durability.to_owned(),
        settings: [
            ("slots", "default (256) for activities that end by themselves"),
            ("slots of `hold`", "6000, so that a whole tree can run"),
            ("slots of `crowd`", "1"),
            ("everything else", "default"),
        ]
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .into(),
    };
    match Embedded::open(&place, words[0] == "client").await {
        Ok(system) => harness::serve(system, hello).await,
        Err(error) => harness::start_line(&error),
    }
}
