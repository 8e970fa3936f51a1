//! Connections: borrowed, used, given back, or thrown away where nobody knows what state they are
//! in. Every answer is waited for only so long.

use std::{
    future::Future,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use deadpool_postgres::{Object, Pool};
use tokio::time::error::Elapsed;
use tokio_postgres::types::{IsNull, ToSql, private::BytesMut};

use crate::{
    connection::{
        app_transaction::{AppTransaction, Bound},
        row::{Bind, Row},
        session::Sessions,
    },
    fault::Fault,
    shared::Shared,
};

/// How many times as long slow work may take.
const SLOWLY: u32 = 10;

pub(crate) type Outcome<T> = Result<T, Fault>;

/// A value of a statement.
pub(crate) type Value<'v> = &'v dyn Bind;

/// A connection of the pool.
pub(crate) struct Lent {
    object: Option<Object>,
    /// An answer is missing, or a transaction is open: not to be used by anybody else.
    spoilt: AtomicBool,
    /// How many answers are waited for. Whoever stops waiting leaves one behind.
    asked: AtomicUsize,
    sessions: Arc<Sessions>,
}

impl Lent {
    pub(crate) async fn from(
        pool: &Pool,
        patience: Duration,
        sessions: &Arc<Sessions>,
    ) -> Outcome<Self> {
        let object = match tokio::time::timeout(patience, pool.get()).await {
            Ok(Ok(object)) => object,
            Ok(Err(error)) => return Err(Fault::Away(pooled(&error))),
            Err(_) => return Err(Fault::Away("no connection came free in time".into())),
        };
        let (spoilt, asked) = (AtomicBool::new(false), AtomicUsize::new(0));
        Ok(Self { object: Some(object), spoilt, asked, sessions: sessions.clone() })
    }

    /// Waits for an answer to something that changes nothing.
    async fn wait<T>(
        &self,
        patience: Duration,
        answer: impl Future<Output = Result<T, tokio_postgres::Error>>,
    ) -> Outcome<T> {
        self.asks();
        let answered = tokio::time::timeout(patience, answer).await;
        match self.heard(answered) {
            Some(answer) => Ok(answer?),
            None => Err(Fault::Away("the database did not answer in time".into())),
        }
    }

    /// An answer is waited for from now on.
    fn asks(&self) {
        self.asked.fetch_add(1, Ordering::Relaxed);
    }

    /// It has come, or nobody waits for it any more.
    fn heard<T>(
        &self,
        answered: Result<Result<T, tokio_postgres::Error>, Elapsed>,
    ) -> Option<Result<T, tokio_postgres::Error>> {
        let answer = answered.ok()?;
        self.asked.fetch_sub(1, Ordering::Relaxed);
        // Of a connection that has ended, the server may not have heard.
        if answer.as_ref().is_err_and(|error| error.code().is_none()) {
            self.spoilt.store(true, Ordering::Relaxed);
        }
        Some(answer)
    }

    fn object(&self) -> &Object {
        self.object.as_ref().expect("it is only taken when it is dropped")
    }
}

fn pooled(error: &deadpool_postgres::PoolError) -> String {
    match error {
        deadpool_postgres::PoolError::Backend(error) => crate::fault::shown(error),
        other => other.to_string(),
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        let is_spoilt =
            self.spoilt.load(Ordering::Relaxed) || self.asked.load(Ordering::Relaxed) > 0;
        if let Some(object) = self.object.take().filter(|_| is_spoilt) {
            self.sessions.give_up(&object);
            // Out of the pool, and closed with it.
            drop(Object::take(object));
        }
    }
}

/// What a session is told when it begins: how long a statement may take, and a transaction may be
/// left alone. A little less than the caller waits, so that the caller is told that nothing was
/// done; and nothing that a caller has given up lives on in the server, with its locks.
pub(crate) fn limits(patience: Duration) -> String {
    let (statement, idle) = (patience * 9 / 10, patience);
    format!(
        "SET statement_timeout = {}; SET idle_in_transaction_session_timeout = {}",
        statement.as_millis().max(1),
        idle.as_millis().max(1)
    )
}

/// Every statement finds its rows by keys and by indexes made for it, however many there are: a
/// plan that was made once is good for ever, and making one costs more than most statements do. It
/// may be made while tables are empty, where reading all of them would seem to be the cheapest.
pub(crate) const PLANS: &str = "SET plan_cache_mode = force_generic_plan; SET jit = off; \
    SET enable_seqscan = off; SET enable_hashjoin = off; SET enable_mergejoin = off";

/// A connection, or somebody's transaction, and how tables are called on it.
#[derive(Clone, Copy)]
pub(crate) struct Db<'a> {
    conn: Conn<'a>,
    prefix: &'a str,
    patience: Duration,
}

