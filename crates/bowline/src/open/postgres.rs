//! The Postgres store as a place for requests inside the application's own transactions.
//!
//! In:    a request, and the driver's transaction that it is put into.
//! Out:   what the store answers there. The database tells the engines when the caller commits.
//! Never: begins or ends that transaction.

#[cfg(any(feature = "sqlx-0_8", feature = "sqlx-0_9"))]
mod sqlx;
#[cfg(feature = "tokio-postgres-0_7")]
mod tokio_postgres_0_7;

use std::{pin::Pin, sync::Arc};

use bowline_engine::{Engine, store::Error};
use bowline_postgres::{Guest, PostgresStore};

use super::{Joint, Opened};
use crate::{ClientError, transaction::Request};

/// The store in a database.
pub(crate) type Database = PostgresStore;

/// What a request is answered with where the driver does not block.
type Pending<'t, T> = Pin<Box<dyn Future<Output = Result<T, ClientError>> + Send + 't>>;

/// Opening it blocks, so it has a thread of its own.
pub(super) async fn open(url: String) -> Result<Opened, ClientError> {
    let opened = tokio::task::spawn_blocking(move || PostgresStore::open(&url));
    let opened = opened.await.map_err(|error| ClientError::Invalid(error.to_string()))?;
    let database = Arc::new(opened.map_err(bowline_engine::Error::from)?);
    let engine = Engine::builder(database.clone());
    let joint = Joint { database: Some(database.clone()), ..Joint::default() };
    Ok(Opened { store: database, engine, joint })
}

/// Puts a request into the transaction that a connection of the caller's is in.
async fn put<T>(guest: &dyn Guest, request: Request<T>) -> Result<T, ClientError> {
    let (bowline, posting, read) = request.into_parts()?;
    let Some(database) = &bowline.joint().database else {
        let why = "the state is not in a Postgres database that `Bowline::open` opened, so it \
                   cannot be changed by a transaction on one";
        return Err(ClientError::Invalid(why.to_owned()));
    };
    let posted = database.post_in(guest, std::slice::from_ref(&posting)).await;
    let posted = posted.and_then(|posted| {
        posted.into_iter().next().ok_or_else(|| Error::Backend("no answer to a posting".into()))
    });
    if let Ok(posted) = &posted {
        // If it is rolled back, one look is in vain.
        bowline.engine().posted(posted);
    }
    read(posted)
}
