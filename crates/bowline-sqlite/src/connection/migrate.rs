//! The schema, step by step: each step once, in its own transaction, known by its checksum.

use std::path::Path;

use bowline_store::{Error, Result};
use rusqlite::{Connection, OptionalExtension, TransactionBehavior, params};

use crate::fault::Fault;

struct Migration {
    version: i64,
    name: &'static str,
    sql: &'static str,
}

/// Steps are for ever: a released one is never edited, the next one changes what it made.
const STEPS: &[Migration] = &[
    Migration { version: 1, name: "tables", sql: include_str!("../../migrations/0001_tables.sql") },
    Migration {
        version: 2,
        name: "shelves",
        sql: include_str!("../../migrations/0002_shelves.sql"),
    },
    Migration { version: 3, name: "chains", sql: include_str!("../../migrations/0003_chains.sql") },
    Migration { version: 4, name: "unseen", sql: include_str!("../../migrations/0004_unseen.sql") },
    Migration { version: 5, name: "parked", sql: include_str!("../../migrations/0005_parked.sql") },
];

const VERSIONS: &str = "CREATE TABLE IF NOT EXISTS versions (
    version INTEGER PRIMARY KEY, name TEXT NOT NULL, checksum INTEGER NOT NULL
)";

/// The version that this build knows.
pub(crate) fn newest() -> i64 {
    STEPS.last().map_or(0, |step| step.version)
}

/// Brings the file to the newest version, or says why it cannot be.
pub(crate) fn migrate(db: &mut Connection, path: &Path) -> Result<()> {
    let known = version(db)?;
    if known > newest() {
        return Err(Error::Open(format!(
            "{} has schema version {known}, and this build knows versions up to {}: a newer \
             Bowline has opened it; use that one, or restore an older backup",
            path.display(),
            newest()
        )));
    }
    for step in STEPS {
        apply(db, step, path)?;
    }
    Ok(())
}

/// The version of the file; 0 for an empty one.
fn version(db: &Connection) -> Result<i64> {
    let table = "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'versions'";
    let found = db.query_row(table, [], |_| Ok(())).optional().map_err(Fault::from)?;
    if found.is_none() {
        return Ok(0);
    }
    let newest = "SELECT coalesce(max(version), 0) FROM versions";
    Ok(db.query_row(newest, [], |row| row.get(0)).map_err(Fault::from)?)
}

fn apply(db: &mut Connection, step: &Migration, path: &Path) -> Result<()> {
    Ok(try_apply(db, step, path)?)
}

fn try_apply(db: &mut Connection, step: &Migration, path: &Path) -> std::result::Result<(), Fault> {
    let sum = i64::from(crc32fast::hash(step.sql.as_bytes()));
    let tx = db.transaction_with_behavior(TransactionBehavior::Immediate)?;
    tx.execute_batch(VERSIONS)?;
    let known: Option<i64> = tx
        .query_row("SELECT checksum FROM versions WHERE version = ?", [step.version], |row| {
            row.get(0)
        })
        .optional()?;
    match known {
        Some(known) if known == sum => return Ok(()),
        Some(_) => {
            return Err(Fault::Said(Error::Open(format!(
                "{} was made by another step {} ({}) of the schema than this build has: it is \
                 not opened, because its tables may differ",
                path.display(),
                step.version,
                step.name
            ))));
        }
        None => {}
    }
    tx.execute_batch(step.sql)?;
    let row = params![step.version, step.name, sum];
    tx.execute("INSERT INTO versions (version, name, checksum) VALUES (?, ?, ?)", row)?;
    tx.commit()?;
    Ok(())
}
