//! Workflows and activities as any user of the Rust SDK would write them.

use std::{
    collections::BTreeMap,
    sync::LazyLock,
    time::{Duration, Instant},
};

use temporalio_common::RetryPolicy;
use temporalio_macros::{activities, workflow, workflow_methods};
use temporalio_sdk::{
    ActivityCancellationType, ActivityExecutionError, ActivityOptions, CancellableFuture,
    ChildWorkflowOptions, ContinueAsNewOptions, LocalActivityOptions, SyncWorkflowContext,
    TimerResult, WorkflowCancellationToken, WorkflowContext, WorkflowContextView, WorkflowResult,
    WorkflowTermination,
    activities::{ActivityContext, ActivityError},
};
use tokio::sync::watch;

const HOUR: Duration = Duration::from_secs(3600);
const MINUTE: Duration = Duration::from_secs(60);

/// What activities of this process have seen, by the key that they were called with.
pub(crate) static SEEN: LazyLock<watch::Sender<BTreeMap<String, Instant>>> =
    LazyLock::new(watch::Sender::default);

fn see(what: &str, key: &str) {
    let now = Instant::now();
    SEEN.send_modify(|seen| _ = seen.insert(format!("{what} {key}"), now));
}

pub(crate) struct Activities;

#[activities]
impl Activities {
    #[activity]
    pub(crate) async fn greet(
        _ctx: ActivityContext,
        name: String,
    ) -> Result<String, ActivityError> {
        Ok(format!("Hello, {name}!"))
    }

    /// Never heartbeats, and goes on until it is told to stop.
    #[activity]
    pub(crate) async fn silent(ctx: ActivityContext, key: String) -> Result<String, ActivityError> {
        see("started", &key);
        ctx.cancelled().await;
        see("cancelled", &key);
        Err(ActivityError::cancelled())
    }

    /// Heartbeats until it is told to stop.
    #[activity]
    pub(crate) async fn beating(
        ctx: ActivityContext,
        key: String,
    ) -> Result<String, ActivityError> {
        see("started", &key);
        let mut beats = tokio::time::interval(Duration::from_millis(10));
        while !ctx.is_cancelled() {
            ctx.record_heartbeat(()).await?;
            beats.tick().await;
        }
        see("cancelled", &key);
        Err(ActivityError::cancelled())
    }

    /// Succeeds the third time.
    #[activity]
    pub(crate) async fn flaky(ctx: ActivityContext, _: ()) -> Result<u32, ActivityError> {
        match ctx.info().attempt {
            attempt if attempt < 3 => Err(anyhow::anyhow!("attempt {attempt} fails").into()),
            attempt => Ok(attempt),
        }
    }

    /// Is lost with its worker the first time, and goes on from there the second.
    #[activity]
    pub(crate) async fn half_way(
        ctx: ActivityContext,
        _key: String,
    ) -> Result<String, ActivityError> {
        if let Some(point) = ctx.heartbeat_details().deserialize::<String>()? {
            return Ok(format!("went on from {point}"));
        }
        ctx.record_heartbeat("half-way".to_owned()).await?;
        ctx.cancelled().await;
        Err(ActivityError::cancelled())
    }
}

fn soon() -> ActivityOptions {
    ActivityOptions::with_start_to_close_timeout(MINUTE)
        .cancellation_type(ActivityCancellationType::WaitCancellationCompleted)
        .build()
}

fn how(outcome: Result<String, ActivityExecutionError>) -> Result<String, WorkflowTermination> {
    match outcome {
        Ok(said) => Ok(said),
        Err(ActivityExecutionError::Cancelled(_)) => Ok("cancelled".to_owned()),
        Err(other) => Err(other.into()),
    }
}

#[workflow]
#[derive(Default)]
pub(crate) struct Hello;

#[workflow_methods]
impl Hello {
    #[run]
    pub(crate) async fn run(
        ctx: &mut WorkflowContext<Self>,
        name: String,
    ) -> WorkflowResult<String> {
        Ok(ctx.execute_activity(Activities::greet, name, soon()).await?)
    }
}

