//! Duroxide, embedded in the peer's own process, on SQLite.
//!
//! In:    `duroxide-peer sqlite <folder>`.
//! Out:   the harness's line protocol.

mod system;
mod work;

use anyhow::bail;
use harness::Hello;

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [_, folder] = words.as_slice() else { bail!("usage: duroxide-peer sqlite <folder>") };
    let settings = [
        ("concurrency", "2 turns and 2 activities at once (default)"),
        ("logs", "off"),
        ("wait for a run", "polls its status, every 5 to 100 ms (default)"),
        ("everything else", "default"),
    ];
    let hello = Hello {
        version: "duroxide 0.1.32 (crates.io)".to_owned(),
        durability: "SQLite, WAL; its `synchronous = WAL` is read as NORMAL: the last commits can \
                     be lost at power loss"
            .to_owned(),
        settings: settings.map(|(name, value)| (name.to_owned(), value.to_owned())).into(),
    };
    match system::Duroxide::open(folder).await {
        Ok(system) => harness::serve(system, hello).await,
        Err(error) => harness::start_line(&error),
    }
}
