//! Connections that are not ours: a caller's own, in whichever driver it has, with a transaction
//! that the caller has begun and will end.
//!
//! In:    statements, and values as the database takes them.
//! Out:   what the database answers, as it sends it.
//! Never: begins, ends or splits a transaction.

use futures_util::future::BoxFuture;
use tokio_postgres::{
    Transaction,
    types::{FromSql, IsNull, ToSql, Type, private::BytesMut, to_sql_checked},
};

/// A connection with a transaction open on it, both the caller's.
pub trait AppTransaction: Send + Sync {
    /// Sends one statement, and gives all rows that it is answered with, column by column, in the
    /// database's binary format.
    fn query<'q>(
        &'q self,
        sql: &'q str,
        values: &'q [Bound],
    ) -> BoxFuture<'q, Result<Vec<Cells>, Unanswered>>;
}

/// The columns of a row, as the database sends them.
pub type Cells = Vec<Option<Vec<u8>>>;

/// A value of a statement, in the database's binary format.
#[derive(Clone, Debug)]
pub struct Bound {
    /// The number of its type in the database.
    pub oid: u32,
    /// None where it is null.
    pub bytes: Option<Vec<u8>>,
}

/// Why a statement was not answered with rows.
#[derive(Clone, Debug)]
pub struct Unanswered {
    /// The database's code for it; none if it was not the database that said no.
    pub code: Option<String>,
    /// What is said about it.
    pub text: String,
}

impl AppTransaction for Transaction<'_> {
    fn query<'q>(
        &'q self,
        sql: &'q str,
        values: &'q [Bound],
    ) -> BoxFuture<'q, Result<Vec<Cells>, Unanswered>> {
        Box::pin(async move {
            let typed = |value: &'q Bound| {
                let kind = Type::from_oid(value.oid).unwrap_or(Type::UNKNOWN);
                (value as &(dyn ToSql + Sync), kind)
            };
            let values: Vec<(&(dyn ToSql + Sync), Type)> = values.iter().map(typed).collect();
            let rows = self.query_typed(sql, &values).await.map_err(unanswered)?;
            let cells = |row: &tokio_postgres::Row| {
                (0..row.len()).map(|at| row.try_get::<_, Cell>(at).map(|cell| cell.0)).collect()
            };
            rows.iter().map(cells).collect::<Result<_, _>>().map_err(unanswered)
        })
    }
}

fn unanswered(error: tokio_postgres::Error) -> Unanswered {
    let code = error.code().map(|code| code.code().to_owned());
    Unanswered { code, text: crate::fault::shown(&error) }
}

impl ToSql for Bound {
    fn to_sql(
        &self,
        _: &Type,
        out: &mut BytesMut,
    ) -> Result<IsNull, Box<dyn std::error::Error + Sync + Send>> {
        let Some(bytes) = &self.bytes else { return Ok(IsNull::Yes) };
        out.extend_from_slice(bytes);
        Ok(IsNull::No)
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    to_sql_checked!();
}

/// What stands in a column, whatever it is.
struct Cell(Option<Vec<u8>>);

impl<'c> FromSql<'c> for Cell {
    fn from_sql(_: &Type, raw: &'c [u8]) -> Result<Self, Box<dyn std::error::Error + Sync + Send>> {
        Ok(Self(Some(raw.to_vec())))
    }

    fn from_sql_null(_: &Type) -> Result<Self, Box<dyn std::error::Error + Sync + Send>> {
        Ok(Self(None))
    }

    fn accepts(_: &Type) -> bool {
        true
    }
}
