//! The stores that every story is played on.
//!
//! A store that joins is one more function here: it opens an empty store, and opens it again as a
//! new process finds it after the one before was killed. One that needs a server reads its address
//! from the environment, and answers `None` where there is none.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    thread,
    time::Duration,
};

use bowline_core::Epoch;
use bowline_engine::clock::{Clock, ManualClock};
use bowline_postgres::{PostgresStore, Settings};
use bowline_sqlite::SqliteStore;
use bowline_store::{Store, memory::MemoryStore};
use parking_lot::Mutex;
use tempfile::TempDir;

/// Opens a store, again and again: from the second time on as a new process finds it after the
/// one before was killed.
pub(crate) type Open = Box<dyn Fn() -> Arc<dyn Store>>;

/// A store, and how whoever has it is given up as others do it: by members that have not heard of
/// it for too long. A file belongs to one process, and has no such others.
pub(crate) struct Kept {
    pub(crate) open: Open,
    pub(crate) give_up: Option<Box<dyn Fn()>>,
}

/// An empty store of its kind, if there is one here.
type Kind = fn() -> Option<Kept>;

const KINDS: &[(&str, Kind)] = &[("memory", memory), ("sqlite", sqlite), ("postgres", postgres)];

/// An empty store of every kind, by name.
pub(crate) fn all() -> impl Iterator<Item = (&'static str, Kept)> {
    KINDS.iter().filter_map(|(name, kind)| Some((*name, kind()?)))
}

pub(crate) fn memory() -> Option<Kept> {
    let store = MemoryStore::new();
    let own = store.clone();
    let open = Box::new(move || -> Arc<dyn Store> { Arc::new(store.reopen()) });
    Some(Kept { open, give_up: Some(Box::new(move || own.evict())) })
}

/// The same, for many: who is silent for longer than its lease by this clock is given up.
pub(crate) fn many(clock: &Arc<ManualClock>) -> Kept {
    let clock = clock.clone();
    let store = MemoryStore::shared(move || clock.now());
    let open = Box::new(move || -> Arc<dyn Store> { Arc::new(store.opening()) });
    Kept { open, give_up: None }
}

/// A store that several processes have open at once, each with an opening of its own.
pub(crate) fn shared(clock: &Arc<ManualClock>) -> Vec<(&'static str, Open)> {
    let clock = clock.clone();
    let store = MemoryStore::shared(move || clock.now());
    let memory: Open = Box::new(move || -> Arc<dyn Store> { Arc::new(store.opening()) });
    let postgres = schema().map(|mut schema| {
        (schema.settings.hints, schema.settings.poll) = (true, Duration::from_secs(1));
        let open: Open = Box::new(move || -> Arc<dyn Store> {
            let store = PostgresStore::open_with(&schema.url, schema.settings.clone());
            Arc::new(store.expect("the database runs"))
        });
        ("postgres", open)
    });
    [("memory", memory)].into_iter().chain(postgres).collect()
}

pub(crate) fn sqlite() -> Option<Kept> {
    let folder = TempDir::new().expect("there is room for a folder");
    let opened = Mutex::new(None::<Arc<SqliteStore>>);
    let open = Box::new(move || -> Arc<dyn Store> {
        let mut opened = opened.lock();
        // Whoever had it may still hold on to it, as no dead process does.
        if let Some(before) = opened.take() {
            wait(before.close());
        }
        let store = SqliteStore::open(folder.path().join("store.db")).expect("the file is free");
        opened.insert(Arc::new(store)).clone()
    });
    Some(Kept { open, give_up: None })
}

/// A schema of its own in the database that `cargo xtask test` starts.
struct Schema {
    url: String,
    settings: Settings,
    opened: Mutex<Option<Arc<PostgresStore>>>,
}

impl Schema {
    /// Whoever had it may still hold on to it, and to its connections, as no dead process does.
    fn close(&self) -> bool {
        let before = self.opened.lock().take();
        before.map(|store| wait(store.close())).is_some()
    }

    /// Another member says that whoever has it is out of touch. The hint goes to this process.
    fn give_up(&self) {
        let name = &self.settings.schema;
        self.execute(format!("UPDATE {name}.members SET state = 2 WHERE state = 0"));
        let store = self.opened.lock().clone().expect("somebody has it");
        wait(async move { drop(store.evict(Epoch(0)).await) });
    }

    /// Speaks to the database itself, on a thread of its own: the one that tells the story may be
    /// a runtime's.
    fn execute(&self, sql: String) {
        let work = async {
            let connected = tokio_postgres::connect(&self.url, tokio_postgres::NoTls).await;
            let (client, connection) = connected.expect("the database runs");
            let connection = tokio::spawn(connection);
            client.batch_execute(&sql).await.expect("it is SQL");
            drop(client);
            connection.await.expect("no panic").expect("it ends well");
        };
        wait(work);
    }
}

impl Drop for Schema {
    fn drop(&mut self) {
        self.close();
        self.execute(format!("DROP SCHEMA IF EXISTS {} CASCADE", self.settings.schema));
    }
}

fn schema() -> Option<Schema> {
    static SCHEMAS: AtomicU64 = AtomicU64::new(0);
    let Ok(url) = std::env::var("BOWLINE_TEST_POSTGRES") else {
        eprintln!("not on the store postgres: BOWLINE_TEST_POSTGRES is not set");
        return None;
    };
    let own = SCHEMAS.fetch_add(1, Ordering::Relaxed);
    let mut settings = Settings::default();
    settings.schema = format!("engine_{}_{own}", std::process::id());
    settings.connections = 5;
    // There is one process in a story: nobody else is told, and nothing comes by the wall clock.
    settings.hints = false;
    settings.poll = Duration::from_secs(100_000);
    Some(Schema { url, settings, opened: Mutex::default() })
}

pub(crate) fn postgres() -> Option<Kept> {
    let schema = Arc::new(schema()?);
    let own = schema.clone();
    let open = Box::new(move || -> Arc<dyn Store> {
        if schema.close() {
            // The process that had it is dead, and somebody has seen it.
            let name = &schema.settings.schema;
            schema.execute(format!("UPDATE {name}.members SET state = 1 WHERE state = 0"));
        }
        let store = PostgresStore::open_with(&schema.url, schema.settings.clone());
        let store = Arc::new(store.expect("the database runs"));
        schema.opened.lock().insert(store).clone()
    });
    Some(Kept { open, give_up: Some(Box::new(move || own.give_up())) })
}

/// Waits on a thread of its own: the one that tells the story may be a runtime's.
fn wait(work: impl Future<Output = ()> + Send) {
    thread::scope(|scope| {
        scope.spawn(|| {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            runtime.expect("a runtime can be made").block_on(work);
        });
    });
}
