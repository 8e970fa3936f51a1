//! A worker and a client of the Rust SDK in one process: it plays the scenes that it is told, and
//! says how each one went, one line of JSON each.

use std::{
    fmt::Debug,
    io::Write,
    str::FromStr,
    time::{Duration, Instant},
};

use anyhow::{Result, anyhow, bail, ensure};
use serde_json::{Value, json};
use temporalio_client::{
    Client, ClientOptions, Connection, ConnectionOptions, Url, WorkflowGetResultOptions,
    WorkflowHandle, WorkflowStartOptions,
};
use temporalio_common::HasWorkflowDefinition;
use temporalio_sdk::{
    Runtime, Worker, WorkerOptions,
    runtime::RuntimeOptions,
    workflow_replayer::{WorkflowReplayer, WorkflowReplayerOptions},
};

use super::{cancels, features, flows::*};

/// Where the worker is found that plays most scenes.
pub(super) const QUEUE: &str = "rust";

/// Registers every workflow with something that takes them.
macro_rules! register {
    ($with:expr) => {
        $with
            .register_workflow::<Hello>()?
            .register_workflow::<Chat>()?
            .register_workflow::<Parent>()?
            .register_workflow::<Cancels>()?
            .register_workflow::<Beats>()?
            .register_workflow::<CancelsOne>()?
            .register_workflow::<CleansUp>()?
            .register_workflow::<Timers>()?
            .register_workflow::<Continues>()?
            .register_workflow::<Local>()?
            .register_workflow::<Retries>()?
            .register_workflow::<Markers>()?
    };
}

/// What a scene has.
pub(super) struct Stage {
    address: String,
    pub(super) client: Client,
    runtime: Runtime,
}

impl Stage {
    async fn open(address: &str, options: RuntimeOptions) -> Result<Self> {
        let url = Url::from_str(&format!("http://{address}"))?;
        let connection = Connection::connect(ConnectionOptions::new(url).build()).await?;
        let client = Client::new(connection, ClientOptions::new("default").build())?;
        let runtime = Runtime::from_current_tokio(options)?;
        Ok(Self { address: address.to_owned(), client, runtime })
    }

    /// The same server, for workers whose heartbeats are switched off: they have no control channel
    /// either.
    pub(super) async fn without_control(&self) -> Result<Self> {
        let options = RuntimeOptions::builder().heartbeat_interval(None).build();
        Self::open(&self.address, options.map_err(|why| anyhow!(why))?).await
    }

    /// Plays something beside a worker, which ends with it.
    pub(super) async fn beside(
        &self,
        worker: WorkerOptions,
        scenes: impl Future<Output = Result<()>>,
    ) -> Result<()> {
        let mut worker = Worker::new(&self.runtime, self.client.clone(), worker)?;
        let stop = worker.shutdown_handle();
        let mut working = Box::pin(worker.run());
        let played = tokio::select! {
            ended = &mut working => bail!("the worker ended: {ended:?}"),
            played = scenes => played,
        };
        stop();
        working.await?;
        played
    }

    pub(super) async fn start<W>(
        &self,
        id: &str,
        flow: W,
        input: W::Input,
    ) -> Result<WorkflowHandle<Client, W>>
    where
        W: HasWorkflowDefinition,
        W::Input: Send,
    {
        self.start_at(QUEUE, id, flow, input).await
    }

    pub(super) async fn start_at<W>(
        &self,
        queue: &str,
        id: &str,
        flow: W,
        input: W::Input,
    ) -> Result<WorkflowHandle<Client, W>>
    where
        W: HasWorkflowDefinition,
        W::Input: Send,
    {
        let options = WorkflowStartOptions::new(queue, id).build();
        Ok(self.client.start_workflow(flow, input, options).await?)
    }

    /// Starts a workflow and compares its result.
    pub(super) async fn gives<W, T>(
        &self,
        id: &str,
        flow: W,
        input: W::Input,
        wanted: T,
    ) -> Result<()>
    where
        W: HasWorkflowDefinition,
        W::Input: Send,
        W::Output: PartialEq<T> + Debug,
        T: Debug,
    {
        ends(&self.start(id, flow, input).await?, wanted).await
    }
}

