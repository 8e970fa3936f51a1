//! The demo as a newcomer meets it, and as a program reads it.

use std::{
    collections::BTreeSet,
    io::{BufRead, BufReader, Read},
    path::Path,
    process::{Command, Stdio},
};

use serde_json::Value;

use crate::{bowline, err, out};

/// Well under a minute, on a busy machine too.
const LONGEST_MS: u64 = 60_000;

fn demo(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_bowline"));
    command.arg("demo").args(args).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// The facts of one kind.
fn of<'a>(facts: &'a [Value], kind: &str) -> Vec<&'a Value> {
    facts.iter().filter(|fact| fact["fact"] == kind).collect()
}

/// All values of one field of the facts of one kind.
fn texts(facts: &[Value], kind: &str, field: &str) -> BTreeSet<String> {
    of(facts, kind).iter().filter_map(|fact| Some(fact[field].as_str()?.to_owned())).collect()
}

fn is_alive(pid: u64) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat"));
    stat.is_ok_and(|stat| !stat.rsplit(')').next().is_some_and(|rest| rest.starts_with(" Z")))
}

#[test]
fn every_fact_of_the_demo_is_told_to_programs() {
    let output = bowline(&["--json", "demo"]);
    assert!(output.status.success(), "{}\n{}", out(&output), err(&output));
    let text = out(&output);
    let read = |line: &str| serde_json::from_str(line).unwrap_or_else(|e| panic!("{line}: {e}"));
    let facts: Vec<Value> = text.lines().map(read).collect();
    assert!(facts.iter().all(|fact| fact["fact"].is_string()), "{text}");
    one_worker_was_killed_and_another_went_on(&facts);
    every_kind_of_cancel_has_its_cause(&facts);
    for check in of(&facts, "check") {
        assert_eq!(check["found"], 0, "{check}");
    }
    let checked = texts(&facts, "check", "what");
    let wanted = ["findings", "open_runs", "orphans", "processes", "unclean_trees"];
    assert_eq!(checked, BTreeSet::from(wanted.map(str::to_owned)));
    assert!(of(&facts, "tree").iter().all(|tree| tree["clean"] == true), "{text}");
    let last = facts.last().expect("it tells something");
    assert_eq!((&last["fact"], &last["clean"]), (&"clean".into(), &true.into()));
    assert!(last["elapsed_ms"].as_u64().is_some_and(|span| span < LONGEST_MS), "{last}");
    let store = of(&facts, "demo")[0]["store"].as_str().expect("a path").to_owned();
    assert!(!Path::new(&store).exists(), "{store} was left");
}

fn one_worker_was_killed_and_another_went_on(facts: &[Value]) {
    let workers: Vec<u64> =
        of(facts, "worker").iter().filter_map(|fact| fact["pid"].as_u64()).collect();
    assert_eq!(workers.len(), 2);
    let killed = of(facts, "killed");
    assert_eq!((killed[0]["pid"].as_u64(), &killed[0]["signal"]), (Some(workers[0]), &9.into()));
    let identity = format!("demo worker {}", workers[1]);
    let again = of(facts, "again");
    assert!(again.iter().any(|fact| fact["activity"] == "refund"), "the clean-up went on");
    for fact in again {
        assert_eq!((&fact["worker"], &fact["attempt"]), (&identity.clone().into(), &2.into()));
        assert_eq!(fact["before"], "worker_lost: its worker was lost");
    }
    let processes = of(facts, "process");
    assert_eq!(processes.len(), 2, "one in each life");
    let pids = processes.iter().filter_map(|fact| fact["pid"].as_u64()).chain(workers);
    for pid in pids {
        assert!(!is_alive(pid), "process {pid} was left");
    }
}

