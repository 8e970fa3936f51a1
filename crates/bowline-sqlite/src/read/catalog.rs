//! Small values beside the runs.

use bowline_core::{Blob, Version};
use bowline_store::{CatalogPut, CatalogRead, Error, Item, Which};
use rusqlite::params;

use crate::{
    connection::db::{Db, Outcome},
    rows::blob::int,
    write::tx::Tx,
};

pub(crate) fn write_catalog(tx: &mut Tx<'_>, put: &CatalogPut) -> Outcome<Version> {
    put.check()?;
    let sql = "SELECT version FROM bowline_shelves WHERE shelf = ? AND name = ?";
    let found: Option<i64> = tx.db.first(sql, [&put.catalog, &put.name], |row| row.get(0))?;
    let found = found.map(|version| Version(version.cast_unsigned()));
    if found != put.expected {
        return Err(Error::Conflict.into());
    }
    let version = Version(found.map_or(0, |version| version.0) + 1);
    match &put.bytes {
        Some(bytes) => {
            let sql = "INSERT OR REPLACE INTO bowline_shelves (shelf, name, version, bytes) \
                       VALUES (?, ?, ?, ?)";
            let values = params![put.catalog, put.name, int(version.0), bytes.as_slice()];
            tx.db.run(sql, values)?;
        }
        None => {
            let sql = "DELETE FROM bowline_shelves WHERE shelf = ? AND name = ?";
            tx.db.run(sql, [&put.catalog, &put.name])?;
        }
    }
    Ok(version)
}

pub(crate) fn read_catalog(db: Db<'_>, catalog: &CatalogRead) -> Outcome<Vec<Item>> {
    let (than, name) = match &catalog.which {
        Which::All => (">", ""),
        Which::After(name) => (">", name.as_str()),
        Which::Named(name) => ("=", name.as_str()),
    };
    let sql = format!(
        "SELECT name, version, bytes FROM bowline_shelves WHERE shelf = ? AND name {than} ? \
         ORDER BY name LIMIT ?"
    );
    let limit = i64::try_from(catalog.limit).unwrap_or(i64::MAX);
    db.all(&sql, params![catalog.catalog, name, limit], |row| {
        let (version, bytes): (i64, Vec<u8>) = (row.get(1)?, row.get(2)?);
        let version = Version(version.cast_unsigned());
        Ok(Item { name: row.get(0)?, version, bytes: Blob::from(bytes) })
    })
}