/// Collects lines from signals and updates, and shows them, until it is told to end.
#[workflow]
#[derive(Default)]
pub(crate) struct Chat {
    lines: Vec<String>,
    is_over: bool,
}

#[workflow_methods]
impl Chat {
    #[run]
    pub(crate) async fn run(ctx: &mut WorkflowContext<Self>) -> WorkflowResult<Vec<String>> {
        ctx.wait_condition(|chat| chat.is_over).await?;
        Ok(ctx.state(|chat| chat.lines.clone()))
    }

    #[signal]
    pub(crate) fn say(&mut self, _ctx: &mut SyncWorkflowContext<Self>, line: String) {
        self.lines.push(line);
    }

    #[signal]
    pub(crate) fn end(&mut self, _ctx: &mut SyncWorkflowContext<Self>) {
        self.is_over = true;
    }

    #[query]
    pub(crate) fn log(&self, _ctx: &WorkflowContextView) -> Vec<String> {
        self.lines.clone()
    }

    #[update]
    pub(crate) fn add(&mut self, _ctx: &mut SyncWorkflowContext<Self>, line: String) -> usize {
        self.lines.push(line);
        self.lines.len()
    }

    #[update_validator(add)]
    fn check(
        &self,
        _ctx: &WorkflowContextView,
        line: &String,
    ) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
        if line == "no" { Err("refused".into()) } else { Ok(()) }
    }
}

#[workflow]
#[derive(Default)]
pub(crate) struct Parent;

#[workflow_methods]
impl Parent {
    #[run]
    pub(crate) async fn run(ctx: &mut WorkflowContext<Self>) -> WorkflowResult<String> {
        let options = ChildWorkflowOptions::workflow_id("parent/child".to_owned());
        let child = ctx.start_child_workflow(Hello::run, "papa".to_owned(), options).await?;
        Ok(format!("my child says: {}", child.result().await?))
    }
}

/// Waits for an activity that never heartbeats.
#[workflow]
#[derive(Default)]
pub(crate) struct Cancels;

#[workflow_methods]
impl Cancels {
    #[run]
    pub(crate) async fn run(
        ctx: &mut WorkflowContext<Self>,
        key: String,
    ) -> WorkflowResult<String> {
        how(ctx.execute_activity(Activities::silent, key, soon()).await)
    }
}

/// Waits for one of the activities that heartbeat.
#[workflow]
#[derive(Default)]
pub(crate) struct Beats;

#[workflow_methods]
impl Beats {
    #[run]
    pub(crate) async fn run(
        ctx: &mut WorkflowContext<Self>,
        (activity, key): (String, String),
    ) -> WorkflowResult<String> {
        let limited = |seconds| {
            ActivityOptions::with_start_to_close_timeout(MINUTE)
                .heartbeat_timeout(Duration::from_secs(seconds))
                .cancellation_type(ActivityCancellationType::WaitCancellationCompleted)
                .build()
        };
        // The SDK waits for four fifths of it: the rest is for a machine that has much else to do.
        let ended = match activity.as_str() {
            "beating" => ctx.execute_activity(Activities::beating, key, limited(10)).await,
            _ => ctx.execute_activity(Activities::half_way, key, limited(4)).await,
        };
        how(ended)
    }
}

/// Cancels an activity that runs, then one that nobody can take, and goes on.
#[workflow]
#[derive(Default)]
pub(crate) struct CancelsOne {
    is_told: bool,
}

#[workflow_methods]
impl CancelsOne {
    #[run]
    pub(crate) async fn run(
        ctx: &mut WorkflowContext<Self>,
        key: String,
    ) -> WorkflowResult<String> {
        let running = ctx.execute_activity(Activities::silent, key.clone(), soon());
        ctx.wait_condition(|flow| flow.is_told).await?;
        running.cancel();
        let first = how(running.await)?;
        let nobody = ActivityOptions::with_start_to_close_timeout(MINUTE)
            .task_queue("nobody".to_owned())
            .cancellation_type(ActivityCancellationType::WaitCancellationCompleted)
            .build();
        let waiting = ctx.execute_activity(Activities::silent, key, nobody);
        ctx.timer(Duration::from_millis(1)).await;
        waiting.cancel();
        Ok(format!("{first} {}", how(waiting.await)?))
    }

