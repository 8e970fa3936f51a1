//! Labels of the runs that were used lately, so that a commit need not read them again.
//!
//! Two generations: when the younger one is full it becomes the older, and what was not used since
//! is forgotten. A label never changes, so nothing here can be stale; a label of a transaction
//! that was rolled back is forgotten with all others.

use std::{collections::HashMap, sync::Arc};

use bowline_core::RunId;

use crate::{limits, run::Label};

#[derive(Default)]
pub(crate) struct Labels {
    young: HashMap<RunId, Arc<Label>>,
    old: HashMap<RunId, Arc<Label>>,
}

impl Labels {
    pub(crate) fn find(&mut self, run: RunId) -> Option<Arc<Label>> {
        if let Some(label) = self.young.get(&run) {
            return Some(label.clone());
        }
        let label = self.old.remove(&run)?;
        self.keep(label.clone());
        Some(label)
    }

    pub(crate) fn keep(&mut self, label: Arc<Label>) {
        if self.young.len() >= limits::LABELS_MAX {
            self.old = std::mem::take(&mut self.young);
        }
        self.young.insert(label.run, label);
    }

    pub(crate) fn forget(&mut self, run: RunId) {
        self.young.remove(&run);
        self.old.remove(&run);
    }

    pub(crate) fn clear(&mut self) {
        self.young.clear();
        self.old.clear();
    }
}
