//! The life of a run: begun, asked, closed.

use minicbor::{Decode, Encode};

use crate::{
    Blob, Cause, EventId, Failure, Fields, Identity, Name, ParentClose, Payload, Queue, RequestId,
    RetryPolicy, RetryState, Rules, RunId, SearchAttributes, Span, Time, WorkflowId,
};

/// The run that started a child, and where in its history.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Parent {
    /// The parent's run.
    #[n(0)]
    pub run: RunId,
    /// The parent's workflow id.
    #[n(1)]
    pub workflow_id: WorkflowId,
    /// The parent's `ChildInitiated`.
    #[n(2)]
    pub initiated: EventId,
    /// What becomes of the child when the parent closes.
    #[n(3)]
    pub close: ParentClose,
}

/// Why a run begins where another one closed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Encode, Decode)]
#[cbor(index_only)]
#[non_exhaustive]
pub enum Initiator {
    /// Its code asked for it.
    #[default]
    #[n(0)]
    Workflow,
    /// It failed and is tried again.
    #[n(1)]
    Retry,
    /// Its schedule says so.
    #[n(2)]
    Cron,
}

/// What is done to a run that was asked to cancel and stays open.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub struct RunLadder {
    /// After this long it is terminated, with cause `escalated`.
    #[n(0)]
    pub terminate_after: Span,
}

/// The run began.
#[derive(Clone, Debug, Default, PartialEq, Encode, Decode)]
pub struct WorkflowStarted {
    /// The workflow.
    #[n(0)]
    pub name: Name,
    /// The user's name for the chain.
    #[n(1)]
    pub workflow_id: WorkflowId,
    /// Where its turns wait.
    #[n(2)]
    pub queue: Queue,
    /// Whose rules its history follows.
    #[n(3)]
    pub rules: Rules,
    /// What the workflow is called with.
    #[n(4)]
    pub input: Option<Payload>,
    /// Travels beside the input.
    #[n(5)]
    pub header: Fields,
    /// How long this run may take.
    #[n(6)]
    pub run_timeout: Option<Span>,
    /// How long the whole chain may take.
    #[n(7)]
    pub chain_timeout: Option<Span>,
    /// When the whole chain is over.
    #[n(8)]
    pub chain_expires_at: Option<Time>,
    /// How long a remote turn may take.
    #[n(9)]
    pub turn_timeout: Option<Span>,
    /// The first run of the chain.
    #[n(10)]
    pub first_run: RunId,
    /// The run whose id seeds the random numbers; kept by a fork.
    #[n(11)]
    pub original_run: RunId,
    /// The run that this one continues.
    #[n(12)]
    pub previous_run: Option<RunId>,
    /// Why it continues that one.
    #[n(13)]
    pub initiator: Option<Initiator>,
    /// The run that started this one.
    #[n(14)]
    pub parent: Option<Parent>,
    /// The run at the top of the tree, if not this one.
    #[n(15)]
    pub root: Option<(RunId, WorkflowId)>,
    /// Who asked for it.
    #[n(16)]
    pub identity: Identity,
    /// Which try this is, from 1.
    #[n(17)]
    pub attempt: u32,
    /// How it is tried again.
    #[n(18)]
    pub retry: Option<RetryPolicy>,
    /// When it is started again.
    #[n(19)]
    pub cron: String,
    /// How long the first turn waits.
    #[n(20)]
    pub delay: Option<Span>,
    /// The result of the run before, on a schedule.
    #[n(21)]
    pub last_result: Option<Payload>,
    /// The failure of the run before.
    #[n(22)]
    pub last_failure: Option<Failure>,
    /// Shown in lists, never searched.
    #[n(23)]
    pub memo: Fields,
    /// Searched.
    #[n(24)]
    pub search: SearchAttributes,
    /// The request that started it.
    #[n(25)]
    pub request_id: RequestId,
    /// When it is cancelled, with clean-up, if it is still open.
    #[n(26)]
    pub deadline: Option<Time>,
    /// What follows a cancel that is not obeyed.
    #[n(27)]
    pub ladder: Option<RunLadder>,
    /// Which run of its chain this is, from 2 on; unset for the first.
    #[n(28)]
    pub link: Option<u32>,
    /// The first run of the chain at the top of the tree, if that is not its own chain.
    #[n(29)]
    pub tree: Option<RunId>,
    /// The newest fork among the runs of its chain before it.
    #[n(30)]
    pub branch: Option<RunId>,
    /// What a door keeps with the first event of every run of the chain.
    #[n(31)]
    pub kept: Option<Blob>,
}

