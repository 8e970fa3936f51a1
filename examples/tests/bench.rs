//! The harness of `bench/` runs every workload on Bowline, tiny, so that it cannot rot. Nothing is
//! timed: a number is there, or it is not.
//!
//! This binary is the harness and, started by itself, the peer: building either a second time,
//! in their own workspace, would cost minutes.

use std::path::Path;

const NAME: &str = "the_harness_measures_every_workload";

fn main() -> anyhow::Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if words.first().is_some_and(|word| ["sqlite", "postgres", "client"].contains(&word.as_str())) {
        return tokio::runtime::Runtime::new()?.block_on(bowline_peer::peer(&words));
    }
    if words.iter().any(|word| word == "--list") {
        println!("{NAME}: test");
        return Ok(());
    }
    // A filter of the test runner; numbers belong to its options.
    let mut filters = words.iter().filter(|word| !word.starts_with('-')).peekable();
    let is_meant = filters.peek().is_none_or(|word| word.parse::<u64>().is_ok())
        || filters.any(|word| NAME.contains(word.as_str()));
    if is_meant {
        the_harness_measures_every_workload()?;
        println!("test {NAME} ... ok");
    }
    Ok(())
}

fn the_harness_measures_every_workload() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let program = std::env::current_exe()?;
    let out = folder.path().join("results");
    let words = [
        "run",
        "--small",
        "--rounds",
        "1",
        "--program",
        &format!("bowline-sqlite={}", program.display()),
        "--scratch",
        &folder.path().display().to_string(),
        "--out",
        &out.display().to_string(),
    ];
    harness::command(&words.map(str::to_owned))?;
    check(&out)
}

/// Every workload is there, and has numbers; a second process cannot have a SQLite file.
fn check(out: &Path) -> anyhow::Result<()> {
    let text = std::fs::read_to_string(out)?;
    let lines =
        text.lines().filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok());
    let results: Vec<_> = lines.filter(|line| line["kind"] == "result").collect();
    let count = harness::workloads().len();
    anyhow::ensure!(results.len() == count, "{} results of {count} workloads", results.len());
    for result in results {
        if ["cancel-across", "takeover-10000"].iter().any(|name| result["workload"] == *name) {
            anyhow::ensure!(result["cannot"].is_string(), "a file has one process: {result}");
            continue;
        }
        let metrics = result["metrics"].as_object().is_some_and(|metrics| !metrics.is_empty());
        anyhow::ensure!(metrics, "no numbers: {result}");
    }
    Ok(())
}
