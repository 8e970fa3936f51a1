//! The SQLite store as a place for the application's own transactions.

use bowline_engine::store::{Answer, Error, Posted, Posting};
use bowline_sqlite::{SqliteStore, Transaction};

use crate::transaction::{StoreTx, Transactions, Work};

impl Transactions for SqliteStore {
    fn run(&self, work: Work) -> Answer<Result<(), Error>> {
        let done = self.transaction(move |tx| if work(tx) { Ok(()) } else { Err(()) });
        // Whether it was kept is known to whoever sent the work: it said so.
        Box::pin(async move { done.await.map(|_| ()) })
    }
}

impl StoreTx for Transaction<'_> {
    fn post(&mut self, posting: &Posting) -> Result<Posted, Error> {
        self.post(posting)
    }

    #[cfg(feature = "_rusqlite")]
    fn connection(&self) -> &rusqlite::Connection {
        self.connection()
    }
}
