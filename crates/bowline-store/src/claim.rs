//! Taking work.

use bowline_core::{
    ActivityLive, ActivitySpec, ControlQueue, Epoch, EventId, Fence, Identity, MayTry, Name,
    Namespace, Queue, RunId, Time, WorkflowId,
};

use crate::{Head, RunRead};

/// What a run is wanted for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Want {
    /// Native runs with unread messages: the member holds them until it releases them.
    Turn,
    /// Remote runs with a turn that waits for a worker. Nobody holds them: whoever commits the
    /// turn's start first has it.
    RemoteTurn,
    /// Remote runs with unread messages and no turn in a worker's hands; and all runs with a
    /// message that does not wait for their code, parked ones too. Nobody holds them for it.
    Intake,
}

/// Take runs.
#[derive(Clone, Debug)]
pub struct ClaimRuns {
    /// For whom.
    pub epoch: Epoch,
    /// In which namespace.
    pub namespace: Namespace,
    /// What for.
    pub want: Want,
    /// From these queues; empty for all ([`Want::Intake`] only).
    pub queues: Vec<Queue>,
    /// Only these workflows; empty for all (remote runs only).
    pub names: Vec<Name>,
    /// At most this many.
    pub count: usize,
    /// Now.
    pub now: Time,
}

/// Take parked runs, by name.
#[derive(Clone, Debug)]
pub struct TakeUp {
    /// For whom.
    pub epoch: Epoch,
    /// The build of its code, in the application's own words; empty if it says nothing.
    pub build: String,
    /// Which.
    pub runs: Vec<RunId>,
    /// Now.
    pub now: Time,
}

impl TakeUp {
    /// Whether the member may have a run, as that stands now.
    pub fn may_have(&self, head: &Head) -> bool {
        let free = head.status.is_open() && head.rules.is_native() && head.holder.is_none();
        let parked = head.parked.as_ref().filter(|_| free);
        parked.is_some_and(|own| own.may_try(self.epoch, &self.build, self.now) == MayTry::Now)
    }
}

/// A run, taken.
#[derive(Clone, Debug)]
pub struct ClaimedRun {
    /// Head, history and inbox.
    pub read: RunRead,
    /// The lease; unset where nobody holds the run.
    pub fence: Option<Fence>,
}

/// What kind of worker takes activities.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HolderKind {
    /// Code in the member's own process.
    Native,
    /// A remote worker, which listens for notices here (if anywhere).
    Remote(ControlQueue),
}

/// Take activities.
#[derive(Clone, Debug)]
pub struct ClaimActivities {
    /// For whom.
    pub epoch: Epoch,
    /// In which namespace.
    pub namespace: Namespace,
    /// From this queue.
    pub queue: Queue,
    /// Only these activities; empty for all.
    pub names: Vec<Name>,
    /// At most this many.
    pub count: usize,
    /// What takes them.
    pub holder: HolderKind,
    /// Who takes them.
    pub worker: Identity,
    /// Now.
    pub now: Time,
}

/// An activity, started.
#[derive(Clone, Debug)]
pub struct ClaimedActivity {
    /// Its run.
    pub run: RunId,
    /// Its number.
    pub activity: EventId,
    /// What it is.
    pub spec: ActivitySpec,
    /// Where it stands; started, with its attempt and holder.
    pub live: ActivityLive,
    /// Its run's workflow id.
    pub workflow_id: WorkflowId,
    /// Its run's workflow.
    pub workflow: Name,
}