#[derive(Clone, Copy)]
enum Conn<'a> {
    Own(&'a Lent),
    Given(&'a dyn AppTransaction),
}

impl<'a> Db<'a> {
    pub(crate) fn own(lent: &'a Lent, shared: &'a Shared) -> Self {
        Self { conn: Conn::Own(lent), prefix: &shared.prefix, patience: shared.settings.patience }
    }

    /// For work that nobody waits for and that may take long, such as deleting what is old. Ends
    /// with [`at_ease`](Self::at_ease): otherwise the connection is not used again.
    pub(crate) async fn slowly(lent: &'a Lent, shared: &'a Shared) -> Outcome<Self> {
        let own = Self::own(lent, shared);
        let slow = Self { patience: own.patience * SLOWLY, ..own };
        if shared.settings.hints {
            lent.spoilt.store(true, Ordering::Relaxed);
            own.batch(&limits(slow.patience)).await?;
        }
        Ok(slow)
    }

    /// What took long is over.
    pub(crate) async fn at_ease(self) {
        let usual = limits(self.patience / SLOWLY);
        if let Conn::Own(lent) = self.conn
            && lent.spoilt.load(Ordering::Relaxed)
            && self.batch(&usual).await.is_ok()
        {
            lent.spoilt.store(false, Ordering::Relaxed);
        }
    }

    /// On a transaction that belongs to the caller, who commits it or not.
    pub(crate) fn given(app: &'a dyn AppTransaction, shared: &'a Shared) -> Self {
        let patience = shared.settings.patience;
        Self { conn: Conn::Given(app), prefix: &shared.prefix, patience }
    }

    /// Every row that a statement answers with.
    pub(crate) async fn rows(&self, sql: &str, values: &[Value<'_>]) -> Outcome<Vec<Row>> {
        let sql = named(sql, self.prefix);
        match self.conn {
            Conn::Own(lent) => {
                let statement =
                    lent.wait(self.patience, lent.object().prepare_cached(&sql)).await?;
                let rows = lent
                    .wait(self.patience, lent.object().query(&statement, &plain(values)))
                    .await?;
                Ok(rows.into_iter().map(Row::Own).collect())
            }
            Conn::Given(app) => self.ask(app, &sql, values).await,
        }
    }

    /// The same, of somebody else's connection.
    async fn ask(
        &self,
        app: &dyn AppTransaction,
        sql: &str,
        values: &[Value<'_>],
    ) -> Outcome<Vec<Row>> {
        let values = values.iter().map(|value| bound(*value)).collect::<Outcome<Vec<Bound>>>()?;
        match tokio::time::timeout(self.patience, app.query(sql, &values)).await {
            Ok(Ok(rows)) => Ok(rows.into_iter().map(Row::Given).collect()),
            Ok(Err(said)) => Err(Fault::Told { code: said.code, text: said.text }),
            Err(_) => Err(Fault::Away("the database did not answer in time".into())),
        }
    }

    /// Makes statements known to the connection, so that each is sent the moment it is asked for.
    pub(crate) async fn know(&self, texts: &[&str]) -> Outcome<()> {
        let Conn::Own(lent) = self.conn else { return Ok(()) };
        for sql in texts {
            lent.wait(self.patience, lent.object().prepare_cached(&named(sql, self.prefix)))
                .await?;
        }
        Ok(())
    }

    /// The first row, if there is one.
    pub(crate) async fn first(&self, sql: &str, values: &[Value<'_>]) -> Outcome<Option<Row>> {
        Ok(self.rows(sql, values).await?.into_iter().next())
    }

    /// Statements without values or answers.
    pub(crate) async fn batch(&self, sql: &str) -> Outcome<()> {
        let sql = named(sql, self.prefix);
        match self.conn {
            Conn::Own(lent) => lent.wait(self.patience, lent.object().batch_execute(&sql)).await,
            Conn::Given(app) => self.ask(app, &sql, &[]).await.map(drop),
        }
    }

    /// A statement that changes rows and commits by itself. What becomes of it if no answer comes
    /// is unknown.
    pub(crate) async fn change(&self, sql: &str, values: &[Value<'_>]) -> Outcome<Vec<Row>> {
        let Conn::Own(lent) = self.conn else { return self.rows(sql, values).await };
        let sql = named(sql, self.prefix);
        let statement = lent.wait(self.patience, lent.object().prepare_cached(&sql)).await?;
        let values = plain(values);
        let changing = lent.object().query(&statement, &values);
        lent.asks();
        match lent.heard(tokio::time::timeout(self.patience, changing).await) {
            Some(Ok(rows)) => Ok(rows.into_iter().map(Row::Own).collect()),
            Some(Err(error)) => Err(Fault::of_commit(error)),
            None => Err(Fault::Unsure("the database did not answer in time".into())),
        }
    }

    pub(crate) async fn begin_transaction(&self, how: &str) -> Outcome<()> {
        if let Conn::Own(lent) = self.conn {
            // Whoever breaks off in the middle leaves it open.
            lent.spoilt.store(true, Ordering::Relaxed);
        }
        self.batch(how).await
    }

    /// Only for a transaction in which nothing has failed: COMMIT of one that had would be
    /// answered without an error, and do nothing.
    pub(crate) async fn commit(&self) -> Outcome<()> {
        let Conn::Own(lent) = self.conn else { return Ok(()) };
        let committing = lent.object().batch_execute("COMMIT");
        lent.asks();
        match lent.heard(tokio::time::timeout(self.patience, committing).await) {
            Some(Ok(())) => {
                lent.spoilt.store(false, Ordering::Relaxed);
                Ok(())
            }
            Some(Err(error)) => Err(Fault::of_commit(error)),
            None => Err(Fault::Unsure("the database did not answer in time".into())),
        }
    }

    pub(crate) async fn roll_back(&self) {
        if let Conn::Own(lent) = self.conn
            && self.batch("ROLLBACK").await.is_ok()
        {
            lent.spoilt.store(false, Ordering::Relaxed);
        }
    }
}

/// Values as our own driver takes them.
fn plain<'v>(values: &[Value<'v>]) -> Vec<&'v (dyn ToSql + Sync)> {
    values.iter().map(|value| *value as &(dyn ToSql + Sync)).collect()
}

/// A value as the database takes it.
fn bound(value: Value<'_>) -> Outcome<Bound> {
    let (kind, mut bytes) = (value.kind(), BytesMut::new());
    match value.to_sql_checked(&kind, &mut bytes) {
        Ok(IsNull::No) => Ok(Bound { oid: kind.oid(), bytes: Some(bytes.to_vec()) }),
        Ok(IsNull::Yes) => Ok(Bound { oid: kind.oid(), bytes: None }),
        Err(error) => Err(Fault::Told { code: None, text: error.to_string() }),
    }
}

/// Puts tables into their schema.
pub(crate) fn named(sql: &str, prefix: &str) -> String {
    sql.replace('@', prefix)
}
