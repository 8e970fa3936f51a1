//! How a process can be recognised later, by another program, and killed without mistake.

use std::{fs, sync::OnceLock};

use minicbor::{Decode, Encode};
use rustix::process::{Pid, Signal, kill_process_group};

use super::table::{self, Row};

/// Names a process group for ever: numbers of processes are used again, this is not.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct ProcessMark {
    /// The machine, and the part of it in which these numbers count. Empty if unknown.
    #[n(0)]
    pub host: String,
    /// Which start of the machine. Empty if unknown.
    #[n(1)]
    pub boot: String,
    /// The number of the group and of its leader.
    #[n(2)]
    pub group: i32,
    /// When the leader began, in ticks since the machine did; 0 if unknown.
    #[n(3)]
    pub started: u64,
    /// The number of the process that the activity started.
    #[n(4)]
    pub child: i32,
    /// When that process began; 0 if unknown.
    #[n(5)]
    pub child_started: u64,
}

impl ProcessMark {
    /// The mark of a group whose leader and child have not been waited for.
    pub(super) fn of(group: i32, child: u32) -> Self {
        let (host, boot) = here().clone();
        let child = i32::try_from(child).unwrap_or_default();
        let started = |pid| table::row(pid).map_or(0, |row| row.started);
        let (started, child_started) = (started(group), started(child));
        Self { host, boot, group, started, child, child_started }
    }
}

/// What became of an orphan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Orphan {
    /// It was still there, and was killed with its whole group.
    Killed,
    /// It is gone.
    Gone,
    /// It is on another machine, or nobody knows on which: nothing was done.
    Elsewhere,
}

/// Kills what a mark names, if it is still the same: its leader, or its child, must have begun
/// when the mark says. Nothing else is ever touched.
pub fn kill_orphan(mark: &ProcessMark) -> Orphan {
    let (host, boot) = here();
    let is_known = !host.is_empty() && !boot.is_empty();
    if !is_known || mark.host != *host || mark.boot.is_empty() {
        return Orphan::Elsewhere;
    }
    let is_same = |pid: i32, started: u64| {
        let is_it = |row: Row| row.group == mark.group && row.started == started && started != 0;
        table::row(pid).is_some_and(is_it)
    };
    let is_there = mark.boot == *boot
        && (is_same(mark.group, mark.started) || is_same(mark.child, mark.child_started));
    let Some(group) = Pid::from_raw(mark.group).filter(|_| is_there) else { return Orphan::Gone };
    match kill_process_group(group, Signal::KILL) {
        Ok(()) => Orphan::Killed,
        Err(_) => Orphan::Gone,
    }
}

/// The name of this machine; and what tells its last start, and the part of it in which process
/// numbers count, from others. Unset if either is unknown.
pub(crate) fn host_view() -> Option<(String, String)> {
    let (host, boot) = here();
    let (name, numbers) = host.split_once(' ')?;
    (!boot.is_empty()).then(|| (name.to_owned(), format!("{boot} {numbers}")))
}

/// This machine, with the part of it in which process numbers count, and its last start.
fn here() -> &'static (String, String) {
    static HERE: OnceLock<(String, String)> = OnceLock::new();
    HERE.get_or_init(|| {
        let read = |path| fs::read_to_string(path).unwrap_or_default().trim().to_owned();
        let numbers = fs::read_link("/proc/self/ns/pid").unwrap_or_default();
        let name = read("/proc/sys/kernel/hostname");
        let host = match name.is_empty() {
            true => name,
            false => format!("{name} {}", numbers.display()),
        };
        (host, read("/proc/sys/kernel/random/boot_id"))
    })
}
