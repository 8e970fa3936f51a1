//! Which processes of the demo are alive: asked of the operating system, not of ourselves.

use std::{fs, path::Path};

use rustix::process::{Pid, test_kill_process_group};

use super::keeper::MARK;

/// The living processes that carry the demo's mark in their environment, or belong to one of these
/// groups. Where there is no table of processes, the numbers of the groups that are not empty.
pub(super) fn alive(file: &Path, groups: &[i32]) -> Vec<i32> {
    let Ok(entries) = fs::read_dir("/proc") else {
        let is_there = |group: &i32| Pid::from_raw(*group).map(test_kill_process_group);
        return groups.iter().filter(|group| is_there(group) == Some(Ok(()))).copied().collect();
    };
    let mark = format!("{MARK}={}", file.display());
    let pids = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    pids.filter(|pid| is_ours(*pid, &mark, groups)).collect()
}

fn is_ours(pid: i32, mark: &str, groups: &[i32]) -> bool {
    let Ok(stat) = fs::read_to_string(format!("/proc/{pid}/stat")) else { return false };
    let Some((group, true)) = group_of(&stat) else { return false };
    groups.contains(&group) || is_marked(pid, mark)
}

/// True also for a process that is not ours to ask: nobody else has our mark.
fn is_marked(pid: i32, mark: &str) -> bool {
    let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
    environment.split(|byte| *byte == 0).any(|variable| variable == mark.as_bytes())
}

/// The group of a process, and whether it lives, from `7 (name) S parent group …`; the name may
/// hold anything. One that only waits to be waited for does not live.
fn group_of(stat: &str) -> Option<(i32, bool)> {
    let (_, rest) = stat.rsplit_once(')')?;
    let mut fields = rest.split_whitespace();
    let state = fields.next()?;
    let group = fields.nth(1)?.parse().ok()?;
    Some((group, !matches!(state, "Z" | "X" | "x")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_group_is_read_behind_any_name() {
        assert_eq!(group_of("7 (a) b) S 1 42 9 0"), Some((42, true)));
        assert_eq!(group_of("7 (sleep) Z 1 42 9 0"), Some((42, false)));
        assert_eq!(group_of(""), None);
    }

    #[test]
    fn a_process_is_found_by_its_group_and_is_gone_when_it_is_killed() {
        use std::os::unix::process::CommandExt;
        let mut sleep = std::process::Command::new("sleep");
        let mut child = sleep.arg("600").process_group(0).spawn().unwrap();
        let group = i32::try_from(child.id()).unwrap();
        let nobody = Path::new("/nowhere/at/all.db");
        assert_eq!(alive(nobody, &[group]), [group]);
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(alive(nobody, &[group]), [] as [i32; 0]);
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_process_is_found_by_its_mark() {
        use std::{
            io::{Read, Write},
            process::{Command, Stdio},
        };
        let file = std::env::temp_dir().join(format!("mark-{}.db", std::process::id()));
        let mut echo = Command::new("cat");
        let echo = echo.env(MARK, &file).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = echo.spawn().unwrap();
        let pid = i32::try_from(child.id()).unwrap();
        // For a moment after it was started a process has no environment yet.
        child.stdin.as_mut().unwrap().write_all(b"?").unwrap();
        child.stdout.as_mut().unwrap().read_exact(&mut [0]).unwrap();
        assert_eq!(alive(&file, &[]), [pid]);
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(alive(&file, &[]), [] as [i32; 0]);
    }
}
