//! What the harness asks, as calls of DBOS's interface.

use std::sync::{Arc, Mutex, PoisonError};

use anyhow::Context;
use dbos::{
    Children, Config, DBOS, EngineOnly, Error, QueueConflict, QueueOptions, StartOptions,
    WorkflowHandle, WorkflowRef,
};
use harness::{System, Trouble, Work};

use crate::work;

/// DBOS in this process.
pub(crate) struct Dbos {
    dbos: DBOS,
    perform: WorkflowRef<Work, u32>,
}

impl Dbos {
    pub(crate) async fn open(url: &str) -> anyhow::Result<Self> {
        let version = Some("1".to_owned());
        let dbos = DBOS::new(Config { app_version: version, ..Config::new("bench", url) });
        let perform = dbos.register_workflow("perform", work::perform)?;
        work::SELF.set(perform.clone()).ok().context("this is set once")?;
        dbos.launch().await?;
        let one = QueueOptions { concurrency: Some(1), ..QueueOptions::default() };
        dbos.register_queue(work::CROWD, one, QueueConflict::UpdateIfLatestVersion).await?;
        Ok(Self { dbos, perform })
    }
}

/// A workflow's id, and its handle until somebody waits for it.
#[derive(Clone)]
pub(crate) struct Started {
    id: Arc<str>,
    handle: Arc<Mutex<Option<WorkflowHandle<u32, EngineOnly>>>>,
}

impl System for Dbos {
    type Run = Started;
    type Ticket = Started;

    async fn start(&self, id: String, work: Work) -> Result<Started, Trouble> {
        if work == Work::Sleep {
            return Err(Trouble::cannot(
                "a cancel marks the row at once and does not wake code that sleeps: a minute later \
                 the workflow had not ended",
            ));
        }
        let options = StartOptions { workflow_id: Some(&id), ..StartOptions::default() };
        let handle = self.perform.start_with(work, options).await?;
        Ok(Started { handle: Arc::new(Mutex::new(Some(handle))), id: id.into() })
    }

    async fn find(&self, id: String) -> Result<Started, Trouble> {
        Ok(Started { id: id.into(), handle: Arc::default() })
    }

    async fn ended(&self, run: &Started) -> Result<(), Trouble> {
        let handle = run.handle.lock().unwrap_or_else(PoisonError::into_inner).take();
        let handle = match handle {
            Some(handle) => handle,
            None => self.dbos.retrieve_workflow(&run.id)?,
        };
        match handle.result().await {
            Ok(_)
            | Err(Error::WorkflowCancelled { .. } | Error::AwaitedWorkflowCancelled { .. }) => {
                Ok(())
            }
            Err(error) => Err(error.into()),
        }
    }

    async fn signal(&self, run: &Started) -> Result<(), Trouble> {
        Ok(self.dbos.send(&run.id, &1_u32).await?)
    }

    async fn cancel(&self, run: &Started) -> Result<Started, Trouble> {
        self.dbos.cancel_all(&[&*run.id], Children::Include).await?;
        Ok(run.clone())
    }

    async fn decided(&self, _ticket: &Started) -> Result<(), Trouble> {
        // The request marks the rows of the whole tree before it returns.
        Ok(())
    }

    async fn clean(&self, _ticket: &Started) -> Result<(), Trouble> {
        Err(Trouble::cannot("does not say when nothing is left running"))
    }

    async fn close(&self) {
        self.dbos.shutdown().await;
    }
}
