//! A Postgres that belongs to one test, which may stop it, kill it and start it again.
//!
//! It hangs on a leash: a shell that waits for the end of its input. When this process ends, in
//! whatever way, the shell kills the server and deletes its folder.

use std::{
    net::{Ipv4Addr, TcpStream},
    os::unix::process::CommandExt,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::Duration,
};

use rustix::process::{Pid, Signal, kill_process};

use crate::{port::port, schema::required};

/// How it is stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    /// Whoever is connected is thrown out, and everything is written first.
    Fast,
    /// Nothing is written: it recovers from its log.
    Immediate,
    /// With SIGKILL. Its children notice, and end.
    Kill,
}

pub(crate) struct Cluster {
    folder: PathBuf,
    port: u16,
    server: Option<Child>,
    leash: Child,
}

/// How often a server is started that does not stay. A try takes a twentieth of a second at least.
const TRIES: usize = 1_200;

const LEASH: &str = r#"
trap '' INT TERM HUP
cat >/dev/null
kill -QUIT "$(head -n 1 "$folder/data/postmaster.pid")" 2>/dev/null
rm -rf "$folder"
"#;

/// Where the programs are, and what is written before them where they must not run as root.
fn program(name: &str) -> Command {
    let user = required("BOWLINE_TEST_POSTGRES_AS");
    let path = Path::new(&required("BOWLINE_TEST_POSTGRES_BIN")).join(name);
    let mut words = user.split_whitespace();
    let Some(first) = words.next() else { return Command::new(path) };
    let mut command = Command::new(first);
    command.args(words).arg(path);
    command
}

impl Cluster {
    /// A server with an empty database.
    pub(crate) fn start() -> Self {
        let mut cluster = Self::prepare();
        let mut initdb = program("initdb");
        initdb.args(["-U", "bowline", "-A", "trust", "-E", "UTF8", "--no-sync", "-D"]);
        cluster.make(initdb);
        cluster.up();
        cluster
    }

    /// A standby of another one, which follows it as fast as it can.
    pub(crate) fn follow(primary: &Self) -> Self {
        let mut cluster = Self::prepare();
        let mut copy = program("pg_basebackup");
        copy.args(["-h", "127.0.0.1", "-p", &primary.port.to_string(), "-U", "bowline"]);
        copy.args(["-R", "-X", "stream", "-c", "fast", "--no-sync", "-D"]);
        cluster.make(copy);
        cluster.up();
        cluster
    }

    /// Has a program make the folder of the data.
    fn make(&self, mut program: Command) {
        program.arg(self.folder.join("data")).current_dir("/");
        let made = program.output().expect("it can be run");
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    }

    fn prepare() -> Self {
        let base = PathBuf::from(required("BOWLINE_TEST_POSTGRES_FOLDER"));
        let made = tempfile::Builder::new().prefix("chaos-").tempdir_in(base);
        let folder = made.expect("there is room for a folder").keep();
        // Whoever runs the server must be able to come in.
        let open = std::os::unix::fs::PermissionsExt::from_mode(0o777);
        std::fs::set_permissions(&folder, open).expect("the folder is our own");
        let mut leash = Command::new("sh");
        leash.args(["-c", LEASH]).stdin(Stdio::piped()).env("folder", &folder).process_group(0);
        let leash = leash.spawn().expect("a shell");
        Self { folder, port: port(), server: None, leash }
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    pub(crate) fn url(&self) -> String {
        format!("postgres://bowline@127.0.0.1:{}/postgres?sslmode=disable", self.port)
    }

    /// Starts the server, and waits until it lets somebody in.
    pub(crate) fn up(&mut self) {
        // What a killed one has left behind is in the way of the next for a moment: each try has
        // ended by itself when there is another.
        let is_up = (0..TRIES).any(|_| self.try_up());
        assert!(is_up, "{}", self.log());
    }

    fn try_up(&mut self) -> bool {
        let log = std::fs::File::create(self.folder.join("log")).expect("there is room");
        let mut server = program("postgres");
        server.arg("-D").arg(self.folder.join("data")).arg("-k").arg(&self.folder);
        server.args(["-p", &self.port.to_string(), "-c", "listen_addresses=127.0.0.1"]);
        server.args(["-c", "max_connections=200", "-c", "shared_buffers=32MB"]);
        server.current_dir("/").process_group(0).stdin(Stdio::null());
        server.stdout(log.try_clone().expect("a handle")).stderr(log);
        let mut server = server.spawn().expect("postgres can be run");
        while server.try_wait().expect("it can be asked").is_none() {
            if self.is_ready() {
                self.server = Some(server);
                return true;
            }
            // It writes into its file that it is, and tells nobody.
            std::thread::park_timeout(Duration::from_millis(50));
        }
        false
    }

    fn is_ready(&self) -> bool {
        let file = std::fs::read_to_string(self.folder.join("data/postmaster.pid"));
        let is_in = |text: &str| matches!(text.trim(), "ready" | "standby");
        let is_ready = file.is_ok_and(|text| text.lines().nth(7).is_some_and(is_in));
        is_ready && TcpStream::connect((Ipv4Addr::LOCALHOST, self.port)).is_ok()
    }

    fn log(&self) -> String {
        std::fs::read_to_string(self.folder.join("log")).unwrap_or_default()
    }

    /// Takes the server away.
    pub(crate) fn down(&mut self, how: Stop) {
        let mut server = self.server.take().expect("it is up");
        let signal = match how {
            Stop::Fast => Signal::INT,
            Stop::Immediate => Signal::QUIT,
            Stop::Kill => Signal::KILL,
        };
        // By the number in its own file: somebody may stand between.
        let file = std::fs::read_to_string(self.folder.join("data/postmaster.pid"));
        let file = file.expect("it is up");
        let pid = file.lines().next().and_then(|line| line.trim().parse().ok());
        let pid = pid.and_then(Pid::from_raw).expect("a number");
        kill_process(pid, signal).expect("it is there");
        server.wait().expect("it ends");
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        // Its input ends, and it takes everything away.
        drop(self.leash.stdin.take());
        let _ = self.leash.wait();
        if let Some(mut server) = self.server.take() {
            let _ = server.wait();
        }
    }
}
