//! The command as a user meets it: what it prints, and how it exits.

mod database;
mod demo;
mod gone;

use std::{
    path::Path,
    process::{Command, Output},
    sync::Arc,
};

use bowline_engine::{Builder, Engine, StartOptions, store::Store};
use bowline_sqlite::SqliteStore;

/// An engine on the file at a path.
fn engine(path: &Path) -> Builder {
    Engine::builder(Arc::new(SqliteStore::open(path).expect("opens")))
}

fn bowline(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_bowline")).args(args).output().expect("the command runs")
}

fn out(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn err(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// A store with one open run, whose code is nowhere.
fn store(path: &Path) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.expect("a runtime").block_on(async {
        let store = Arc::new(SqliteStore::open(path).expect("opens"));
        let engine = Engine::builder(store.clone()).start().await.expect("starts");
        let options = StartOptions::new("checkout", "order-42", "default", None);
        engine.start(options).await.expect("the run starts");
        engine.close(std::time::Duration::from_secs(5)).await.expect("closes");
        // Whoever drops the last handle would let go of the file at some later moment.
        store.shut().await;
    });
}

#[test]
fn a_run_is_listed_shown_cancelled_and_shown_again() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("orders.db");
    store(&path);
    let file = path.to_str().expect("a path of text");
    let listed = bowline(&["list", file]);
    assert!(listed.status.success(), "{}", err(&listed));
    assert!(out(&listed).contains("running"), "{}", out(&listed));
    assert!(out(&listed).contains("order-42"), "{}", out(&listed));
    let cancelled = bowline(&["cancel", file, "order-42", "--reason", "lost", "--by", "alice"]);
    assert!(out(&cancelled).starts_with("cancel requested of run "), "{}", err(&cancelled));
    let shown = bowline(&["--json", "show", file, "order-42"]);
    assert!(out(&shown).contains("requested by alice (lost)"), "{}", out(&shown));
    assert!(out(&shown).contains("WorkflowStarted"), "{}", out(&shown));
}

async fn checkout(_: bowline::Ctx) -> bowline::Result<()> {
    panic!("the wheel came off")
}

/// A store with two parked runs, in a file that nobody has open.
fn parked(path: &Path) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.expect("a runtime").block_on(async {
        let app = bowline::Bowline::open(path).workflow(checkout);
        let bowline = app.start().await.expect("starts");
        for id in ["order-1", "order-2"] {
            let run = bowline.start(checkout, id, ()).await.expect("the run starts");
            run.result().await.expect_err("it is parked");
        }
        bowline.close(std::time::Duration::from_secs(5)).await.expect("closes");
    });
}

#[test]
fn parked_runs_are_listed_and_retried_one_by_one_or_all_at_once() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("orders.db");
    parked(&path);
    let file = path.to_str().expect("a path of text");
    let count = |args: &[&str]| out(&bowline(args)).lines().count();
    assert_eq!(count(&["list", file, "--parked"]), 2);
    let shown = out(&bowline(&["show", file, "order-1"]));
    assert!(shown.contains("parked since") && shown.contains("the wheel came off"), "{shown}");
    let nothing = bowline(&["retry", file]);
    assert_eq!(nothing.status.code(), Some(2), "it must be said which: {}", err(&nothing));
    let one = bowline(&["retry", file, "order-1"]);
    assert_eq!(out(&one), "1 parked run will be tried again\n", "{}", err(&one));
    assert_eq!(count(&["list", file, "--parked"]), 1);
    let none = bowline(&["retry", file, "--workflow", "other"]);
    assert_eq!(out(&none), "no run is parked there\n", "{}", err(&none));
    let all = bowline(&["--json", "retry", file, "--all"]);
    assert!(out(&all).contains("\"retried\":1"), "{}", out(&all));
    assert_eq!(count(&["list", file, "--parked"]), 0);
}

#[test]
fn a_sound_file_is_checked_and_copied_and_nothing_is_overwritten() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("orders.db");
    store(&path);
    let file = path.to_str().expect("a path of text");
    let copy = folder.path().join("copy.db");
    let copy = copy.to_str().expect("a path of text");
    assert_eq!(out(&bowline(&["check", file])), "the file is sound\n");
    assert_eq!(out(&bowline(&["orphans", file])), "nothing is left over\n");
    assert!(bowline(&["backup", file, copy]).status.success());
    assert!(out(&bowline(&["list", copy])).contains("order-42"));
    let again = bowline(&["backup", file, copy]);
    assert_eq!(again.status.code(), Some(2));
    assert!(err(&again).contains("copy.db"), "{}", err(&again));
}

#[test]
fn what_is_wrong_is_said_and_nothing_is_made() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("nowhere.db");
    let file = path.to_str().expect("a path of text");
    let listed = bowline(&["list", file]);
    assert_eq!(listed.status.code(), Some(2));
    assert!(err(&listed).contains("there is no file"), "{}", err(&listed));
    assert!(!path.exists());
    let store = folder.path().join("orders.db");
    self::store(&store);
    let file = store.to_str().expect("a path of text");
    let shown = bowline(&["show", file, "order-43"]);
    assert_eq!(shown.status.code(), Some(2));
    assert!(err(&shown).contains("there is no such run"), "{}", err(&shown));
}

/// While a program has the file open, the command refuses and names the program.
#[test]
fn a_file_in_use_is_refused_by_name_of_its_holder() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("orders.db");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.expect("a runtime").block_on(async {
        let engine = engine(&path).start().await.expect("starts");
        let listed = bowline(&["list", path.to_str().expect("a path of text")]);
        assert_eq!(listed.status.code(), Some(2));
        let holder = std::process::id().to_string();
        assert!(err(&listed).contains(&holder), "{}", err(&listed));
        engine.close(std::time::Duration::from_secs(5)).await.expect("closes");
    });
}
