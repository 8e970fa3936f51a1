//! One program on Temporal's Rust SDK; the server below it is Temporal's or Bowline's.
//!
//! In:    `temporal-peer temporal|bowline <folder> <program of the server>`.
//! Out:   the harness's line protocol.

mod server;
mod system;
mod work;

use anyhow::bail;
use harness::Hello;
use server::{Kind, Server};

fn main() -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(peer())
}

async fn peer() -> anyhow::Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let (kind, folder, program) = match *words.as_slice() {
        ["temporal", folder, program] => (Kind::Temporal, folder, program),
        ["bowline", folder, program] => (Kind::Bowline, folder, program),
        _ => bail!("usage: temporal-peer temporal|bowline <folder> <program>"),
    };
    let opened = async {
        let server = Server::start(kind, folder, program).await?;
        let hello = hello(kind, &server);
        anyhow::Ok((system::Sdk::open(server).await?, hello))
    };
    match opened.await {
        Ok((system, hello)) => harness::serve(system, hello).await,
        Err(error) => harness::start_line(&error),
    }
}

fn hello(kind: Kind, server: &Server) -> Hello {
    let settings = [
        ("SDK", "temporalio-sdk 1.1, the same program for both servers"),
        ("what is held", "heartbeats every 200 ms, with a heartbeat timeout of 1 s"),
        ("slots", "default (100); 6000 for what is held; 1 for the crowd"),
        ("everything else", "default"),
    ];
    let durability = match kind {
        Kind::Temporal => "SQLite file of the dev server, as it sets it up",
        Kind::Bowline => {
            "SQLite, WAL, synchronous=FULL: an acknowledged commit survives power loss"
        }
    };
    Hello {
        version: server.version.clone(),
        durability: durability.to_owned(),
        settings: settings.map(|(name, value)| (name.to_owned(), value.to_owned())).into(),
    }
}
