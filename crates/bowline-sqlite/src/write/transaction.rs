//! A transaction of the caller's: its own rows and what it asks of runs are kept together, or not
//! at all.
//!
//! In:    a closure, which runs on the writer's thread between two groups of calls.
//! Out:   one commit; then index, hints and answer, as after any other.
//! Never: shares its transaction with other callers, or lets the closure touch the store's rows.

use std::{
    any::Any,
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
};

use bowline_store::{Answer, Error, Posted, Posting, Result};
use tokio::sync::oneshot;

use crate::{
    SqliteStore,
    connection::{db::Outcome, guard::Guard, hand::Hand},
    fault::Fault,
    shared::Shared,
    stats::count,
    write::{
        post,
        tx::Tx,
        writer::{Order, Writer},
    },
};

/// What the closure of [`SqliteStore::transaction`] works with.
pub struct Transaction<'t> {
    inner: &'t mut (dyn WriterTx + 't),
    guard: &'t Guard,
    shared: &'t Shared,
    /// Set if something was half done: then nothing can be kept.
    broken: Option<Error>,
}

/// The writer's transaction, without its lifetimes.
trait WriterTx {
    /// Posts; an error that has written something breaks the transaction.
    fn post(&mut self, posting: &Posting) -> std::result::Result<Posted, Refused>;

    /// The connection that writes.
    fn connection(&self) -> &rusqlite::Connection;
}

enum Refused {
    /// Nothing has changed.
    Whole(Error),
    /// Something may have.
    Broken(Error),
}

impl WriterTx for Tx<'_> {
    fn post(&mut self, posting: &Posting) -> std::result::Result<Posted, Refused> {
        let before = self.touched();
        post::post(self, posting).map_err(|fault| {
            match fault.is_refusal() && self.touched() == before {
                true => Refused::Whole(fault.into()),
                false => Refused::Broken(fault.into()),
            }
        })
    }

    fn connection(&self) -> &rusqlite::Connection {
        self.db.connection()
    }
}

impl Transaction<'_> {
    /// Posts a message, a start or a deletion as part of this transaction.
    ///
    /// # Errors
    /// As [`Store::post`](bowline_store::Store::post). After a refusal ([`Error::Missing`],
    /// [`Error::Closed`], [`Error::IdTaken`], [`Error::Invalid`]) nothing has changed, and the
    /// closure may go on; after any other error the transaction is rolled back whatever the
    /// closure returns.
    pub fn post(&mut self, posting: &Posting) -> Result<Posted> {
        if let Some(error) = self.broken.clone().or_else(|| self.guard.misuse()) {
            return Err(error);
        }
        if is_over(self.guard, self.inner.connection()) {
            return Err(over());
        }
        self.shared.clock(posting.now());
        let ours = self.guard.ours();
        let posted = self.inner.post(posting);
        drop(ours);
        posted.map_err(|refused| match refused {
            Refused::Whole(error) => error,
            Refused::Broken(error) => self.broken.insert(error).clone(),
        })
    }

    /// The connection, for statements of one's own. It is the one that the store writes with.
    ///
    /// A program links SQLite once, so this is the `rusqlite` that it has itself, whichever of the
    /// versions that this crate allows.
    pub fn connection(&self) -> &rusqlite::Connection {
        self.inner.connection()
    }
}

/// How the closure ended.
enum Ended<T, E> {
    Done(T),
    Failed(E),
    Panicked(Box<dyn Any + Send>),
}

