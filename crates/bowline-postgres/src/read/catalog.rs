//! Small values beside the runs. One statement each: whoever comes second finds another version.

use bowline_core::{Blob, Version};
use bowline_store::{CatalogPut, CatalogRead, Error, Item, Which};

use crate::{
    connection::{
        db::{Db, Outcome, Value},
        row::Row,
    },
    rows::blob::{count, int},
    shared::Shared,
};

pub(crate) async fn write_catalog(shared: &Shared, put: &CatalogPut) -> Outcome<Version> {
    put.check()?;
    let expected = put.expected.map(|version| int(version.0));
    let bytes = put.bytes.as_ref().map(|bytes| bytes.as_slice().to_vec());
    let lent = shared.lend().await?;
    let db = Db::own(&lent, shared);
    let changed = match (&bytes, expected) {
        (Some(bytes), None) => {
            let sql = "INSERT INTO @shelves (shelf, name, version, bytes) VALUES ($1, $2, 1, $3) \
                       ON CONFLICT DO NOTHING RETURNING 1";
            db.change(sql, &[&put.catalog, &put.name, bytes]).await?
        }
        (Some(bytes), Some(expected)) => {
            let sql = "UPDATE @shelves SET version = version + 1, bytes = $4 \
                       WHERE shelf = $1 AND name = $2 AND version = $3 RETURNING 1";
            let values: [Value<'_>; 4] = [&put.catalog, &put.name, &expected, bytes];
            db.change(sql, &values).await?
        }
        (None, expected) => {
            let sql = "DELETE FROM @shelves WHERE shelf = $1 AND name = $2 AND version = $3 \
                       RETURNING 1";
            db.change(sql, &[&put.catalog, &put.name, &expected]).await?
        }
    };
    match changed.is_empty() {
        true => Err(Error::Conflict.into()),
        false => Ok(Version(put.expected.map_or(0, |version| version.0) + 1)),
    }
}

pub(crate) async fn read_catalog(shared: &Shared, catalog: &CatalogRead) -> Outcome<Vec<Item>> {
    let (than, name) = match &catalog.which {
        Which::All => (">", ""),
        Which::After(name) => (">", name.as_str()),
        Which::Named(name) => ("=", name.as_str()),
    };
    let sql = format!(
        "SELECT name, version, bytes FROM @shelves WHERE shelf = $1 AND name {than} $2 \
         ORDER BY name LIMIT $3"
    );
    let lent = shared.lend().await?;
    let values: [Value<'_>; 3] = [&catalog.catalog, &name, &count(catalog.limit)];
    let rows = Db::own(&lent, shared).rows(&sql, &values).await?;
    let item = |row: &Row| {
        let (version, bytes): (i64, Vec<u8>) = (row.try_get(1)?, row.try_get(2)?);
        let version = Version(version.cast_unsigned());
        Ok(Item { name: row.try_get(0)?, version, bytes: Blob::from(bytes) })
    };
    rows.iter().map(item).collect()
}
