//! The life of a child, as its parent is told.

use minicbor::{Decode, Encode};

use crate::{
    Blob, EventId, Failure, Fields, Name, ParentClose, Payload, Queue, RetryPolicy, RetryState,
    Reuse, RunId, SearchAttributes, Span, Time, WorkflowId,
};

/// What a child is to be.
#[derive(Clone, Debug, Default, PartialEq, Encode, Decode)]
pub struct ChildSpec {
    /// The workflow.
    #[n(0)]
    pub name: Name,
    /// The user's name for the child's chain.
    #[n(1)]
    pub workflow_id: WorkflowId,
    /// Where its turns wait.
    #[n(2)]
    pub queue: Queue,
    /// What it is called with.
    #[n(3)]
    pub input: Option<Payload>,
    /// Travels beside the input.
    #[n(4)]
    pub header: Fields,
    /// How long its run may take.
    #[n(5)]
    pub run_timeout: Option<Span>,
    /// How long its chain may take.
    #[n(6)]
    pub chain_timeout: Option<Span>,
    /// How long its remote turns may take.
    #[n(7)]
    pub turn_timeout: Option<Span>,
    /// What becomes of it when the parent closes.
    #[n(8)]
    pub close: ParentClose,
    /// Whether its workflow id may be used again.
    #[n(9)]
    pub reuse: Reuse,
    /// How it is tried again.
    #[n(10)]
    pub retry: Option<RetryPolicy>,
    /// When it is started again.
    #[n(11)]
    pub cron: String,
    /// Its memo.
    #[n(12)]
    pub memo: Fields,
    /// Its search attributes.
    #[n(13)]
    pub search: SearchAttributes,
    /// When it is cancelled, with clean-up, if it is still open.
    #[n(14)]
    pub deadline: Option<Time>,
    /// What a door keeps with the child's first event.
    #[n(15)]
    pub kept: Option<Blob>,
}

/// The run asked for a child.
#[derive(Clone, Debug, Default, PartialEq, Encode, Decode)]
pub struct ChildInitiated {
    /// What it is to be.
    #[n(0)]
    pub spec: ChildSpec,
    /// Its run id, made by the parent.
    #[n(1)]
    pub run: RunId,
    /// The turn that asked for it.
    #[n(2)]
    pub turn: EventId,
}

/// Why a child could not be started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Encode, Decode)]
#[cbor(index_only)]
#[non_exhaustive]
pub enum ChildRefusal {
    /// Its workflow id is taken.
    #[default]
    #[n(0)]
    IdTaken,
    /// There is no such namespace.
    #[n(1)]
    NoNamespace,
}

/// The child could not be started.
#[derive(Clone, Debug, Default, PartialEq, Encode, Decode)]
pub struct ChildStartFailed {
    /// Its `ChildInitiated`.
    #[n(0)]
    pub child: EventId,
    /// Why.
    #[n(1)]
    pub refusal: ChildRefusal,
    /// Its workflow id.
    #[n(2)]
    pub workflow_id: WorkflowId,
    /// The workflow.
    #[n(3)]
    pub name: Name,
    /// The turn that had asked for it.
    #[n(4)]
    pub turn: EventId,
}

macro_rules! child_event {
    ($($(#[$doc:meta])* $name:ident { $($rest:tt)* })*) => {$(
        $(#[$doc])*
        #[derive(Clone, Debug, Default, PartialEq, Encode, Decode)]
        pub struct $name {
            /// Its `ChildInitiated`.
            #[n(0)]
            pub child: EventId,
            /// Its `ChildStarted`; 0 on that event itself.
            #[n(1)]
            pub started: EventId,
            /// Its run.
            #[n(2)]
            pub run: RunId,
            /// Its workflow id.
            #[n(3)]
            pub workflow_id: WorkflowId,
            /// The workflow.
            #[n(4)]
            pub name: Name,
            $($rest)*
        }
    )*};
}

child_event! {
    /// The child began.
    ChildStarted {}
    /// The child ended with a result.
    ChildCompleted {
        /// The result.
        #[n(5)]
        pub result: Option<Payload>,
    }
    /// The child ended with a failure.
    ChildFailed {
        /// The failure.
        #[n(5)]
        pub failure: Failure,
        /// Why it is not tried again.
        #[n(6)]
        pub retry: RetryState,
    }
    /// The child ended cancelled.
    ChildCancelled {
        /// What its code left behind.
        #[n(5)]
        pub details: Option<Payload>,
    }
    /// The child's time was up.
    ChildTimedOut {
        /// Why it is not tried again.
        #[n(5)]
        pub retry: RetryState,
    }
    /// The child was terminated.
    ChildTerminated {}
}
