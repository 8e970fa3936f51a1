//! How the file is opened, and every setting of SQLite that the promises of this store rest on.
//!
//! A setting that SQLite does not know, or cannot apply, is silently ignored by it. So each one is
//! read back, and a store whose settings differ does not open.

use std::{path::Path, time::Duration};

use bowline_store::{Error, Result};
use rusqlite::{Connection, OpenFlags, config::DbConfig, types::Value};

use crate::{fault::Fault, limits};

/// What may be chosen when a store is opened.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Settings {
    /// How long a writer waits at a time while another connection (a backup, a shell) has the
    /// file. It tries several times before it answers [`Error::Busy`].
    pub busy: Duration,
    /// How many connections read beside the writer. Lists of runs have one more of their own.
    pub readers: usize,
    /// How much of the file the writer keeps in memory, in bytes.
    pub cache: usize,
    /// How large the file may become, in bytes; unset for as large as the disk.
    pub size_max: Option<u64>,
    /// How long SQLite's log becomes before it is used again from its beginning, in bytes.
    pub log: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            busy: limits::BUSY,
            readers: 2,
            cache: 64 * 1024 * 1024,
            size_max: None,
            log: limits::LOG,
        }
    }
}

impl Settings {
    /// Pages of the log after which what is left of them is copied into the file.
    pub(crate) fn log_pages(&self) -> u64 {
        (self.log as u64 / PAGE).max(1)
    }

    /// How long the log becomes before it is used again, in bytes: each page has a header there.
    pub(crate) fn log_length(&self) -> u64 {
        self.log_pages() * (PAGE + 24)
    }
}

/// "BWLN", in the header of every file that is ours.
pub(crate) const APPLICATION: i32 = 0x4257_4C4E;

/// The size of a page, in bytes.
const PAGE: u64 = 4_096;

/// What makes a commit durable.
const SYNCS: [(&str, i64); 3] = [
    // FULL: an acknowledged commit survives the loss of power.
    ("synchronous", 2),
    // On platforms whose plain sync does not reach the disk, ask for the one that does.
    ("fullfsync", 1),
    ("checkpoint_fullfsync", 1),
];

pub(crate) fn writer(path: &Path, settings: &Settings) -> Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
        | OpenFlags::SQLITE_OPEN_CREATE
        | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let db = open(path, flags)?;
    set(&db, "busy_timeout", millis(settings.busy))?;
    claim(&db, path)?;
    for (name, value) in [
        ("journal_mode", Value::Text("wal".into())),
        // The writer copies the log itself: SQLite would say nothing of an error.
        ("wal_autocheckpoint", Value::Integer(0)),
        ("journal_size_limit", Value::Integer(-1)),
        ("locking_mode", Value::Text("normal".into())),
        ("foreign_keys", Value::Integer(0)),
        ("trusted_schema", Value::Integer(0)),
        ("cell_size_check", Value::Integer(1)),
        ("temp_store", Value::Integer(2)),
        ("cache_size", Value::Integer(kibibytes(settings.cache))),
    ] {
        set(&db, name, value)?;
    }
    for (name, value) in SYNCS {
        set(&db, name, value)?;
    }
    limit(&db, settings.size_max)?;
    Ok(db)
}

/// For the copying of the log beside the writer, with the same syncs.
pub(crate) fn copier(path: &Path, settings: &Settings) -> Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let db = open(path, flags)?;
    set(&db, "busy_timeout", millis(settings.busy))?;
    for (name, value) in SYNCS {
        set(&db, name, value)?;
    }
    set(&db, "wal_autocheckpoint", 0)?;
    Ok(db)
}

pub(crate) fn reader(path: &Path, settings: &Settings) -> Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let db = open(path, flags)?;
    set(&db, "busy_timeout", millis(settings.busy))?;
    set(&db, "query_only", 1)?;
    set(&db, "trusted_schema", 0)?;
    set(&db, "temp_store", 2)?;
    Ok(db)
}

/// Copies the log into the file from its beginning, alone with it.
pub(crate) fn recover(path: &Path, settings: &Settings) -> Result<()> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let db = open(path, flags)?;
    set(&db, "busy_timeout", millis(settings.busy))?;
    // First, so that what others remember of the log is not even looked at.
    set(&db, "locking_mode", "exclusive".to_owned())?;
    for (name, value) in SYNCS {
        set(&db, name, value)?;
    }
    let sql = "PRAGMA wal_checkpoint(TRUNCATE)";
    let busy: i64 = db.query_row(sql, [], |row| row.get(0)).map_err(Fault::from)?;
    match busy {
        0 => Ok(()),
        _ => Err(Error::Busy("another program has the file open".into())),
    }
}

/// Writes our name into the header of an empty file. That happens before the log exists, so that
/// a file can be recognised without it.
fn claim(db: &Connection, path: &Path) -> Result<()> {
    let found = read(db, "application_id")?;
    if found == Value::Integer(i64::from(APPLICATION)) {
        return Ok(());
    }
    let tables = "SELECT count(*) FROM sqlite_schema";
    let tables: i64 = db.query_row(tables, [], |row| row.get(0)).map_err(Fault::from)?;
    if found != Value::Integer(0) || tables != 0 {
        let path = path.display();
        return Err(Error::Open(format!("{path} belongs to another program: choose another file")));
    }
    set(db, "page_size", i64::try_from(PAGE).expect("a page is small"))?;
    set(db, "application_id", i64::from(APPLICATION))
}

