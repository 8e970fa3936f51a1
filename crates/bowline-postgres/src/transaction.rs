//! Postings inside a caller's own transaction: they become visible with the caller's rows, or not
//! at all.

use bowline_store::{Error, Posted, Posting, Result};
use tokio_postgres::Transaction;

use crate::{
    PostgresStore,
    db::Db,
    fault::Fault,
    hint, post,
    tx::{Tx, Wants},
};

impl PostgresStore {
    /// Posts messages, starts and deletions as part of a transaction that the caller has begun, on
    /// a connection of its own to the same database, and that the caller commits. Nobody sees
    /// anything of it before; the hint to look follows the commit.
    ///
    /// The runs that are posted to stay locked until the transaction ends: it should be short.
    ///
    /// # Errors
    /// As [`Store::post`](bowline_store::Store::post), for the first posting that is refused. After
    /// a refusal ([`Error::Missing`], [`Error::Closed`], [`Error::IdTaken`], [`Error::Invalid`])
    /// nothing was written, and the transaction may go on. [`Error::Busy`] means that somebody
    /// else was faster, or that the database did not answer: roll back, and begin again.
    pub async fn post_in(
        &self,
        transaction: &Transaction<'_>,
        postings: &[Posting],
    ) -> Result<Vec<Posted>> {
        let Some(_busy) = self.shared.enter() else { return Err(Error::Shut) };
        let shared = &*self.shared;
        let db = Db::given(transaction, shared);
        let mut tx = Tx::new(db, shared, true);
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
        match tx.finish(false).await {
            Err(fault) if fault.is_race() => return Err(Fault::Lost.into()),
            done => done?,
        }
        let hints = tx.into_hints(true);
        hint::send_with(db, shared, &self.sender, &hints).await?;
        Ok(posted)
    }
}
