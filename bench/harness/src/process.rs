//! A process and everything below it, as `/proc` sees them.

use std::{collections::BTreeMap, fs, process::Command, time::Duration};

/// The processes below this one, and itself first.
pub(crate) fn tree(root: u32) -> Vec<u32> {
    let mut children: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let Some(process) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else {
            continue;
        };
        if let Some(parent) = parent(process) {
            children.entry(parent).or_default().push(process);
        }
    }
    let mut found = vec![root];
    let mut at = 0;
    while at < found.len() {
        found.extend(children.get(&found[at]).into_iter().flatten());
        at += 1;
    }
    found
}

fn parent(process: u32) -> Option<u32> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // The name stands in brackets and may contain anything.
    stat.rsplit_once(") ")?.1.split_whitespace().nth(1)?.parse().ok()
}

/// Resident memory in bytes.
pub(crate) fn memory(processes: &[u32]) -> u64 {
    processes.iter().filter_map(|process| resident(*process)).sum()
}

fn resident(process: u32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    Some(line.trim().trim_end_matches(" kB").parse::<u64>().ok()? * 1024)
}

/// Processor time of all threads, to the nanosecond. Of threads that have ended nothing is known.
pub(crate) fn busy(processes: &[u32]) -> Duration {
    let mut sum = 0;
    for process in processes {
        let threads = fs::read_dir(format!("/proc/{process}/task"));
        for thread in threads.into_iter().flatten().flatten() {
            let stat = fs::read_to_string(thread.path().join("schedstat")).unwrap_or_default();
            sum += stat.split_whitespace().next().and_then(|word| word.parse().ok()).unwrap_or(0);
        }
    }
    Duration::from_nanos(sum)
}

/// Processor time of the processes with all threads that they ever had, and how long their threads
/// of now stood ready without a processor: what a busy machine took from them.
pub(crate) fn spent(processes: &[u32]) -> (Duration, Duration) {
    let mut ticks = 0;
    let mut waited = 0;
    for process in processes {
        ticks += cpu_ticks(*process).unwrap_or_default();
        let threads = fs::read_dir(format!("/proc/{process}/task"));
        for thread in threads.into_iter().flatten().flatten() {
            let stat = fs::read_to_string(thread.path().join("schedstat")).unwrap_or_default();
            waited +=
                stat.split_whitespace().nth(1).and_then(|word| word.parse().ok()).unwrap_or(0);
        }
    }
    (Duration::from_millis(ticks * 10), Duration::from_nanos(waited))
}

/// In hundredths of a second, as Linux shows them everywhere.
fn cpu_ticks(process: u32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    let fields: Vec<&str> = stat.rsplit_once(") ")?.1.split_whitespace().collect();
    Some(fields.get(11)?.parse::<u64>().ok()? + fields.get(12)?.parse::<u64>().ok()?)
}

/// Ends them at once, as a power cut would.
pub(crate) fn kill(processes: &[u32]) {
    let words = processes.iter().map(u32::to_string);
    // Those that are gone already are what was wanted.
    let _ = Command::new("kill").arg("-9").args(words).stderr(std::process::Stdio::null()).status();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_child_is_found_below_its_parent_and_can_be_killed() {
        let mut child = Command::new("sleep").arg("600").spawn().unwrap();
        let tree = tree(std::process::id());
        assert_eq!(tree[0], std::process::id());
        assert!(tree.contains(&child.id()));
        assert!(memory(&[std::process::id()]) > 0 && !busy(&[std::process::id()]).is_zero());
        kill(&[child.id()]);
        assert!(!child.wait().unwrap().success());
    }
}
