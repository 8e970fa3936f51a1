//! What a run knows of itself.

use std::{ops::Deref, rc::Rc};

use bowline_core::{EventId, RunId, WorkflowStarted};

use crate::Context;

/// What a run was started as: its name, ids, input, parent and the rest.
#[derive(Clone, Debug)]
pub struct Info {
    /// The run.
    pub run: RunId,
    started: Rc<WorkflowStarted>,
}

impl Deref for Info {
    type Target = WorkflowStarted;

    fn deref(&self) -> &WorkflowStarted {
        &self.started
    }
}

impl Context {
    /// What the run was started as.
    pub fn info(&self) -> Info {
        self.with(|run| Info { run: run.id, started: run.started.clone() })
    }

    /// How long history is by now: the event that the code is being told of.
    pub fn history(&self) -> EventId {
        self.with(|run| run.at)
    }
}
