//! Requests inside the application's own transactions on the database that the state is in.
//!
//! In:    a request, and the driver's transaction that it is put into.
//! Out:   what the store answers there. The database tells the engines when the caller commits.
//! Never: begins or ends that transaction.

use std::pin::Pin;

use bowline_engine::store::Error;
use bowline_postgres::AppTransaction;

use crate::{ClientError, transaction::Request};

/// What a request is answered with where the driver does not block.
pub(crate) type Pending<'t, T> = Pin<Box<dyn Future<Output = Result<T, ClientError>> + Send + 't>>;

/// Puts a request into the transaction that a connection of the caller's is in.
pub(crate) async fn put<T>(
    app: &dyn AppTransaction,
    request: Request<T>,
) -> Result<T, ClientError> {
    let (bowline, posting, read) = request.into_parts()?;
    let Some(database) = &bowline.joint().database else {
        let why = "the state is not in a Postgres database that `Bowline::open` opened, so \
                   your transaction cannot change it";
        return Err(ClientError::Invalid(why.to_owned()));
    };
    let posted = database.post_in(app, std::slice::from_ref(&posting)).await;
    let posted = posted.and_then(|posted| {
        posted.into_iter().next().ok_or_else(|| Error::Backend("no answer to a posting".into()))
    });
    if let Ok(posted) = &posted {
        // If it is rolled back, one look is in vain.
        bowline.engine().posted(posted);
    }
    read(posted)
}
