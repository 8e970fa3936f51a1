//! Postings inside a caller's own transaction: they become visible with the caller's rows, or not
//! at all.

use bowline_store::{Error, Posted, Posting, Result};

use crate::{
    PostgresStore,
    connection::{
        app_transaction::AppTransaction,
        db::{Db, Outcome},
    },
    fault::Fault,
    queue::hint,
    shared::Shared,
    write::{
        post,
        tx::{Trust, Tx, Wants},
    },
};

impl PostgresStore {
    /// Posts messages, starts and deletions as part of a transaction that the caller has begun, on
    /// a connection of its own to the same database, and that the caller commits. Nobody sees
    /// anything of it before. The hint to look is a notification inside that transaction, which the
    /// database delivers when it is committed.
    ///
    /// The runs that are posted to stay locked until the transaction ends: it should be short.
    ///
    /// # Errors
    /// As [`Store::post`](bowline_store::Store::post), for the first posting that is refused. After
    /// a refusal ([`Error::Missing`], [`Error::Closed`], [`Error::IdTaken`], [`Error::Invalid`])
    /// nothing was written, and the transaction may go on. [`Error::Busy`] means that somebody
    /// else was faster, or that the database did not answer: roll back, and begin again. After any
    /// other error, roll back too.
    pub async fn post_in(
        &self,
        app: &dyn AppTransaction,
        postings: &[Posting],
    ) -> Result<Vec<Posted>> {
        let Some(_busy) = self.shared.enter() else { return Err(Error::Shut) };
        let posted = post_all(&self.shared, &self.sender, app, postings).await;
        posted.map_err(broken)
    }
}

async fn post_all(
    shared: &Shared,
    sender: &str,
    app: &dyn AppTransaction,
    postings: &[Posting],
) -> Outcome<Vec<Posted>> {
    let db = Db::given(app, shared);
    if identity(db).await? != Some(shared.identity) {
        let why = "this transaction is on another database than the one that the runs are in";
        return Err(Error::Invalid(why.into()).into());
    }
    let mut tx = Tx::new(db, shared, Trust::Locks);
    let mut wants = Wants::default();
    for posting in postings {
        shared.clock(posting.now());
        post::wants(posting, &mut wants);
    }
    tx.prefetch(wants).await?;
    let mut posted = Vec::with_capacity(postings.len());
    for posting in postings {
        posted.push(post::post(&mut tx, posting).await?);
    }
    tx.finish(false).await?;
    let (hints, _) = tx.into_hints(true);
    hint::send_with(db, shared, sender, &hints).await?;
    Ok(posted)
}

/// The number that tells a database of Bowline's from another one.
pub(crate) async fn identity(db: Db<'_>) -> Outcome<Option<i64>> {
    let row = db.first("SELECT value FROM @counters WHERE name = 'store'", &[]).await?;
    row.map(|row| row.try_get(0)).transpose()
}

/// What the caller is told. Where a statement failed, the database takes nothing more of this
/// transaction.
fn broken(fault: Fault) -> Error {
    let again = "roll the transaction back, and begin again";
    match fault {
        fault if fault.is_refusal() => fault.into(),
        fault if fault.is_race() => Error::Busy(format!("another transaction was faster: {again}")),
        fault => match Error::from(fault) {
            Error::Busy(why) => Error::Busy(format!("{why}: {again}")),
            other => other,
        },
    }
}
