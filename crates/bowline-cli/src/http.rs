//! The port for those who look after the server: the console, the API that it uses, whether the
//! server is alive and ready, and what it has counted.

mod door;
pub(crate) mod wire;

use std::{net::SocketAddr, sync::Arc};

use anyhow::{Context, Result};
use axum::{Router, extract::State, http::header, response::IntoResponse, routing::get};
use bowline_engine::Engine;
use bowline_http::{Gate, HttpOptions, RunRules};
use bowline_temporal::{Door, Protection};
use tokio::{net::TcpListener, sync::oneshot, task::JoinHandle};

use crate::metrics;

/// A server, as this port sees it.
#[derive(Clone)]
pub(crate) struct Watched {
    pub(crate) engine: Engine,
    pub(crate) door: Door,
}

/// The port, while it is served.
pub(crate) struct Port {
    /// Where, with the real number.
    pub(crate) address: SocketAddr,
    /// Connections are encrypted.
    pub(crate) is_encrypted: bool,
    stop: oneshot::Sender<()>,
    serving: JoinHandle<()>,
}

impl Port {
    /// Lets what is being answered finish, for a moment.
    pub(crate) async fn close(self) {
        let _ = self.stop.send(());
        let _ = self.serving.await;
    }
}

/// Listens, until it is told to stop.
pub(crate) async fn serve(
    watched: Watched,
    address: SocketAddr,
    protection: &Protection,
) -> Result<Port> {
    let cannot = || format!("cannot listen on {address}, for the console");
    let listener = TcpListener::bind(address).await.with_context(cannot)?;
    let address = listener.local_addr().with_context(cannot)?;
    let router = router(watched, &address, protection);
    let gate = Gate { listener, tls: protection.tls.clone() };
    let (stop, stopped) = oneshot::channel();
    let serving = tokio::spawn(bowline_http::serve(gate, router, async {
        // Who has forgotten the port does not want it any more.
        let _ = stopped.await;
    }));
    Ok(Port { address, is_encrypted: protection.tls.is_some(), stop, serving })
}

fn router(watched: Watched, address: &SocketAddr, protection: &Protection) -> Router {
    let door = watched.door.clone();
    let options = HttpOptions {
        rules: RunRules::Remote,
        wire: Some(Arc::new(wire::Sdk)),
        access: protection.access.clone(),
        is_open: Some(Arc::new(move || door.is_open())),
    };
    let api = bowline_http::router(watched.engine.clone(), options);
    let measures = Router::new().route("/metrics", get(measured)).with_state(watched);
    let measures = door::asking(measures, protection);
    let all = api.merge(bowline_http::console()).merge(measures);
    // Where nobody needs to say who they are, and only this machine is let in, a page that was
    // given this machine's address is told from others by the name that it asks for.
    let is_own = protection.access.is_none() && bowline_access::is_loopback(address);
    bowline_http::sheltered(all, is_own)
}

async fn measured(State(watched): State<Watched>) -> impl IntoResponse {
    let text =
        metrics::text(&watched.engine.metrics(), &watched.door.metrics(), &watched.door.calls());
    ([(header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")], text)
}
