//! The namespaces that this engine looks after, and the registry that names them. Its own native
//! code lives in one of them; for the others it is there for remote workers.

use std::{collections::BTreeMap, time::Duration};

use bowline_core::{Blob, Namespace, Space, Span, Version, codec};
use bowline_store::{CatalogPut, CatalogRead, Item, Which};
use parking_lot::Mutex;

use super::EngineInner;
use crate::{Error, Result, limits};

/// How long closed runs are kept, by namespace.
#[derive(Debug, Default)]
pub(crate) struct Spaces(Mutex<BTreeMap<Namespace, Option<Duration>>>);

impl Spaces {
    /// Somebody works in this namespace.
    pub(crate) fn meet(&self, namespace: Namespace) {
        let mut spaces = self.0.lock();
        if spaces.len() < limits::NAMESPACES {
            spaces.entry(namespace).or_default();
        }
    }

    /// Closed runs of this namespace are kept for so long; true if that is news.
    pub(crate) fn keep(&self, namespace: Namespace, kept: Option<Duration>) -> bool {
        let mut spaces = self.0.lock();
        let fits = spaces.len() < limits::NAMESPACES || spaces.contains_key(&namespace);
        fits && spaces.insert(namespace, kept).unwrap_or_default() != kept
    }

    pub(crate) fn all(&self) -> Vec<Namespace> {
        self.0.lock().keys().copied().collect()
    }

    /// Those that do not keep closed runs for ever.
    pub(crate) fn retention(&self) -> Vec<(Namespace, Duration)> {
        let spaces = self.0.lock();
        spaces.iter().filter_map(|(space, kept)| kept.map(|kept| (*space, kept))).collect()
    }
}

/// Where the registry stands: a namespace under its name, and a number that was given out.
const NAMES: &str = "namespaces";
const NUMBERS: &str = "namespace numbers";

impl EngineInner {
    /// Registers a namespace under a name that is free.
    pub(crate) async fn register(
        &self,
        name: &str,
        kept: Option<Span>,
        wire: Blob,
    ) -> Result<Space> {
        if self.space(name).await?.is_some() {
            return Err(Error::NamespaceTaken(name.to_owned()));
        }
        let (namespace, id) = (self.new_number().await?, self.draw());
        let space = Space { namespace, id, kept, wire: Some(wire) };
        let put = put(NAMES, name.to_owned(), None, codec::encode(&space));
        match self.write_catalog(put).await {
            Err(error) if error.is_race() => Err(Error::NamespaceTaken(name.to_owned())),
            done => done.map(|_| self.learn(space)),
        }
    }

    /// A number that no namespace has had. The first is that of native code, so that whoever is
    /// registered first has the runs that were there before.
    async fn new_number(&self) -> Result<Namespace> {
        let all =
            CatalogRead { catalog: NUMBERS.into(), which: Which::All, limit: limits::NAMESPACES };
        let taken = self.read_catalog(all).await?;
        if taken.len() >= limits::NAMESPACES {
            return Err(Error::TooMany { what: "namespaces", limit: limits::NAMESPACES });
        }
        let last = taken.last().and_then(|item| item.name.parse::<u32>().ok());
        let mut next = last.map_or(self.settings.namespace.0, |last| last + 1);
        loop {
            // Ten digits each, so that the order of names is that of numbers.
            let put = put(NUMBERS, format!("{next:010}"), None, self.draw().to_be_bytes().into());
            match self.write_catalog(put).await {
                Err(error) if error.is_race() => next += 1,
                done => return done.map(|_| Namespace(next)),
            }
        }
    }

    /// Changes what is said of a namespace.
    pub(crate) async fn change_space(
        &self,
        name: &str,
        change: impl Fn(&mut Space),
    ) -> Result<Space> {
        loop {
            let (mut space, version) =
                self.find_space(name).await?.ok_or(Error::NotFound("namespace"))?;
            change(&mut space);
            let put = put(NAMES, name.to_owned(), Some(version), codec::encode(&space));
            match self.write_catalog(put).await {
                Err(error) if error.is_race() => {}
                done => return done.map(|_| self.learn(space)),
            }
        }
    }

    /// The namespace of a name, if there is one.
    pub(crate) async fn space(&self, name: &str) -> Result<Option<Space>> {
        Ok(self.find_space(name).await?.map(|(space, _)| self.learn(space)))
    }

    async fn find_space(&self, name: &str) -> Result<Option<(Space, Version)>> {
        let found = self.item(NAMES, name).await?;
        found.map(|item| Ok((read(&item)?, item.version))).transpose()
    }

    /// All namespaces, in the order of their names.
    pub(crate) async fn all_spaces(&self) -> Result<Vec<(String, Space)>> {
        let all =
            CatalogRead { catalog: NAMES.into(), which: Which::All, limit: limits::NAMESPACES };
        let items = self.read_catalog(all).await?;
        let read = |item: Item| read(&item).map(|space| (item.name, self.learn(space)));
        items.into_iter().map(read).collect()
    }

    /// From now on this namespace is looked after here too.
    fn learn(&self, space: Space) -> Space {
        let own = self.settings.retention.filter(|_| space.namespace == self.settings.namespace);
        let kept = space.kept.map(|kept| kept.0).or(own);
        if self.spaces.keep(space.namespace, kept) {
            self.bells.sweep.notify_one();
        }
        space
    }

    /// Changes one small value.
    async fn write_catalog(&self, put: CatalogPut) -> Result<Version> {
        let once = || async {
            let answer = self.store.write_catalog(vec![put.clone()]).await.pop();
            answer.unwrap_or(Err(bowline_store::Error::Shut))
        };
        match self.retrying(once).await {
            // A try whose answer was lost may have been the one that was faster.
            Err(error) if error.is_race() => match self.item(&put.catalog, &put.name).await? {
                Some(item) if Some(&item.bytes) == put.bytes.as_ref() => Ok(item.version),
                _ => Err(error),
            },
            done => done,
        }
    }

    async fn item(&self, catalog: &str, name: &str) -> Result<Option<Item>> {
        let which = Which::Named(name.to_owned());
        let catalog = CatalogRead { catalog: catalog.to_owned(), which, limit: 1 };
        Ok(self.read_catalog(catalog).await?.pop())
    }

    async fn read_catalog(&self, catalog: CatalogRead) -> Result<Vec<Item>> {
        self.retrying(|| self.store.read_catalog(catalog.clone())).await
    }
}

fn put(catalog: &str, name: String, expected: Option<Version>, bytes: Vec<u8>) -> CatalogPut {
    CatalogPut { catalog: catalog.to_owned(), name, expected, bytes: Some(bytes.into()) }
}

fn read(item: &Item) -> Result<Space> {
    let bad = |corrupt| Error::Invalid(format!("namespace {:?}: {corrupt}", item.name));
    codec::decode(item.bytes.as_slice()).map_err(bad)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_namespace_that_is_met_again_keeps_its_retention() {
        let (spaces, hour) = (Spaces::default(), Duration::from_secs(3_600));
        spaces.meet(Namespace(1));
        spaces.keep(Namespace(2), Some(hour));
        spaces.meet(Namespace(2));
        assert_eq!(spaces.all(), [Namespace(1), Namespace(2)]);
        assert_eq!(spaces.retention(), [(Namespace(2), hour)]);
        spaces.keep(Namespace(2), None);
        assert_eq!(spaces.retention(), []);
    }
}
