//! The SDKs' core as a judge: it is fed one history and asks the script what the code wants.
//!
//! In:    a story, and the steps of a scripted workflow.
//! Out:   a verdict. Core only says "evicted"; every reason but a normal end is a refusal.
//! Never: a server. Core's replay worker answers its own polls from the history.

use std::time::Duration;

use temporalio_common::worker::WorkerTaskTypes;
use temporalio_protos::{
    coresdk::{
        activity_result::activity_resolution::Status as Activity,
        child_workflow::child_workflow_result::Status as Child,
        workflow_activation::{
            RemoveFromCache, WorkflowActivation, remove_from_cache::EvictionReason,
            resolve_child_workflow_execution_start::Status as ChildStart,
            workflow_activation_job::Variant as Job,
        },
        workflow_commands::workflow_command::Variant as Command,
        workflow_completion::WorkflowActivationCompletion,
    },
    temporal::api::{common::v1::Payload, history::v1::History},
};
use temporalio_sdk_core::{
    PollError, Worker, WorkerConfig, WorkerVersioningStrategy, init_replay_worker,
    replay::{HistoryFeeder, HistoryForReplay, ReplayWorkerInput},
};

use tokio::runtime::Builder;

use crate::story::{Story, WORKFLOW_ID};

/// A replay takes milliseconds; one that takes this long waits for something that never comes.
const PATIENCE: Duration = Duration::from_secs(60);

/// One step of the scripted workflow: what core must tell the code, and what that then asks for.
pub(crate) struct Step {
    told: &'static str,
    asks: Vec<Command>,
}

/// A step.
pub(crate) fn step(told: &'static str, asks: impl IntoIterator<Item = Command>) -> Step {
    Step { told, asks: asks.into_iter().collect() }
}

/// How a replay ended.
#[derive(Debug, PartialEq)]
enum Verdict {
    /// Core took every event, and the code was told everything that the script expects.
    Replayed,
    /// Core gave up: its kind of error, and its words.
    Refused(EvictionReason, String),
    /// The code was told something else than the script expects.
    Strayed { at: usize, told: String },
    /// Core was content before the script was over. An error in the last turn of an open history
    /// looks like this: core's own end of replay overwrites the reason.
    Unfinished { steps_left: usize },
    /// Core was content with nothing and refused nothing.
    Hung,
}

/// Checks that core takes the history and tells the code exactly what the script expects.
#[track_caller]
pub(crate) fn replays(story: &Story, script: impl IntoIterator<Item = Step>) {
    let verdict = judge(story, script);
    assert_eq!(verdict, Verdict::Replayed, "of {:#?}", story.names());
}

/// Checks that core refuses the history, in these words among others.
#[track_caller]
pub(crate) fn refuses(story: &Story, script: impl IntoIterator<Item = Step>, words: &str) {
    match judge(story, script) {
        Verdict::Refused(_, said) => assert!(said.contains(words), "it said: {said}"),
        other => panic!("{other:?} of {:#?}", story.names()),
    }
}

/// Checks that an open history stops short of the script, which is how core refuses its last turn.
#[track_caller]
pub(crate) fn stops_short(story: &Story, script: impl IntoIterator<Item = Step>) {
    let verdict = judge(story, script);
    assert_eq!(verdict, Verdict::Unfinished { steps_left: 1 }, "of {:#?}", story.names());
}

fn judge(story: &Story, script: impl IntoIterator<Item = Step>) -> Verdict {
    let runtime = Builder::new_current_thread().enable_all().build().expect("a runtime starts");
    let history = story.history();
    let script = script.into_iter().collect();
    runtime.block_on(async {
        let replay = replay(history, script);
        tokio::time::timeout(PATIENCE, replay).await.unwrap_or(Verdict::Hung)
    })
}

async fn worker(history: History) -> Worker {
    let config = WorkerConfig::builder()
        .namespace("space")
        .task_queue("own")
        .task_types(WorkerTaskTypes::workflow_only())
        .versioning_strategy(WorkerVersioningStrategy::None { build_id: String::new() })
        .max_outstanding_workflow_tasks(2_usize)
        .max_outstanding_local_activities(1_usize)
        .build()
        .expect("every required setting is given");
    let (feeder, histories) = HistoryFeeder::new(1);
    let input = ReplayWorkerInput::new(config, histories);
    let worker = init_replay_worker(input).expect("a replay worker needs no server");
    let history = HistoryForReplay::new(history, WORKFLOW_ID);
    feeder.feed(history).await.expect("the worker listens");
    worker
}

