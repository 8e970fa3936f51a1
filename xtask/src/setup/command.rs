//! The official command line for Temporal, built from its module as the registry has it, in the
//! version and with the sums that `go.mod` and `go.sum` of its folder name.
//!
//! It has a whole server inside, for its command `server start-dev`: that takes many minutes to
//! build, and nothing here asks for it. So one file is put in its place before the rest is built.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use super::{Step, sdk};
use crate::shell;

pub(super) const STEP: Step = Step {
    name: "command",
    about: "the official command line for Temporal (BOWLINE_TEMPORAL)",
    wanted_by: sdk::USERS,
    prepare: || sdk::ready("official command line's", "BOWLINE_TEMPORAL", build()),
};

const MODULE: &str = "github.com/temporalio/cli";

fn build() -> Result<PathBuf> {
    let go = sdk::tool("go", &["version"])?;
    let (sources, folder) = (sdk::sources("command")?, sdk::folder("command")?);
    let program = folder.join("temporal");
    let files = ["go.mod", "go.sum", "main.go", "devserver.go"].map(|name| sources.join(name));
    sdk::once(&folder.join("built"), &files, || {
        let mut find = Command::new(&go);
        find.args(["mod", "download", "-json", MODULE]).current_dir(&sources).env("GOWORK", "off");
        let found = shell::output(find)?;
        let module = field(&found, "Dir").context("the module's folder is not told")?;
        let copy = folder.join("source");
        take_away(&copy)?;
        copy_all(Path::new(module), &copy)?;
        let inside = copy.join("temporalcli/devserver");
        std::fs::remove_file(inside.join("log.go")).context("what the server inside logs with")?;
        for (from, to) in [
            (&sources.join("devserver.go"), inside.join("server.go")),
            (&sources.join("main.go"), copy.join("cmd/temporal/main.go")),
        ] {
            std::fs::copy(from, &to).with_context(|| format!("cannot write {}", to.display()))?;
        }
        let mut build = Command::new(&go);
        build.args(["build", "-mod=readonly", "-o"]).arg(&program).arg("./cmd/temporal");
        build.current_dir(&copy).env("GOWORK", "off");
        shell::run(build)?;
        take_away(&copy)
    })?;
    Ok(program)
}

/// A text of one line of JSON, as Go writes it.
fn field<'a>(json: &'a str, name: &str) -> Option<&'a str> {
    let start = format!("\"{name}\": \"");
    let line = json.lines().find_map(|line| line.trim().strip_prefix(&start))?;
    line.split('"').next()
}

fn take_away(folder: &Path) -> Result<()> {
    match folder.exists() {
        true => std::fs::remove_dir_all(folder)
            .with_context(|| format!("cannot remove {}", folder.display())),
        false => Ok(()),
    }
}

/// Copies a folder of the module cache. Nobody may write there, and here somebody must: only what
/// is in the files is copied.
fn copy_all(from: &Path, to: &Path) -> Result<()> {
    std::fs::create_dir_all(to).with_context(|| format!("cannot create {}", to.display()))?;
    for file in sdk::files(from)? {
        let name = to.join(file.file_name().context("a file has a name")?);
        if file.is_dir() {
            copy_all(&file, &name)?;
        } else {
            let cannot = || format!("cannot copy {}", file.display());
            std::fs::write(&name, std::fs::read(&file).with_context(cannot)?)
                .with_context(cannot)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::field;

    #[test]
    fn a_text_is_found_in_what_go_says() {
        let said = "{\n\t\"Path\": \"x\",\n\t\"Dir\": \"/root/go/x@v1\",\n\t\"Sum\": \"h1:\"\n}\n";
        assert_eq!(field(said, "Dir"), Some("/root/go/x@v1"));
        assert_eq!(field(said, "Version"), None);
    }
}