    #[signal]
    pub(crate) fn go(&mut self, _ctx: &mut SyncWorkflowContext<Self>) {
        self.is_told = true;
    }
}

/// Is cancelled while it sleeps, and does one thing more.
#[workflow]
#[derive(Default)]
pub(crate) struct CleansUp;

#[workflow_methods]
impl CleansUp {
    #[run]
    pub(crate) async fn run(ctx: &mut WorkflowContext<Self>) -> WorkflowResult<()> {
        let slept = ctx.timer(HOUR).await;
        let apart = ActivityOptions::with_start_to_close_timeout(MINUTE)
            .cancellation_token(WorkflowCancellationToken::new())
            .build();
        ctx.execute_activity(Activities::greet, "broom".to_owned(), apart).await?;
        match slept {
            TimerResult::Cancelled => Err(WorkflowTermination::cancelled()),
            TimerResult::Fired => Ok(()),
        }
    }
}

/// Lets two timers race; the one that loses is taken back.
#[workflow]
#[derive(Default)]
pub(crate) struct Timers;

#[workflow_methods]
impl Timers {
    #[run]
    pub(crate) async fn run(ctx: &mut WorkflowContext<Self>) -> WorkflowResult<String> {
        let late = ctx.timer(HOUR);
        let early = ctx.timer(Duration::from_millis(10)).await;
        late.cancel();
        let late = late.await;
        ctx.timer(Duration::from_millis(1)).await;
        let is_right = (early, late) == (TimerResult::Fired, TimerResult::Cancelled);
        Ok(if is_right { "early" } else { "late" }.to_owned())
    }
}

#[workflow]
#[derive(Default)]
pub(crate) struct Continues;

#[workflow_methods]
impl Continues {
    #[run]
    pub(crate) async fn run(
        ctx: &mut WorkflowContext<Self>,
        (left, made): (u32, u32),
    ) -> WorkflowResult<u32> {
        if left > 0 {
            ctx.continue_as_new((left - 1, made + 1), ContinueAsNewOptions::default())?;
        }
        Ok(made)
    }
}

#[workflow]
#[derive(Default)]
pub(crate) struct Local;

#[workflow_methods]
impl Local {
    #[run]
    pub(crate) async fn run(ctx: &mut WorkflowContext<Self>) -> WorkflowResult<String> {
        let options = LocalActivityOptions::builder().start_to_close_timeout(MINUTE).build();
        let name = "neighbour".to_owned();
        Ok(ctx.execute_local_activity(Activities::greet, name, options).await?)
    }
}

#[workflow]
#[derive(Default)]
pub(crate) struct Retries;

#[workflow_methods]
impl Retries {
    #[run]
    pub(crate) async fn run(ctx: &mut WorkflowContext<Self>) -> WorkflowResult<u32> {
        let policy = RetryPolicy::builder().initial_interval(Duration::from_millis(10)).build();
        let options =
            ActivityOptions::with_start_to_close_timeout(MINUTE).retry_policy(policy).build();
        Ok(ctx.execute_activity(Activities::flaky, (), options).await?)
    }
}

/// Leaves a marker in its history, and finds it again.
#[workflow]
#[derive(Default)]
pub(crate) struct Markers;

#[workflow_methods]
impl Markers {
    #[run]
    pub(crate) async fn run(ctx: &mut WorkflowContext<Self>) -> WorkflowResult<String> {
        let before = ctx.patched("change");
        ctx.timer(Duration::from_millis(1)).await;
        Ok(format!("{before} {}", ctx.patched("change")))
    }
}
