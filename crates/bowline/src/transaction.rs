//! The application's own transaction: its rows and what it asks of runs are kept together, or not
//! at all.
//!
//! In:    a closure, and the requests that it puts into its transaction.
//! Out:   the store's transaction is asked to keep all of it; then the engine is told.
//! Never: names a store. What a store lends its closure is a [`StoreTx`].

mod send;

use bowline_engine::{
    Error as EngineError,
    store::{Answer, Error as StoreError, Posted, Posting},
};
use tokio::sync::oneshot;

use crate::{Bowline, ClientError, Give, Receipt, Run, Signal, Workflow};

pub use send::Request;

/// A transaction that you can put requests into: [`start_in`](Bowline::start_in),
/// [`signal_in`](Bowline::signal_in) and [`cancel_in`](Bowline::cancel_in) take one. The requests
/// take effect when it is committed, and never if it is rolled back.
///
/// This crate implements it for the transactions of its own stores. On a SQLite file it is [`Tx`],
/// which answers at once. On Postgres it is the transaction of your driver, which you begin and
/// commit yourself, and whose answers you await: `tokio_postgres::Transaction` with the feature
/// `tokio-postgres-0_7`, `sqlx::Transaction<'_, sqlx::Postgres>` with `sqlx-0_8` or `sqlx-0_9`. See
/// the [chapter on embedding](crate::manual::_10_embedding#the-same-on-postgres).
pub trait Transaction {
    /// What a request returns: a `Result` if the driver answers at once, otherwise a future of one.
    type Answer<'t, T>
    where
        Self: 't,
        T: 't;

    /// Puts a request in.
    fn put<T: Send + 'static>(&mut self, request: Request<T>) -> Self::Answer<'_, T>;
}

/// What a store lends to the closure of a transaction.
pub(crate) trait StoreTx {
    fn post(&mut self, posting: &Posting) -> Result<Posted, StoreError>;

    #[cfg(feature = "_rusqlite")]
    fn connection(&self) -> &rusqlite::Connection;
}

/// Work for a transaction; answers whether it is to be kept.
pub(crate) type Work = Box<dyn FnOnce(&mut dyn StoreTx) -> bool + Send>;

/// A store that runs closures in transactions of their own.
pub(crate) trait Transactions: Send + Sync {
    /// Runs the closure, and keeps what it did if it says so. An error says that the store could
    /// not do it, and nothing was kept.
    fn run(&self, work: Work) -> Answer<Result<(), StoreError>>;
}

/// What the closure of [`Bowline::transaction`] works with.
pub struct Tx<'t> {
    inner: &'t mut (dyn StoreTx + 't),
    bowline: Bowline,
    posted: Vec<Posted>,
}

impl Tx<'_> {
    /// Returns the connection, for your own statements.
    ///
    /// A program links SQLite once, so this is the `rusqlite` of your own `Cargo.toml`, in
    /// whichever version from 0.32 to 0.41 it names.
    ///
    /// The closure must not change transactions, savepoints, settings, attached files, temporary
    /// tables or Bowline's tables: such a statement fails, and the transaction with it. Foreign
    /// keys are enforced.
    #[cfg(feature = "_rusqlite")]
    pub fn connection(&self) -> &rusqlite::Connection {
        self.inner.connection()
    }
}

impl Transaction for Tx<'_> {
    type Answer<'t, T>
        = Result<T, ClientError>
    where
        Self: 't,
        T: 't;

    fn put<T: Send + 'static>(&mut self, request: Request<T>) -> Result<T, ClientError> {
        let (posting, read) = request.for_store_of(&self.bowline)?;
        let posted = self.inner.post(&posting);
        self.posted.extend(posted.as_ref().ok().cloned());
        read(posted)
    }
}

impl std::fmt::Debug for Tx<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Tx").field("posted", &self.posted).finish_non_exhaustive()
    }
}

