//! Bowline's store on Postgres, for any number of processes at once.
//!
//! A call reads the rows that it is about, decides in memory, and writes with one statement that
//! names what it was decided on: every write to any row of a run moves a number on the run's own
//! row, and a statement whose numbers are not the newest writes nothing. Calls that come in while
//! a statement is on its way go into the next one together.
//!
//! Of runs that this process holds it keeps the rows as it wrote them, and need not read them
//! again: the number tells whether somebody else has written since. Hints travel by notifications,
//! which are sent after the commits; whatever they miss is found by looking now and then.

mod connection;
mod fault;
mod limits;
mod queue;
mod read;
mod rows;
mod settings;
mod shared;
mod store;
mod write;

use std::sync::Arc;

use bowline_core::Epoch;
use bowline_store::{Error, Result, Store, suspect::Session};
use deadpool_postgres::{
    Hook, HookError, Manager, ManagerConfig, Pool, PoolBuilder, QueueMode, RecyclingMethod,
};
use tokio::{runtime::Runtime, sync::mpsc};
use tokio_postgres::Config;

use crate::{
    connection::{past::Past, session::Sessions, tls::Tls},
    fault::shown,
    rows::known::KnownRuns,
    shared::Shared,
    write::{call::Call, writer::Gate},
};

pub use connection::app_transaction::{AppTransaction, Bound, Cells, Unanswered};
pub use settings::Settings;

/// A store in a Postgres database.
pub struct PostgresStore {
    shared: Arc<Shared>,
    calls: mpsc::Sender<Box<dyn Call>>,
    looks: mpsc::Sender<read::reader::Look>,
    threads: Threads,
    /// What this process is called where it notifies.
    sender: String,
}

impl PostgresStore {
    /// Opens the database behind a URL, `postgres://user:password@host/database`, and makes or
    /// brings up to date the tables in it. Blocks until that is done.
    ///
    /// # Errors
    /// [`Error::Open`] if the database cannot be reached, if its tables may not be made, or if a
    /// newer Bowline made them.
    pub fn open(url: &str) -> Result<Self> {
        Self::open_with(url, Settings::default())
    }

    /// Opens a database with settings of one's own.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn open_with(url: &str, settings: Settings) -> Result<Self> {
        check(&settings)?;
        let (mut config, tls) = connection::tls::read(url)?;
        if config.get_application_name().is_none() {
            config.application_name("bowline");
        }
        config.connect_timeout(settings.patience);
        connection::session::keep_alive(&mut config);
        let threads = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .thread_name("bowline-postgres")
            .enable_all()
            .build();
        let runtime =
            threads.map_err(|error| Error::Open(format!("no thread can be started: {error}")))?;
        let threads = Threads(Some(runtime));
        let runtime = threads.runtime();
        let identity = prepare(runtime, &config, &tls, &settings)?;
        let calls = settings.connections.max(2);
        let held = Arc::new(KnownRuns::default());
        let sessions = Arc::new(Sessions::default());
        let pool = |size| pool(&config, &tls, &settings, &sessions, size);
        let (side, reads) = (build(pool(SIDE))?, build(pool(READS))?);
        let pool = pool(calls);
        let past = Arc::new(Past::default());
        let pool = pool.post_create(forgetting(held.clone())).post_create(meeting(past.clone()));
        let pool = build(pool)?;
        let lanes = settings.lanes.clamp(1, settings.connections.max(2));
        let known = (held, past, sessions);
        let shared = Arc::new(Shared::new([pool, side, reads], settings, identity, known));
        let (calls, incoming) = mpsc::channel(limits::CALLS_MAX);
        let gate = Arc::new(tokio::sync::Mutex::new(Gate { calls: incoming, left: None }));
        for _ in 0..lanes {
            runtime.spawn(write::writer::work(shared.clone(), gate.clone()));
        }
        let (looks, asked) = mpsc::channel(limits::CALLS_MAX);
        let asked = Arc::new(tokio::sync::Mutex::new(asked));
        for _ in 0..limits::READERS {
            runtime.spawn(read::reader::work(shared.clone(), asked.clone()));
        }
        runtime.spawn(write::room::work(shared.clone()));
        let sender = queue::hint::sender();
        if shared.settings.hints {
            runtime.spawn(queue::hint::notify(shared.clone(), sender.clone()));
            runtime.spawn(queue::listen::listen(shared.clone(), config, tls, sender.clone()));
        }
        runtime.spawn(queue::hint::look_again(shared.clone()));
        runtime.spawn(queue::hint::poll(shared.clone()));
        runtime.spawn(connection::planner::keep(shared.clone()));
        runtime.spawn(queue::hint::collect(shared.clone()));
        runtime.spawn(queue::hint::keep_alive(shared.clone()));
        Ok(Self { shared, calls, looks, threads, sender })
    }

    /// States that the process of a member is gone: what it held is given to others at once,
    /// without waiting for its lease to run out. Only for somebody who knows; false if there is no
    /// such member.
    ///
    /// # Errors
    /// If the database cannot be asked.
    pub async fn evict(&self, epoch: Epoch) -> Result<bool> {
        let shared = self.shared.clone();
        let ended = self.threads.runtime().spawn(async move {
            let lent = shared.lend().await?;
            let ended =
                queue::fate::end(connection::db::Db::own(&lent, &shared), epoch, false).await;
            shared.tell([bowline_store::Hint::Sweep].into());
            ended
        });
        ended.await.map_err(|_| Error::Shut)?.map_err(Error::from)
    }

    /// Does what was asked before, and lets go of the database; whoever calls later is answered
    /// with [`Error::Shut`].
    pub async fn close(&self) {
        Store::shut(self).await;
    }
}

