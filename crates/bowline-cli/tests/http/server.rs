//! `bowline serve` as a process of its own, and a client that speaks HTTP to it.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
    path::PathBuf,
    process::{Child, Command, Stdio},
    time::Duration,
};

use serde_json::Value;

/// How long a test waits for what must come.
const PATIENCE: Duration = Duration::from_secs(120);

/// A server on a store file of its own.
pub(crate) struct Server {
    process: Child,
    /// Where it is found.
    pub(crate) http: String,
    folder: tempfile::TempDir,
}

impl Server {
    /// Starts one that lets everybody in.
    pub(crate) fn open() -> Self {
        Self::with(|_| Vec::new())
    }

    /// Starts one that asks for keys, and writes down what it refuses; with a key that may do these
    /// things.
    pub(crate) fn guarded(name: &str, permissions: &[&str]) -> (Self, String) {
        let mut key = String::new();
        let server = Self::with(|folder| {
            let (keys, audit) = (folder.join("keys.json"), folder.join("audit.jsonl"));
            let mut make = Command::new(env!("CARGO_BIN_EXE_bowline"));
            make.args(["key", "new", name, "--keys"]).arg(&keys);
            make.args(permissions.iter().flat_map(|one| ["--allow", one]));
            let made = make.output().expect("the command runs");
            assert!(made.status.success(), "{made:?}");
            key = String::from_utf8(made.stdout).expect("text").trim().to_owned();
            vec!["--keys".into(), keys, "--audit".into(), audit]
        });
        (server, key)
    }

    fn with(options: impl FnOnce(PathBuf) -> Vec<PathBuf>) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let mut process = Command::new(env!("CARGO_BIN_EXE_bowline"))
            .args(["serve", "--json", "--listen", "127.0.0.1:0", "--http", "127.0.0.1:0"])
            .arg("--store")
            .arg(folder.path().join("runs.db"))
            .args(options(folder.path().to_owned()))
            .stdout(Stdio::piped())
            .spawn()
            .expect("the server starts");
        let mut lines = BufReader::new(process.stdout.take().expect("its output")).lines();
        let line = lines.next().expect("a first line").expect("that reads");
        let told: Value = serde_json::from_str(&line).expect("one object of JSON");
        let http = told["http"].as_str().expect("its address").to_owned();
        // Nobody reads on: whatever it still says must not fill a pipe.
        std::thread::spawn(move || lines.for_each(drop));
        Self { process, http, folder }
    }

    /// What was written down.
    pub(crate) fn audit(&self) -> String {
        std::fs::read_to_string(self.folder.path().join("audit.jsonl")).expect("it reads")
    }

    /// The status, headers and body of an answer.
    pub(crate) fn ask(
        &self,
        key: Option<&str>,
        method: &str,
        path: &str,
        body: &Value,
    ) -> (u16, String, String) {
        let mut connection = TcpStream::connect(&self.http).expect("it listens");
        connection.set_read_timeout(Some(PATIENCE)).expect("it is told");
        let (body, host) = (body.to_string(), &self.http);
        let bearer = key.map(|key| format!("authorization: Bearer {key}\r\n")).unwrap_or_default();
        let request = format!(
            "{method} {path} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n{bearer}\
             content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        );
        connection.write_all(request.as_bytes()).expect("it reads");
        let mut answer = String::new();
        connection.read_to_string(&mut answer).expect("it answers");
        let (head, body) = answer.split_once("\r\n\r\n").expect("a head");
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok());
        (status.expect("a status"), head.to_owned(), body.to_owned())
    }

    /// The same in the usual namespace, with an answer that must have this status and be JSON.
    #[track_caller]
    pub(crate) fn json(&self, method: &str, path: &str, body: &Value, status: u16) -> Value {
        let path = format!("/api/v1/namespaces/default/{path}");
        let (found, _, text) = self.ask(None, method, &path, body);
        assert_eq!(found, status, "{text}");
        serde_json::from_str(&text).expect("JSON")
    }

    /// Asks it to end, and waits until it has: with nothing to complain about.
    pub(crate) fn terminate(mut self) {
        let pid = self.process.id().to_string();
        assert!(Command::new("kill").args(["-TERM", &pid]).status().expect("kill runs").success());
        let ended = self.process.wait().expect("it ends");
        assert!(ended.success(), "{ended}");
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
