//! The program with Temporal's Go SDK, built from its module and `go.sum`.
//!
//! Go's own cache makes a second build quick, so it is always asked.

use std::path::PathBuf;
use std::process::Command;

use anyhow::Result;

use super::{Step, sdk};
use crate::shell;

pub(super) const STEP: Step = Step {
    name: "go",
    about: "a program with Temporal's Go SDK (BOWLINE_GO)",
    wanted_by: sdk::USERS,
    prepare: || sdk::ready("Go", "BOWLINE_GO", build()),
};

fn build() -> Result<PathBuf> {
    let program = sdk::folder("go")?.join("scenes");
    let mut build = Command::new(sdk::tool("go", &["version"])?);
    build.args(["build", "-mod=readonly", "-o"]).arg(&program).arg(".");
    build.current_dir(sdk::sources("go")?).env("GOWORK", "off");
    shell::run(build)?;
    Ok(program)
}
