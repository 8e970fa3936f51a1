//! What the compiler says about a mistake names the fix: the texts are checked.
//!
//! The texts are those of the compiler that `rust-version` names. Set `BLESS=1` to write them
//! anew, and read what has changed.

use std::{collections::BTreeMap, path::Path, process::Command};

use serde_json::Value;

/// Builds every program of `mistakes/`, and tells what the compiler says about each.
///
/// They are built like the rest of the workspace, so that nothing else has to be built again; and
/// built, not only checked, because one of the mistakes is found as late.
fn complaints() -> BTreeMap<String, String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut cargo = Command::new(env!("CARGO"));
    cargo.current_dir(root).args(["build", "--workspace", "--keep-going", "--quiet"]);
    cargo.args(["--message-format=json", "--features=bowline-examples/mistakes"]);
    for name in names(root) {
        cargo.args(["--example", &name]);
    }
    let output = cargo.output().expect("cargo can be run");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let mut found = BTreeMap::<String, String>::new();
    for line in text.lines() {
        let message: Value = serde_json::from_str(line).expect("cargo speaks JSON");
        let (Some(name), Some(said)) =
            (message["target"]["name"].as_str(), message["message"]["rendered"].as_str())
        else {
            continue;
        };
        found.entry(name.to_owned()).or_default().push_str(said);
    }
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(!found.is_empty(), "nothing was built\n{errors}");
    found
}

fn names(root: &Path) -> Vec<String> {
    let folder = std::fs::read_dir(root.join("mistakes")).expect("the directory is there");
    let paths = folder.map(|entry| entry.expect("it reads").path());
    let sources = paths.filter(|path| path.extension().is_some_and(|ext| ext == "rs"));
    let mut names: Vec<_> = sources
        .filter_map(|path| path.file_stem().and_then(|stem| stem.to_str()).map(str::to_owned))
        .collect();
    names.sort();
    names
}

/// What the reader sees first: not the places in this crate and in others where a bound stands,
/// which move with every change of them.
fn plain(text: &str) -> String {
    let mut kept = Vec::new();
    let mut mine = true;
    for line in text.lines().map(str::trim_end) {
        let begins = line.starts_with(|c: char| c.is_ascii_lowercase());
        let place = line.trim_start().starts_with("--> ");
        let elsewhere = place && !line.contains("--> examples/");
        mine = (mine || begins) && !elsewhere;
        let required = ["note: required by a bound", "note: inside", "note: erroneous constant"];
        if required.iter().any(|note| line.starts_with(note)) || line.contains("was encountered") {
            mine = false;
        }
        let listing = line.contains("implement trait `") || line.contains("has been written to");
        if mine && !listing && !line.starts_with("For more information") {
            kept.push(line);
        }
    }
    kept.join("\n").trim().to_owned() + "\n"
}

#[test]
fn every_mistake_is_refused_with_a_text_that_helps() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let said = complaints();
    let mut wrong = Vec::new();
    for name in names(root) {
        let text = plain(said.get(&name).map_or("", String::as_str));
        assert!(text.contains("error"), "{name} compiles\n{text}");
        let path = root.join("mistakes").join(format!("{name}.txt"));
        if std::env::var_os("BLESS").is_some() {
            std::fs::write(&path, &text).expect("the text is written");
        }
        let expected = std::fs::read_to_string(&path).unwrap_or_default();
        if text != expected {
            wrong.push(format!("{name}: expected\n{expected}\nbut it says\n{text}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