impl SqliteStore {
    /// Runs a closure on the thread that writes, in a transaction of its own on this file. What it
    /// posts and what it writes through its connection become visible together when it returns
    /// `Ok` and that is durable; after anything else neither has happened. Index and hints are told
    /// as after any other post.
    ///
    /// Nobody else writes while the closure runs, so it should be short. It must not wait for
    /// anything that needs this store's writer; calls that it makes on its own thread are refused.
    /// It is handed over at once, and is carried out whether or not anybody waits for it.
    ///
    /// The application's tables may be in this file under any name that is not Bowline's. Foreign
    /// keys are enforced. The closure must not begin, commit or roll back, use savepoints, attach
    /// files, change settings, create temporary tables, or change Bowline's tables: such a
    /// statement is refused, and the transaction is rolled back whatever the closure returns.
    ///
    /// # Errors
    /// The inner error is the closure's own. The outer one says that the store could not do it:
    /// [`Error::Busy`] if another connection keeps the file, [`Error::Invalid`] after a misuse, or
    /// whatever [`Store::post`](bowline_store::Store::post) may answer.
    ///
    /// # Panics
    /// If the closure panics: the panic goes on in whoever waits, after everything was rolled back.
    pub fn transaction<T, E>(
        &self,
        work: impl FnOnce(&mut Transaction<'_>) -> std::result::Result<T, E> + Send + 'static,
    ) -> Answer<Result<std::result::Result<T, E>>>
    where
        T: Send + 'static,
        E: Send + 'static,
    {
        let (reply, answer) = oneshot::channel();
        let order = Order::Visit(Box::new(move |writer| {
            // Whoever does not wait any more does not want to know.
            let _ = reply.send(writer.visit(work));
        }));
        let ended = self.submit(order, answer, Err);
        Box::pin(async move {
            match ended.await? {
                Ended::Done(value) => Ok(Ok(value)),
                Ended::Failed(error) => Ok(Err(error)),
                Ended::Panicked(panic) => resume_unwind(panic),
            }
        })
    }
}

impl Writer {
    fn visit<T, E>(
        &mut self,
        work: impl FnOnce(&mut Transaction<'_>) -> std::result::Result<T, E>,
    ) -> Result<Ended<T, E>> {
        count(&self.shared.counters.calls, 1);
        let (guard, shared) = (self.ready()?.guard.clone(), self.shared.clone());
        guard.reset();
        let mut ended = None;
        foreign_keys(self.ready()?, "ON")?;
        let done = self.transaction(|tx| {
            let (how, kept) = within(tx, &guard, &shared, work);
            ended = how;
            kept
        });
        // Where it stays on it does no harm: the store's own tables have none.
        if let Some(hand) = &self.hand {
            let _ = foreign_keys(hand, "OFF");
        }
        match (done, ended) {
            (Ok(()), Some(done)) => Ok(done),
            (Err(_), Some(ended @ (Ended::Failed(_) | Ended::Panicked(_)))) => Ok(ended),
            (Err(fault), _) => Err(fault.into()),
            (Ok(()), None) => unreachable!("what was committed has ended well"),
        }
    }
}

/// Foreign keys of the application count until its transaction is committed. SQLite takes the
/// setting between transactions only.
fn foreign_keys(hand: &Hand, value: &str) -> Result<()> {
    let done = hand.connection.execute_batch(&format!("PRAGMA foreign_keys = {value}"));
    done.map_err(|error| Fault::from(error).into())
}

/// Runs the closure. Answers how it ended, if that is what its caller should hear, and whether its
/// rows may be kept.
fn within<T, E>(
    tx: &mut Tx<'_>,
    guard: &Guard,
    shared: &Shared,
    work: impl FnOnce(&mut Transaction<'_>) -> std::result::Result<T, E>,
) -> (Option<Ended<T, E>>, Outcome<()>) {
    let mut transaction = Transaction { inner: tx, guard, shared, broken: None };
    let theirs = guard.theirs();
    let worked = catch_unwind(AssertUnwindSafe(|| work(&mut transaction)));
    drop(theirs);
    let broken = transaction.broken.take();
    let gone = is_over(guard, transaction.inner.connection()).then(over);
    let value = match worked {
        Err(panic) => return (Some(Ended::Panicked(panic)), Err(asked_for())),
        // Whatever error the closure made of what it must not do, this is the reason.
        Ok(_) if let Some(misuse) = guard.misuse() => return (None, Err(misuse.into())),
        Ok(Err(error)) => return (Some(Ended::Failed(error)), Err(asked_for())),
        Ok(Ok(value)) => value,
    };
    match broken.or(gone) {
        Some(error) => (None, Err(error.into())),
        None => (Some(Ended::Done(value)), Ok(())),
    }
}

/// True if nothing of what the closure wrote can be kept any more.
fn is_over(guard: &Guard, connection: &rusqlite::Connection) -> bool {
    guard.is_rolled_back() || connection.is_autocommit()
}

fn over() -> Error {
    Error::Invalid("SQLite rolled this transaction back while its closure ran".into())
}

/// Why a transaction is rolled back whose caller hears something else.
fn asked_for() -> Fault {
    Fault::Said(Error::Invalid("the closure did not end well".into()))
}
