//! What the harness asks, as calls of the SDK's client; and the workers.

use std::{str::FromStr, time::Duration};

use anyhow::{Context, Result, bail};
use harness::{System, Trouble, Work};
use temporalio_client::{
    Client, ClientOptions, Connection, ConnectionOptions, Url, WorkflowCancelOptions,
    WorkflowDescribeOptions, WorkflowGetResultOptions, WorkflowHandle, WorkflowSignalOptions,
    WorkflowStartOptions,
};
use temporalio_sdk::{
    Runtime, Worker, WorkerOptions,
    runtime::worker_tuner::{FixedSizeSlotSupplier, TunerHolder, WorkerTuner},
};

use crate::{
    server::Server,
    work::{Activities, CROWD, HOLD, MAIN, Perform},
};

/// How often the server is asked for a connection, in steps of a tenth of a second.
const TRIES: u32 = 300;

/// A server, and this process as its client and worker.
pub(crate) struct Sdk {
    client: Client,
    _server: Server,
}

impl Sdk {
    pub(crate) async fn open(server: Server) -> Result<Self> {
        let client = connect(server.port).await?;
        for (queue, slots) in [(MAIN, None), (HOLD, Some(6_000)), (CROWD, Some(1))] {
            let (client, handle) = (client.clone(), tokio::runtime::Handle::current());
            // Workflow code stays on one thread: each worker has one.
            std::thread::spawn(move || handle.block_on(work(client, queue, slots)));
        }
        Ok(Self { client, _server: server })
    }
}

async fn connect(port: u16) -> Result<Client> {
    let url = Url::from_str(&format!("http://127.0.0.1:{port}"))?;
    for _ in 0..TRIES {
        let options = ConnectionOptions::new(url.clone()).build();
        if let Ok(connection) = Connection::connect(options).await {
            return Ok(Client::new(connection, ClientOptions::new("default").build())?);
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    bail!("the server does not accept connections")
}

async fn work(client: Client, queue: &str, slots: Option<usize>) {
    if let Err(error) = worker(client, queue, slots).await {
        eprintln!("the worker of {queue} ended: {error:#}");
    }
}

async fn worker(client: Client, queue: &str, slots: Option<usize>) -> Result<()> {
    let runtime = Runtime::from_current_tokio(Default::default()).context("the SDK's runtime")?;
    let options = WorkerOptions::new(queue).register_activities(Activities);
    let options = match slots {
        None => options.register_workflow::<Perform>()?.build(),
        Some(slots) => options.tuner(tuner(slots)).build(),
    };
    Worker::new(&runtime, client, options)?.run().await?;
    Ok(())
}

fn tuner(slots: usize) -> WorkerTuner {
    let few = FixedSizeSlotSupplier::new(10);
    TunerHolder::builder()
        .workflow_task_slot_supplier(few)
        .activity_task_slot_supplier(FixedSizeSlotSupplier::new(slots))
        .local_activity_task_slot_supplier(few)
        .nexus_task_slot_supplier(few)
        .build()
        .into()
}

impl Sdk {
    fn handle(&self, id: &str) -> WorkflowHandle<Client, Perform> {
        self.client.get_workflow_handle::<Perform>(id)
    }
}

impl System for Sdk {
    type Run = String;
    type Ticket = String;

    async fn start(&self, id: String, work: Work) -> Result<String, Trouble> {
        let options = WorkflowStartOptions::new(MAIN, id.clone()).build();
        self.client.start_workflow(Perform::run, work, options).await?;
        Ok(id)
    }

    async fn find(&self, id: String) -> Result<String, Trouble> {
        Ok(id)
    }

    async fn ended(&self, run: &String) -> Result<(), Trouble> {
        use temporalio_client::errors::WorkflowGetResultError as Ended;
        match self.handle(run).get_result(WorkflowGetResultOptions::default()).await {
            Ok(_) | Err(Ended::Cancelled { .. }) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    async fn signal(&self, run: &String) -> Result<(), Trouble> {
        let options = WorkflowSignalOptions::default();
        Ok(self.handle(run).signal(Perform::poke, (), options).await?)
    }

    async fn cancel(&self, run: &String) -> Result<String, Trouble> {
        self.handle(run).cancel(WorkflowCancelOptions::default()).await?;
        Ok(run.clone())
    }

    async fn decided(&self, ticket: &String) -> Result<(), Trouble> {
        self.ended(ticket).await
    }

    async fn clean(&self, _ticket: &String) -> Result<(), Trouble> {
        Err(Trouble::cannot("the SDK cannot ask when nothing is left running"))
    }

    async fn events(&self, run: &String) -> Result<Option<u64>, Trouble> {
        let described = self.handle(run).describe(WorkflowDescribeOptions::default()).await?;
        Ok(Some(described.history_length() as u64))
    }
}
