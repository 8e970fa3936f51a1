//! A virtual environment with Temporal's Python SDK, as its users have it.
//!
//! It is made once per version and kept beside the build, because making it takes a download.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use super::{Step, sdk};
use crate::shell;

pub(super) const STEP: Step = Step {
    name: "python",
    about: "a virtual environment with Temporal's Python SDK (BOWLINE_PYTHON)",
    wanted_by: sdk::USERS,
    prepare: || sdk::ready("Python", "BOWLINE_PYTHON", environment()),
};

/// The version that the door was checked against.
const SDK: &str = "temporalio==1.35.0";

fn environment() -> Result<PathBuf> {
    let folder = sdk::folder(&format!("python-{}", SDK.replace("==", "-")))?;
    let python = folder.join("bin/python");
    // The folder is named by what is in it, so no file has to be asked.
    sdk::once(&folder.join("bowline-done"), &[], || make(&folder, &python))?;
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
