//! An engine that nobody closes, and whose runtime ends: whatever its store held is free.

use std::{
    fs::File,
    sync::{Arc, mpsc::sync_channel},
    thread,
    time::Duration,
};

use bowline_engine::{Engine, QueueOptions, worker::registry::activity_fn};
use bowline_postgres::{PostgresStore, Settings};
use bowline_sqlite::SqliteStore;
use bowline_store::Store;
use tokio::{runtime::Runtime, sync::Notify};

use crate::world::{Code, QUEUE, activity, start, within};

fn runtime() -> Runtime {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    runtime.expect("a runtime can be made")
}

/// Starts an engine on a store, has a run in memory and an attempt under way, and drops it all.
fn abandon(store: Arc<dyn Store>) {
    let runtime = runtime();
    let engine = runtime.block_on(async {
        let begun = Arc::new(Notify::new());
        let begins = begun.clone();
        let engine = Engine::builder(store)
            .queue(QUEUE, QueueOptions::default())
            .threads(2)
            .flow("caller", |ctx, _| async move {
                ctx.activity(activity("work", "1")).await;
                Ok(None)
            })
            .activity(
                "work",
                activity_fn(move |_, _| {
                    begins.notify_one();
                    std::future::pending()
                }),
            )
            .start()
            .await
            .expect("the engine starts");
        start(&engine, "caller", "c-1").await;
        within("the attempt to begin", begun.notified()).await;
        engine
    });
    drop(runtime);
    drop(engine);
}

/// The file belongs to nobody, and the next may have it: the operating system says when.
#[test]
fn a_file_is_free_when_the_runtime_has_ended() {
    let folder = tempfile::tempdir().expect("there is room for a folder");
    let open = || SqliteStore::open(folder.path().join("store.db"));
    abandon(Arc::new(open().expect("the file is free")));
    let lock = File::open(folder.path().join("store.db.lock")).expect("it is beside the store");
    let (freed, is_free) = sync_channel(1);
    thread::spawn(move || {
        lock.lock().expect("it can be locked");
        drop(lock);
        let _ = freed.send(());
    });
    is_free.recv_timeout(Duration::from_secs(60)).expect("the file is held");
    open().expect("the file is free");
}

/// No connection stays open, so nobody says any more that this process lives: its lease runs out.
#[test]
fn a_lease_is_let_go_of_when_the_runtime_has_ended() {
    let Ok(url) = std::env::var("BOWLINE_TEST_POSTGRES") else {
        return eprintln!("not on the store postgres: BOWLINE_TEST_POSTGRES is not set");
    };
    let name = format!("letting_go_{}", std::process::id());
    let mut settings = Settings::default();
    settings.schema.clone_from(&name);
    let between = if url.contains('?') { '&' } else { '?' };
    let own = format!("{url}{between}application_name={name}");
    abandon(Arc::new(PostgresStore::open_with(&own, settings).expect("the database runs")));
    runtime().block_on(async {
        let connected = tokio_postgres::connect(&url, tokio_postgres::NoTls).await;
        let (client, connection) = connected.expect("the database runs");
        tokio::spawn(connection);
        let sql = "SELECT count(*) FROM pg_stat_activity WHERE application_name = $1";
        within("its connections to be closed", async {
            loop {
                let row = client.query_one(sql, &[&name]).await.expect("it is SQL");
                if row.get::<_, i64>(0) == 0 {
                    return;
                }
            }
        })
        .await;
        let gone = format!("DROP SCHEMA {name} CASCADE");
        client.batch_execute(&gone).await.expect("nobody uses it");
    });
}
