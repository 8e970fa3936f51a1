//! Small values beside the runs.

use bowline_core::Version;

use super::Data;
use crate::{CatalogPut, CatalogRead, Error, Item, Result, Which};

impl Data {
    pub(super) fn write_catalog(&mut self, put: CatalogPut) -> Result<Version> {
        put.check()?;
        let key = (put.catalog, put.name);
        let found = self.rows.items.get(&key).map(|item| item.version);
        if found != put.expected {
            return Err(Error::Conflict);
        }
        let version = Version(found.map_or(0, |version| version.0) + 1);
        match put.bytes {
            Some(bytes) => {
                let name = key.1.clone();
                self.rows.items.insert(key, Item { name, version, bytes });
            }
            None => drop(self.rows.items.remove(&key)),
        }
        Ok(version)
    }

    pub(super) fn read_catalog(&self, catalog: &CatalogRead) -> Vec<Item> {
        let items = self.rows.items.range((catalog.catalog.clone(), String::new())..);
        let items = items.take_while(|((own, _), _)| *own == catalog.catalog);
        let items = items.filter(|((_, name), _)| match &catalog.which {
            Which::All => true,
            Which::After(after) => name > after,
            Which::Named(one) => name == one,
        });
        items.map(|(_, item)| item.clone()).take(catalog.limit).collect()
    }
}
