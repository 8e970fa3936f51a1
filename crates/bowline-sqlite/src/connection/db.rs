//! A connection that keeps its statements and counts its rows.

use rusqlite::{Connection, OptionalExtension, Params, Row, Statement, StatementStatus};

use crate::{
    fault::Fault,
    stats::{Counters, count},
};

pub(crate) type Outcome<T> = Result<T, Fault>;

/// A connection, for as long as one thread uses it.
#[derive(Clone, Copy)]
pub(crate) struct Db<'a> {
    connection: &'a Connection,
    pub(crate) counters: &'a Counters,
}

impl<'a> Db<'a> {
    pub(crate) fn new(connection: &'a Connection, counters: &'a Counters) -> Self {
        Self { connection, counters }
    }

    pub(crate) fn connection(&self) -> &'a Connection {
        self.connection
    }

    /// Changes rows; answers how many.
    pub(crate) fn run(&self, sql: &str, values: impl Params) -> rusqlite::Result<usize> {
        let mut statement = self.connection.prepare_cached(sql)?;
        let changed = statement.execute(values)?;
        count(&self.counters.rows_written, changed);
        self.stepped(&statement);
        Ok(changed)
    }

    /// Reads the first row, if there is one.
    pub(crate) fn first<T>(
        &self,
        sql: &str,
        values: impl Params,
        read: impl FnOnce(&Row<'_>) -> rusqlite::Result<T>,
    ) -> rusqlite::Result<Option<T>> {
        let mut statement = self.connection.prepare_cached(sql)?;
        let found = statement.query_row(values, read).optional()?;
        count(&self.counters.rows_read, usize::from(found.is_some()));
        self.stepped(&statement);
        Ok(found)
    }

    /// Reads every row, in order.
    pub(crate) fn all<T>(
        &self,
        sql: &str,
        values: impl Params,
        mut read: impl FnMut(&Row<'_>) -> Outcome<T>,
    ) -> Outcome<Vec<T>> {
        let mut found = Vec::new();
        self.each(sql, values, |row| {
            found.push(read(row)?);
            Ok(true)
        })?;
        Ok(found)
    }

    /// Reads row after row, until `read` answers that it has seen enough.
    pub(crate) fn each(
        &self,
        sql: &str,
        values: impl Params,
        mut read: impl FnMut(&Row<'_>) -> Outcome<bool>,
    ) -> Outcome<()> {
        let mut statement = self.connection.prepare_cached(sql)?;
        let mut rows = statement.query(values)?;
        while let Some(row) = rows.next()? {
            count(&self.counters.rows_read, 1);
            if !read(row)? {
                break;
            }
        }
        drop(rows);
        self.stepped(&statement);
        Ok(())
    }

    fn stepped(&self, statement: &Statement<'_>) {
        let steps = statement.reset_status(StatementStatus::VmStep);
        count(&self.counters.steps, usize::try_from(steps).unwrap_or(0));
    }
}