/// The run closed with a result.
#[derive(Clone, Debug, Default, PartialEq, Encode, Decode)]
pub struct WorkflowCompleted {
    /// The result.
    #[n(0)]
    pub result: Option<Payload>,
    /// The turn that asked for it.
    #[n(1)]
    pub turn: EventId,
    /// The run that its schedule starts next.
    #[n(2)]
    pub next_run: Option<RunId>,
}

/// The run closed with a failure.
#[derive(Clone, Debug, Default, PartialEq, Encode, Decode)]
pub struct WorkflowFailed {
    /// The failure.
    #[n(0)]
    pub failure: Failure,
    /// The turn that asked for it.
    #[n(1)]
    pub turn: EventId,
    /// Why it is, or is not, tried again.
    #[n(2)]
    pub retry: RetryState,
    /// The run that tries again.
    #[n(3)]
    pub next_run: Option<RunId>,
}

/// The run closed because its time was up.
#[derive(Clone, Debug, Default, PartialEq, Encode, Decode)]
pub struct WorkflowTimedOut {
    /// Why it is, or is not, tried again.
    #[n(0)]
    pub retry: RetryState,
    /// The run that tries again.
    #[n(1)]
    pub next_run: Option<RunId>,
}

/// The run closed because it was cancelled.
#[derive(Clone, Debug, Default, PartialEq, Encode, Decode)]
pub struct WorkflowCancelled {
    /// What its code wants to say about it.
    #[n(0)]
    pub details: Option<Payload>,
    /// The turn that asked for it.
    #[n(1)]
    pub turn: EventId,
}

/// The run was closed from outside.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
pub struct WorkflowTerminated {
    /// Why, and by whom.
    #[n(0)]
    pub cause: Cause,
    /// What else they had to say.
    #[n(1)]
    pub details: Option<Payload>,
}

/// The run closed and goes on as a new one.
#[derive(Clone, Debug, Default, PartialEq, Encode, Decode)]
pub struct WorkflowContinuedAsNew {
    /// The run that goes on.
    #[n(0)]
    pub next_run: RunId,
    /// The turn that asked for it.
    #[n(1)]
    pub turn: EventId,
    /// The workflow that goes on.
    #[n(2)]
    pub name: Name,
    /// Where its turns wait.
    #[n(3)]
    pub queue: Queue,
    /// What it is called with.
    #[n(4)]
    pub input: Option<Payload>,
    /// Travels beside the input.
    #[n(5)]
    pub header: Fields,
    /// How long the new run may take.
    #[n(6)]
    pub run_timeout: Option<Span>,
    /// How long its remote turns may take.
    #[n(7)]
    pub turn_timeout: Option<Span>,
    /// How long its first turn waits.
    #[n(8)]
    pub delay: Option<Span>,
    /// Who decided it.
    #[n(9)]
    pub initiator: Initiator,
    /// The failure that it follows.
    #[n(10)]
    pub failure: Option<Failure>,
    /// The result that it follows.
    #[n(11)]
    pub last_result: Option<Payload>,
    /// The new run's memo.
    #[n(12)]
    pub memo: Fields,
    /// The new run's search attributes.
    #[n(13)]
    pub search: SearchAttributes,
}

/// Somebody asked the run to cancel.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
pub struct WorkflowCancelRequested {
    /// Why, and by whom.
    #[n(0)]
    pub cause: Cause,
    /// The request, so that its repetition counts once.
    #[n(1)]
    pub request_id: RequestId,
    /// The run whose code asked, and its `ExternalCancelInitiated`.
    #[n(2)]
    pub external: Option<(RunId, WorkflowId, EventId)>,
}

/// A signal arrived.
#[derive(Clone, Debug, Default, PartialEq, Encode, Decode)]
pub struct WorkflowSignalled {
    /// Which.
    #[n(0)]
    pub name: Name,
    /// What it carries.
    #[n(1)]
    pub input: Option<Payload>,
    /// Travels beside the input.
    #[n(2)]
    pub header: Fields,
    /// Who sent it.
    #[n(3)]
    pub identity: Identity,
    /// The request, so that its repetition counts once.
    #[n(4)]
    pub request_id: RequestId,
    /// The run whose code sent it.
    #[n(5)]
    pub external: Option<(RunId, WorkflowId, EventId)>,
}
