//! A Postgres of its own for one test run: found on the machine or fetched, on a free port, in a
//! temporary folder.
//!
//! It hangs on a leash: a shell that waits for the end of its input. When this process ends, in
//! whatever way, that input ends with it; the shell then stops the server and deletes the folder.

mod find;

use std::ffi::OsString;
use std::io::{BufRead, BufReader};
use std::net::{Ipv4Addr, TcpListener};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result, bail};

use super::{Ready, Step};

/// Where tests look for it. Whoever sets it beforehand is believed.
const VARIABLE: &str = "BOWLINE_TEST_POSTGRES";

pub(super) const STEP: Step = Step {
    name: "postgres",
    about: "a throwaway Postgres on a free port (BOWLINE_TEST_POSTGRES), and what tests need to \
            start one of their own (BOWLINE_TEST_POSTGRES_BIN, _AS, _FOLDER)",
    wanted_by: &[],
    prepare,
};

fn prepare() -> Result<Ready> {
    let programs = find::programs()?;
    let mut environment = own(&programs)?;
    if let Some(url) = std::env::var_os(VARIABLE) {
        environment.push((VARIABLE, url));
        return Ok(Ready { environment, guard: Box::new(()) });
    }
    let cluster = Cluster::start(&programs)?;
    environment.push((VARIABLE, OsString::from(cluster.url())));
    Ok(Ready { environment, guard: Box::new(cluster) })
}

/// For a test that stops and kills its server: where the programs are, what is written before them
/// where they must not be run by root, and a folder that whoever runs them can reach.
fn own(programs: &Path) -> Result<Vec<(&'static str, OsString)>> {
    let (user, base) = servant()?;
    let user = user.map(become_user).transpose()?.unwrap_or_default();
    Ok(vec![
        ("BOWLINE_TEST_POSTGRES_BIN", programs.into()),
        ("BOWLINE_TEST_POSTGRES_AS", user.into()),
        ("BOWLINE_TEST_POSTGRES_FOLDER", base.into()),
    ])
}

struct Cluster {
    leash: Child,
    port: u16,
}

/// Makes the cluster, runs it, says so, and takes it away when nobody holds the other end. The
/// server is stopped by the number in its own file: whoever started it may have put another
/// process in between.
const LEASH: &str = r#"
cd /
finish() { rm -rf "$folder"; }
fail() { cat "$folder/log" >&2; finish; exit 1; }
trap '' INT TERM HUP
$as "$bin/initdb" -D "$folder/data" -U bowline -A trust -E UTF8 --no-sync \
    >"$folder/log" 2>&1 || fail
$as "$bin/postgres" -D "$folder/data" -p "$port" -k "$folder" -c listen_addresses=127.0.0.1 \
    -c fsync=off -c max_connections=400 -c shared_buffers=128MB >"$folder/log" 2>&1 &
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
finish
"#;

impl Cluster {
    fn start(programs: &Path) -> Result<Self> {
        let port = free_port()?;
        let (user, base) = servant()?;
        let folder = base.join(format!("bowline-postgres-{}", std::process::id()));
        std::fs::create_dir_all(&folder)
            .with_context(|| format!("cannot create {}", folder.display()))?;
        if let Some(user) = &user {
            quiet(Command::new("chown").arg(user).arg(&folder))?;
        }
        let mut leash = Command::new("sh");
        leash.args(["-c", LEASH]).stdin(Stdio::piped()).stdout(Stdio::piped());
        leash.env("folder", &folder).env("bin", programs).env("port", port.to_string());
        leash.env("as", user.map(become_user).transpose()?.unwrap_or_default());
        // A key pressed at the terminal is not for it: it hears of our end by its input.
        leash.process_group(0);
        let mut leash = leash.spawn().context("`sh` did not start")?;
        let output = leash.stdout.take().context("the shell has an output")?;
        let mut line = String::new();
        BufReader::new(output).read_line(&mut line).context("the shell cannot be heard")?;
        let cluster = Self { leash, port };
        match line.trim() {
            "ready" => Ok(cluster),
            _ => bail!("Postgres did not start; what it said stands above"),
        }
    }

    fn url(&self) -> String {
        format!("postgres://bowline@127.0.0.1:{}/postgres", self.port)
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        // Its input ends, and it ends by itself.
        drop(self.leash.stdin.take());
        let _ = self.leash.wait();
    }
}

/// A port that is free now. Somebody else may take it in between; then the server says so.
fn free_port() -> Result<u16> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).context("no port is free")?;
    Ok(listener.local_addr().context("the port has no number")?.port())
}

/// Who runs the server, and where. It refuses to be run by root, so root has somebody else do it,
/// in a folder that everybody can reach.
fn servant() -> Result<(Option<String>, PathBuf)> {
    if output(Command::new("id").arg("-u"))?.trim() != "0" {
        return Ok((None, std::env::temp_dir()));
    }
    for user in ["postgres", "nobody"] {
        if output(Command::new("id").args(["-u", user])).is_ok() {
            return Ok((Some(user.to_owned()), PathBuf::from("/tmp")));
        }
    }
    bail!("Postgres refuses to be run by root, and there is no user `postgres` or `nobody`")
}

/// How root runs a program as somebody else.
fn become_user(user: String) -> Result<String> {
    let group = output(Command::new("id").args(["-g", &user]))?;
    let exists = |program: &str| {
        let known = Command::new(program).arg("--version").stdout(Stdio::null()).status();
        known.is_ok_and(|status| status.success())
    };
    match () {
        () if exists("setpriv") => {
            Ok(format!("setpriv --reuid {user} --regid {} --clear-groups", group.trim()))
        }
        () if exists("runuser") => Ok(format!("runuser -u {user} --")),
        () => bail!("root needs `setpriv` or `runuser` to run Postgres as {user}"),
    }
}

fn output(command: &mut Command) -> Result<String> {
    let shown = format!("{:?}", command.get_program());
    let output = command.stderr(Stdio::null()).output();
    let output = output.with_context(|| format!("{shown} did not start"))?;
    if !output.status.success() {
        bail!("{shown} failed ({})", output.status);
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

fn quiet(command: &mut Command) -> Result<()> {
    output(command).map(drop)
}

#[cfg(test)]
mod tests {
    use std::net::TcpStream;

    use super::*;

    /// The server answers while the guard lives; afterwards neither it nor its folder is there.
    #[test]
    fn the_cluster_goes_with_its_guard() {
        let programs = find::programs().unwrap();
        let cluster = Cluster::start(&programs).unwrap();
        let (port, base) = (cluster.port, servant().unwrap().1);
        let folder = base.join(format!("bowline-postgres-{}", std::process::id()));
        assert!(TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_ok());
        assert!(folder.is_dir());
        drop(cluster);
        assert!(TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_err());
        assert!(!folder.exists());
    }
}
