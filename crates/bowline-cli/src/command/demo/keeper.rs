//! The demo's handle on its worker process: starts it, asks it, kills it.

use std::{
    io::{BufRead, BufReader, Write},
    os::unix::process::CommandExt,
    path::Path,
    process::{Child, ChildStdin, Command, ExitStatus, Stdio},
    time::Duration,
};

use anyhow::{Context, Result, bail};
use tokio::{sync::mpsc, time::timeout};

use super::line::{Ask, Said};

/// How many lines of the worker may wait to be read.
const LINES_MAX: usize = 64;
/// How long an answer may take, on a machine that is busy with other things.
const ANSWER: Duration = Duration::from_secs(60);
/// What every process of the demo has in its environment, so that none can hide.
pub(super) const MARK: &str = "BOWLINE_DEMO";

/// A process that an activity has started.
#[derive(Clone, Debug)]
pub(super) struct Started {
    pub(super) id: String,
    pub(super) attempt: u32,
    pub(super) pid: u32,
    pub(super) group: i32,
}

/// A worker process, until it is dropped: it is killed then.
pub(super) struct Keeper {
    child: Child,
    stdin: ChildStdin,
    said: mpsc::Receiver<Said>,
    /// The processes that it has told of and nobody has taken.
    pub(super) processes: Vec<Started>,
}

impl Keeper {
    /// Starts a worker on a file, and waits until it has it open.
    pub(super) async fn start(file: &Path) -> Result<Self> {
        let program = std::env::current_exe().context("this program has no path")?;
        let mut child = Command::new(program)
            .args(["demo", "--worker"])
            .arg(file)
            .env(MARK, file)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            // Ctrl-c is for the demo, which then ends its worker itself.
            .process_group(0)
            .spawn()
            .context("the worker cannot be started")?;
        let stdin = child.stdin.take().expect("it was asked for");
        let stdout = child.stdout.take().expect("it was asked for");
        let (sender, said) = mpsc::channel(LINES_MAX);
        let mut keeper = Self { child, stdin, said, processes: Vec::new() };
        let listen = move || {
            for line in BufReader::new(stdout).lines() {
                let said = line.ok().and_then(|line| serde_json::from_str(&line).ok());
                let Some(said) = said else { return };
                if sender.blocking_send(said).is_err() {
                    return;
                }
            }
        };
        std::thread::Builder::new().name("demo-lines".to_owned()).spawn(listen)?;
        match keeper.next().await? {
            Said::Ready => Ok(keeper),
            other => bail!("the worker began with {other:?}"),
        }
    }

    pub(super) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Asks, and waits for the answer.
    pub(super) async fn ask(&mut self, ask: &Ask) -> Result<Said> {
        self.send(ask)?;
        match self.next().await? {
            Said::Failed(why) => bail!("the worker could not: {why}"),
            said => Ok(said),
        }
    }

    fn send(&mut self, ask: &Ask) -> Result<()> {
        let line = serde_json::to_string(ask)?;
        let sent = writeln!(self.stdin, "{line}").and_then(|()| self.stdin.flush());
        // Told in words: a pipe that breaks here is not the reader of our output who has left.
        sent.map_err(|error| anyhow::anyhow!("the worker does not listen: {error}"))
    }

    /// The next answer.
    async fn next(&mut self) -> Result<Said> {
        loop {
            let said = timeout(ANSWER, self.said.recv()).await;
            match said.context("the worker does not answer")?.context("the worker is gone")? {
                Said::Process { id, attempt, pid, group } => {
                    self.processes.push(Started { id, attempt, pid, group });
                }
                said => return Ok(said),
            }
        }
    }

    /// Sends it a SIGKILL, and tells how it ended and which processes it had still told of.
    pub(super) async fn kill(mut self) -> Result<(ExitStatus, Vec<Started>)> {
        self.child.kill().context("the worker cannot be killed")?;
        self.end().await
    }

    /// Lets it go in peace.
    pub(super) async fn quit(mut self) -> Result<(ExitStatus, Vec<Started>)> {
        self.send(&Ask::Quit)?;
        self.end().await
    }

    async fn end(&mut self) -> Result<(ExitStatus, Vec<Started>)> {
        // Its last lines stand in the pipe; nothing follows them but the end.
        while let Ok(Some(said)) = timeout(ANSWER, self.said.recv()).await {
            if let Said::Process { id, attempt, pid, group } = said {
                self.processes.push(Started { id, attempt, pid, group });
            }
        }
        let status = self.child.wait().context("the worker's end is not told")?;
        Ok((status, std::mem::take(&mut self.processes)))
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        // It may have ended before; both are then answered at once.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
