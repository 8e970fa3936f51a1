//! What a process sees of the others on its host.

use std::{fmt, sync::Weak};

use bowline_store::Process;

use crate::{host::Host, process::Life};

/// The view of one process.
pub(crate) struct Neighbours {
    pub(crate) host: Weak<Host>,
    pub(crate) life: Life,
}

impl fmt::Debug for Neighbours {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Neighbours({})", self.life)
    }
}

impl bowline_engine::Host for Neighbours {
    fn this(&self) -> Option<Process> {
        let host = self.host.upgrade()?.host_of(self.life.member);
        let (pid, started) = (self.life.member as u32, self.life.life);
        Some(Process { host, boot: "simulated".into(), pid, started })
    }

    fn is_gone(&self, process: &Process) -> bool {
        let Some(host) = self.host.upgrade() else { return false };
        let life = Life { member: process.pid as usize, life: process.started };
        process.host == host.host_of(self.life.member) && host.is_gone(life)
    }
}
