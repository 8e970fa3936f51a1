//! Restate: its server as a child process, its handlers in the peer's own process.
//!
//! In:    `restate-peer server <folder> <program of the server>`.
//! Out:   the harness's line protocol.

mod http;
mod server;
mod system;
mod work;

use anyhow::bail;
use harness::Hello;
use restate_sdk::prelude::{Endpoint, HttpServer};

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [_, folder, program] = words.as_slice() else {
        bail!("usage: restate-peer server <folder> <program>");
    };
    match open(folder, program).await {
        Ok((system, hello)) => harness::serve(system, hello).await,
        Err(error) => harness::start_line(&error),
    }
}

/// Listens where the process before it listened: invocations stay with the address of the handlers
/// that began them.
async fn listen(folder: &str) -> anyhow::Result<tokio::net::TcpListener> {
    let note = std::path::Path::new(folder).join("handlers.port");
    let port = std::fs::read_to_string(&note).ok().and_then(|text| text.parse().ok());
    let listener = tokio::net::TcpListener::bind(("127.0.0.1", port.unwrap_or(0))).await?;
    std::fs::write(note, listener.local_addr()?.port().to_string())?;
    Ok(listener)
}

async fn open(folder: &str, program: &str) -> anyhow::Result<(system::Restate, Hello)> {
    let listener = listen(folder).await?;
    let address = listener.local_addr()?;
    let endpoint = Endpoint::builder().bind(work::Bench).bind(work::Crowd).build();
    tokio::spawn(HttpServer::new(endpoint).serve(listener));
    let server = server::Server::start(folder, program).await?;
    server.register(address).await?;
    let settings = [
        ("telemetry", "off"),
        ("activity of hello and chain", "ctx.run in the handler"),
        ("activity of fanout", "a call of another handler: ctx.run must be awaited at once"),
        ("what is held", "a handler that waits on a durable timer: code in ctx.run is not told"),
        ("everything else", "default"),
    ];
    let hello = Hello {
        version: server.version.clone(),
        durability: "replicated log on one node, RocksDB WAL with fsync (default)".to_owned(),
        settings: settings.map(|(name, value)| (name.to_owned(), value.to_owned())).into(),
    };
    Ok((system::Restate::new(server), hello))
}
