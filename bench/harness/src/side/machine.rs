//! The machine, as it was when the numbers were taken.

use std::{
    collections::BTreeMap,
    fs::{self, OpenOptions},
    io::{Seek, SeekFrom, Write},
    path::Path,
    process::Command,
    time::Instant,
};

use crate::Spread;
use anyhow::Result;

/// How often the disk is asked to make four kilobytes durable.
const SYNCS: usize = 200;

/// What a reader must know to believe a number.
pub(super) fn describe(scratch: &Path) -> BTreeMap<&'static str, String> {
    let cpus = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = cpus.lines().find(|line| line.starts_with("model name"));
    let model = model.and_then(|line| line.split_once(": ")).map_or("unknown", |(_, name)| name);
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    let memory = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let memory = memory.lines().next().unwrap_or_default().replace("MemTotal:", "");
    BTreeMap::from([
        ("processor", format!("{cores} × {model}")),
        ("memory", memory.trim().to_owned()),
        ("kernel", output("uname", &["-sr"])),
        ("file system", output("stat", &["-f", "-c", "%T", &scratch.to_string_lossy()])),
        ("compiler", output("rustc", &["--version"])),
        ("load at the beginning", load()),
        ("fdatasync of 4 KiB", sync(scratch).unwrap_or_else(|error| error.to_string())),
    ])
}

/// The load of the last minute.
pub(super) fn load() -> String {
    let text = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split_whitespace().next().unwrap_or("unknown").to_owned()
}

fn output(program: &str, words: &[&str]) -> String {
    let output = Command::new(program).args(words).output();
    output.map_or_else(
        |error| error.to_string(),
        |output| String::from_utf8_lossy(&output.stdout).trim().to_owned(),
    )
}

/// What it costs to make something durable where the databases lie: the floor of every commit.
fn sync(scratch: &Path) -> Result<String> {
    let path = scratch.join(format!("bowline-bench-sync-{}", std::process::id()));
    let mut file = OpenOptions::new().write(true).create(true).truncate(true).open(&path)?;
    file.write_all(&[0; 1 << 20])?;
    file.sync_all()?;
    let mut spans = Vec::new();
    for number in 0..SYNCS {
        file.seek(SeekFrom::Start((number % 256) as u64 * 4096))?;
        file.write_all(&[1; 4096])?;
        let begun = Instant::now();
        file.sync_data()?;
        spans.push(begun.elapsed());
    }
    fs::remove_file(path)?;
    let spread = Spread::new(spans);
    Ok(format!("p50 {:.3?}, p99 {:.3?}", spread.at(0.5), spread.at(0.99)))
}
