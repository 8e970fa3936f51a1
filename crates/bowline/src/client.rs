//! The program's handle on its runs: starts, finds, asks, cancels.

mod cancel;
mod describe;
mod error;
mod list;
mod receipt;
mod recording;
mod run;
mod start;
mod tree;

use std::{path::Path, sync::Arc, time::Duration};

use bowline_engine::{Engine, Metrics, core::ReceiptId, store::Store};

use crate::{
    Builder, Workflow,
    builder::Place,
    ctx::{App, assert_path},
    open::Joint,
};

pub use cancel::{CancelCall, CancelOneCall, TerminateCall};
pub use describe::{Description, HistoryEvent};
pub use error::{ClientError, RunError, UpdateError};
pub use list::{List, RunSummary};
pub use receipt::Receipt;
pub use recording::Recording;
pub use run::{AnyRun, Run};
pub use start::{IfClosed, IfExists, StartCall};
pub(crate) use start::{begun, unreadable};
pub use tree::{CancelTree, CancelledActivity, CancelledRun, UnseenAttempt};

/// A running program: start, find, query and cancel runs through it. Cheap to clone.
#[derive(Clone)]
pub struct Bowline {
    engine: Engine,
    app: Arc<App>,
    store: Arc<dyn Store>,
    joint: Joint,
}

impl Bowline {
    /// Keeps all state in this SQLite file, which is made if it is missing, and which one process
    /// at a time may have open. With the feature `postgres`, give `postgres://user@host/database`
    /// instead, for any number of processes at once.
    pub fn open(place: impl AsRef<Path>) -> Builder {
        Builder::new(Place::At(place.as_ref().to_owned()))
    }

    /// Keeps all state in a store of your own; `bowline-store` says what one must do.
    pub fn on(store: Arc<dyn Store>) -> Builder {
        Builder::new(Place::Store(store))
    }

    pub(crate) fn new(engine: Engine, app: Arc<App>, store: Arc<dyn Store>) -> Self {
        Self { engine, app, store, joint: Joint::default() }
    }

    /// The same, on a store that can be part of the application's own transactions.
    pub(crate) fn with_joint(self, joint: Joint) -> Self {
        Self { joint, ..self }
    }

    pub(crate) fn joint(&self) -> &Joint {
        &self.joint
    }

    pub(crate) fn store(&self) -> &Arc<dyn Store> {
        &self.store
    }

    pub(crate) fn engine(&self) -> &Engine {
        &self.engine
    }

    /// Starts a run of a workflow, by the path of its function, under an id of your choice.
    pub fn start<F, M>(
        &self,
        workflow: F,
        id: impl Into<String>,
        input: impl crate::Give<F::Input>,
    ) -> StartCall<F::Output, F::Error>
    where
        F: Workflow<M>,
    {
        const { assert_path::<F>() };
        let _ = workflow;
        let name = self.app.registry.workflow::<F>().cloned();
        StartCall::new(self.clone(), name, id.into(), input.give())
    }

    /// Addresses the newest run of a workflow id, with the types of this workflow. Whether there is
    /// one shows when you ask it something.
    pub fn attach<F, M>(&self, workflow: F, id: impl Into<String>) -> Run<F::Output, F::Error>
    where
        F: Workflow<M>,
    {
        const { assert_path::<F>() };
        let _ = workflow;
        let name = self.app.registry.workflow::<F>().cloned();
        Run::current(self.clone(), name, id.into())
    }

    /// Addresses the newest run of a workflow id, whatever its workflow is.
    pub fn run(&self, id: impl Into<String>) -> AnyRun {
        AnyRun::current(self.clone(), id.into())
    }

    /// Lists runs, newest first. Add filters to what this returns.
    pub fn list(&self) -> List {
        List::new(self.clone())
    }

    /// Finds the receipt of a cancel again, by its id.
    ///
    /// # Errors
    /// If the text is not the id of a receipt.
    pub fn receipt(&self, id: &str) -> Result<Receipt, ClientError> {
        let parsed = u128::from_str_radix(&id.replace('-', ""), 16);
        let id = parsed
            .map_err(|_| ClientError::Invalid(format!("{id:?} is not the id of a receipt")))?;
        Ok(Receipt::new(self.clone(), ReceiptId(id)))
    }

    /// Looks for work that should not exist: work of closed runs that nobody told to stop, and
    /// children that outlived a parent although they should have been told. Empty after any fault.
    ///
    /// # Errors
    /// If the store fails.
    pub async fn orphans(&self) -> Result<CancelTree, ClientError> {
        Ok(CancelTree::new(self.engine.orphans().await?))
    }

    /// Returns what this process has counted since it started: turns, attempts, and how fast
    /// cancels travelled.
    pub fn metrics(&self) -> Metrics {
        self.engine.metrics()
    }

    /// Lists workflows of open runs that are not registered here, with how many runs wait for each.
    ///
    /// # Errors
    /// If the store fails.
    pub async fn unregistered(&self) -> Result<Vec<(String, usize)>, ClientError> {
        let missing = crate::builder::unregistered(&self.engine, &self.app).await?;
        Ok(missing.into_iter().map(|(name, runs)| (name.to_string(), runs)).collect())
    }

    /// Takes no more work, lets running activities finish for this long, gives the rest back, and
    /// leaves the store. This goes for all clones of the handle. Open runs continue where the store
    /// is opened next; when this returns, the file is free for others.
    ///
    /// # Errors
    /// If the store fails.
    pub async fn close(&self, within: Duration) -> Result<(), ClientError> {
        self.engine.close(within).await?;
        self.store.shut().await;
        Ok(())
    }
}

impl std::fmt::Debug for Bowline {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Bowline").field("app", &self.app).finish_non_exhaustive()
    }
}
