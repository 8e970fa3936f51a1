//! The life of a timer.

use minicbor::{Decode, Encode};

use crate::{EventId, Identity, Span, TimerId};

/// A timer was set.
#[derive(Clone, Debug, Default, PartialEq, Encode, Decode)]
pub struct TimerStarted {
    /// The caller's own name for it.
    #[n(0)]
    pub id: TimerId,
    /// How long after this event it rings.
    #[n(1)]
    pub after: Span,
    /// The turn that asked for it.
    #[n(2)]
    pub turn: EventId,
}

/// It rang.
#[derive(Clone, Debug, Default, PartialEq, Encode, Decode)]
pub struct TimerFired {
    /// Its `TimerStarted`.
    #[n(0)]
    pub timer: EventId,
    /// The caller's own name for it.
    #[n(1)]
    pub id: TimerId,
}

/// It was unset before it rang.
#[derive(Clone, Debug, Default, PartialEq, Encode, Decode)]
pub struct TimerCancelled {
    /// Its `TimerStarted`.
    #[n(0)]
    pub timer: EventId,
    /// The caller's own name for it.
    #[n(1)]
    pub id: TimerId,
    /// The turn that asked for it; 0 if an operator did.
    #[n(2)]
    pub turn: EventId,
    /// Who asked.
    #[n(3)]
    pub worker: Identity,
}
