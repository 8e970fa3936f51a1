//! What a run costs the server, in calls of its store: counted, never timed.

use std::{sync::Arc, time::Duration};

use bowline_engine::store::memory::MemoryStore;
use bowline_sqlite::{SqliteStore, Stats};
use bowline_temporal::Protection;
use tempfile::TempDir;
use temporalio_protos::temporal::api::{
    command::v1::{Command, command::Attributes},
    enums::v1::{HistoryEventFilterType, TaskQueueKind},
    taskqueue::v1::{StickyExecutionAttributes, TaskQueue},
    workflowservice::v1::*,
};
use tokio::task::JoinHandle;
use tonic::Status;

use crate::world::{
    QUEUE, SPACE, World, complete, kinds, named, queue, schedule, scheduled, seconds, start,
};

/// A worker's own queue.
const OWN: &str = "worker's own";

/// A server on a file, and one worker with a poll for each of its queues.
struct Costs {
    world: Arc<World>,
    store: Arc<SqliteStore>,
    _folder: TempDir,
}

type Turn = JoinHandle<Result<PollWorkflowTaskQueueResponse, Status>>;

impl Costs {
    async fn new() -> Self {
        let folder = TempDir::new().expect("a folder");
        let store = SqliteStore::open(folder.path().join("store.db")).expect("it opens");
        let store = Arc::new(store);
        let world = World::over(store.clone(), MemoryStore::new(), Protection::default()).await;
        Self { world: Arc::new(world), store, _folder: folder }
    }

    fn own(&self) -> TaskQueue {
        let (kind, normal_name) = (TaskQueueKind::Sticky.into(), QUEUE.to_owned());
        TaskQueue { name: OWN.into(), kind, normal_name }
    }

    /// A poll that waits by the time this returns.
    async fn poll(&self, place: TaskQueue) -> Turn {
        let (world, name) = (self.world.clone(), place.name.as_str().into());
        let before = world.engine.polls_waiting(&name);
        let polling = tokio::spawn(async move {
            let poll = PollWorkflowTaskQueueRequest {
                namespace: SPACE.into(),
                task_queue: Some(place),
                identity: "worker".into(),
                ..Default::default()
            };
            world.call(poll).await
        });
        while self.world.engine.polls_waiting(&name) == before {
            tokio::task::yield_now().await;
        }
        polling
    }

    /// Waits for the event that closes a run.
    fn result(&self, id: &str, run_id: &str) -> JoinHandle<GetWorkflowExecutionHistoryResponse> {
        let world = self.world.clone();
        let mut execution = named(id);
        execution.run_id = run_id.to_owned();
        tokio::spawn(async move {
            let wait = GetWorkflowExecutionHistoryRequest {
                namespace: SPACE.into(),
                execution: Some(execution),
                wait_new_event: true,
                history_event_filter_type: HistoryEventFilterType::CloseEvent.into(),
                ..Default::default()
            };
            world.call(wait).await.expect("a result")
        })
    }

    async fn answer(
        &self,
        turn: &PollWorkflowTaskQueueResponse,
        commands: Vec<Command>,
    ) -> RespondWorkflowTaskCompletedResponse {
        let answer = RespondWorkflowTaskCompletedRequest {
            namespace: SPACE.into(),
            task_token: turn.task_token.clone(),
            identity: "worker".into(),
            sticky_attributes: Some(StickyExecutionAttributes {
                worker_task_queue: Some(self.own()),
                schedule_to_start_timeout: Some(seconds(10)),
            }),
            commands,
            ..Default::default()
        };
        self.world.call(answer).await.expect("it is taken")
    }

    /// A run of one activity, which its worker takes with the turn that asks for it; both polls
    /// wait whenever a turn comes.
    async fn hello(&self, id: &str, (any, own): (Turn, Turn)) -> (Turn, Turn) {
        let run_id = self.world.start(start(SPACE, id)).await;
        let result = self.result(id, &run_id);
        let first = any.await.expect("it ends").expect("a turn");
        let answered = self.answer(&first, vec![wanted("a")]).await;
        let any = self.poll(queue(QUEUE)).await;
        let [activity] = &answered.activity_tasks[..] else { panic!("it takes one: {answered:?}") };
        let done = RespondActivityTaskCompletedRequest {
            namespace: SPACE.into(),
            task_token: activity.task_token.clone(),
            ..Default::default()
        };
        let _: RespondActivityTaskCompletedResponse = self.world.call(done).await.expect("taken");
        let second = own.await.expect("it ends").expect("a turn");
        let own = self.poll(self.own()).await;
        self.answer(&second, vec![complete()]).await;
        let events = result.await.expect("it ends").history.unwrap_or_default().events;
        assert_eq!(kinds(&events), ["WORKFLOW_EXECUTION_COMPLETED"]);
        (any, own)
    }
}

/// An activity that the worker takes with its answer.
fn wanted(id: &str) -> Command {
    let Some(Attributes::ScheduleActivityTaskCommandAttributes(mut plain)) =
        schedule(id).attributes
    else {
        panic!("it schedules an activity");
    };
    plain.request_eager_execution = true;
    scheduled(plain)
}

fn spent(before: Stats, after: Stats) -> (u64, u64) {
    (after.calls - before.calls, after.reads - before.reads)
}

/// A run is written four times, and nothing is read: what the last decision left is at hand, the
/// turn is handed to a poll, and the closing event to whoever waits for it.
#[tokio::test]
async fn a_run_of_one_activity_is_written_four_times_and_not_read() {
    const RUNS: u64 = 20;
    let costs = Costs::new().await;
    let mut polls = (costs.poll(queue(QUEUE)).await, costs.poll(costs.own()).await);
    polls = costs.hello("the first", polls).await;
    let before = costs.store.stats();
    for number in 0..RUNS {
        polls = costs.hello(&number.to_string(), polls).await;
    }
    let (calls, reads) = spent(before, costs.store.stats());
    // Now and then the server looks after itself, which is fewer than one call for each run.
    assert_eq!((calls / RUNS, reads / RUNS), (4, 0), "{calls} calls of the writer, {reads} reads");
    costs.world.door.drain();
    let (any, own) = polls;
    let _ = (any.await, own.await);
    costs.world.engine.close(Duration::from_secs(5)).await.expect("it closes");
}
