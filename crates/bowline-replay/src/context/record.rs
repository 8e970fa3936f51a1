//! What a run writes down about itself.

use std::collections::BTreeMap;

use bowline_core::{Command, Payload, RecordMarker, SearchField};

use crate::Context;

impl Context {
    /// Changes search attributes; an unset value removes the key.
    pub fn upsert_search(&self, changes: BTreeMap<String, Option<SearchField>>) {
        self.with(|run| run.ask(Command::UpsertSearch(changes)));
    }

    /// Changes the memo; an unset value removes the key.
    pub fn modify_memo(&self, changes: BTreeMap<String, Option<Payload>>) {
        self.with(|run| run.ask(Command::ModifyMemo(changes)));
    }

    /// Writes a marker into history, for people and tools.
    pub fn marker(&self, marker: RecordMarker) {
        self.with(|run| run.ask(Command::RecordMarker(Box::new(marker))));
    }
}
