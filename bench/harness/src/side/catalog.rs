//! Which systems there are, and how their peers are built and started.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

/// A system by name.
pub(super) struct Entry {
    pub(super) name: &'static str,
    /// The folder below `peers/`.
    pub(super) folder: &'static str,
    /// The peer's program.
    program: &'static str,
    /// The first word that the program is told.
    pub(super) mode: &'static str,
    /// Whether it is told the address of a Postgres.
    pub(super) needs_postgres: bool,
}

const fn embedded(name: &'static str, mode: &'static str, needs_postgres: bool) -> Entry {
    let (folder, program) = ("bowline", "bowline-peer");
    Entry { name, folder, program, mode, needs_postgres }
}

static ENTRIES: &[Entry] =
    &[embedded("bowline-sqlite", "sqlite", false), embedded("bowline-postgres", "postgres", true)];

/// The names of all.
pub(super) fn names() -> Vec<&'static str> {
    ENTRIES.iter().map(|entry| entry.name).collect()
}

/// The one of this name.
pub(super) fn entry(name: &str) -> Result<&'static Entry> {
    let found = ENTRIES.iter().find(|entry| entry.name == name);
    found.with_context(|| format!("there is no system `{name}`; `harness list` names them"))
}

/// Those of this list.
pub(super) fn choose(list: &str) -> Result<Vec<&'static Entry>> {
    if list == "all" {
        return Ok(ENTRIES.iter().collect());
    }
    list.split(',').filter(|name| !name.is_empty()).map(entry).collect()
}

/// A peer that can be started.
pub(super) struct Built {
    pub(super) program: PathBuf,
}

impl Entry {
    /// Builds the peer.
    pub(super) fn build(&self, is_dev: bool) -> Result<Built> {
        let bench = bench()?;
        let target = target(&bench);
        let manifest = bench.join("peers").join(self.folder).join("Cargo.toml");
        let mut cargo = cargo(&manifest, &target, is_dev);
        if is_dev && self.folder == "bowline" && !self.needs_postgres {
            // To see that the harness works, half of the dependencies are enough.
            cargo.arg("--no-default-features");
        }
        finish(cargo)?;
        let program = target.join(profile(is_dev)).join(self.program);
        Ok(Built { program })
    }
}

fn cargo(manifest: &Path, target: &Path, is_dev: bool) -> std::process::Command {
    let program = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut cargo = std::process::Command::new(program);
    cargo.args(["build", "--locked", "--manifest-path"]).arg(manifest);
    cargo.arg("--target-dir").arg(target);
    if !is_dev {
        cargo.arg("--release");
    }
    cargo
}

fn profile(is_dev: bool) -> &'static str {
    if is_dev { "debug" } else { "release" }
}

/// Runs it with its output on our error output: ours is for results.
fn finish(mut command: std::process::Command) -> Result<()> {
    command.stdin(std::process::Stdio::null()).stdout(std::io::stderr());
    let shown = format!("{command:?}");
    let status = command.status().with_context(|| format!("{shown} did not start"))?;
    if !status.success() {
        bail!("{shown} failed ({status})");
    }
    Ok(())
}

/// The folder `bench/`. Not taken at compile time: checkouts may share a target folder.
pub(super) fn bench() -> Result<PathBuf> {
    if let Some(package) = std::env::var_os("CARGO_MANIFEST_DIR") {
        return Ok(Path::new(&package).parent().context("harness has a parent")?.to_path_buf());
    }
    let here = std::env::current_dir()?;
    for folder in here.ancestors().flat_map(|folder| [folder.to_owned(), folder.join("bench")]) {
        if folder.join("harness/Cargo.toml").is_file() {
            return Ok(folder);
        }
    }
    bail!("not inside the repository: run the harness from there")
}

fn target(bench: &Path) -> PathBuf {
    match std::env::var_os("CARGO_TARGET_DIR") {
        Some(folder) => bench.join(folder),
        None => bench.join("target"),
    }
}
