//! The server's process, on loopback, with its state in a file.

use std::{
    net::{Ipv4Addr, TcpListener},
    path::Path,
    process::Stdio,
    time::Duration,
};

use anyhow::{Result, bail};
use tokio::process::{Child, Command};

/// How long the server may take until it listens, in steps of a tenth of a second.
const TRIES: u32 = 600;

/// Whose server it is.
#[derive(Clone, Copy)]
pub(crate) enum Kind {
    Temporal,
    Bowline,
}

/// A server that runs; it ends with the peer.
pub(crate) struct Server {
    _child: Child,
    pub(crate) port: u16,
    pub(crate) version: String,
}

impl Server {
    pub(crate) async fn start(kind: Kind, folder: &str, program: &str) -> Result<Self> {
        let port = port()?;
        let version = Command::new(program).arg("--version").output().await?;
        let version = String::from_utf8_lossy(&version.stdout).trim().to_owned();
        let file = Path::new(folder).join("server.db");
        let log = std::fs::File::create(Path::new(folder).join("server.log"))?;
        let mut command = Command::new(program);
        match kind {
            Kind::Temporal => {
                command.args(["server", "start-dev", "--headless", "--ip", "127.0.0.1"]);
                command.args(["--log-level", "error", "--disable-config-file", "--port"]);
                command.arg(port.to_string()).arg("--db-filename").arg(file);
            }
            Kind::Bowline => {
                command.arg("serve").arg("--listen").arg(format!("127.0.0.1:{port}"));
                command.arg("--store").arg(file);
            }
        }
        command.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log).kill_on_drop(true);
        let mut child = command.spawn()?;
        for _ in 0..TRIES {
            if let Some(status) = child.try_wait()? {
                bail!("the server ended ({status})");
            }
            if tokio::net::TcpStream::connect((Ipv4Addr::LOCALHOST, port)).await.is_ok() {
                return Ok(Self { _child: child, port, version });
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        bail!("the server did not listen")
    }
}

fn port() -> Result<u16> {
    Ok(TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?.port())
}
