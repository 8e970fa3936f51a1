//! `bowline serve` as a process of its own.

use std::{
    ffi::OsString,
    io::{BufRead, BufReader},
    process::{Child, Command, Stdio},
};

use crate::port::port;

/// A server on a store file of its own, on a port of its own.
pub(crate) struct Server {
    process: Child,
    /// Where SDKs find it.
    pub(crate) address: String,
    /// Where those find it who look after it.
    pub(crate) http: String,
    /// What else it was told: its store, and options.
    store: Vec<OsString>,
    _folder: Option<tempfile::TempDir>,
}

impl Server {
    /// Starts one.
    pub(crate) fn start() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let store = vec!["--store".into(), folder.path().join("runs.db").into()];
        let (process, address, http) = open(&store, &address());
        Self { process, address, http, store, _folder: Some(folder) }
    }

    /// Starts one with options of its own.
    pub(crate) fn with(options: &[&str]) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let mut store = vec!["--store".into(), folder.path().join("runs.db").into()];
        store.extend(options.iter().map(OsString::from));
        let (process, address, http) = open(&store, &address());
        Self { process, address, http, store, _folder: Some(folder) }
    }

    /// Starts one in a schema of a database, with options of its own.
    pub(crate) fn at(url: &str, schema: &str, options: &[&str]) -> Self {
        let place = ["--store", url, "--schema", schema];
        let store: Vec<_> = place.iter().chain(options).map(OsString::from).collect();
        let (process, address, http) = open(&store, &address());
        Self { process, address, http, store, _folder: None }
    }

    /// Pulls the plug, as a power cut would.
    pub(crate) fn kill(&mut self) {
        self.process.kill().expect("it can be killed");
        self.process.wait().expect("it has ended");
    }

    /// Sends it a signal of the system's.
    pub(crate) fn signal(&self, signal: &str) {
        let sent = Command::new("kill").arg(signal).arg(self.process.id().to_string()).status();
        assert!(sent.expect("kill runs").success());
    }

    /// Asks it to end, and waits until it has: with nothing to complain about.
    pub(crate) fn terminate(&mut self) {
        self.signal("-TERM");
        let ended = self.process.wait().expect("it ends");
        assert!(ended.success(), "{ended}");
    }

    /// Starts it again, on the same store and the same port.
    pub(crate) fn restart(&mut self) {
        let (process, address, http) = open(&self.store, &self.address);
        assert_eq!(address, self.address);
        (self.process, self.http) = (process, http);
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have been killed by the test.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Where it will be found after a restart, too.
fn address() -> String {
    format!("127.0.0.1:{}", port())
}

fn open(store: &[OsString], listen: &str) -> (Child, String, String) {
    let mut process = Command::new(env!("CARGO_BIN_EXE_bowline"))
        .args(["serve", "--json", "--listen", listen, "--http", "127.0.0.1:0"])
        .args(store)
        .stdout(Stdio::piped())
        .spawn()
        .expect("the server starts");
    let mut lines = BufReader::new(process.stdout.take().expect("its output")).lines();
    let line = lines.next().expect("a first line").expect("that reads");
    let told: serde_json::Value = serde_json::from_str(&line).expect("one object of JSON");
    let [address, http] =
        ["listening", "http"].map(|port| told[port].as_str().expect("its address").to_owned());
    // Nobody reads on: whatever it still says must not fill a pipe.
    std::thread::spawn(move || lines.for_each(drop));
    (process, address, http)
}