/// Lets the file grow to so many bytes, or as far as it will.
pub(crate) fn limit(db: &Connection, size_max: Option<u64>) -> Result<()> {
    // SQLite never goes below what the file has already, and answers with what it made of it.
    let pages = size_max.map_or(i64::from(u32::MAX) - 1, |size| {
        i64::try_from((size / PAGE).max(1)).unwrap_or(i64::MAX)
    });
    let sql = format!("PRAGMA max_page_count = {pages}");
    let now: i64 = db.query_row(&sql, [], |row| row.get(0)).map_err(Fault::from)?;
    let used: i64 = db.query_row("PRAGMA page_count", [], |row| row.get(0)).map_err(Fault::from)?;
    match size_max.is_none() || now == pages.max(used) {
        true => Ok(()),
        false => Err(differs("max_page_count", &Value::Integer(pages), &Value::Integer(now))),
    }
}

fn open(path: &Path, flags: OpenFlags) -> Result<Connection> {
    let opened = Connection::open_with_flags(path, flags);
    let db = opened.map_err(|error| match Error::from(Fault::from(error)) {
        Error::Open(why) | Error::Backend(why) => {
            Error::Open(format!("cannot open {}: {why}", path.display()))
        }
        other => other,
    })?;
    // A log that could not be copied must stay.
    let stay = db.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true);
    stay.map_err(Fault::from)?;
    // Otherwise some statements are prepared again whenever other values are bound to them.
    let stable = db.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true);
    stable.map_err(Fault::from)?;
    db.set_prepared_statement_cache_capacity(limits::STATEMENTS_MAX);
    Ok(db)
}

fn set(db: &Connection, name: &str, value: impl Into<Value>) -> Result<()> {
    let value = value.into();
    let text = match &value {
        Value::Integer(number) => number.to_string(),
        Value::Text(text) => text.clone(),
        other => unreachable!("no setting is {other:?}"),
    };
    // Some settings answer with their new value, some with nothing: both are read to their end.
    let mut statement = db.prepare(&format!("PRAGMA {name} = {text}")).map_err(Fault::from)?;
    let mut rows = statement.query([]).map_err(Fault::from)?;
    while rows.next().map_err(Fault::from)?.is_some() {}
    let now = read(db, name)?;
    match now == value {
        true => Ok(()),
        false => Err(differs(name, &value, &now)),
    }
}

fn read(db: &Connection, name: &str) -> Result<Value> {
    let sql = format!("PRAGMA {name}");
    db.query_row(&sql, [], |row| row.get(0)).map_err(|error| match error {
        // A setting that SQLite does not know answers with no row at all.
        rusqlite::Error::QueryReturnedNoRows => {
            Error::Open(format!("this build of SQLite does not know the setting {name}"))
        }
        error => Fault::from(error).into(),
    })
}

fn differs(name: &str, wanted: &Value, now: &Value) -> Error {
    Error::Open(format!(
        "SQLite's setting {name} is {now:?} where {wanted:?} was asked for: what this store \
         promises would not hold, so it is not opened"
    ))
}

fn millis(span: Duration) -> i64 {
    i64::try_from(span.as_millis()).unwrap_or(i64::MAX).min(i64::from(i32::MAX))
}

/// SQLite takes a size as a negative number of kibibytes.
fn kibibytes(bytes: usize) -> i64 {
    -i64::try_from(bytes / 1024).unwrap_or(i64::from(i32::MAX)).clamp(1, i64::from(i32::MAX))
}

#[cfg(test)]
mod tests {
    use rusqlite::StatementStatus;

    use super::*;

    /// H13: a misspelt setting was silently ignored, and durability was weaker than documented.
    #[test]
    fn a_setting_that_does_not_hold_is_refused() {
        let db = Connection::open_in_memory().expect("memory");
        let unknown = set(&db, "synchronus", 2).expect_err("it does not exist");
        assert!(unknown.to_string().contains("does not know the setting synchronus"), "{unknown}");
        // A database in memory has no log: SQLite answers "memory", and says nothing of it.
        let other = set(&db, "journal_mode", "wal".to_owned()).expect_err("it cannot be applied");
        assert!(other.to_string().contains("journal_mode"), "{other}");
    }

    /// A statement that is prepared again for other values costs as much as ten that are not.
    #[test]
    fn other_values_do_not_prepare_a_statement_again() {
        let folder = tempfile::tempdir().expect("a folder");
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE;
        let db = open(&folder.path().join("file.db"), flags).expect("it opens");
        let table = "CREATE TABLE t (a INTEGER PRIMARY KEY, b INTEGER);
                     CREATE INDEX t_b ON t (b) WHERE b IS NOT NULL";
        db.execute_batch(table).expect("a table");
        let sql = "SELECT a FROM t INDEXED BY t_b WHERE b = ? ORDER BY a DESC LIMIT 1";
        let mut statement = db.prepare_cached(sql).expect("it is SQL");
        for value in 0..10 {
            assert!(!statement.exists([value]).expect("it runs"));
        }
        assert_eq!(statement.get_status(StatementStatus::RePrepare), 0);
    }
}
