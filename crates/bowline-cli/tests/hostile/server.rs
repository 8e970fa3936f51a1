//! `bowline serve` as a process, and what the system says of it.

use std::{
    io::{BufRead, BufReader},
    process::{Child, Command, Stdio},
};

/// A server on a store file of its own, on ports of its own.
pub(crate) struct Server {
    process: Child,
    /// Where SDKs find it.
    pub(crate) address: String,
    _folder: tempfile::TempDir,
}

impl Server {
    pub(crate) fn start(options: &[&str]) -> Self {
        Self::within("true", options)
    }

    /// The same, with so many files that it may have open.
    pub(crate) fn with_files(files: u32, options: &[&str]) -> Self {
        Self::within(&format!("ulimit -n {files}"), options)
    }

    fn within(bound: &str, options: &[&str]) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let mut process = Command::new("sh")
            .args(["-c", &format!("{bound} && exec \"$0\" \"$@\""), env!("CARGO_BIN_EXE_bowline")])
            .args(["serve", "--json", "--listen", "127.0.0.1:0", "--http", "off", "--store"])
            .arg(folder.path().join("runs.db"))
            .args(options)
            .stdout(Stdio::piped())
            .spawn()
            .expect("the server starts");
        let mut lines = BufReader::new(process.stdout.take().expect("its output")).lines();
        let line = lines.next().expect("a first line").expect("that reads");
        let told: serde_json::Value = serde_json::from_str(&line).expect("one object of JSON");
        let address = told["listening"].as_str().expect("its address").to_owned();
        std::thread::spawn(move || lines.for_each(drop));
        Self { process, address, _folder: folder }
    }

    fn file(&self, name: &str) -> String {
        let path = format!("/proc/{}/{name}", self.process.id());
        std::fs::read_to_string(path).expect("it is alive")
    }

    /// The most memory that it has ever had, in MiB.
    pub(crate) fn memory(&self) -> u64 {
        let status = self.file("status");
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let number = line.and_then(|line| line.split_whitespace().next());
        number.and_then(|number| number.parse::<u64>().ok()).expect("it is told") / 1024
    }

    /// How many files it has open, connections among them.
    pub(crate) fn files(&self) -> usize {
        let path = format!("/proc/{}/fd", self.process.id());
        std::fs::read_dir(path).expect("it is alive").count()
    }

    /// How many hundredths of a second of processor time it has used.
    pub(crate) fn effort(&self) -> u64 {
        let stat = self.file("stat");
        let fields: Vec<_> = stat.rsplit(") ").next().expect("fields").split(' ').collect();
        fields[11..13].iter().map(|ticks| ticks.parse::<u64>().expect("a number")).sum()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
