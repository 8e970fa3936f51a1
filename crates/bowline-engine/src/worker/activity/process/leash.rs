//! The leash: a small process that kills its whole group when this program is gone.
//!
//! It leads the group that the child then joins, and reads from a pipe that only this program
//! holds open. However this program ends, the system closes the pipe; the leash reads the end of
//! it and kills the group, itself included. Because it is there before the child, there is no
//! moment in which a child could be orphaned; because it leads the group, the group's number
//! cannot be given to others before the leash has been waited for.

use std::{
    io::{self, Read},
    os::unix::process::CommandExt,
    process::{Child, Command, Stdio},
};

use rustix::process::{Pid, Signal, kill_process_group};

/// It shrugs off what the child sends to its own group, and says one line when it is ready.
const SCRIPT: &str = "trap '' HUP INT QUIT PIPE ALRM TERM USR1 USR2 TSTP TTIN TTOU; \
                      echo; read -r line; kill -s KILL 0";

/// A leash that is on. The child holds the other end of the pipe.
#[derive(Debug)]
pub(super) struct Leash(Child);

impl Leash {
    /// Starts the leash, in a group of its own, and waits until it holds.
    pub(super) fn put_on() -> io::Result<Self> {
        let mut watcher = Command::new("/bin/sh")
            .args(["-c", SCRIPT])
            .env_clear()
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn()?;
        let mut ready = [0];
        let mut stdout = watcher.stdout.take().expect("it was asked for");
        let leash = Self(watcher);
        if let Err(error) = stdout.read_exact(&mut ready) {
            leash.pull();
            return Err(error);
        }
        Ok(leash)
    }

    /// The group that it leads.
    pub(super) fn group(&self) -> Pid {
        Pid::from_child(&self.0)
    }

    /// Kills whatever is left in the group, and the leash with it.
    pub(super) fn pull(mut self) {
        // It may be gone already; its number is not given away before the wait.
        let _ = kill_process_group(self.group(), Signal::KILL);
        if let Err(error) = self.0.wait() {
            tracing::warn!(%error, "the end of a leash was not told");
        }
    }
}
