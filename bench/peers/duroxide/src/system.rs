//! What the harness asks, as calls of Duroxide's client.

use std::{path::Path, sync::Arc, time::Duration};

use anyhow::anyhow;
use duroxide::{
    Client, OrchestrationRegistry,
    providers::sqlite::SqliteProvider,
    runtime::{Runtime, RuntimeOptions, registry::ActivityRegistry},
};
use harness::{System, Trouble, Work};

use crate::work;

/// Longer than any measurement.
const PATIENCE: Duration = Duration::from_secs(3600);

/// Duroxide in this process.
pub(crate) struct Duroxide {
    client: Client,
    runtime: Arc<Runtime>,
}

impl Duroxide {
    pub(crate) async fn open(folder: &str) -> anyhow::Result<Self> {
        let file = Path::new(folder).join("bench.db");
        let address = format!("sqlite:{}?mode=rwc", file.display());
        let store = Arc::new(SqliteProvider::new(&address, None).await?);
        let activities = ActivityRegistry::builder()
            .register("touch", work::touch)
            .register("hold", work::hold)
            .register("win", work::win)
            .build();
        let runs =
            OrchestrationRegistry::builder().register_typed("perform", work::perform).build();
        let mut options = RuntimeOptions::default();
        options.observability.log_level = "off".to_owned();
        let client = Client::new(store.clone());
        let runtime = Runtime::start_with_options(store, activities, runs, options).await;
        Ok(Self { client, runtime })
    }
}

fn failed(error: impl std::fmt::Debug) -> Trouble {
    Trouble::Failed(anyhow!("{error:?}"))
}

impl System for Duroxide {
    type Run = String;
    type Ticket = String;

    async fn start(&self, id: String, work: Work) -> Result<String, Trouble> {
        match work {
            Work::Crowd { .. } => {
                return Err(Trouble::cannot(
                    "has no queue with slots of its own: the crowd would take those of other work",
                ));
            }
            Work::Tree { .. } => {
                return Err(Trouble::cannot("runs 2 activities at once, the tree needs thousands"));
            }
            _ => {}
        }
        let started = self.client.start_orchestration_typed(&id, "perform", work).await;
        started.map_err(failed)?;
        Ok(id)
    }

    async fn find(&self, id: String) -> Result<String, Trouble> {
        Ok(id)
    }

    async fn ended(&self, run: &String) -> Result<(), Trouble> {
        self.client.wait_for_orchestration(run, PATIENCE).await.map_err(failed)?;
        Ok(())
    }

    async fn signal(&self, run: &String) -> Result<(), Trouble> {
        self.client.enqueue_event(run, work::POKE, "1").await.map_err(failed)
    }

    async fn cancel(&self, run: &String) -> Result<String, Trouble> {
        self.client.cancel_instance(run, "measured").await.map_err(failed)?;
        Ok(run.clone())
    }

    async fn decided(&self, ticket: &String) -> Result<(), Trouble> {
        self.ended(ticket).await
    }

    async fn clean(&self, _ticket: &String) -> Result<(), Trouble> {
        Err(Trouble::cannot("does not say when nothing is left running"))
    }

    async fn close(&self) {
        self.runtime.clone().shutdown(None).await;
    }
}
