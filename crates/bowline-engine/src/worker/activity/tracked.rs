//! What an attempt started through its context, and what of it still runs.

use std::sync::Arc;

use parking_lot::Mutex;

use super::{ProcessMark, process::Group, report::Leak};

/// What is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A future.
    Spawned,
    /// Work that blocks a thread.
    Blocking,
}

/// What an attempt started and what still runs.
#[derive(Debug, Default)]
pub(super) struct Tracked {
    state: Mutex<TrackedState>,
}

#[derive(Debug, Default)]
struct TrackedState {
    /// Its code has ended: nothing may be started any more.
    is_closed: bool,
    spawned: usize,
    blocking: usize,
    groups: Vec<Arc<Group>>,
    /// The groups are not those that were last asked for.
    has_changed: bool,
}

impl TrackedState {
    fn count(&mut self, kind: Kind) -> &mut usize {
        match kind {
            Kind::Spawned => &mut self.spawned,
            Kind::Blocking => &mut self.blocking,
        }
    }

    fn marks(&self) -> Vec<ProcessMark> {
        self.groups.iter().map(|group| group.mark().clone()).collect()
    }
}

impl Tracked {
    /// Something begins; false if nothing may any more.
    pub(super) fn add(&self, kind: Kind) -> bool {
        let mut state = self.state.lock();
        if !state.is_closed {
            *state.count(kind) += 1;
        }
        !state.is_closed
    }

    /// Something that began has ended.
    pub(super) fn end(&self, kind: Kind) {
        let mut state = self.state.lock();
        let count = state.count(kind);
        *count = count.checked_sub(1).expect("what ends has begun");
    }

    /// Whether the code has ended, so that nothing may be started.
    pub(super) fn is_closed(&self) -> bool {
        self.state.lock().is_closed
    }

    /// A process group has begun; false if nothing may any more.
    pub(super) fn begin_group(&self, group: &Arc<Group>) -> bool {
        let mut state = self.state.lock();
        if !state.is_closed {
            state.groups.push(Arc::clone(group));
            state.has_changed = true;
        }
        !state.is_closed
    }

    /// A process group is over.
    pub(super) fn end_group(&self, group: &Arc<Group>) {
        let mut state = self.state.lock();
        let before = state.groups.len();
        state.groups.retain(|other| !Arc::ptr_eq(other, group));
        state.has_changed |= state.groups.len() != before;
    }

    /// Nothing may be started any more, and processes are killed. True if one had to be.
    pub(super) fn close(&self) -> bool {
        self.state.lock().is_closed = true;
        self.kill()
    }

    /// Kills all process groups. True if there was one.
    pub(super) fn kill(&self) -> bool {
        let groups = self.state.lock().groups.clone();
        groups.iter().filter(|group| group.kill()).count() > 0
    }

    /// Whether nothing runs any more.
    pub(super) fn is_empty(&self) -> bool {
        let state = self.state.lock();
        state.spawned == 0 && state.blocking == 0 && state.groups.is_empty()
    }

    /// Whether there are child processes.
    pub(super) fn has_processes(&self) -> bool {
        !self.state.lock().groups.is_empty()
    }

    /// The processes, if they are not those that were told last.
    pub(super) fn changed_processes(&self) -> Option<Vec<ProcessMark>> {
        let mut state = self.state.lock();
        std::mem::take(&mut state.has_changed).then(|| state.marks())
    }

    /// What still runs.
    pub(super) fn leak(&self, future: bool) -> Leak {
        let state = self.state.lock();
        let (spawned, blocking) = (state.spawned, state.blocking);
        Leak { future, spawned, blocking, processes: state.marks() }
    }
}
