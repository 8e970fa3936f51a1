//! A process group: the child, what it started, and the leash that leads it.

use std::{io, process::Child, sync::Arc, thread, time::Duration};

use parking_lot::{Condvar, Mutex};
use rustix::process::{Pid, Signal, kill_process_group};
use tokio::sync::watch;

use super::{Exit, Listed, ProcessMark, leash::Leash, table};

/// How often it is looked whether what a child left behind has ended. Nobody tells us: it is not
/// our child. The pause doubles from the first to the second.
const LOOK_AGAIN: (Duration, Duration) = (Duration::from_millis(1), Duration::from_millis(500));

/// A process group of an activity.
#[derive(Debug)]
pub(in crate::worker::activity) struct Group {
    leader: Pid,
    child: u32,
    mark: ProcessMark,
    state: Mutex<GroupState>,
    killed: Condvar,
}

#[derive(Debug, Default)]
struct GroupState {
    is_killed: bool,
    /// The leash has been waited for: the number may belong to others.
    is_over: bool,
}

impl Group {
    /// The group that `leader` leads and `child` has joined; neither has been waited for.
    pub(super) fn new(leader: Pid, child: u32) -> Self {
        let mark = ProcessMark::of(leader.as_raw_nonzero().get(), child);
        let state = Mutex::new(GroupState::default());
        Self { leader, child, mark, state, killed: Condvar::new() }
    }

    pub(super) fn child(&self) -> u32 {
        self.child
    }

    pub(in crate::worker::activity) fn mark(&self) -> &ProcessMark {
        &self.mark
    }

    /// Kills everything in the group. False if it was over.
    pub(in crate::worker::activity) fn kill(&self) -> bool {
        let mut state = self.state.lock();
        if state.is_over {
            return false;
        }
        state.is_killed = true;
        self.send_kill();
        self.killed.notify_all();
        true
    }

    fn send_kill(&self) {
        if let Err(error) = kill_process_group(self.leader, Signal::KILL) {
            tracing::warn!(%error, group = ?self.mark, "a process group could not be killed");
        }
    }

    /// Waits, on a thread of its own, until the child has ended and then until the group has.
    /// `listed` is dropped when everything is over.
    pub(super) fn watch(
        self: &Arc<Self>,
        mut child: Child,
        leash: Leash,
        exit: watch::Sender<Exit>,
        listed: Listed,
    ) -> io::Result<()> {
        let group = Arc::clone(self);
        let watch = move || {
            let end = child.wait().map_err(|error| error.kind());
            // The child's end is told last if it is the end of all, so that whoever waits for it
            // and then looks finds nothing left.
            if group.has_others() {
                exit.send_replace(Some(end));
                group.wait_for_others();
            }
            group.end(leash);
            drop(listed);
            exit.send_replace(Some(end));
        };
        let name = format!("bowline-process-{}", self.child);
        // Without a thread the closure is dropped, and the leash's pipe with it.
        thread::Builder::new().name(name).spawn(watch).inspect_err(|_| _ = self.kill())?;
        Ok(())
    }

    fn has_others(&self) -> bool {
        let leader = self.leader.as_raw_nonzero().get();
        // Without a process table nobody knows. What a child leaves behind ends with it there.
        table::members(leader).is_some_and(|members| members.iter().any(|pid| *pid != leader))
    }

    fn wait_for_others(&self) {
        let (mut pause, longest) = LOOK_AGAIN;
        while self.has_others() {
            let mut state = self.state.lock();
            if state.is_killed {
                self.send_kill();
                drop(state);
                thread::sleep(LOOK_AGAIN.0);
            } else {
                self.killed.wait_for(&mut state, pause);
                pause = longest.min(pause * 2);
            }
        }
    }

    fn end(&self, leash: Leash) {
        let mut state = self.state.lock();
        state.is_over = true;
        leash.pull();
    }
}
