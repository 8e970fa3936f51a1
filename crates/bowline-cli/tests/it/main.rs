//! The command as a user meets it: what it prints, and how it exits.

mod database;
mod demo;
mod gone;
mod plain;
mod session;
mod told;

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
