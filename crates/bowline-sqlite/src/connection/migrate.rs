//! The schema, step by step: each step once, in its own transaction, known by its checksum.

use std::{collections::BTreeMap, path::Path};

use bowline_store::{
    Result, migrations,
    stored::{Migration, Migrations},
};
use rusqlite::{Connection, TransactionBehavior, params};

use crate::fault::Fault;

const STEPS: Migrations = migrations! {
    1 tables
    2 shelves
    3 chains
    4 unseen
    5 parked
};

const VERSIONS: &str = "CREATE TABLE IF NOT EXISTS versions (
    version INTEGER PRIMARY KEY, name TEXT NOT NULL, checksum INTEGER NOT NULL
)";

/// Brings the file to the newest version, or says why it cannot be.
pub(crate) fn migrate(db: &mut Connection, path: &Path) -> Result<()> {
    let whose = path.display().to_string();
    let taken = taken(db).map_err(Fault::from)?;
    for (version, checksum) in &taken {
        STEPS.check(&whose, *version, *checksum)?;
    }
    for step in STEPS.0.iter().filter(|step| !taken.contains_key(&step.version)) {
        apply(db, step).map_err(Fault::from)?;
    }
    Ok(())
}

/// The steps that the file has taken; none of an empty one.
fn taken(db: &Connection) -> rusqlite::Result<BTreeMap<i64, i64>> {
    let table = "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'versions'";
    if !db.prepare(table)?.exists([])? {
        return Ok(BTreeMap::new());
    }
    let mut rows = db.prepare("SELECT version, checksum FROM versions")?;
    rows.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?.collect()
}

fn apply(db: &mut Connection, step: &Migration) -> rusqlite::Result<()> {
    let tx = db.transaction_with_behavior(TransactionBehavior::Immediate)?;
    tx.execute_batch(VERSIONS)?;
    tx.execute_batch(step.sql)?;
    let row = params![step.version, step.name, step.checksum()];
    tx.execute("INSERT INTO versions (version, name, checksum) VALUES (?, ?, ?)", row)?;
    tx.commit()
}
