//! The engine on a file that misbehaves: somebody else writes to it, it is full, or bytes of it are
//! damaged. Nothing is lost, nothing is decided for lack of a disk, and nobody else is wedged.

use std::{path::PathBuf, pin::pin, sync::Arc, time::Duration};

use bowline_core::{Payload, RunEnding};
use bowline_engine::{Builder, Engine, QueueOptions, clock::ManualClock};
use bowline_sqlite::{Settings, SqliteStore};
use bowline_store::{Error as StoreError, Store, memory::Method};
use rusqlite::Connection;
use tempfile::TempDir;

use crate::{
    support::{
        flows::{Flows, work},
        gate::{Gated, Gates},
        probe::Probe,
    },
    world::{Code, QUEUE, ending, idle, signal, start, within},
};

/// A file, and an engine on it whose time passes by hand.
struct Place {
    folder: TempDir,
    clock: Arc<ManualClock>,
    gates: Gates,
}

impl Place {
    fn new() -> Self {
        let folder = TempDir::new().expect("there is room for a folder");
        Self { folder, clock: Arc::default(), gates: Gates::default() }
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("store.db")
    }

    fn open(&self) -> Arc<SqliteStore> {
        let mut settings = Settings::default();
        settings.busy = Duration::from_millis(1);
        Arc::new(SqliteStore::open_with(self.path(), settings).expect("the file opens"))
    }

    fn builder(&self, store: &Arc<SqliteStore>) -> Builder {
        let inner: Arc<dyn Store> = store.clone();
        let builder = Engine::builder(Arc::new(Gated::over(inner, self.gates.clone())));
        builder
            .clock(self.clock.clone())
            .stuck_after(Duration::MAX)
            .queue(QUEUE, QueueOptions::default())
            .flow("quick", |_, _| async { Ok(None) })
            .flow("wait", |ctx, _| async move { Ok(ctx.signals("go").recv().await.input) })
    }

    /// Lets time pass until something has happened.
    async fn passes<T>(&self, what: &str, happens: impl Future<Output = T>) -> T {
        let passes = async {
            loop {
                tokio::task::yield_now().await;
                self.clock.advance(Duration::from_millis(10));
            }
        };
        let happens = within(what, happens);
        tokio::select! {
            biased;
            done = happens => done,
            () = passes => unreachable!("time has no end"),
        }
    }

    /// Waits until a call was made so often, while time passes.
    async fn calls(&self, method: Method, count: usize) {
        let calls = || self.gates.calls().iter().filter(|call| **call == method).count();
        let enough = async {
            while calls() < count {
                tokio::task::yield_now().await;
            }
        };
        self.passes(&format!("{count} calls of {method:?}"), enough).await;
    }
}

/// H12: somebody else holds the file while an activity ends and its turn is due. That is a delay,
/// however long: the run goes on afterwards, and nothing in its history tells of it.
#[tokio::test]
async fn h12_a_run_goes_on_after_somebody_else_had_the_file() {
    let place = Place::new();
    let (store, probe) = (place.open(), Probe::new());
    let builder = place.builder(&store).fan(work(10, 5), 1);
    let engine = builder.activity("work", probe.obeys()).up().await;
    let run = start(&engine, "fan", "fan-1").await;
    probe.has_begun(1).await;
    idle(&engine, run).await;
    let other = Connection::open(place.path()).expect("another program may look at the file");
    other.execute_batch("BEGIN IMMEDIATE").expect("nobody writes now");
    let refused = place.passes("an answer", engine.signal(run, signal("go"))).await;
    let refused = refused.expect_err("who waits is told after a while");
    assert_eq!(refused.code(), "busy", "{refused}");
    probe.finish(1);
    // Far more often than anybody tries for whom somebody waits.
    place.calls(Method::Commit, 20).await;
    assert!(engine.head(run).await.expect("it can be read").status.is_open());
    other.execute_batch("ROLLBACK").expect("it lets go");
    let ended = place.passes("the run to end", Box::pin(ending(&engine, run))).await;
    assert_eq!(ended, RunEnding::Completed(None));
    assert_eq!(probe.attempts(), ["attempt 1"]);
}

