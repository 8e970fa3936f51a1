//! `strace`, under which tests let system calls of a child process fail, and write them down: found
//! on the machine, or fetched by the machine's own package manager.

use std::process::{Command, Stdio};

use anyhow::{Result, bail};

use super::{Ready, Step};
use crate::print;

pub(super) const STEP: Step = Step {
    name: "strace",
    about: "strace, for tests of disks that fail and power that is lost (Linux)",
    wanted_by: &["bowline-sqlite"],
    prepare,
};

/// What fetches a package, and what it is told before and then.
const MANAGERS: &[(&str, &[&[&str]])] = &[
    ("apt-get", &[&["update", "-qq"], &["install", "-y", "-qq", "strace"]]),
    ("dnf", &[&["install", "-y", "-q", "strace"]]),
    ("apk", &[&["add", "--quiet", "strace"]]),
    ("pacman", &[&["-Sy", "--noconfirm", "strace"]]),
];

fn prepare() -> Result<Ready> {
    if cfg!(target_os = "linux") && !works() {
        print::line("strace: not found on this machine; asking its package manager");
        fetch();
    }
    match works() {
        true => {}
        false if std::env::var_os("CI").is_some() => {
            bail!("strace is neither installed nor could it be fetched, or it may not trace")
        }
        false => print::line("strace: not to be had; tests that need it say that they are skipped"),
    }
    Ok(Ready { environment: Vec::new(), guard: Box::new(()) })
}

/// Whether it is there, and may trace.
fn works() -> bool {
    runs(Command::new("strace").args(["-qq", "-o", "/dev/null", "true"]))
}

/// Tries every manager, as the superuser where that needs no password.
fn fetch() {
    for (manager, steps) in MANAGERS {
        let step = |arguments: &&[&str]| {
            runs(Command::new(manager).args(*arguments))
                || runs(Command::new("sudo").arg("-n").arg(manager).args(*arguments))
        };
        if steps.iter().all(step) {
            return;
        }
    }
}

fn runs(command: &mut Command) -> bool {
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}
