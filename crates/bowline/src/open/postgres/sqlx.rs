//! Transactions of sqlx, in each version that is named by a feature. Values and columns are passed
//! on as the database sends them, so nothing hangs on how this driver reads a type.
//!
//! Only the two crates below `sqlx` itself are named: a program's `sqlx` shows the same types, and
//! the whole of it would bring its own SQLite along.

use bowline_postgres::Bound;

/// A value on its way through the driver.
struct Raw<'v>(&'v Bound);

/// The same for each version; what differs is how a text becomes a statement.
macro_rules! driver {
    ($core:ident, $postgres:ident, $sql:expr) => {
        use std::{pin::Pin, sync::Arc};

        use bowline_postgres::{AppTransaction, Bound, Cells, Unanswered};
        use tokio::sync::Mutex;
        use $core::{
            arguments::Arguments,
            encode::{Encode, IsNull},
            error::{BoxDynError, Error},
            query::query_with,
            row::Row,
            types::Type,
            value::ValueRef,
        };
        use $postgres::{
            PgArgumentBuffer, PgArguments, PgConnection, PgRow, PgTransaction, PgTypeInfo,
            Postgres, types::Oid,
        };

        use super::Raw;
        use crate::{
            ClientError,
            open::postgres::app_transaction::{Pending, put},
            transaction::Request,
        };

        impl crate::Transaction for PgTransaction<'_> {
            type Answer<'t, T>
                = Pending<'t, T>
            where
                Self: 't,
                T: 't;

            fn put<T: Send + 'static>(&mut self, request: Request<T>) -> Pending<'_, T> {
                let lent = Lent(Mutex::new(self));
                Box::pin(async move { put(&lent, request).await })
            }
        }

        /// So that `?` serves both the statements and the requests of a transaction.
        impl From<Error> for ClientError {
            fn from(error: Error) -> Self {
                Self::Sql(Arc::new(error))
            }
        }

        /// The connection of a transaction, one statement at a time.
        struct Lent<'t>(Mutex<&'t mut PgConnection>);

        impl AppTransaction for Lent<'_> {
            fn query<'q>(
                &'q self,
                sql: &'q str,
                values: &'q [Bound],
            ) -> Pin<Box<dyn Future<Output = Result<Vec<Cells>, Unanswered>> + Send + 'q>> {
                Box::pin(async move {
                    let mut arguments = PgArguments::default();
                    for value in values {
                        let added = Arguments::add(&mut arguments, Raw(value));
                        added.map_err(|error| unanswered(&Error::Encode(error)))?;
                    }
                    let mut connection = self.0.lock().await;
                    let query = query_with::<Postgres, _>($sql(sql), arguments);
                    let rows = query.fetch_all(&mut **connection).await;
                    let rows = rows.map_err(|error| unanswered(&error))?;
                    let cells = rows.iter().map(cells).collect::<Result<_, _>>();
                    cells.map_err(|error| unanswered(&error))
                })
            }
        }

        fn cells(row: &PgRow) -> Result<Cells, Error> {
            let cell = |at: usize| {
                let value = row.try_get_raw(at)?;
                match value.is_null() {
                    true => Ok(None),
                    false => Ok(Some(value.as_bytes().map_err(Error::Decode)?.to_vec())),
                }
            };
            (0..row.len()).map(cell).collect()
        }

        fn unanswered(error: &Error) -> Unanswered {
            let own = error.as_database_error();
            let code = own.and_then(|own| own.code()).map(|code| code.into_owned());
            let text = own.map_or_else(|| error.to_string(), |own| own.message().to_owned());
            Unanswered { code, text }
        }

        impl Type<Postgres> for Raw<'_> {
            fn type_info() -> PgTypeInfo {
                // Each value says it for itself, below.
                PgTypeInfo::with_oid(Oid(0))
            }
        }

        impl Encode<'_, Postgres> for Raw<'_> {
            fn encode_by_ref(&self, out: &mut PgArgumentBuffer) -> Result<IsNull, BoxDynError> {
                let Some(bytes) = &self.0.bytes else { return Ok(IsNull::Yes) };
                out.extend_from_slice(bytes);
                Ok(IsNull::No)
            }

            fn produces(&self) -> Option<PgTypeInfo> {
                Some(PgTypeInfo::with_oid(Oid(self.0.oid)))
            }
        }
    };
}

#[cfg(feature = "sqlx-0_8")]
mod sqlx_0_8 {
    driver!(sqlx_core_0_8, sqlx_postgres_0_8, std::convert::identity);
}

#[cfg(feature = "sqlx-0_9")]
mod sqlx_0_9 {
    driver!(sqlx_core_0_9, sqlx_postgres_0_9, sqlx_core_0_9::sql_str::AssertSqlSafe);
}
