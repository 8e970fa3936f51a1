//! A peer's process: started, asked, ended.

use std::{
    io::{BufRead, BufReader, Write},
    path::Path,
    process::{Child, ChildStdin, Command as Process, Stdio},
    sync::mpsc::{Receiver, RecvTimeoutError, sync_channel},
    time::{Duration, Instant},
};

use crate::{Command, Hello, Metrics, Reply, Trouble, process};
use anyhow::{Context, Result, anyhow};

use super::catalog::Built;

/// How long a peer and its server may take to be ready.
const READY: Duration = Duration::from_secs(120);
/// How long a peer may take to leave in good order.
const LEAVE: Duration = Duration::from_secs(20);

/// A peer that runs.
pub(super) struct Peer {
    child: Child,
    input: Option<ChildStdin>,
    replies: Receiver<Reply>,
    limit: Duration,
    pub(super) hello: Hello,
}

impl Peer {
    /// Starts the peer on this folder and waits until it is ready.
    pub(super) fn start(
        mode: &str,
        built: &Built,
        folder: &Path,
        postgres: Option<&str>,
        limit: Duration,
    ) -> Result<Self, Trouble> {
        let mut process = Process::new(&built.program);
        process.arg(mode).arg(folder).args(postgres);
        process.args(built.server.iter());
        // Logs cost time, and some libraries begin to log by themselves.
        process.env("RUST_LOG", "off");
        process.stdin(Stdio::piped()).stdout(Stdio::piped());
        process.stderr(std::fs::File::create(folder.join(format!("{mode}.log")))?);
        let mut child = process.spawn().context("the peer did not start")?;
        let input = child.stdin.take();
        let output = child.stdout.take().context("the peer has an output")?;
        let (sender, replies) = sync_channel(1);
        std::thread::spawn(move || {
            for line in BufReader::new(output).lines() {
                let Ok(line) = line else { break };
                // A library may chat on the same output: only replies are heard.
                let Ok(reply) = serde_json::from_str::<Reply>(&line) else { continue };
                if sender.send(reply).is_err() {
                    break;
                }
            }
        });
        let mut peer = Self { child, input, replies, limit, hello: Hello::default() };
        match peer.answer(READY)? {
            Reply::Ready(hello) => peer.hello = hello,
            other => return Err(trouble(other)),
        }
        Ok(peer)
    }

    /// Has it do one thing.
    pub(super) fn ask(&mut self, command: &Command) -> Result<Metrics, Trouble> {
        let line = serde_json::to_string(command)?;
        let input = self.input.as_mut().context("the peer was not told to leave")?;
        writeln!(input, "{line}")?;
        match self.answer(self.limit)? {
            Reply::Result(metrics) => Ok(metrics),
            other => Err(trouble(other)),
        }
    }

    fn answer(&self, limit: Duration) -> Result<Reply> {
        match self.replies.recv_timeout(limit) {
            Ok(reply) => Ok(reply),
            Err(RecvTimeoutError::Timeout) => Err(anyhow!("no answer within {limit:?}")),
            Err(RecvTimeoutError::Disconnected) => Err(anyhow!("the peer died")),
        }
    }

    /// Its processes, itself first.
    pub(super) fn processes(&self) -> Vec<u32> {
        process::tree(self.child.id())
    }

    /// Kills it and everything that it started.
    pub(super) fn kill(mut self) {
        self.end();
    }

    /// Lets it leave in good order, or not at all.
    pub(super) fn leave(mut self) {
        drop(self.input.take());
        let begun = Instant::now();
        while begun.elapsed() < LEAVE && matches!(self.child.try_wait(), Ok(None)) {
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    fn end(&mut self) {
        process::kill(&self.processes());
        let _ = self.child.wait();
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        self.end();
    }
}

fn trouble(reply: Reply) -> Trouble {
    match reply {
        Reply::Cannot(reason) => Trouble::Cannot(reason),
        Reply::Failed(error) => Trouble::Failed(anyhow!(error)),
        Reply::Ready(_) | Reply::Result(_) => Trouble::Failed(anyhow!("an answer out of turn")),
    }
}
