//! Bowline's store in one SQLite file, which belongs to one process at a time.
//!
//! One thread writes at a time, most of the time one that does nothing else. It gathers the calls
//! that come in while the transaction before is made durable, and runs them in one; nobody is
//! answered before that transaction is on the disk.
//! What waits, rings or runs is kept in memory beside the rows, so nothing polls; it is told of a
//! transaction only once that is committed, and is made again from the rows when the file opens.

mod connection;
mod fault;
mod limits;
mod queue;
mod read;
mod rows;
mod settings;
mod shared;
mod stats;
mod store;
mod write;

use std::{
    path::Path,
    sync::Arc,
    thread::{self, JoinHandle},
};

use bowline_store::{Error, Result, Store};
use parking_lot::Mutex;
use tokio::sync::{mpsc, oneshot};

use crate::{
    connection::{
        hand::{Hand, Slot},
        lock::Lock,
        taken::Taken,
    },
    read::reader::Question,
    shared::Shared,
    write::{
        loan::WriterLoan,
        writer::{Order, Writer},
    },
};

pub use connection::backup::Copied;
pub use connection::check::Finding;
pub use settings::Settings;
pub use stats::Stats;
pub use write::transaction::Transaction;

/// A store in one SQLite file.
pub struct SqliteStore {
    shared: Arc<Shared>,
    loan: Arc<WriterLoan>,
    orders: mpsc::Sender<Order>,
    questions: mpsc::Sender<Question>,
    /// Questions of those that list, which have a reader of their own.
    lists: mpsc::Sender<Question>,
    threads: Mutex<Vec<JoinHandle<()>>>,
    /// Every thread of this store has one end; the other hears when the last is gone.
    alive: mpsc::WeakSender<()>,
    gone: Arc<tokio::sync::Mutex<mpsc::Receiver<()>>>,
}

impl SqliteStore {
    /// Opens a file, or makes it. Blocks until what waits in it is known again.
    ///
    /// # Errors
    /// [`Error::Open`] if another process has it or this one has it open already, if it is not
    /// one of Bowline's files (then it is left as it is), if a newer Bowline made it, or if it
    /// cannot be opened at all.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Self::open_with(path, Settings::default())
    }

    /// Opens a file with settings of one's own.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn open_with(path: impl AsRef<Path>, settings: Settings) -> Result<Self> {
        let path = connection::place::resolve(path.as_ref())?;
        let taken = Taken::take(&path)?;
        connection::place::inspect(&path)?;
        let lock = Arc::new(Lock::take(&path, taken)?);
        // Somebody may have put another file there while nobody held the lock.
        connection::place::inspect(&path)?;
        let opened = Self::open_locked(&path, settings, lock);
        opened.map_err(|error| match error {
            Error::Backend(why) | Error::ReadOnly(why) => {
                Error::Open(format!("cannot open {}: {why}", path.display()))
            }
            other => other,
        })
    }

    fn open_locked(path: &Path, settings: Settings, lock: Arc<Lock>) -> Result<Self> {
        let shared = Arc::new(Shared::new(path.to_owned(), settings));
        let (alive, gone) = mpsc::channel(1);
        let held = (lock, alive);
        let count = shared.settings.readers.max(1);
        let readers: Vec<Slot> = (0..=count).map(|_| Slot::default()).collect();
        let hand = Hand::open(&shared, &held, &readers)?;
        let mut index =
            queue::load::index(connection::db::Db::new(&hand.connection, &shared.counters))?;
        index.show(&shared.waiting);
        let memory = write::tx::WriterMemory { index, ..write::tx::WriterMemory::default() };
        let (orders, order) = mpsc::channel(limits::CALLS_MAX);
        let (questions, question) = mpsc::channel(limits::READS_MAX);
        let (lists, list) = mpsc::channel(limits::READS_MAX);
        let (question, list) = (Arc::new(Mutex::new(question)), Arc::new(Mutex::new(list)));
        let mut threads = Vec::new();
        for (at, reader) in readers.iter().enumerate() {
            let asked = if at < count { &question } else { &list };
            let (question, shared) = (asked.clone(), shared.clone());
            let (reader, held) = (reader.clone(), held.clone());
            threads.push(begin_thread("bowline-reader", move || {
                read::reader::work(&reader, &question, &shared);
                *reader.lock() = None;
                drop(held);
            })?);
        }
        let loan = Arc::new(WriterLoan::default());
        let (known, own, hand) = (shared.clone(), held.clone(), Some(hand));
        loan.give(Writer { hand, memory, shared: known, readers, held: own, last_group: 0 });
        let alive = held.1.downgrade();
        let (sitting, known) = (loan.clone(), shared.clone());
        threads.push(begin_thread("bowline-writer", move || {
            write::writer::work(&sitting, &known, order);
            drop(held);
        })?);
        let threads = Mutex::new(threads);
        let gone = Arc::new(tokio::sync::Mutex::new(gone));
        Ok(Self { shared, loan, orders, questions, lists, threads, alive, gone })
    }

    /// Does what was asked before, and closes the file; whoever calls later is answered with
    /// [`Error::Shut`]. Returns when another process may open it.
    pub async fn close(&self) {
        Store::shut(self).await;
    }

    /// What this store has done since it was opened.
    pub fn stats(&self) -> Stats {
        self.shared.counters.stats()
    }

    /// Lets the file grow to so many bytes from now on; `None` for as large as the disk.
    ///
    /// # Errors
    /// If SQLite does not take the limit, or the store is closed.
    pub async fn limit(&self, size_max: Option<u64>) -> Result<()> {
        let (reply, answer) = oneshot::channel();
        self.submit(Order::Limit(size_max, reply), answer, Err).await
    }

    fn begin_to_close(&self) {
        if self.shared.close() {
            // A queue that is full needs no wake-up: its thread is awake.
            let _ = self.send(Order::Wake);
            let _ = self.questions.try_send(Box::new(|_| {}));
            let _ = self.lists.try_send(Box::new(|_| {}));
        }
    }
}

impl Drop for SqliteStore {
    /// Waits until the file is closed, so that it can be opened again at once.
    fn drop(&mut self) {
        self.begin_to_close();
        let own = thread::current().id();
        for thread in self.threads.get_mut().drain(..) {
            // The closure of a transaction may have had the last handle: the writer ends by itself.
            if thread.thread().id() == own {
                continue;
            }
            // A thread that panicked has said so, and has let go of its lock.
            let _ = thread.join();
        }
    }
}

fn begin_thread(name: &str, work: impl FnOnce() + Send + 'static) -> Result<JoinHandle<()>> {
    let begun = thread::Builder::new().name(name.into()).spawn(work);
    begun.map_err(|error| Error::Open(format!("no thread can be started: {error}")))
}
