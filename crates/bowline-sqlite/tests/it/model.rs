//! The memory store is the model: the same calls, by chance, have the same answers here, and leave
//! the same rows.

mod act;
mod chance;

use std::sync::Arc;

use bowline_core::RunId;
use bowline_sqlite::SqliteStore;
use bowline_store::{Filter, Order, Read, RunKey, Store, Subtree, memory::MemoryStore};
use tempfile::TempDir;

use self::{act::Actor, chance::Chance};
use crate::world::{NAMESPACE, assert_whole};

const SEEDS: u64 = 12;
const STEPS: usize = 150;

/// Two stores, and where the second one lies.
pub(super) struct Both {
    pub(super) model: Arc<MemoryStore>,
    pub(super) store: Arc<SqliteStore>,
    folder: TempDir,
}

impl Both {
    fn open() -> Self {
        let folder = TempDir::new().unwrap();
        let store = SqliteStore::open(folder.path().join("store.db")).unwrap();
        Self { model: Arc::new(MemoryStore::new()), store: Arc::new(store), folder }
    }

    pub(super) async fn reopen(&mut self) {
        self.model = Arc::new(self.model.reopen());
        self.store.close().await;
        let store = SqliteStore::open(self.folder.path().join("store.db")).unwrap();
        self.store = Arc::new(store);
    }

    /// Everything that can be read is the same.
    pub(super) async fn compare(&self, runs: &[RunId], note: &str) {
        for run in runs {
            let read = Read { activities_max: usize::MAX, ..Read::whole(*run) };
            self.agree(|store| store.read(read.clone()), note).await;
            self.agree(|store| store.leftovers(Subtree::Run(*run)), note).await;
        }
        for id in act::WORKFLOWS {
            let read = Read::head(RunKey::Current(NAMESPACE, id.into()));
            self.agree(|store| store.read(read.clone()), note).await;
        }
        self.agree(|store| store.leftovers(Subtree::Orphans), note).await;
        for order in [Order::Newest, Order::Oldest] {
            let filter = Filter { namespace: NAMESPACE, limit: 7, order, ..Filter::default() };
            self.agree(|store| store.find(filter.clone()), note).await;
        }
    }

    /// Both give the same answer, whatever it is.
    pub(super) async fn agree<T: std::fmt::Debug, F: Future<Output = T>>(
        &self,
        call: impl Fn(&dyn Store) -> F,
        note: &str,
    ) {
        drop(self.same(call, note).await);
    }

    /// Both give the same answer.
    pub(super) async fn same<T: std::fmt::Debug, F: Future<Output = T>>(
        &self,
        call: impl Fn(&dyn Store) -> F,
        note: &str,
    ) -> T {
        let (expected, found) = (call(&*self.model).await, call(&*self.store).await);
        let (expected_text, found) = (format!("{expected:#?}"), format!("{found:#?}"));
        assert!(expected_text == found, "{note}\nthe model: {expected_text}\nhere: {found}");
        expected
    }
}

#[tokio::test]
async fn the_same_calls_have_the_same_answers() {
    for seed in 1..=SEEDS {
        let mut actor = Actor::enter(Both::open(), Chance::new(seed)).await;
        for step in 0..STEPS {
            let note = format!("seed {seed}, step {step}");
            actor.act(&note).await;
            if step % 10 == 9 {
                actor.both.compare(&actor.runs, &note).await;
            }
        }
        actor.both.compare(&actor.runs, &format!("seed {seed}, at the end")).await;
        assert_whole(&actor.both.store).await;
    }
}
