//! The program with Temporal's TypeScript SDK: its packages as `package-lock.json` names them, then
//! compiled.
//!
//! Packages are found beside the code that uses them, so the code is copied to where they are: a
//! folder beside the build. Packages run no scripts when they are installed; the SDK brings its
//! native part ready-made.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use super::{Step, sdk};
use crate::shell;

pub(super) const STEP: Step = Step {
    name: "typescript",
    about: "a program with Temporal's TypeScript SDK (BOWLINE_TYPESCRIPT)",
    wanted_by: sdk::USERS,
    prepare: || sdk::ready("TypeScript", "BOWLINE_TYPESCRIPT", build()),
};

fn build() -> Result<PathBuf> {
    let (node, npm) = (sdk::tool("node", &["--version"])?, sdk::tool("npm", &["--version"])?);
    let (sources, folder) = (sdk::sources("typescript")?, sdk::folder("typescript")?);
    let locks: Vec<_> = ["package.json", "package-lock.json"].map(|n| sources.join(n)).into();
    sdk::once(&folder.join("installed"), &locks, || {
        sdk::copy(&locks, &folder)?;
        let mut install = Command::new(npm);
        install.args(["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"]);
        shell::run(in_folder(install, &folder))
    })?;
    let mut code = sdk::files(&sources.join("src"))?;
    code.push(sources.join("tsconfig.json"));
    code.extend(locks);
    sdk::once(&folder.join("compiled"), &code, || {
        for stale in ["src", "lib"].map(|name| folder.join(name)) {
            if stale.exists() {
                std::fs::remove_dir_all(&stale)
                    .with_context(|| format!("cannot remove {}", stale.display()))?;
            }
        }
        sdk::copy(&sdk::files(&sources.join("src"))?, &folder.join("src"))?;
        sdk::copy(&[sources.join("tsconfig.json")], &folder)?;
        for script in ["node_modules/typescript/bin/tsc", "lib/bundle.js"] {
            let mut compile = Command::new(&node);
            compile.arg(script);
            shell::run(in_folder(compile, &folder))?;
        }
        Ok(())
    })?;
    Ok(folder.join("lib/main.js"))
}

fn in_folder(mut command: Command, folder: &Path) -> Command {
    command.current_dir(folder);
    command
}
