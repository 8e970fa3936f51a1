//! Child processes of an activity: each in a group of its own, on a leash.
//!
//! In:    a command, through the activity's context.
//! Out:   a [`ChildProcess`]; and, however the activity or this whole program ends, no process.
//! Never: a process that starts before its leash is on.
//!
//! Processes that leave their group on purpose (daemons) leave the leash too.

mod group;
mod leash;
mod mark;
mod output;
mod table;

use std::{
    io,
    os::unix::process::CommandExt,
    process::{ChildStderr, ChildStdin, ChildStdout, Command, ExitStatus, Output},
    sync::Arc,
};

use tokio::sync::watch;

use super::shared::AttemptShared;

pub(super) use group::Group;
pub(crate) use {
    mark::host_view,
    table::{HostRow, host_row},
};

pub use mark::{Orphan, ProcessMark, kill_orphan};
pub use output::OUTPUT_MAX;

/// How a process ended; unset while it runs.
type Exit = Option<Result<ExitStatus, io::ErrorKind>>;

/// Starts a process for an attempt.
pub(super) fn start(mut command: Command, shared: &Arc<AttemptShared>) -> io::Result<ChildProcess> {
    if shared.tracked.is_closed() {
        return Err(too_late());
    }
    let real = shared.begins_real();
    let leash = leash::Leash::put_on()?;
    let started = command.process_group(leash.group().as_raw_nonzero().get()).spawn();
    let mut child = match started {
        Ok(child) => child,
        Err(error) => {
            leash.pull();
            return Err(error);
        }
    };
    let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let group = Arc::new(Group::new(leash.group(), child.id()));
    let (sender, exit) = watch::channel(None);
    let is_welcome = shared.tracked.begin_group(&group);
    let listed = Listed { group: Arc::clone(&group), shared: Arc::clone(shared), _real: real };
    group.watch(child, leash, sender, listed)?;
    if !is_welcome {
        // The code ended while the process was being started.
        group.kill();
        return Err(too_late());
    }
    shared.wake();
    Ok(ChildProcess { stdin, stdout, stderr, group, exit })
}

/// A group that its attempt knows of; dropped when the group is over.
struct Listed {
    group: Arc<Group>,
    shared: Arc<AttemptShared>,
    _real: Option<Box<dyn Send>>,
}

impl Drop for Listed {
    fn drop(&mut self) {
        self.shared.tracked.end_group(&self.group);
        self.shared.wake();
    }
}

fn too_late() -> io::Error {
    io::Error::other("the activity has ended: it can start no process")
}

/// A process that an activity started. If you drop this, the process runs on until the activity
/// ends.
#[derive(Debug)]
pub struct ChildProcess {
    /// Its standard input, if the command asked for a pipe.
    pub stdin: Option<ChildStdin>,
    /// Its standard output, if the command asked for a pipe.
    pub stdout: Option<ChildStdout>,
    /// Its standard error, if the command asked for a pipe.
    pub stderr: Option<ChildStderr>,
    group: Arc<Group>,
    exit: watch::Receiver<Exit>,
}

impl ChildProcess {
    /// The process id.
    pub fn id(&self) -> u32 {
        self.group.child()
    }

    /// How to recognise the process, and everything that it started, later.
    pub fn mark(&self) -> &ProcessMark {
        self.group.mark()
    }

    /// Kills the process and everything that it started.
    pub fn kill(&self) {
        self.group.kill();
    }

    /// Waits until the process has ended. Closes its standard input first, so that it does not wait
    /// for more. What it started may run on, until the activity ends.
    ///
    /// # Errors
    /// If the operating system does not tell how it ended.
    pub async fn wait(&mut self) -> io::Result<ExitStatus> {
        drop(self.stdin.take());
        let gone = |_| io::Error::other("nobody waits for the process any more");
        let exit = *self.exit.wait_for(Option::is_some).await.map_err(gone)?;
        exit.expect("it was waited for").map_err(io::Error::from)
    }

    /// Waits until the process has ended, and reads what it writes into its pipes meanwhile.
    ///
    /// # Errors
    /// If it writes more than [`OUTPUT_MAX`] bytes: it is killed then; or if it cannot be read.
    pub async fn output(mut self) -> io::Result<Output> {
        let stdout = output::read(self.stdout.take(), &self.group)?;
        let stderr = output::read(self.stderr.take(), &self.group)?;
        let status = self.wait().await?;
        Ok(Output { status, stdout: stdout.bytes().await?, stderr: stderr.bytes().await? })
    }
}
