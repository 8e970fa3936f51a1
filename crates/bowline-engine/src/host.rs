//! This process on its host, and whether another one there still is.

use std::fmt;

use bowline_store::Process;

use crate::worker::activity::{HostRow, host_row, host_view};

/// How an engine sees the host that it runs on: which process it is there, and which others are
/// gone. A simulator, whose processes are none to the system, has its own.
pub trait Host: fmt::Debug + Send + Sync {
    /// Which process this is, if that can be told.
    fn this(&self) -> Option<Process>;

    /// Whether a process is gone for certain.
    fn is_gone(&self, process: &Process) -> bool;
}

/// The host as the system tells of it.
#[derive(Debug)]
pub(crate) struct System;

impl Host for System {
    fn this(&self) -> Option<Process> {
        this()
    }

    fn is_gone(&self, process: &Process) -> bool {
        is_gone(process)
    }
}

/// Which process this is, where the system tells.
fn this() -> Option<Process> {
    of(std::process::id())
}

fn of(pid: u32) -> Option<Process> {
    let (host, boot) = host_view()?;
    let HostRow { started, .. } = host_row(pid)?;
    Some(Process { host, boot, pid, started })
}

/// Whether a process is gone for certain: it was of this host, of this start of it, and seen from
/// where this process sees others; and whoever has its number now, if anybody has, is another one.
fn is_gone(process: &Process) -> bool {
    let Some((host, boot)) = host_view() else { return false };
    if (&process.host, &process.boot) != (&host, &boot) {
        return false;
    }
    match host_row(process.pid) {
        Some(row) => row.started != process.started || row.is_dead,
        // Only where others can be seen does it say something that this one cannot.
        None => this().is_some(),
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_gone_when_it_has_ended() {
        let own = this().unwrap();
        assert!(!is_gone(&own));
        let mut child = std::process::Command::new("sleep").arg("600").spawn().unwrap();
        let process = of(child.id()).unwrap();
        assert!(!is_gone(&process));
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(is_gone(&process));
    }

    /// Its number was given to somebody else.
    #[test]
    fn a_process_is_known_by_when_it_was_started() {
        let own = this().unwrap();
        assert!(is_gone(&Process { started: own.started - 1, ..own }));
    }

    /// Of another host, or another start of this one, nothing can be seen from here.
    #[test]
    fn nothing_is_said_of_what_cannot_be_seen() {
        let own = Process { started: 1, ..this().unwrap() };
        assert!(!is_gone(&Process { host: "elsewhere".into(), ..own.clone() }));
        assert!(!is_gone(&Process { boot: "another".into(), ..own }));
    }
}
