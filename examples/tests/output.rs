//! Every example runs, and prints what it says.

use std::{path::PathBuf, process::Command};

/// Runs an example in a directory of its own, and tells what it printed.
fn run(name: &str) -> String {
    let folder = tempfile::tempdir().expect("a temporary directory");
    let test = std::env::current_exe().expect("this test has a path");
    let deps = test.parent().expect("it lies in a directory");
    let program: PathBuf = deps.parent().expect("below another").join("examples").join(name);
    let output = Command::new(&program)
        .current_dir(folder.path())
        .output()
        .unwrap_or_else(|error| panic!("{} cannot be run: {error}", program.display()));
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{name} failed\n{text}\n{errors}");
    text
}

#[test]
fn the_program_of_the_readme_runs() {
    let text = run("readme");
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[0], "refunded: payment for a rope");
    assert_eq!(lines[1], "cancel requested by customer (changed my mind)");
    assert!(lines[2].starts_with("order-42 (checkout) cancelled"), "{text}");
    assert!(text.contains("ship #"), "{text}");
    assert!(text.contains("was told, and stopped by itself"), "{text}");
    assert!(text.contains("clean: nothing is left running"), "{text}");
    let last = lines.last().expect("it prints something");
    assert_eq!(*last, "Err(Cancelled(Cause[requested by customer (changed my mind)]))");
}

/// N12, as a program.
#[test]
fn a_cancel_in_the_applications_own_transaction() {
    let source = include_str!("../transaction.rs");
    let header = source.lines().map_while(|line| line.strip_prefix("//!"));
    let promised = header.skip_while(|line| line.trim() != "```text").skip(1);
    let promised: Vec<_> = promised.map(str::trim).take_while(|line| *line != "```").collect();
    assert_eq!(run("transaction").lines().collect::<Vec<_>>(), promised);
}

#[test]
fn the_readme_shows_the_program_that_runs() {
    let readme = include_str!("../../README.md");
    let program = include_str!("../readme.rs");
    let (_, code) = program.split_once("\n\n").expect("a header comes first");
    assert!(readme.contains(code.trim()), "README.md and examples/readme.rs differ");
}

#[test]
fn testing_with_virtual_time() {
    let text = run("testing");
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    assert_eq!(lines[0], "a year:");
    assert_eq!(lines[1..13], ["Ada pays 900"; 12]);
    assert_eq!(
        lines[13..],
        [
            "12 parcels in 396 days",
            "cancelled, and the worker is lost when its code was told and has not looked:",
            "Bob pays 900",
            "900 are paid back",
            "cancel requested by Bob (moved away)",
            "s-2 (subscription) cancelled  decided +0.00 ms  closed +30.00 s",
            "└─ deliver #11 ignored it, and was killed [scope_exit]  decided +0.00 ms  stopped \
             +30.00 s",
            "clean: nothing is left running",
            "paid, and the process dies before that is noted:",
            "Cid pays 900",
            "Cid pays 900",
            "charged 2 times: it needs an idempotency key",
            "recorded and replayed: 27 events",
        ]
    );
}
