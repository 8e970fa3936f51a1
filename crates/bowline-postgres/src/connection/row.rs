//! Rows as the rest of the store reads them, whichever driver has brought them, and values as any
//! driver can take them.
//!
//! In:    what a driver has read.
//! Out:   columns by their number.
//! Never: knows what a column means.

use tokio_postgres::types::{FromSql, ToSql, Type};
use uuid::Uuid;

use crate::{connection::db::Outcome, fault::Fault};

/// A row.
pub(crate) enum Row {
    Own(tokio_postgres::Row),
    /// Of a app: what the database has sent for each column.
    Given(Vec<Option<Vec<u8>>>),
}

impl Row {
    pub(crate) fn try_get<'r, T: FromSql<'r>>(&'r self, column: usize) -> Outcome<T> {
        match self {
            Self::Own(row) => Ok(row.try_get(column)?),
            Self::Given(cells) => {
                let cell = cells.get(column).and_then(|cell| cell.as_deref());
                // What is read here is the same for every type that it is read from.
                T::from_sql_nullable(&Type::UNKNOWN, cell).map_err(|error| Fault::Told {
                    code: None,
                    text: format!("column {column}: {error}"),
                })
            }
        }
    }
}

/// A value of a statement, which knows as what it is sent: a driver that is not told would have to
/// ask the database first.
pub(crate) trait Bind: ToSql + Sync {
    fn kind(&self) -> Type;
}

macro_rules! bind {
    ($($rust:ty => $one:ident, $many:ident;)*) => {
        $(
            impl Bind for $rust {
                fn kind(&self) -> Type {
                    Type::$one
                }
            }

            impl Bind for Option<$rust> {
                fn kind(&self) -> Type {
                    Type::$one
                }
            }

            impl Bind for Vec<$rust> {
                fn kind(&self) -> Type {
                    Type::$many
                }
            }

            impl Bind for Vec<Option<$rust>> {
                fn kind(&self) -> Type {
                    Type::$many
                }
            }

            impl Bind for &[$rust] {
                fn kind(&self) -> Type {
                    Type::$many
                }
            }
        )*
    };
}

bind! {
    bool => BOOL, BOOL_ARRAY;
    i16 => INT2, INT2_ARRAY;
    i32 => INT4, INT4_ARRAY;
    i64 => INT8, INT8_ARRAY;
    f64 => FLOAT8, FLOAT8_ARRAY;
    Uuid => UUID, UUID_ARRAY;
    &str => TEXT, TEXT_ARRAY;
    String => TEXT, TEXT_ARRAY;
    Vec<u8> => BYTEA, BYTEA_ARRAY;
}