/// A worker with the settings that all have, but for its cache where a scene wants a small one.
pub(super) fn worker(queue: &str, room: Option<usize>) -> Result<WorkerOptions> {
    let options = register!(WorkerOptions::new(queue)).register_activities(Activities);
    Ok(options.maybe_max_cached_workflows(room).build())
}

/// The SDK's own replayer.
pub(super) fn replayer() -> Result<WorkflowReplayer> {
    Ok(WorkflowReplayer::new(register!(WorkflowReplayerOptions::new()).build())?)
}

/// Plays what the command line names.
pub(super) async fn play(address: &str, names: &[String]) -> Result<()> {
    let stage = Stage::open(address, RuntimeOptions::default()).await?;
    let scenes = async {
        for name in names {
            told(name, play_one(&stage, name).await);
        }
        Ok(())
    };
    match names[0].as_str() {
        "begin" | "finish" => scenes.await,
        "worker" => {
            line("working");
            stage.beside(worker(QUEUE, None)?, std::future::pending()).await
        }
        _ => stage.beside(worker(QUEUE, None)?, scenes).await,
    }
}

async fn play_one(stage: &Stage, name: &str) -> Result<()> {
    let limit = Duration::from_secs(120);
    let played = tokio::time::timeout(limit, Box::pin(scene(stage, name))).await;
    played.unwrap_or_else(|_| Err(anyhow!("did not end in two minutes")))
}

async fn scene(stage: &Stage, name: &str) -> Result<()> {
    match name {
        "hello" => stage.gives("hello", Hello::run, "Ferris".to_owned(), "Hello, Ferris!").await,
        "signals" => features::signals(stage).await,
        "queries" => features::queries(stage).await,
        "updates" => features::updates(stage).await,
        "children" => stage.gives("parent", Parent::run, (), "my child says: Hello, papa!").await,
        "pushed" => cancels::pushed(stage).await,
        "terminated" => cancels::terminated(stage).await,
        "heartbeats" => cancels::heartbeats(stage).await,
        "by_workflow" => cancels::by_workflow(stage).await,
        "cleans_up" => cancels::cleans_up(stage).await,
        "timers" => stage.gives("timers", Timers::run, (), "early").await,
        "continues" => stage.gives("continues", Continues::run, (3, 0), 3).await,
        "local" => stage.gives("local", Local::run, (), "Hello, neighbour!").await,
        "retries" => stage.gives("retries", Retries::run, (), 3).await,
        "signal_with_start" => features::signal_with_start(stage).await,
        "markers" => stage.gives("markers", Markers::run, (), "true true").await,
        "evicted" => features::evicted(stage).await,
        "replay" => features::replay(stage).await,
        "begin" => features::begin_runs(stage).await,
        "finish" => features::finish(stage).await,
        other => bail!("there is no scene {other}"),
    }
}

pub(super) async fn ends<W, T>(run: &WorkflowHandle<Client, W>, wanted: T) -> Result<()>
where
    W: HasWorkflowDefinition,
    W::Output: PartialEq<T> + Debug,
    T: Debug,
{
    expect(run.get_result(WorkflowGetResultOptions::default()).await?, wanted)
}

pub(super) fn expect<F: PartialEq<T> + Debug, T: Debug>(found: F, wanted: T) -> Result<()> {
    ensure!(found == wanted, "expected {wanted:?}, found {found:?}");
    Ok(())
}

/// Waits for what an activity of this process has to see.
pub(super) async fn sees(key: &str) -> Instant {
    let mut seen = SEEN.subscribe();
    let seen = seen.wait_for(|seen| seen.contains_key(key)).await;
    seen.expect("its sender is never dropped")[key]
}

fn told(name: &str, played: Result<()>) {
    match played {
        Ok(()) => say(json!({ "scene": name, "passed": true })),
        Err(why) => {
            let why = format!("{why:#}");
            say(json!({ "scene": name, "passed": false, "error": why }));
        }
    }
}

pub(super) fn say(told: Value) {
    line(&told.to_string());
}

/// Past the capture of a test's output. The harness may have begun a line of its own.
fn line(text: &str) {
    write!(std::io::stdout(), "\n{text}\n").expect("somebody listens");
}
