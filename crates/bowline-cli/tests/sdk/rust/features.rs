//! What every user of the SDK meets.

use anyhow::{Result, anyhow, ensure};
use futures::StreamExt;
use serde_json::json;
use temporalio_client::{
    Client, UntypedQuery, WorkflowDescribeOptions, WorkflowExecuteUpdateOptions,
    WorkflowExecutionInfo, WorkflowFetchHistoryOptions, WorkflowHandle, WorkflowListOptions,
    WorkflowQueryOptions, WorkflowSignalOptions, WorkflowStartOptions,
    errors::{WorkflowInteractionError, WorkflowQueryError, WorkflowUpdateError},
};
use temporalio_common::data_converters::RawValue;

use super::{
    flows::*,
    stage::{QUEUE, Stage, ends, expect, replayer, say, worker},
};

type Talk = WorkflowHandle<Client, Chat>;

async fn talk(stage: &Stage, queue: &str, id: &str) -> Result<Talk> {
    stage.start_at(queue, id, Chat::run, ()).await?;
    Ok(stage.client.get_workflow_handle(id))
}

async fn say_to(run: &Talk, line: &str) -> Result<(), WorkflowInteractionError> {
    run.signal(Chat::say, line.to_owned(), WorkflowSignalOptions::default()).await
}

async fn end(run: &Talk, wanted: &[impl AsRef<str>]) -> Result<()> {
    run.signal(Chat::end, (), WorkflowSignalOptions::default()).await?;
    ends(run, texts(wanted)).await
}

async fn shows(run: &Talk, wanted: &[impl AsRef<str>]) -> Result<()> {
    let found = run.query(Chat::log, (), WorkflowQueryOptions::default()).await?;
    expect(found, texts(wanted))
}

fn texts(lines: &[impl AsRef<str>]) -> Vec<&str> {
    lines.iter().map(AsRef::as_ref).collect()
}

/// They arrive in order, and a closed run refuses them.
pub(super) async fn signals(stage: &Stage) -> Result<()> {
    let run = talk(stage, QUEUE, "signals").await?;
    let lines: Vec<String> = (0..20).map(|number| format!("line {number}")).collect();
    for line in &lines {
        say_to(&run, line).await?;
    }
    end(&run, &lines).await?;
    let late = say_to(&run, "late").await;
    ensure!(matches!(late, Err(WorkflowInteractionError::NotFound(_))), "{late:?}");
    Ok(())
}

/// They are answered by runs that wait, and by closed ones.
pub(super) async fn queries(stage: &Stage) -> Result<()> {
    let run = talk(stage, QUEUE, "queries").await?;
    say_to(&run, "one").await?;
    for _ in 0..5 {
        shows(&run, &["one"]).await?;
    }
    let unknown = UntypedQuery::new("nothing");
    let unknown = run.query(unknown, RawValue::new(Vec::new()), WorkflowQueryOptions::default());
    let unknown = unknown.await.map(|_| ());
    ensure!(matches!(unknown, Err(WorkflowQueryError::Rpc(_))), "it should fail: {unknown:?}");
    end(&run, &["one"]).await?;
    shows(&run, &["one"]).await
}

pub(super) async fn updates(stage: &Stage) -> Result<()> {
    let run = talk(stage, QUEUE, "updates").await?;
    let add = |line: &str| {
        run.execute_update(Chat::add, line.to_owned(), WorkflowExecuteUpdateOptions::default())
    };
    for (index, line) in ["one", "two"].into_iter().enumerate() {
        match add("no").await {
            Err(WorkflowUpdateError::Failed(why)) if why.message.contains("refused") => {}
            other => return Err(anyhow!("it should be refused: {other:?}")),
        }
        expect(add(line).await?, index + 1)?;
    }
    end(&run, &["one", "two"]).await
}

pub(super) async fn signal_with_start(stage: &Stage) -> Result<()> {
    for line in ["first", "second"] {
        let options = WorkflowStartOptions::new(QUEUE, "both").build();
        let line = line.to_owned();
        let both = stage.client.signal_with_start_workflow(Chat::run, (), Chat::say, line, options);
        both.await?;
    }
    end(&stage.client.get_workflow_handle::<Chat>("both"), &["first", "second"]).await
}

/// Three runs share a cache with room for one, so each of them is replayed again and again.
pub(super) async fn evicted(stage: &Stage) -> Result<()> {
    let queue = "small cache";
    let rounds = async {
        let mut runs = Vec::new();
        for number in 0..3 {
            runs.push(talk(stage, queue, &format!("evicted {number}")).await?);
        }
        let mut wanted = Vec::new();
        for round in 0..3 {
            wanted.push(format!("round {round}"));
            for run in &runs {
                say_to(run, &wanted[round]).await?;
                shows(run, &wanted).await?;
            }
        }
        for run in &runs {
            end(run, &wanted).await?;
        }
        Ok(())
    };
    stage.beside(worker(queue, Some(1))?, rounds).await
}

/// The SDK's own replayer reads every history.
pub(super) async fn replay(stage: &Stage) -> Result<()> {
    let replayer = replayer()?;
    let mut runs = stage.client.list_workflows("", WorkflowListOptions::default());
    let mut replayed = 0;
    while let Some(run) = runs.next().await {
        let run = run?;
        let named = WorkflowExecutionInfo::builder()
            .namespace("default")
            .workflow_id(run.id())
            .run_id(run.run_id())
            .build();
        let history = named.bind_untyped(stage.client.clone());
        let history = history.fetch_history(WorkflowFetchHistoryOptions::default());
        let outcome = Box::pin(replayer.replay_workflow(history)).await;
        outcome.map_err(|why| anyhow!("replay of {}: {why}", run.id()))?;
        replayed += 1;
    }
    ensure!(replayed > 0, "there was nothing to replay");
    say(json!({ "replayed": replayed }));
    Ok(())
}

/// Leaves two runs with a worker that is about to be killed: one waits, one has an activity.
pub(super) async fn begin_runs(stage: &Stage) -> Result<()> {
    let chat = talk(stage, QUEUE, "chat").await?;
    say_to(&chat, "before").await?;
    shows(&chat, &["before"]).await?;
    let beats = stage.start("beats", Beats::run, ("half_way".to_owned(), String::new())).await?;
    loop {
        let described = beats.describe(WorkflowDescribeOptions::default()).await?;
        let mut pending = described.raw().pending_activities.iter();
        if pending.any(|activity| activity.heartbeat_details.is_some()) {
            return Ok(());
        }
    }
}

/// Another worker has gone on with both.
pub(super) async fn finish(stage: &Stage) -> Result<()> {
    let chat = stage.client.get_workflow_handle::<Chat>("chat");
    say_to(&chat, "after").await?;
    end(&chat, &["before", "after"]).await?;
    ends(&stage.client.get_workflow_handle::<Beats>("beats"), "went on from half-way").await
}