impl Bowline {
    /// Runs a closure in a transaction on the SQLite file that holds the state. What it writes
    /// there through `Tx::connection`, and what it starts, signals and cancels with
    /// [`start_in`](Self::start_in), [`signal_in`](Self::signal_in) and
    /// [`cancel_in`](Self::cancel_in), become visible together when it returns `Ok`. If it returns
    /// an error or panics, nothing has happened.
    ///
    /// ```
    /// use bowline::prelude::*;
    ///
    /// async fn checkout(ctx: Ctx, order: String) -> bowline::Result<String> {
    ///     ctx.sleep(std::time::Duration::from_secs(3600)).await?;
    ///     Ok(order)
    /// }
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let folder = tempfile::tempdir()?;
    /// # let file = folder.path().join("orders.db").display().to_string();
    /// let bowline = Bowline::open(file).workflow(checkout).start().await?;
    ///
    /// // The order and its workflow begin together,
    /// let shop = bowline.clone();
    /// let run = bowline
    ///     .transaction(move |tx| {
    ///         tx.connection().execute("CREATE TABLE orders (id TEXT PRIMARY KEY)", [])?;
    ///         tx.connection().execute("INSERT INTO orders VALUES ('order-42')", [])?;
    ///         shop.start_in(tx, checkout, "order-42", "a rope")
    ///     })
    ///     .await?;
    ///
    /// // and end together.
    /// let shop = bowline.clone();
    /// let receipt = bowline
    ///     .transaction(move |tx| {
    ///         tx.connection().execute("DELETE FROM orders WHERE id = 'order-42'", [])?;
    ///         shop.cancel_in(tx, "order-42", "the order was deleted")
    ///     })
    ///     .await?;
    /// receipt.wait(Phase::Clean).await?;
    /// assert!(matches!(run.outcome().await?, Err(Ended::Cancelled(_))));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// **Where to put your tables.** In the same file, under names that are not Bowline's;
    /// `docs/operating.md` lists those. Other connections may read them at any time, and write to
    /// them as long as they do not hold the file for seconds.
    ///
    /// **`rusqlite`.** To have `Tx::connection`, turn on the feature that is named after the
    /// version in your own `Cargo.toml`, such as `rusqlite-0_41`. Without such a feature you can
    /// still make several requests in one transaction.
    ///
    /// **Be quick.** Nothing else is written while the closure runs: no turn, no outcome, no
    /// cancel. Do slow work before, and do not wait for anything in it. Requests to a `Bowline`
    /// other than through `tx` are refused on its thread.
    ///
    /// **Once begun, it is done.** If the caller goes away while it waits, the transaction is
    /// carried out all the same. You can use handles that the closure returns ([`Run`],
    /// [`Receipt`]) when this has returned.
    ///
    /// # Errors
    /// The closure's own, after everything was rolled back. Or a [`ClientError`], converted into
    /// the closure's error type: if the state is not in a SQLite file that [`Bowline::open`]
    /// opened, another connection holds the file, the commit fails, or the closure did something
    /// that it must not do.
    ///
    /// # Panics
    /// If the closure panics, after everything was rolled back.
    pub async fn transaction<T, E>(
        &self,
        work: impl FnOnce(&mut Tx<'_>) -> Result<T, E> + Send + 'static,
    ) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<ClientError> + Send + 'static,
    {
        let Some(transactions) = &self.joint().transactions else {
            let why = "this store cannot run transactions of your own: open a SQLite file \
                       with `Bowline::open`; on Postgres, begin one with your own driver and give \
                       it to `start_in`, `signal_in` or `cancel_in`";
            return Err(ClientError::Invalid(why.to_owned()).into());
        };
        let (sender, mut ended) = oneshot::channel();
        let bowline = self.clone();
        let done = transactions.run(Box::new(move |inner| {
            let mut tx = Tx { inner, bowline, posted: Vec::new() };
            let result = work(&mut tx);
            let keep = result.is_ok();
            // Nobody hears of it if nobody waits any more.
            let _ = sender.send((result, tx.posted));
            keep
        }));
        done.await.map_err(|error| ClientError::from(EngineError::from(error)))?;
        let (result, posted) = ended.try_recv().expect("a closure that ran has said how it ended");
        if result.is_ok() {
            posted.iter().for_each(|posted| self.engine().posted(posted));
        }
        result
    }

    /// Starts a run as part of a transaction; see [`transaction`](Self::transaction). You can use
    /// the handle once that is committed. To set options, write `bowline.start(…).send_in(tx)`.
    ///
    /// Returns an error if the workflow id is taken, or the workflow is not registered. It has
    /// changed nothing then, and you can still commit the transaction.
    pub fn start_in<'t, X, F, M>(
        &self,
        tx: &'t mut X,
        workflow: F,
        id: impl Into<String>,
        input: impl Give<F::Input>,
    ) -> X::Answer<'t, Run<F::Output, F::Error>>
    where
        X: Transaction,
        F: Workflow<M>,
        F::Output: 'static,
        F::Error: 'static,
    {
        self.start(workflow, id, input).send_in(tx)
    }

    /// Sends a signal to the newest run of a workflow id as part of a transaction; see
    /// [`transaction`](Self::transaction).
    ///
    /// Returns an error if there is no such run, or it is closed. It has changed nothing then, and
    /// you can still commit the transaction.
    pub fn signal_in<'t, X, V>(
        &self,
        tx: &'t mut X,
        id: impl Into<String>,
        signal: Signal<V>,
        value: impl Give<V>,
    ) -> X::Answer<'t, ()>
    where
        X: Transaction,
    {
        self.run(id).signal_in(tx, signal, value)
    }

    /// Asks the newest run of a workflow id to cancel as part of a transaction; see
    /// [`transaction`](Self::transaction). You can use the receipt once that is committed. To set
    /// options, write `bowline.run(id).cancel(…).send_in(tx)`.
    ///
    /// Returns an error if there is no such run. It has changed nothing then: pass the error on and
    /// all is rolled back, or handle it and commit the rest. If the run is closed already, that is
    /// a success, and the receipt shows it.
    pub fn cancel_in<'t, X>(
        &self,
        tx: &'t mut X,
        id: impl Into<String>,
        reason: impl Into<String>,
    ) -> X::Answer<'t, Receipt>
    where
        X: Transaction,
    {
        self.run(id).cancel(reason).send_in(tx)
    }
}
