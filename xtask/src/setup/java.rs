//! The program with Temporal's Java SDK, compiled by Maven, with what it depends on beside it.
//!
//! Maven is slow to say that nothing has changed, so it is only asked when something has.

use std::path::PathBuf;
use std::process::Command;

use anyhow::Result;

use super::{Step, sdk};
use crate::shell;

pub(super) const STEP: Step = Step {
    name: "java",
    about: "a program with Temporal's Java SDK (BOWLINE_JAVA)",
    wanted_by: sdk::USERS,
    prepare: || sdk::ready("Java", "BOWLINE_JAVA", build()),
};

fn build() -> Result<PathBuf> {
    sdk::tool("java", &["-version"])?;
    let maven = sdk::tool("mvn", &["-version"])?;
    let (sources, folder) = (sdk::sources("java")?, sdk::folder("java")?);
    let mut code = sdk::files(&sources.join("src/main/java/scenes"))?;
    code.push(sources.join("pom.xml"));
    sdk::once(&folder.join("compiled"), &code, || {
        let mut compile = Command::new(maven);
        compile.args(["--batch-mode", "--quiet", "compile"]);
        compile.arg(format!("-Dfolder={}", folder.display())).current_dir(&sources);
        shell::run(compile)
    })?;
    Ok(folder)
}
