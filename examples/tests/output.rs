//! Every example runs, and prints what its header says. `cargo test -p bowline-examples` builds
//! the examples first; with `--test output` alone, those of an earlier build run.

use std::{fs, path::Path, process::Command};

/// Stands in a header for what differs from run to run: a time, a number.
const ANYTHING: char = '…';

/// Runs an example in a directory of its own, and tells what it printed.
fn run(name: &str) -> String {
    let folder = tempfile::tempdir().expect("a temporary directory");
    let test = std::env::current_exe().expect("this test has a path");
    let deps = test.parent().expect("it lies in a directory");
    let program = deps.parent().expect("below another").join("examples").join(name);
    let output = Command::new(&program)
        .current_dir(folder.path())
        .output()
        .unwrap_or_else(|error| panic!("{} cannot be run: {error}", program.display()));
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{name} failed\n{text}\n{errors}");
    text
}

/// What the header of an example says that it prints.
fn promised(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(name).with_extension("rs");
    let source = fs::read_to_string(path).expect("an example has a source");
    let header = source.lines().map_while(|line| line.strip_prefix("//!"));
    let lines = header.skip_while(|line| line.trim() != "```text").skip(1);
    let lines = lines.take_while(|line| line.trim() != "```");
    lines.map(|line| line.strip_prefix(' ').unwrap_or(line).to_owned() + "\n").collect()
}

/// Whether a line is as it was promised.
fn is_kept(promise: &str, line: &str) -> bool {
    let Some((before, after)) = promise.split_once(ANYTHING) else { return promise == line };
    let Some(mut rest) = line.strip_prefix(before) else { return false };
    let mut parts: Vec<&str> = after.split(ANYTHING).collect();
    let last = parts.pop().expect("a split has a last part");
    for part in parts {
        let Some((_, later)) = rest.split_once(part) else { return false };
        rest = later;
    }
    rest.ends_with(last)
}

fn check(name: &str) {
    let (printed, promised) = (run(name), promised(name));
    assert!(!promised.is_empty(), "the header of {name} does not say what it prints");
    let same_length = printed.lines().count() == promised.lines().count();
    let kept = printed.lines().zip(promised.lines()).all(|(line, said)| is_kept(said, line));
    assert!(same_length && kept, "{name} printed\n{printed}\nand its header says\n{promised}");
}

macro_rules! examples {
    ($($name:ident)*) => {
        $(
            #[test]
            fn $name() {
                check(stringify!($name));
            }
        )*

        #[test]
        fn every_example_is_checked_and_listed() {
            let manifest = include_str!("../Cargo.toml");
            let (front, readme) = (include_str!("../lib.rs"), include_str!("../README.md"));
            let examples = manifest.split("[[example]]\nname = \"").skip(1);
            let programs = examples.filter(|rest| !rest.contains("mistakes/"));
            for name in programs.filter_map(|rest| rest.split('"').next()) {
                let checked = [$(stringify!($name),)* "testing", "transaction"];
                assert!(checked.contains(&name), "{name} is not checked");
                assert!(front.contains(&format!("`{name}`")), "{name} is not listed in lib.rs");
                let listed = name == "readme" || readme.contains(&format!("({name}.rs)"));
                assert!(listed, "{name} is not listed in examples/README.md");
            }
        }
    };
}

examples! {
    agent approval child_tree crash fan_out hello process race readme retries saga versioning web
}

/// N12, as a program.
#[test]
fn a_cancel_in_the_applications_own_transaction() {
    check("transaction");
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
            "└─ deliver #11 ended with its process, not known to have been told [scope_exit]  \
             decided +0.00 ms  stopped +30.00 s",
            "clean: nothing is left running",
            "paid, and the process dies before that is noted:",
            "Cid pays 900",
            "Cid pays 900",
            "charged 2 times: it needs an idempotency key",
            "recorded and replayed: 27 events",
        ]
    );
}

#[test]
fn a_promise_leaves_out_only_what_it_says() {
    assert!(is_kept("closed +… ms", "closed +3.2 ms"));
    assert!(is_kept("a …  b …", "a 1  b 2"));
    assert!(!is_kept("a …  b …", "a 1"));
    assert!(!is_kept("a … b", "a 1 c"));
    assert!(!is_kept("a", "a b"));
}
