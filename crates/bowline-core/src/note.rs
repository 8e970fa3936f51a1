//! What must be remembered beside an event, without a number of its own.
//!
//! Remote SDKs refuse events that they do not know, and every number counts for them. So causes,
//! scopes, ordered cancel decisions and what was left at the end ride on events that they do know.

use minicbor::{Decode, Encode};

use crate::{Cause, EventId, Ranges, Rung, ScopeId, UpdateId};

/// Something remembered beside an event.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
#[non_exhaustive]
#[cbor(flat)]
pub enum Note {
    /// On `TurnCompleted`: what the turn cancelled, in the order of deciding. Replay compares it.
    #[n(0)]
    Cancels(#[n(0)] Vec<Decision>),
    /// On `TurnCompleted`: scopes that were opened and left in this turn, in order.
    #[n(1)]
    Scopes(#[n(0)] Vec<ScopeStep>),
    /// On an event that cancels or ends one thing: why.
    #[n(2)]
    Cause(#[n(0)] Cause),
    /// On `TurnScheduled`, or on the closing event: cancelled activities that had never started,
    /// and are over with it.
    #[n(3)]
    Skipped(#[n(0)] Ranges),
    /// On an outcome: how far the attempt had to be pushed.
    #[n(4)]
    Rung(#[n(0)] Rung),
    /// On the closing event: what was still open, and what became of it.
    #[n(5)]
    Outstanding(#[n(0)] Outstanding),
    /// On `TurnScheduled`, or on the closing event: an operator cancelled one activity or child.
    /// Native rules only.
    #[n(6)]
    CancelledOne(#[n(0)] EventId, #[n(1)] Cause),
    /// On `TurnCompleted`: work that the run let go of, and that outlives it.
    #[n(7)]
    Detached(#[n(0)] Ranges),
    /// On `TurnCompleted`: updates that the code refused. Native rules only.
    #[n(8)]
    RefusedUpdates(#[n(0)] Vec<UpdateId>),
    /// On `TurnScheduled`, or on the closing event: somebody asked again for the run's cancel, and
    /// pushes harder. The cause has the ladders that stand from now on. Native rules only.
    #[n(9)]
    Hastened(#[n(0)] Cause),
    /// On `TurnCompleted`: signals that the code received in this turn, by their events. What it
    /// has not received goes on with the chain. Native rules only.
    #[n(10)]
    Received(#[n(0)] Ranges),
}

/// One cancel that workflow code decided.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
pub struct Decision {
    /// The scope whose leaving, or inside which a drop, caused it.
    #[n(0)]
    pub scope: ScopeId,
    /// What kind of thing was cancelled.
    #[n(1)]
    pub what: Cancelled,
    /// Which ones, by number.
    #[n(2)]
    pub targets: Ranges,
    /// Why. Not compared at replay.
    #[n(3)]
    pub cause: Cause,
}

/// What kind of thing a decision cancelled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Encode, Decode)]
#[cbor(index_only)]
pub enum Cancelled {
    /// Activities.
    #[n(0)]
    Activities,
    /// Timers.
    #[n(1)]
    Timers,
    /// Children.
    #[n(2)]
    Children,
}

/// A scope was opened or left.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
#[cbor(flat)]
pub enum ScopeStep {
    /// Opened.
    #[n(0)]
    Opened {
        /// Which.
        #[n(0)]
        scope: ScopeId,
        /// Inside which other one.
        #[n(1)]
        parent: ScopeId,
        /// What its author calls it.
        #[n(2)]
        name: String,
    },
    /// Left; everything inside has stopped, or will be seen to stop by the scope around it.
    #[n(1)]
    Left {
        /// Which.
        #[n(0)]
        scope: ScopeId,
        /// Why, if it was not simply done.
        #[n(1)]
        cause: Option<Cause>,
    },
}

/// What was open when the run closed.
#[derive(Clone, Debug, Default, PartialEq, Encode, Decode)]
pub struct Outstanding {
    /// Activities that were cancelled with the run.
    #[n(0)]
    pub activities: Ranges,
    /// Timers that were unset.
    #[n(1)]
    pub timers: Ranges,
    /// Children that were told, by their parent-close policy.
    #[n(2)]
    pub children: Ranges,
    /// Children and activities that were left alone, by policy or by `detach`.
    #[n(3)]
    pub left: Ranges,
    /// Why.
    #[n(4)]
    pub cause: Option<Cause>,
    /// The event that closed it, for readers of the note alone.
    #[n(5)]
    pub closing: EventId,
    /// Those left alone because a fork, in whose favour the run closed, has them now.
    #[n(6)]
    pub inherited: Option<Ranges>,
}