/// The disk is full: whoever asks is told so, what runs waits, and everything goes on where it was
/// as soon as there is room.
#[tokio::test]
async fn h9_a_full_disk_delays_what_runs_and_loses_nothing() {
    let place = Place::new();
    let (store, probe) = (place.open(), Probe::new());
    let large = Payload::json(format!("\"{}\"", "x".repeat(500_000)));
    let result = large.clone();
    let engine = place
        .builder(&store)
        .flow("one", |ctx, _| async move { crate::world::done(ctx.activity(work(10, 5)).await) })
        .activity("work", probe.answers(move |_| Ok(Some(result.clone()))))
        .up()
        .await;
    let run = start(&engine, "one", "one-1").await;
    probe.has_begun(1).await;
    idle(&engine, run).await;
    store.limit(Some(4_096)).await.expect("the limit is taken");
    let mut heavy = signal("go");
    heavy.input = Some(large.clone());
    let refused = place.passes("an answer", engine.signal(run, heavy)).await;
    let refused = refused.expect_err("there is no room");
    assert_eq!(refused.code(), "read_only", "{refused}");
    assert!(refused.to_string().contains("no room"), "{refused}");
    probe.finish(1);
    place.calls(Method::Commit, 20).await;
    assert!(engine.head(run).await.expect("it can be read").status.is_open());
    store.limit(None).await.expect("there is room again");
    let ended = place.passes("the run to end", Box::pin(ending(&engine, run))).await;
    assert_eq!(ended, RunEnding::Completed(Some(large)));
    assert_eq!(probe.attempts(), ["attempt 1"]);
    let after = start(&engine, "quick", "after").await;
    assert_eq!(ending(&engine, after).await, RunEnding::Completed(None));
}

/// Bytes of one run's history, or of its inbox, are damaged: that run stops and says why, whoever
/// asks for it is told, and all others go on.
#[tokio::test]
async fn h9_damaged_bytes_of_one_run_stop_that_run_alone() {
    for table in ["history", "inbox"] {
        let place = Place::new();
        let store = place.open();
        let engine = place.builder(&store).up().await;
        let mut runs = Vec::new();
        for id in ["w-1", "w-2", "w-3"] {
            let run = start(&engine, "wait", id).await;
            idle(&engine, run).await;
            runs.push(run);
        }
        place.passes("the close", engine.close(Duration::ZERO)).await.expect("it closes");
        store.close().await;
        let store = place.open();
        // What nobody works on yet lies in the inbox.
        let idle = Engine::builder(store.clone()).clock(place.clock.clone()).up().await;
        idle.signal(runs[1], signal("other")).await.expect("it is taken");
        idle.close(Duration::ZERO).await.expect("it closes");
        store.close().await;
        damage(&place, table, "w-2");
        let store = place.open();
        let engine = place.builder(&store).up().await;
        for run in [runs[0], runs[2]] {
            engine.signal(run, signal("go")).await.expect("it is taken");
            assert_eq!(ending(&engine, run).await, RunEnding::Completed(None), "{table}");
        }
        let after = start(&engine, "quick", "after").await;
        assert_eq!(ending(&engine, after).await, RunEnding::Completed(None));
        let parked = within("the run to be parked", async {
            loop {
                if let Some(parked) = engine.head(runs[1]).await.expect("its row reads").parked {
                    return parked;
                }
                tokio::task::yield_now().await;
            }
        });
        let reason = parked.await.reason;
        assert!(reason.contains("checksum"), "{table}: {reason}");
        if table == "history" {
            let told = engine.history(runs[1]).await.expect_err("it does not read");
            assert_eq!(told.code(), "corrupt", "{told}");
            assert!(told.to_string().contains(&runs[1].to_string()), "{told} names the run");
        }
        let findings = store.check().await.expect("the file can be checked");
        assert!(findings.iter().all(|found| found.run == Some(runs[1])), "{findings:?}");
        assert!(!findings.is_empty());
    }
}