async fn replay(history: History, script: Vec<Step>) -> Verdict {
    let worker = worker(history).await;
    let mut script = script.into_iter();
    let mut at = 0;
    let mut verdict = None;
    loop {
        let activation = match worker.poll_workflow_activation().await {
            Ok(activation) => activation,
            Err(PollError::ShutDown) => break,
            Err(error) => panic!("the poll failed: {error}"),
        };
        let asks = if let Some(evicted) = eviction(&activation) {
            verdict = verdict.or(refusal(evicted));
            Vec::new()
        } else {
            let told = told(&activation);
            at += 1;
            match script.next() {
                Some(step) if step.told == told => step.asks,
                _ => {
                    verdict = verdict.or(Some(Verdict::Strayed { at, told }));
                    Vec::new()
                }
            }
        };
        // Without this, core would wait for the history after a refused one.
        if verdict.is_some() {
            worker.initiate_shutdown();
        }
        let completion = WorkflowActivationCompletion::from_cmds(activation.run_id, asks);
        worker.complete_workflow_activation(completion).await.expect("well formed");
    }
    worker.shutdown().await;
    match (verdict, script.count()) {
        (Some(verdict), _) => verdict,
        (None, 0) => Verdict::Replayed,
        (None, steps_left) => Verdict::Unfinished { steps_left },
    }
}

fn eviction(activation: &WorkflowActivation) -> Option<&RemoveFromCache> {
    activation.jobs.iter().find_map(|job| match &job.variant {
        Some(Job::RemoveFromCache(evicted)) => Some(evicted),
        _ => None,
    })
}

fn refusal(evicted: &RemoveFromCache) -> Option<Verdict> {
    match evicted.reason() {
        EvictionReason::LangRequested | EvictionReason::WorkflowExecutionEnding => None,
        reason => Some(Verdict::Refused(reason, evicted.message.clone())),
    }
}

/// What the code is told, in core's order, each thing in a few words.
fn told(activation: &WorkflowActivation) -> String {
    let words = activation.jobs.iter().filter_map(|job| job.variant.as_ref()).map(words);
    words.collect::<Vec<_>>().join(", ")
}

fn words(job: &Job) -> String {
    let went = |failed| if failed { "failed" } else { "arrived" };
    match job {
        Job::InitializeWorkflow(start) => format!("start{}", text(start.arguments.first())),
        Job::FireTimer(timer) => format!("timer {}", timer.seq),
        Job::UpdateRandomSeed(_) => "seed".to_owned(),
        Job::CancelWorkflow(cancel) => format!("cancel {}", cancel.reason),
        Job::SignalWorkflow(signal) => {
            format!("signal {}{}", signal.signal_name, text(signal.input.first()))
        }
        Job::ResolveActivity(activity) => {
            let status = activity.result.as_ref().and_then(|result| result.status.as_ref());
            format!("activity {} {}", activity.seq, activity_words(status))
        }
        Job::NotifyHasPatch(patch) => format!("patch {}", patch.patch_id),
        Job::ResolveChildWorkflowExecutionStart(child) => match &child.status {
            Some(ChildStart::Succeeded(_)) => format!("child {} began", child.seq),
            Some(ChildStart::Failed(_)) => format!("child {} refused", child.seq),
            _ => format!("child {} not begun", child.seq),
        },
        Job::ResolveChildWorkflowExecution(child) => {
            let status = child.result.as_ref().and_then(|result| result.status.as_ref());
            format!("child {} {}", child.seq, child_words(status))
        }
        Job::ResolveSignalExternalWorkflow(sent) => {
            format!("signal {} {}", sent.seq, went(sent.failure.is_some()))
        }
        Job::ResolveRequestCancelExternalWorkflow(sent) => {
            format!("cancel {} {}", sent.seq, went(sent.failure.is_some()))
        }
        Job::DoUpdate(update) => format!("update {}{}", update.name, text(update.input.first())),
        other => format!("{other:?}"),
    }
}

fn activity_words(status: Option<&Activity>) -> String {
    match status {
        Some(Activity::Completed(done)) => format!("completed{}", text(done.result.as_ref())),
        Some(Activity::Failed(_)) => "failed".to_owned(),
        Some(Activity::Cancelled(_)) => "cancelled".to_owned(),
        other => format!("{other:?}"),
    }
}

fn child_words(status: Option<&Child>) -> String {
    match status {
        Some(Child::Completed(done)) => format!("completed{}", text(done.result.as_ref())),
        Some(Child::Failed(_)) => "failed".to_owned(),
        Some(Child::Cancelled(_)) => "cancelled".to_owned(),
        None => "ended without saying how".to_owned(),
    }
}

/// What user data came along, to show that it arrived.
fn text(payload: Option<&Payload>) -> String {
    match payload {
        Some(payload) if !payload.data.is_empty() => {
            format!(" {}", String::from_utf8_lossy(&payload.data))
        }
        _ => String::new(),
    }
}
