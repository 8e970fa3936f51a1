//! Cancels. But for one scene, no activity here ever heartbeats.

use std::time::Instant;

use anyhow::{Result, ensure};
use serde_json::json;
use temporalio_client::{
    Client, WorkflowCancelOptions, WorkflowFetchHistoryOptions, WorkflowGetResultOptions,
    WorkflowHandle, WorkflowSignalOptions, WorkflowTerminateOptions,
    errors::WorkflowGetResultError,
};
use temporalio_common::protos::temporal::api::enums::v1::EventType;

use super::{
    flows::*,
    stage::{Stage, ends, say, sees, worker},
};

/// How long an activity waits for the word, once the request was answered.
async fn stopped(name: &str, stop: impl Future<Output = Result<()>>) -> Result<()> {
    sees(&format!("started {name}")).await;
    stop.await?;
    let asked = Instant::now();
    let told = sees(&format!("cancelled {name}")).await;
    let ms = told.saturating_duration_since(asked).as_secs_f64() * 1000.0;
    say(json!({ "latency_of": name, "ms": ms }));
    Ok(())
}

/// An activity that never heartbeats is told at once, with the settings that all have.
pub(super) async fn pushed(stage: &Stage) -> Result<()> {
    let run = stage.start("pushed", Cancels::run, "pushed".to_owned()).await?;
    let cancel = async { Ok(run.cancel(WorkflowCancelOptions::default()).await?) };
    stopped("pushed", cancel).await?;
    ends(&run, "cancelled").await
}

/// The same, where no workflow code runs any more.
pub(super) async fn terminated(stage: &Stage) -> Result<()> {
    let run = stage.start("terminated", Cancels::run, "terminated".to_owned()).await?;
    let terminate = async { Ok(run.terminate(WorkflowTerminateOptions::default()).await?) };
    stopped("terminated", terminate).await?;
    let ended = run.get_result(WorkflowGetResultOptions::default()).await;
    ensure!(matches!(ended, Err(WorkflowGetResultError::Terminated { .. })), "{ended:?}");
    Ok(())
}

/// A worker without a control channel hears it from the answer to a heartbeat.
pub(super) async fn heartbeats(stage: &Stage) -> Result<()> {
    let (name, queue) = ("heartbeats", "without control");
    let alone = stage.without_control().await?;
    let scene = async {
        let input = ("beating".to_owned(), name.to_owned());
        let run = alone.start_at(queue, name, Beats::run, input).await?;
        let cancel = async { Ok(run.cancel(WorkflowCancelOptions::default()).await?) };
        stopped(name, cancel).await?;
        ends(&run, "cancelled").await
    };
    alone.beside(worker(queue, None)?, scene).await
}

/// The workflow itself cancels one that runs, then one that never started.
pub(super) async fn by_workflow(stage: &Stage) -> Result<()> {
    let name = "by workflow";
    stage.start(name, CancelsOne::run, name.to_owned()).await?;
    let run = stage.client.get_workflow_handle::<CancelsOne>(name);
    let go = async { Ok(run.signal(CancelsOne::go, (), WorkflowSignalOptions::default()).await?) };
    stopped(name, go).await?;
    ends(&run, "cancelled cancelled").await
}

async fn has(run: &WorkflowHandle<Client, CleansUp>, kind: EventType) -> Result<bool> {
    let events = run.fetch_history(WorkflowFetchHistoryOptions::default()).into_events().await?;
    Ok(events.iter().any(|event| event.event_type() == kind))
}

/// A cancelled workflow takes its timer back, and does one thing more before it ends.
pub(super) async fn cleans_up(stage: &Stage) -> Result<()> {
    stage.start("cleaner", CleansUp::run, ()).await?;
    let run = stage.client.get_workflow_handle::<CleansUp>("cleaner");
    while !has(&run, EventType::TimerStarted).await? {}
    for _ in 0..2 {
        run.cancel(WorkflowCancelOptions::default()).await?;
    }
    let ended = run.get_result(WorkflowGetResultOptions::default()).await;
    ensure!(matches!(ended, Err(WorkflowGetResultError::Cancelled { .. })), "{ended:?}");
    for kind in [EventType::TimerCanceled, EventType::ActivityTaskCompleted] {
        ensure!(has(&run, kind).await?, "there is no {kind:?} in its history");
    }
    Ok(())
}
