//! Which systems there are, and how their peers are built and started.

use std::{
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

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
    /// That word for a process that only asks, where several may have the store.
    pub(super) client_mode: Option<&'static str>,
    /// Whether it is told the address of a Postgres.
    pub(super) needs_postgres: bool,
    /// The server that the peer starts, if it needs one.
    server: Option<Server>,
}

/// A server that must be had before the peer can start it.
#[derive(Clone, Copy)]
enum Server {
    /// A package of npm; the program is in a package for this platform that comes with it.
    Npm { package: &'static str, version: &'static str, program: &'static str },
    /// A package of Go.
    Go { package: &'static str, program: &'static str },
    /// Our own.
    Bowline,
}

const RESTATE: Server = Server::Npm {
    package: "@restatedev/restate-server",
    version: "1.7.12",
    program: "restate-server",
};

/// Newer versions refuse `go install`: their manifest points into their own source tree.
const TEMPORAL: Server =
    Server::Go { package: "github.com/temporalio/cli/cmd/temporal@v1.5.1", program: "temporal" };

const fn entry(name: &'static str, folder: &'static str, program: &'static str) -> Entry {
    let (mode, client_mode, needs_postgres, server) = ("sqlite", None, false, None);
    Entry { name, folder, program, mode, client_mode, needs_postgres, server }
}

static ENTRIES: &[Entry] = &[
    entry("bowline-sqlite", "bowline", "bowline-peer"),
    entry("bowline-postgres", "bowline", "bowline-peer").on_postgres().asked_as("client"),
    entry("bowline-server", "temporal", "temporal-peer").with("bowline", Server::Bowline),
    entry("restate", "restate", "restate-peer").with("server", RESTATE),
    entry("dbos", "dbos", "dbos-peer").on_postgres(),
    entry("duroxide", "duroxide", "duroxide-peer"),
    entry("temporal", "temporal", "temporal-peer").with("temporal", TEMPORAL),
];

/// The names of all.
pub(super) fn names() -> Vec<&'static str> {
    ENTRIES.iter().map(|entry| entry.name).collect()
}

/// The one of this name.
pub(super) fn named(name: &str) -> Result<&'static Entry> {
    let found = ENTRIES.iter().find(|entry| entry.name == name);
    found.with_context(|| format!("there is no system `{name}`; `harness list` names them"))
}

/// Those of this list.
pub(super) fn choose(list: &str) -> Result<Vec<&'static Entry>> {
    if list == "all" {
        return Ok(ENTRIES.iter().collect());
    }
    list.split(',').filter(|name| !name.is_empty()).map(named).collect()
}

/// A peer that can be started.
pub(super) struct Built {
    pub(super) program: PathBuf,
    /// The server's program, if the peer starts one.
    pub(super) server: Option<PathBuf>,
}

impl Entry {
    const fn on_postgres(mut self) -> Self {
        self.mode = "postgres";
        self.needs_postgres = true;
        self
    }

    const fn asked_as(mut self, mode: &'static str) -> Self {
        self.client_mode = Some(mode);
        self
    }

    const fn with(mut self, mode: &'static str, server: Server) -> Self {
        self.mode = mode;
        self.server = Some(server);
        self
    }

    /// Builds the peer, and has its server.
    pub(super) fn build(&self, is_dev: bool) -> Result<Built> {
        let bench = bench()?;
        let target = target(&bench);
        let server = match self.server {
            None => None,
            Some(server) => Some(server.have(&bench, &target, is_dev)?),
        };
        let manifest = bench.join("peers").join(self.folder).join("Cargo.toml");
        let mut cargo = cargo(&manifest, &target, is_dev);
        // Ours is measured as it is, whatever its lock file said last.
        if self.folder != "bowline" {
            cargo.arg("--locked");
        }
        finish(cargo)?;
        let program = target.join(profile(is_dev)).join(self.program);
        Ok(Built { program, server })
    }
}

impl Server {
    /// The program, installed if it is not there.
    fn have(self, bench: &Path, target: &Path, is_dev: bool) -> Result<PathBuf> {
        let tools = target.join("tools");
        std::fs::create_dir_all(&tools)?;
        match self {
            Self::Npm { package, version, program } => {
                let platform = format!("{package}-{}-{}", node_system(), node_processor());
                let place = tools.join("node_modules").join(platform).join("bin").join(program);
                if !place.exists() {
                    let mut npm = Command::new("npm");
                    npm.args(["install", "--ignore-scripts", "--no-audit", "--no-fund"]);
                    npm.arg("--prefix").arg(&tools).arg(format!("{package}@{version}"));
                    finish(npm)?;
                }
                there(place)
            }
            Self::Go { package, program } => {
                let place = tools.join("bin").join(program);
                if !place.exists() {
                    let mut go = Command::new("go");
                    go.args(["install", package]).env("GOBIN", tools.join("bin"));
                    finish(go)?;
                }
                there(place)
            }
            Self::Bowline => {
                let manifest = bench.join("../crates/bowline-cli/Cargo.toml");
                finish(cargo(&manifest, target, is_dev))?;
                there(target.join(profile(is_dev)).join("bowline"))
            }
        }
    }
}

fn there(place: PathBuf) -> Result<PathBuf> {
    match place.exists() {
        true => Ok(place),
        false => bail!("it was installed, and {} is not there", place.display()),
    }
}

/// As npm's packages name this system.
fn node_system() -> &'static str {
    if std::env::consts::OS == "macos" { "darwin" } else { std::env::consts::OS }
}

/// As npm's packages name this processor.
fn node_processor() -> &'static str {
    match std::env::consts::ARCH {
        "x86_64" => "x64",
        "aarch64" => "arm64",
        other => other,
    }
}

fn cargo(manifest: &Path, target: &Path, is_dev: bool) -> Command {
    let program = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut cargo = Command::new(program);
    cargo.args(["build", "--manifest-path"]).arg(manifest);
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
fn finish(mut command: Command) -> Result<()> {
    command.stdin(Stdio::null()).stdout(std::io::stderr());
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
