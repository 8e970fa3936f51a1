//! What a run asks of runs that are not itself.

use minicbor::{Decode, Encode};

use crate::{EventId, Fields, Name, Payload, RunId, WorkflowId};

/// Another run, by name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub struct External {
    /// Its workflow id.
    #[n(0)]
    pub workflow_id: WorkflowId,
    /// Its run; unset means whichever is the current one.
    #[n(1)]
    pub run: Option<RunId>,
    /// Only if it is this run's child; then its whole chain is meant.
    #[n(2)]
    pub child_only: bool,
}

/// Why another run could not be reached.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Encode, Decode)]
#[cbor(index_only)]
#[non_exhaustive]
pub enum ExternalRefusal {
    /// There is no such run, or it is closed.
    #[default]
    #[n(0)]
    NotFound,
    /// There is no such namespace.
    #[n(1)]
    NoNamespace,
    /// It takes no more signals before its code has received some.
    #[n(2)]
    Full,
}

/// The run asked for the cancel of another.
#[derive(Clone, Debug, Default, PartialEq, Encode, Decode)]
pub struct ExternalCancelInitiated {
    /// The other run.
    #[n(0)]
    pub target: External,
    /// Why, in words.
    #[n(1)]
    pub reason: String,
    /// The turn that asked for it.
    #[n(2)]
    pub turn: EventId,
    /// The `ChildInitiated` of the child that is meant; 0 if it is not a child.
    #[n(3)]
    pub child: EventId,
}

/// That run has the request.
#[derive(Clone, Debug, Default, PartialEq, Encode, Decode)]
pub struct ExternalCancelRequested {
    /// The `ExternalCancelInitiated`.
    #[n(0)]
    pub initiated: EventId,
    /// The other run.
    #[n(1)]
    pub target: External,
}

/// There is no such run.
#[derive(Clone, Debug, Default, PartialEq, Encode, Decode)]
pub struct ExternalCancelFailed {
    /// The `ExternalCancelInitiated`.
    #[n(0)]
    pub initiated: EventId,
    /// The other run.
    #[n(1)]
    pub target: External,
    /// Why.
    #[n(2)]
    pub refusal: ExternalRefusal,
    /// The turn that had asked for it.
    #[n(3)]
    pub turn: EventId,
}

/// The run sent a signal to another.
#[derive(Clone, Debug, Default, PartialEq, Encode, Decode)]
pub struct ExternalSignalInitiated {
    /// The other run.
    #[n(0)]
    pub target: External,
    /// Which signal.
    #[n(1)]
    pub name: Name,
    /// What it carries.
    #[n(2)]
    pub input: Option<Payload>,
    /// Travels beside the input.
    #[n(3)]
    pub header: Fields,
    /// The turn that asked for it.
    #[n(4)]
    pub turn: EventId,
}

/// That run has the signal.
#[derive(Clone, Debug, Default, PartialEq, Encode, Decode)]
pub struct ExternalSignalled {
    /// The `ExternalSignalInitiated`.
    #[n(0)]
    pub initiated: EventId,
    /// The other run.
    #[n(1)]
    pub target: External,
}

/// There is no such run, or it is closed.
#[derive(Clone, Debug, Default, PartialEq, Encode, Decode)]
pub struct ExternalSignalFailed {
    /// The `ExternalSignalInitiated`.
    #[n(0)]
    pub initiated: EventId,
    /// The other run.
    #[n(1)]
    pub target: External,
    /// Why.
    #[n(2)]
    pub refusal: ExternalRefusal,
    /// The turn that had asked for it.
    #[n(3)]
    pub turn: EventId,
}
