//! The reference store keeps the contract.

use std::sync::Arc;

use bowline_store::{Store, conformance::Harness, memory::MemoryStore};

struct Memory(MemoryStore);

impl Harness for Memory {
    fn open(&self) -> Arc<dyn Store> {
        Arc::new(self.0.clone())
    }

    fn reopen(&self) -> Arc<dyn Store> {
        Arc::new(self.0.reopen())
    }
}

fn open() -> Memory {
    Memory(MemoryStore::new())
}

bowline_store::conformance!(open);