fn every_kind_of_cancel_has_its_cause(facts: &[Value]) {
    let stopped = of(facts, "stopped_activity");
    for (activity, code, root, rung) in [
        ("ship", "scope_exit", "requested by alice (the customer changed her mind)", "Signal"),
        ("think", "run_cancelled", "requested by bob (stop button)", "Signal"),
        ("crunch", "run_cancelled", "requested by carol (the budget is used up)", "Abort"),
        ("encode", "run_terminated", "requested (wrong film)", "Kill"),
        ("scan", "deadline", "deadline", "Signal"),
        ("ask_supplier", "select_lost", "select_lost", "Signal"),
        ("rebuild_index", "requested", "requested (too slow tonight)", "Signal"),
    ] {
        let one = stopped.iter().find(|fact| fact["activity"] == activity);
        let one = one.unwrap_or_else(|| panic!("{activity} was not stopped"));
        assert_eq!(one["code"], code, "{one}");
        assert!(one["cause"].as_str().is_some_and(|cause| cause.ends_with(root)), "{one}");
        assert_eq!(one["rung"], rung, "{one}");
        for hop in ["decided_ms", "delivered_ms", "stopped_ms"] {
            assert!(one[hop].is_number(), "{hop} is missing: {one}");
        }
    }
    let children = of(facts, "stopped_run");
    let children = children.iter().filter(|fact| fact["code"] == "parent_cancelled");
    assert_eq!(children.count(), 3, "the tree below the agent");
}

#[test]
fn the_demo_reads_well_and_its_file_can_be_kept() {
    let folder = tempfile::tempdir().expect("a folder");
    let kept = folder.path().join("kept");
    let output = bowline(&["demo", "--keep", kept.to_str().expect("a path of text")]);
    let text = out(&output);
    assert!(output.status.success(), "{text}\n{}", err(&output));
    for wanted in [
        "order-1001",
        "alice cancels it: the customer changed her mind",
        "is dead: signal: 9 (SIGKILL)",
        "refund, attempt 2 (worker_lost",
        "bob cancels it: stop button",
        "[parent_cancelled]",
        "ignored it, and was aborted",
        "ignored it, and was killed",
        "[deadline]",
        "[select_lost]",
        "3 of 6 shards were there in time",
        "yesterday's index (too slow tonight)",
        "\nclean: nothing is left running (",
    ] {
        assert!(text.contains(wanted), "{wanted:?} is missing in\n{text}");
    }
    assert!(!text.contains('\x1b'), "there are colours in a pipe");
    let file = kept.join("demo.db");
    let file = file.to_str().expect("a path of text");
    assert_eq!(out(&bowline(&["check", file])), "the file is sound\n");
    assert_eq!(out(&bowline(&["orphans", file])), "nothing is left over\n");
    let again = bowline(&["demo", "--keep", kept.to_str().expect("a path of text")]);
    assert_eq!(again.status.code(), Some(2), "nothing is overwritten");
}

/// Whoever pipes it to `head` gets no panic, and leaves no process and no file.
#[test]
fn a_demo_that_nobody_reads_leaves_nothing() {
    let mut child = demo(&["--json"]).spawn().expect("it begins");
    let mut lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
    let first: Value =
        serde_json::from_str(&lines.next().expect("a line").expect("text")).expect("an object");
    let process = lines.by_ref().map_while(Result::ok).find(|line| line.contains("\"process\""));
    assert!(process.is_some());
    drop(lines);
    let mut said = String::new();
    // Every process that it started has the other end of this pipe: it ends with the last one.
    child.stderr.take().expect("a pipe").read_to_string(&mut said).expect("text");
    assert_eq!(said, "");
    assert_eq!(child.wait().expect("it ends").code(), Some(2));
    assert!(!Path::new(first["store"].as_str().expect("a path")).exists());
}

/// The worker and what it has started do not outlive a demo that is killed itself.
#[test]
fn a_demo_that_is_killed_takes_its_worker_along() {
    let folder = tempfile::tempdir().expect("a folder");
    let kept = folder.path().join("kept");
    let mut child = demo(&["--json", "--keep", kept.to_str().expect("a path of text")])
        .spawn()
        .expect("it begins");
    let mut lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
    let process = lines.by_ref().map_while(Result::ok).find(|line| line.contains("\"process\""));
    assert!(process.is_some());
    child.kill().expect("it is killed");
    child.wait().expect("it is gone");
    let mut said = String::new();
    child.stderr.take().expect("a pipe").read_to_string(&mut said).expect("text");
    let file = kept.join("demo.db");
    // A process that dies closes its pipes a moment before it lets go of the file.
    let mut listed = bowline(&["list", file.to_str().expect("text")]);
    for _ in 0..100 {
        if listed.status.success() {
            break;
        }
        listed = bowline(&["list", file.to_str().expect("text")]);
    }
    assert!(listed.status.success(), "{}{said}", err(&listed));
    assert!(out(&listed).contains("video-5"), "{}", out(&listed));
}