/// Rows of a run are damaged while it has a timer and an attempt: the timers of all others ring,
/// their heartbeats are kept, and what is cancelled stops.
#[tokio::test]
async fn damaged_rows_of_one_run_hold_up_nobody_else() {
    for (table, column) in [("runs", "cancel"), ("activities", "live")] {
        let place = Place::new();
        let (store, probe) = (place.open(), Probe::new());
        let engine = place
            .builder(&store)
            .flow("both", |ctx, _| async move {
                let attempt = pin!(ctx.activity(work(10, 5)));
                let rings = pin!(ctx.timer(Duration::from_secs(40)));
                tokio::select! {
                    biased;
                    _ = attempt => {}
                    _ = rings => {}
                }
                Ok(None)
            })
            .activity("work", probe.obeys())
            .up()
            .await;
        let mut runs = Vec::new();
        for id in ["w-1", "w-2", "w-3"] {
            runs.push(start(&engine, "both", id).await);
        }
        probe.has_begun(3).await;
        for run in &runs {
            idle(&engine, *run).await;
        }
        let db = Connection::open(place.path()).expect("the file opens");
        let key = if table == "runs" { "key" } else { "run" };
        let sql = format!(
            "UPDATE {table} SET {column} = x'00' \
             WHERE {key} = (SELECT key FROM labels WHERE workflow_id = 'w-2')"
        );
        assert_eq!(db.execute(&sql, []).expect("it is changed"), 1, "{table}");
        for run in [runs[0], runs[2]] {
            let ended = place.passes("a run to end", Box::pin(ending(&engine, run))).await;
            assert_eq!(ended, RunEnding::Completed(None), "{table}");
        }
        if table == "runs" {
            assert!(engine.metrics().runs_set_aside > 0, "{table}: it is counted");
        }
        let after = start(&engine, "both", "after").await;
        let ended = place.passes("the last one", Box::pin(ending(&engine, after))).await;
        assert_eq!(ended, RunEnding::Completed(None), "{table}");
    }
}

/// Changes the last byte of every row that a run has in a table.
fn damage(place: &Place, table: &str, workflow_id: &str) {
    let db = Connection::open(place.path()).expect("the file opens");
    let sql = format!(
        "UPDATE {table} SET bytes = CAST(substr(bytes, 1, length(bytes) - 1) || x'AA' AS BLOB) \
         WHERE run = (SELECT key FROM labels WHERE workflow_id = ?)"
    );
    assert!(db.execute(&sql, [workflow_id]).expect("it is changed") > 0, "something was damaged");
}

/// What is no store, or belongs to somebody, is refused before an engine exists; it is left as it
/// is, and says what it is.
#[tokio::test]
async fn a_file_that_is_none_or_is_taken_is_refused_and_left_alone() {
    let place = Place::new();
    let text = "not a database at all, but long enough to look like one ".repeat(100);
    std::fs::write(place.path(), &text).expect("there is room");
    let refused = SqliteStore::open(place.path()).err().expect("it is no database");
    assert!(matches!(&refused, StoreError::Open(why) if why.contains("store.db")), "{refused}");
    assert_eq!(std::fs::read_to_string(place.path()).expect("it is there"), text);
    std::fs::remove_file(place.path()).expect("it is there");
    let store = place.open();
    let engine = place.builder(&store).up().await;
    let run = start(&engine, "wait", "w-1").await;
    let taken = SqliteStore::open(place.path()).err().expect("somebody has it");
    assert!(taken.to_string().contains("in use by pid"), "{taken}");
    engine.signal(run, signal("go")).await.expect("whoever has it goes on");
    assert_eq!(ending(&engine, run).await, RunEnding::Completed(None));
}