impl Drop for PostgresStore {
    fn drop(&mut self) {
        self.shared.close();
    }
}

/// The store's own threads.
struct Threads(Option<Runtime>);

impl Threads {
    fn runtime(&self) -> &Runtime {
        self.0.as_ref().expect("it is only taken when it is dropped")
    }
}

impl Drop for Threads {
    /// It may be dropped inside another runtime, where nobody may wait.
    fn drop(&mut self) {
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}

/// Connections for leases and for hints.
const SIDE: usize = 2;
/// Connections for lists and subtrees.
const READS: usize = 3;

fn pool(
    config: &Config,
    tls: &Tls,
    settings: &Settings,
    sessions: &Arc<Sessions>,
    size: usize,
) -> PoolBuilder {
    let recycling = ManagerConfig { recycling_method: RecyclingMethod::Fast };
    let manager = Manager::from_config(config.clone(), tls.clone(), recycling);
    // The connection that was used last knows most statements, and has their plans.
    let mut pool = Pool::builder(manager).max_size(size).queue_mode(QueueMode::Lifo);
    // Where hints are off, because of a pooler perhaps, the session may be somebody else's next.
    if settings.hints {
        let limits = connection::db::limits(settings.patience);
        pool = pool.post_create(Hook::async_fn(move |client, _| {
            let limits = limits.clone();
            Box::pin(async move {
                // A database that knows no such settings needs none.
                let _ = client.batch_execute(connection::db::PLANS).await;
                let _ = client.batch_execute(connection::session::KEPT).await;
                let _ = client.batch_execute(connection::session::CHECKED).await;
                client.batch_execute(&limits).await.map_err(HookError::Backend)
            })
        }));
        pool = pool.post_create(introducing(sessions.clone()));
    }
    pool
}

/// Asks which session serves a connection. Where that cannot be told, none is ever ended.
fn introducing(sessions: Arc<Sessions>) -> Hook {
    Hook::async_fn(move |client, _| {
        let sessions = sessions.clone();
        Box::pin(async move {
            if let Ok(row) = client.query_one(connection::session::SESSION, &[]).await
                && let (Ok(process), Ok(since)) = (row.try_get(0), row.try_get(1))
            {
                sessions.meet(client, Session { process, since });
            }
            Ok(())
        })
    })
}

/// Where connections were lost, another server may have taken over, and not know everything.
fn forgetting(held: Arc<KnownRuns>) -> Hook {
    Hook::sync_fn(move |_, _| {
        held.forget_all();
        Ok(())
    })
}

/// Asks each server who it is. One that cannot tell is taken for the same as ever.
fn meeting(past: Arc<Past>) -> Hook {
    Hook::async_fn(move |client, _| {
        let past = past.clone();
        Box::pin(async move {
            if let Ok(row) = client.query_one(connection::past::SERVER, &[]).await
                && let Ok(server) = row.try_get(0)
            {
                past.meet(server);
            }
            Ok(())
        })
    })
}

fn build(pool: PoolBuilder) -> Result<Pool> {
    pool.build().map_err(|error| Error::Open(format!("no connections: {error}")))
}

/// What is written into statements as it is must be harmless.
fn check(settings: &Settings) -> Result<()> {
    let name = &settings.schema;
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    let begins = name.starts_with(|c: char| c.is_ascii_lowercase() || c == '_');
    match begins && name.len() <= 50 && name.chars().all(plain) && !name.starts_with("pg_") {
        true => Ok(()),
        false => Err(Error::Open(format!(
            "`{name}` cannot be the name of a schema here: small letters, digits and underscores, \
             at most 50, not beginning with a digit or with pg_"
        ))),
    }
}

/// Connects once, brings the tables up to date, and answers which store they are.
fn prepare(runtime: &Runtime, config: &Config, tls: &Tls, settings: &Settings) -> Result<i64> {
    let (config, tls, schema) = (config.clone(), tls.clone(), settings.schema.clone());
    let (done, wait) = std::sync::mpsc::sync_channel(1);
    runtime.spawn(async move {
        let prepared = async {
            let (mut client, connection) = config.connect(tls).await.map_err(|error| {
                Error::Open(format!("the database cannot be opened: {}", shown(&error)))
            })?;
            let connection = tokio::spawn(connection);
            let prefix = format!("{schema}.");
            let migrated = connection::migrate::migrate(&mut client, &schema, &prefix).await;
            let identity = match migrated {
                Ok(()) => connection::migrate::identity(&client, &prefix).await,
                Err(error) => Err(error),
            };
            drop(client);
            let _ = connection.await;
            identity
        };
        let _ = done.send(prepared.await);
    });
    wait.recv().unwrap_or_else(|_| Err(Error::Open("the database cannot be opened".into())))
}
