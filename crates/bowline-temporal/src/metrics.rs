//! What this door and the engine behind it have counted, under the names that operators know.

use bowline_engine::{CommandOutcome, Histogram, Metrics as Counted};

/// What was counted since the server started. Each number is right; they are not all of one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Metrics {
    /// From the decision to cancel an activity until the worker that runs it was told.
    pub activity_cancel_notification_latency: Histogram,
    /// Deliveries that failed: no channel, no room, no answer, or the worker could not do it.
    pub activity_cancel_notification_failures: u64,
    /// How often workers polled their control channels.
    pub worker_control_task_poll_count: u64,
    /// How many commands these polls brought.
    pub worker_control_tasks_delivered: u64,
    /// Commands to workers, by what became of them.
    pub worker_commands_sent: Vec<CommandsSent>,
    /// Activities that workers took with the answer that scheduled them.
    pub eager_activities: u64,
    /// First turns that came with the answer to a start.
    pub eager_workflow_tasks: u64,
}

/// How many commands of one kind came to one end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandsSent {
    /// In which namespace.
    pub namespace: String,
    /// What became of them.
    pub outcome: &'static str,
    /// What they said.
    pub command_type: &'static str,
    /// How many.
    pub count: u64,
}

impl Metrics {
    /// Every plain counter: its name, what it counts, and how much that is.
    pub fn counters(&self) -> [(&'static str, &'static str, u64); 5] {
        [
            (
                "activity_cancel_notification_failures",
                "Deliveries of cancels that failed",
                self.activity_cancel_notification_failures,
            ),
            (
                "worker_control_task_poll_count",
                "How often workers polled their control channels",
                self.worker_control_task_poll_count,
            ),
            (
                "worker_control_tasks_delivered",
                "How many commands these polls brought",
                self.worker_control_tasks_delivered,
            ),
            (
                "bowline_eager_activities_total",
                "Activities that workers took with the answer that scheduled them",
                self.eager_activities,
            ),
            (
                "bowline_eager_turns_total",
                "First turns that came with the answer to a start",
                self.eager_workflow_tasks,
            ),
        ]
    }

    /// The engine's numbers; `name` tells how a namespace is called.
    pub(crate) fn of(counted: Counted, name: impl Fn(bowline_core::Namespace) -> String) -> Self {
        let sent = counted.commands.iter().map(|((namespace, outcome), count)| CommandsSent {
            namespace: name(*namespace),
            outcome: word(*outcome),
            command_type: "cancel_activity",
            count: *count,
        });
        Self {
            worker_commands_sent: sent.collect(),
            activity_cancel_notification_latency: counted.cancel_delivery,
            activity_cancel_notification_failures: counted.notices_failed,
            worker_control_task_poll_count: counted.control_polls,
            worker_control_tasks_delivered: counted.control_notices,
            eager_activities: counted.eager_activities,
            eager_workflow_tasks: counted.eager_turns,
        }
    }
}

fn word(outcome: CommandOutcome) -> &'static str {
    match outcome {
        CommandOutcome::Delivered => "success",
        CommandOutcome::NoChannel => "no_poller",
        CommandOutcome::Refused => "worker_error",
        CommandOutcome::Full => "queue_full",
        CommandOutcome::Unanswered => "timeout",
        _ => "other",
    }
}
