//! The life of an update: a request that workflow code answers.

use minicbor::{Decode, Encode};

use crate::{EventId, Failure, Fields, Identity, Name, Payload, RunId, UpdateId};

/// What is asked.
#[derive(Clone, Debug, Default, PartialEq, Encode, Decode)]
pub struct UpdateRequest {
    /// Its id.
    #[n(0)]
    pub id: UpdateId,
    /// Which update.
    #[n(1)]
    pub name: Name,
    /// What it carries.
    #[n(2)]
    pub input: Option<Payload>,
    /// Travels beside the input.
    #[n(3)]
    pub header: Fields,
    /// Who asks.
    #[n(4)]
    pub identity: Identity,
    /// The run that alone may take it. Otherwise the run that goes on in its place does, if it was
    /// not looked at before.
    #[n(5)]
    pub only: Option<RunId>,
}

/// How it was answered.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
pub enum UpdateAnswer {
    /// With a result.
    #[n(0)]
    Done(#[n(0)] Option<Payload>),
    /// With a failure.
    #[n(1)]
    Failed(#[n(0)] Failure),
}

/// An update was taken over from the history that this run forked from.
#[derive(Clone, Debug, Default, PartialEq, Encode, Decode)]
pub struct UpdateAdmitted {
    /// What is asked.
    #[n(0)]
    pub request: UpdateRequest,
}

/// The run's code took an update.
#[derive(Clone, Debug, Default, PartialEq, Encode, Decode)]
pub struct UpdateAccepted {
    /// What is asked.
    #[n(0)]
    pub request: UpdateRequest,
    /// The message that carried it, as the worker named it.
    #[n(1)]
    pub message_id: String,
    /// The event that it was ordered after; replay puts it there again.
    #[n(2)]
    pub sequencing: EventId,
    /// The turn that took it.
    #[n(3)]
    pub turn: EventId,
}

/// The run's code answered an update.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
pub struct UpdateCompleted {
    /// Its id.
    #[n(0)]
    pub id: UpdateId,
    /// Which update.
    #[n(1)]
    pub name: Name,
    /// Its `UpdateAccepted`.
    #[n(2)]
    pub accepted: EventId,
    /// The answer.
    #[n(3)]
    pub answer: UpdateAnswer,
    /// The turn that answered it.
    #[n(4)]
    pub turn: EventId,
}
