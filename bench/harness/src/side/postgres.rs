//! A Postgres of its own for one run of the harness: durable, on loopback, in a scratch folder.
//!
//! It hangs on a leash, a shell that waits for the end of its input: whatever ends the harness ends
//! the server and deletes its folder.

use std::{
    io::{BufRead, BufReader},
    net::{Ipv4Addr, TcpListener},
    os::unix::process::CommandExt,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

use anyhow::{Context, Result, bail};

/// A server that runs.
pub(super) struct Postgres {
    leash: Child,
    programs: PathBuf,
    port: u16,
    databases: u32,
}

/// Everything that is not Postgres's default, as the report says it.
pub(super) const SETTINGS: &str =
    "fsync=on, synchronous_commit=on, shared_buffers=512MB, max_connections=400, loopback TCP";

const LEASH: &str = r#"
cd /
fail() { cat "$folder/log" >&2; rm -rf "$folder"; exit 1; }
trap '' INT TERM HUP
$as "$bin/initdb" -D "$folder/data" -U bench -A trust -E UTF8 >"$folder/log" 2>&1 || fail
$as "$bin/postgres" -D "$folder/data" -p "$port" -k "$folder" -c listen_addresses=127.0.0.1 \
    -c shared_buffers=512MB -c max_connections=400 >"$folder/log" 2>&1 &
server=$!
tries=0
until grep -q ready "$folder/data/postmaster.pid" 2>/dev/null; do
    tries=$((tries + 1))
    kill -0 "$server" 2>/dev/null && [ "$tries" -lt 600 ] || fail
    sleep 0.1
done
echo ready
cat >/dev/null
kill -INT "$(head -n 1 "$folder/data/postmaster.pid")" 2>/dev/null
wait "$server"
rm -rf "$folder"
"#;

impl Postgres {
    /// Starts one below this folder.
    pub(super) fn start(scratch: &Path) -> Result<Self> {
        let programs = programs()?;
        let port = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?.port();
        let folder = scratch.join(format!("bowline-bench-postgres-{}", std::process::id()));
        std::fs::create_dir_all(&folder)?;
        let mut leash = Command::new("sh");
        leash.args(["-c", LEASH]).stdin(Stdio::piped()).stdout(Stdio::piped());
        leash.env("folder", &folder).env("bin", &programs).env("port", port.to_string());
        leash.env("as", servant(&folder)?).process_group(0);
        let mut leash = leash.spawn().context("`sh` did not start")?;
        let output = leash.stdout.take().context("the shell has an output")?;
        let mut line = String::new();
        BufReader::new(output).read_line(&mut line)?;
        if line.trim() != "ready" {
            bail!("Postgres did not start; what it said stands above");
        }
        Ok(Self { leash, programs, port, databases: 0 })
    }

    /// The address of a new, empty database.
    pub(super) fn database(&mut self) -> Result<String> {
        self.databases += 1;
        let name = format!("bench_{}", self.databases);
        let mut create = Command::new(self.programs.join("createdb"));
        create.args(["-h", "127.0.0.1", "-U", "bench", "-p"]).arg(self.port.to_string()).arg(&name);
        if !create.status()?.success() {
            bail!("`createdb` failed");
        }
        Ok(format!("postgres://bench@127.0.0.1:{}/{name}", self.port))
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        drop(self.leash.stdin.take());
        let _ = self.leash.wait();
    }
}

/// Where Postgres's programs are: as packages install them, or on the path.
fn programs() -> Result<PathBuf> {
    let mut found: Vec<PathBuf> = Vec::new();
    for base in ["/usr/lib/postgresql", "/usr/local/pgsql"] {
        for entry in std::fs::read_dir(base).into_iter().flatten().flatten() {
            found.push(entry.path().join("bin"));
        }
        found.push(Path::new(base).join("bin"));
    }
    found.sort();
    found.extend(std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default()));
    let has_all = |folder: &&PathBuf| {
        ["initdb", "postgres", "createdb"].iter().all(|program| folder.join(program).is_file())
    };
    found.iter().find(has_all).cloned().context("no Postgres (initdb, postgres, createdb) is here")
}

/// How root runs it as somebody else, which it insists on.
fn servant(folder: &Path) -> Result<String> {
    let id = Command::new("id").arg("-u").output()?;
    if String::from_utf8_lossy(&id.stdout).trim() != "0" {
        return Ok(String::new());
    }
    for user in ["postgres", "nobody"] {
        let chown = Command::new("chown").arg(user).arg(folder).stderr(Stdio::null()).status()?;
        if chown.success() {
            return Ok(format!("setpriv --reuid {user} --clear-groups"));
        }
    }
    bail!("Postgres refuses to be run by root, and there is no user `postgres` or `nobody`")
}
