//! The proof tells the truth, also where that is not pleasant.

use std::{os::unix::process::CommandExt, process::Command};

use serde_json::Value;
use tempfile::TempDir;

use super::*;
use crate::command::demo::{
    keeper::Started,
    workflow::{self, Kind},
};

/// A file with one run: of a workflow that takes a while, or that was closed without asking.
async fn file(is_open: bool) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let bowline = workflow::program(&folder.path().join("demo.db")).start().await.unwrap();
    workflow::start(&bowline, Kind::Report, "report").await.unwrap();
    if !is_open {
        let receipt = bowline.run("report").terminate("enough").await.unwrap();
        receipt.wait(bowline::Phase::Clean).await.unwrap();
    }
    bowline.close(Duration::ZERO).await.unwrap();
    folder
}

/// What is proved of a file: whether it is clean, and every check that is not.
async fn proved(folder: &TempDir, told: &Told) -> (bool, Vec<String>) {
    let place = folder.path().join("facts");
    let tell = Teller::to(true, std::fs::File::create(&place).unwrap());
    let is_clean = read(&folder.path().join("demo.db"), told, &tell).await.unwrap();
    let text = std::fs::read_to_string(place).unwrap();
    let facts: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(facts.last().unwrap()["clean"], is_clean, "{text}");
    let found = facts.iter().filter(|fact| fact["fact"] == "check" && fact["found"] != 0);
    (is_clean, found.map(|fact| fact["what"].as_str().unwrap().to_owned()).collect())
}

#[tokio::test]
async fn a_closed_run_leaves_nothing() {
    assert_eq!(proved(&file(false).await, &Told::default()).await, (true, vec![]));
}

#[tokio::test]
async fn an_open_run_is_not_clean() {
    let found = vec!["open_runs".to_owned(), "unclean_trees".to_owned()];
    assert_eq!(proved(&file(true).await, &Told::default()).await, (false, found));
}

#[tokio::test]
async fn a_living_process_is_not_clean() {
    let folder = file(false).await;
    let mut child = Command::new("sleep").arg("600").process_group(0).spawn().unwrap();
    let group = i32::try_from(child.id()).unwrap();
    let left = Started { id: "report".to_owned(), attempt: 1, pid: child.id(), group };
    let told = Told { processes: vec![left], ..Told::default() };
    let proved = proved(&folder, &told).await;
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(proved, (false, vec!["processes".to_owned()]));
}
