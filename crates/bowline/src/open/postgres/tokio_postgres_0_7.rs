//! Transactions of tokio-postgres 0.7, which is what the store itself speaks.

use tokio_postgres_0_7::{Error, Transaction};

use super::app_transaction::{Pending, put};
use crate::{ClientError, transaction::Request};

impl crate::Transaction for Transaction<'_> {
    type Answer<'t, T>
        = Pending<'t, T>
    where
        Self: 't,
        T: 't;

    fn put<T: Send + 'static>(&mut self, request: Request<T>) -> Pending<'_, T> {
        Box::pin(put(&*self, request))
    }
}

/// So that `?` serves both the statements and the requests of a transaction.
impl From<Error> for ClientError {
    fn from(error: Error) -> Self {
        Self::Sql(std::sync::Arc::new(error))
    }
}
