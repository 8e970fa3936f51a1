//! The one workflow, and its activities.

use std::time::Duration;

use harness::{Work, probe};
use temporalio_macros::{activities, workflow, workflow_methods};
use temporalio_sdk::{
    ActivityExecutionError, ActivityOptions, CancellableFuture, ChildWorkflowOptions,
    SyncWorkflowContext, TimerResult, WorkflowContext, WorkflowResult, WorkflowTermination,
    activities::{ActivityContext, ActivityError},
    workflows::{join_all, select},
};

/// Where workflows run, and activities that end by themselves.
pub(crate) const MAIN: &str = "main";
/// Where activities run until they are told.
pub(crate) const HOLD: &str = "hold";
/// The same, where only one at a time may.
pub(crate) const CROWD: &str = "crowd";

const HOUR: Duration = Duration::from_secs(3600);
const HEARTBEAT: Duration = Duration::from_millis(200);

pub(crate) struct Activities;

#[activities]
impl Activities {
    /// Ends by itself, at once.
    #[activity]
    pub(crate) async fn touch(_ctx: ActivityContext, number: u32) -> Result<u32, ActivityError> {
        probe::step();
        Ok(number)
    }

    /// Runs until it is told; a server without a push learns to tell it by its heartbeats.
    #[activity]
    pub(crate) async fn hold(ctx: ActivityContext, _number: u32) -> Result<u32, ActivityError> {
        probe::held();
        loop {
            tokio::select! {
                () = ctx.cancelled() => break,
                () = tokio::time::sleep(HEARTBEAT) => ctx.record_heartbeat(()).await?,
            }
        }
        probe::told();
        Err(ActivityError::cancelled())
    }

    /// Wins against `hold`.
    #[activity]
    pub(crate) async fn win(_ctx: ActivityContext, number: u32) -> Result<u32, ActivityError> {
        probe::win().await;
        Ok(number)
    }
}

#[workflow]
#[derive(Default)]
pub(crate) struct Perform {
    pokes: u32,
}

#[workflow_methods]
impl Perform {
    /// Does what it is told.
    #[run]
    pub(crate) async fn run(ctx: &mut WorkflowContext<Self>, work: Work) -> WorkflowResult<u32> {
        match work {
            Work::Hello => touch(ctx, 1).await,
            Work::Nothing => Ok(0),
            Work::Chain { steps } => chain(ctx, steps).await,
            Work::Fanout { width } => {
                let all = (0..width)
                    .map(|number| ctx.execute_activity(Activities::touch, number, options(MAIN)));
                all_of(join_all(all.collect::<Vec<_>>()).await)
            }
            Work::Children { width } => children(ctx, width, Work::Nothing).await,
            Work::Signals { count } => signals(ctx, count).await,
            Work::Hold => held(ctx, 1, HOLD).await,
            Work::Sleep => match ctx.timer(HOUR).await {
                TimerResult::Fired => Ok(0),
                TimerResult::Cancelled => Err(WorkflowTermination::cancelled()),
            },
            Work::Race => race(ctx).await,
            Work::Crowd { width } => held(ctx, width, CROWD).await,
            Work::Tree { children: width, activities } => {
                children(ctx, width, Work::Branch { activities }).await
            }
            Work::Branch { activities } => held(ctx, activities, HOLD).await,
            Work::Long { steps } => {
                chain(ctx, steps).await?;
                signals(ctx, 1).await
            }
        }
    }

    /// What a run waits for.
    #[signal]
    pub(crate) fn poke(&mut self, _ctx: &mut SyncWorkflowContext<Self>, _nothing: ()) {
        self.pokes += 1;
    }
}

fn options(queue: &str) -> ActivityOptions {
    let options = ActivityOptions::with_start_to_close_timeout(HOUR).task_queue(queue);
    match queue {
        MAIN => options.build(),
        _ => options.heartbeat_timeout(5 * HEARTBEAT).build(),
    }
}

/// What was cancelled stays cancelled.
fn ended(error: ActivityExecutionError) -> WorkflowTermination {
    match error {
        ActivityExecutionError::Cancelled(_) => WorkflowTermination::cancelled(),
        other => other.into(),
    }
}

fn all_of(ends: Vec<Result<u32, ActivityExecutionError>>) -> WorkflowResult<u32> {
    let ends: Result<Vec<u32>, _> = ends.into_iter().collect();
    Ok(ends.map_err(ended)?.len() as u32)
}

async fn touch(ctx: &WorkflowContext<Perform>, number: u32) -> WorkflowResult<u32> {
    ctx.execute_activity(Activities::touch, number, options(MAIN)).await.map_err(ended)
}

async fn chain(ctx: &WorkflowContext<Perform>, steps: u32) -> WorkflowResult<u32> {
    for number in 0..steps {
        touch(ctx, number).await?;
    }
    Ok(steps)
}

async fn held(ctx: &WorkflowContext<Perform>, width: u32, queue: &str) -> WorkflowResult<u32> {
    let all =
        (0..width).map(|number| ctx.execute_activity(Activities::hold, number, options(queue)));
    all_of(join_all(all.collect::<Vec<_>>()).await)
}

async fn race(ctx: &WorkflowContext<Perform>) -> WorkflowResult<u32> {
    let mut lost = Box::pin(ctx.execute_activity(Activities::hold, 0_u32, options(HOLD)));
    let mut won = Box::pin(ctx.execute_activity(Activities::win, 0_u32, options(MAIN)));
    select! {
        end = lost => end.map_err(ended),
        end = won => {
            // A loser is not told by itself here.
            lost.cancel();
            end.map_err(ended)
        }
    }
}

async fn signals(ctx: &WorkflowContext<Perform>, count: u32) -> WorkflowResult<u32> {
    ctx.wait_condition(|state| state.pokes >= count).await?;
    Ok(count)
}

async fn children(ctx: &WorkflowContext<Perform>, width: u32, work: Work) -> WorkflowResult<u32> {
    let starts = (0..width).map(|_| {
        ctx.start_child_workflow(Perform::run, work.clone(), ChildWorkflowOptions::default())
    });
    let mut started = Vec::new();
    for child in join_all(starts.collect::<Vec<_>>()).await {
        started.push(child?);
    }
    let ends = started.into_iter().map(|child| child.result());
    for end in join_all(ends.collect::<Vec<_>>()).await {
        // A child's end does not say that it was cancelled; the run knows that it was.
        end.map_err(|error| match ctx.cancellation_token().is_cancelled() {
            true => WorkflowTermination::cancelled(),
            false => error.into(),
        })?;
    }
    Ok(width)
}
