//! A virtual environment with Temporal's Python SDK, as its users have it.
//!
//! It is made once per version and kept beside the build, because making it takes a download. A
//! machine without Python is told so by name, and those tests say that they were skipped; where
//! `CI` is set, that is a failure.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use super::{Ready, Step};
use crate::{print, shell};

pub(super) const STEP: Step = Step {
    name: "python",
    about: "a virtual environment with Temporal's Python SDK (BOWLINE_PYTHON)",
    prepare,
};

/// The version that the door was checked against.
const SDK: &str = "temporalio==1.35.0";

fn prepare() -> Result<Ready> {
    match environment() {
        Ok(python) => {
            let environment = vec![("BOWLINE_PYTHON", python.into_os_string())];
            Ok(Ready { environment, guard: Box::new(()) })
        }
        Err(error) if std::env::var_os("CI").is_some() => Err(error),
        Err(error) => {
            print::line(&format!("python: SKIPPED, tests with the Python SDK: {error:#}"));
            Ok(Ready { environment: Vec::new(), guard: Box::new(()) })
        }
    }
}

fn environment() -> Result<PathBuf> {
    let folder = target()?.join("sdk").join(format!("python-{}", SDK.replace("==", "-")));
    let python = folder.join("bin/python");
    // Written last, so that a half-made environment is made again.
    let done = folder.join("bowline-done");
    if !done.is_file() {
        make(&folder, &python)?;
        std::fs::write(&done, SDK).with_context(|| format!("cannot write {}", done.display()))?;
    }
    Ok(python)
}

fn make(folder: &Path, python: &Path) -> Result<()> {
    if folder.exists() {
        std::fs::remove_dir_all(folder)
            .with_context(|| format!("cannot remove {}", folder.display()))?;
    }
    let system = ["python3", "python"].into_iter().find(|name| is_recent(name));
    let Some(system) = system else { bail!("there is no Python of version 3.10 or newer") };
    let mut venv = Command::new(system);
    venv.arg("-m").arg("venv").arg(folder);
    shell::run(venv)?;
    let mut install = Command::new(python);
    install.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", SDK]);
    shell::run(install)
}

fn is_recent(python: &str) -> bool {
    let check = "import sys, venv; sys.exit(sys.version_info < (3, 10))";
    Command::new(python).args(["-c", check]).status().is_ok_and(|status| status.success())
}

/// Where builds go.
fn target() -> Result<PathBuf> {
    match std::env::var_os("CARGO_TARGET_DIR") {
        Some(folder) => Ok(PathBuf::from(folder)),
        None => Ok(shell::root()?.join("target")),
    }
}
