//! The server's process, on loopback, telemetry off, everything else at its defaults.

use std::{
    net::{Ipv4Addr, SocketAddr, TcpListener},
    path::Path,
    process::Stdio,
    time::Duration,
};

use anyhow::{Result, bail};
use http::Method;
use tokio::process::{Child, Command};

use crate::http::Http;

/// How long the server may take until it answers, in steps of a tenth of a second.
const TRIES: u32 = 600;

/// A server that runs; it ends with the peer.
pub(crate) struct Server {
    _child: Child,
    admin: Http,
    pub(crate) ingress: Http,
    pub(crate) version: String,
}

impl Server {
    pub(crate) async fn start(folder: &str, program: &str) -> Result<Self> {
        let [node, ingress, admin] = [port()?, port()?, port()?];
        let here = |port: u16| format!("127.0.0.1:{port}");
        let log = std::fs::File::create(Path::new(folder).join("server.log"))?;
        let child = Command::new(program)
            .args(["--no-logo", "--listen-mode", "tcp", "--node-name", "bench", "--base-dir"])
            .arg(Path::new(folder).join("restate"))
            .env("RESTATE_DISABLE_TELEMETRY", "true")
            .env("DO_NOT_TRACK", "1")
            // Its web pages are fetched from elsewhere: nothing leaves this machine.
            .env("RESTATE_ADMIN__DISABLE_WEB_UI", "true")
            .env("RESTATE_LOG_FILTER", "warn")
            .env("RESTATE_BIND_ADDRESS", here(node))
            .env("RESTATE_ADVERTISED_ADDRESS", format!("http://{}", here(node)))
            .env("RESTATE_INGRESS__BIND_ADDRESS", here(ingress))
            .env("RESTATE_ADMIN__BIND_ADDRESS", here(admin))
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log)
            .kill_on_drop(true)
            .spawn()?;
        let (ingress, admin) = (Http::new(ingress), Http::new(admin));
        for _ in 0..TRIES {
            let version = admin.send(Method::GET, "/version", None, Vec::new()).await;
            let health = ingress.send(Method::GET, "/restate/health", None, Vec::new()).await;
            if let (Ok(version), Ok(_)) = (version, health) {
                let version = format!("restate-server {}", Http::field(&version, "version")?);
                return Ok(Self { _child: child, admin, ingress, version });
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        bail!("the server did not answer")
    }

    /// Tells the server where the handlers are.
    pub(crate) async fn register(&self, address: SocketAddr) -> Result<()> {
        let body = serde_json::json!({ "uri": format!("http://{address}"), "force": true });
        let body = serde_json::to_vec(&body)?;
        self.admin.send(Method::POST, "/deployments", None, body).await?;
        Ok(())
    }

    /// Asks an invocation to cancel.
    pub(crate) async fn cancel(&self, invocation: &str) -> Result<()> {
        let path = format!("/invocations/{invocation}/cancel");
        self.admin.send(Method::PATCH, &path, None, Vec::new()).await?;
        Ok(())
    }
}

fn port() -> Result<u16> {
    Ok(TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?.port())
}
