//! The system's table of processes, where it can be read: `/proc`.

use std::fs;

/// What the table says of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Row {
    pub(super) group: i32,
    /// When it began, in ticks since the machine did.
    pub(super) started: u64,
    /// It runs; false for one that only waits to be waited for.
    pub(super) is_alive: bool,
}

/// The row of one process; unset if there is none.
pub(super) fn row(pid: i32) -> Option<Row> {
    parse(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
}

/// A process, as others on its host see it.
pub(crate) struct HostRow {
    /// When it began, in ticks since the machine did.
    pub(crate) started: u64,
    /// It only waits to be waited for, and so does every thread of it.
    pub(crate) is_dead: bool,
}

/// What is seen of a process; unset if there is none.
pub(crate) fn host_row(pid: u32) -> Option<HostRow> {
    let Row { started, is_alive, .. } = row(i32::try_from(pid).ok()?)?;
    // Threads may go on where the first of them has ended.
    let threads = || fs::read_dir(format!("/proc/{pid}/task")).map_or(0, Iterator::count);
    Some(HostRow { started, is_dead: !is_alive && threads() <= 1 })
}

/// The living processes of a group; unset where there is no table.
pub(super) fn members(group: i32) -> Option<Vec<i32>> {
    row(i32::try_from(std::process::id()).ok()?)?;
    let entries = fs::read_dir("/proc").ok()?;
    let pids = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    let is_member = |pid: &i32| row(*pid).is_some_and(|row| row.group == group && row.is_alive);
    Some(pids.filter(is_member).collect())
}

/// Reads a line of the form `7 (name) S parent group …`; the name may hold anything.
fn parse(stat: &str) -> Option<Row> {
    let (_, rest) = stat.rsplit_once(')')?;
    let fields: Vec<&str> = rest.split_whitespace().collect();
    let state = fields.first()?;
    Some(Row {
        group: fields.get(2)?.parse().ok()?,
        started: fields.get(19)?.parse().ok()?,
        is_alive: !matches!(*state, "Z" | "X" | "x"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_may_look_like_the_rest_of_the_line() {
        let line = "28942 (a) R 1 (b) Z 28936 77 21044 0 -1 4194304 98 0 0 0 0 0 0 0 20 0 1 0 \
                    247849 3133440 393";
        let row = Row { group: 77, started: 247_849, is_alive: false };
        assert_eq!(parse(line), Some(row));
        assert_eq!(parse("7 (short) S 1 2"), None);
        assert_eq!(parse(""), None);
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn this_very_process_is_in_the_table() {
        let own = i32::try_from(std::process::id()).unwrap();
        let row = row(own).unwrap();
        assert!(row.is_alive && members(row.group).unwrap().contains(&own));
    }
}
