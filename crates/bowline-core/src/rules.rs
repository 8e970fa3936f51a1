//! What a run's first event fixes for its whole life: whose rules its history follows.
//!
//! Native rules may be ours; remote rules are exactly what the official SDKs replay. Every place
//! of this crate where the two differ is a method here, so that the difference can be read in one
//! file. Only `lawful` has a model of its own: it checks what was decided by these.

use std::time::Duration;

use minicbor::{Decode, Encode};

use crate::{Event, limits};

/// Whose rules.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Encode, Decode)]
#[cbor(index_only)]
#[non_exhaustive]
pub enum Kind {
    /// Workflow code runs in this process, through `bowline-replay`.
    #[default]
    #[n(0)]
    Native,
    /// Workflow code runs in a worker that speaks a door's protocol.
    #[n(1)]
    Remote,
}

/// The rules of one run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Rules {
    /// Whose.
    #[n(0)]
    pub kind: Kind,
    /// Which edition of them; a run keeps the edition that it was born with.
    #[n(1)]
    pub version: u16,
}

impl Rules {
    /// The newest native rules.
    pub const NATIVE: Self = Self { kind: Kind::Native, version: 1 };
    /// The newest remote rules.
    pub const REMOTE: Self = Self { kind: Kind::Remote, version: 1 };

    /// True under native rules. This says where the run's code lives; what follows from that for
    /// its history is said below.
    pub fn is_native(self) -> bool {
        self.kind == Kind::Native
    }

    /// Whether a turn that is wanted is scheduled by an event, and waits for a worker. Otherwise
    /// whoever holds the run has the turn, in the commit that takes the messages in.
    pub fn turns_wait(self) -> bool {
        !self.is_native()
    }

    /// Whether an outcome must lead to a turn, even if the code waits for something else.
    pub fn outcomes_insist(self) -> bool {
        !self.is_native()
    }

    /// Whether what is decided beside the code (an operator cancels one thing, somebody pushes a
    /// cancel harder) is noted in history. Otherwise there is no place for it, and only the outcome
    /// is told.
    pub fn decisions_are_noted(self) -> bool {
        self.is_native()
    }

    /// Whether code cancels by dropping, and may let go of what is to outlive it.
    pub fn code_drops(self) -> bool {
        self.is_native()
    }

    /// Whether a cancelled activity climbs a ladder.
    pub fn activities_climb(self) -> bool {
        self.is_native()
    }

    /// Whether code gives its activities, timers and children ids, each of them one that nothing
    /// open of its kind has. Otherwise their numbers are enough.
    pub fn code_gives_ids(self) -> bool {
        !self.is_native()
    }

    /// Whether an activity must say how long it may take.
    pub fn activities_need_limits(self) -> bool {
        !self.is_native()
    }

    /// Whether a turn may cancel a child that it starts itself.
    pub fn new_children_can_be_cancelled(self) -> bool {
        self.is_native()
    }

    /// Whether a run may send itself a signal or a cancel, as it does to others.
    pub fn may_ask_itself(self) -> bool {
        !self.is_native()
    }

    /// Whether an update is an event as soon as it is there, so that replay delivers it in its
    /// place. Otherwise it waits beside history until a worker is shown it.
    pub fn updates_are_events(self) -> bool {
        self.is_native()
    }

    /// Whether an update that nobody has looked at goes on with the chain.
    pub fn updates_go_on(self) -> bool {
        !self.is_native()
    }

    /// Whether signals that were not received go on with the chain, so that there is a bound to
    /// them.
    pub fn unread_go_on(self) -> bool {
        self.is_native()
    }

    /// Whether each activity cancel is an event of its own. Otherwise all cancels of one turn are
    /// one note with ranges, so that deciding does not grow with how much is cancelled.
    pub fn cancels_are_events(self) -> bool {
        !self.is_native()
    }

    /// Whether a cancelled activity that never started gets an outcome event. Otherwise a note
    /// lists all of them as ranges.
    pub fn skipped_get_events(self) -> bool {
        !self.is_native()
    }

    /// Whether outcomes that wait beside other messages go behind them, as the SDKs expect.
    pub fn outcomes_wait(self) -> bool {
        !self.is_native()
    }

    /// Whether an operator may cancel a single timer. A remote timer machine knows no such event.
    pub fn timer_can_be_cancelled(self) -> bool {
        self.is_native()
    }

    /// Whether an operator's cancel of one activity ends it as cancelled. Under remote rules the
    /// SDK only knows cancels that its own code asked for, so it ends as a final failure.
    pub fn operator_cancel_is_cancelled(self) -> bool {
        self.is_native()
    }

    /// How many activities, timers or children of each kind may be open.
    pub fn pending_max(self) -> usize {
        match self.kind {
            Kind::Native => limits::PENDING_NATIVE_MAX,
            Kind::Remote => limits::PENDING_MAX,
        }
    }

    /// How many signals a run may have; native ones are bounded by their history alone.
    pub fn signals_max(self) -> Option<u64> {
        (self.kind == Kind::Remote).then_some(limits::SIGNALS_MAX)
    }

    /// How many bytes the history may have.
    pub fn bytes_max(self) -> u64 {
        match self.kind {
            Kind::Native => limits::HISTORY_BYTES_NATIVE_MAX,
            Kind::Remote => limits::HISTORY_BYTES_MAX,
        }
    }

    /// How many events the history may have.
    pub fn events_max(self) -> u64 {
        match self.kind {
            Kind::Native => limits::EVENTS_NATIVE_MAX,
            Kind::Remote => limits::EVENTS_MAX,
        }
    }

    /// About how many bytes an event takes. Remote code is told, and decides by it, so there it is
    /// what its worker is sent.
    pub fn weigh(self, event: &Event) -> u64 {
        match self.kind {
            Kind::Native => event.weight(),
            Kind::Remote => event.told_weight(),
        }
    }

    /// How far apart the beginnings of runs are at least that continue each other.
    pub fn apart(self) -> Duration {
        match self.kind {
            Kind::Native => Duration::ZERO,
            Kind::Remote => limits::CONTINUED_APART,
        }
    }
}

impl Default for Rules {
    fn default() -> Self {
        Self::NATIVE
    }
}

/// What happens to a child when its parent's run closes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Encode, Decode)]
#[cbor(index_only)]
#[non_exhaustive]
pub enum ParentClose {
    /// The child is asked to cancel.
    #[default]
    #[n(0)]
    Cancel,
    /// The child is terminated.
    #[n(1)]
    Terminate,
    /// The child lives on.
    #[n(2)]
    Abandon,
}

/// Whether a workflow id may be used again after its last run closed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Encode, Decode)]
#[cbor(index_only)]
#[non_exhaustive]
pub enum Reuse {
    /// Yes.
    #[default]
    #[n(0)]
    Allow,
    /// Only if that run did not complete.
    #[n(1)]
    AllowUnlessCompleted,
    /// No.
    #[n(2)]
    Refuse,
}

/// What a start does if a run of that workflow id is open.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Encode, Decode)]
#[cbor(index_only)]
#[non_exhaustive]
pub enum Conflict {
    /// It is refused, naming the open run.
    #[default]
    #[n(0)]
    Refuse,
    /// It answers with the open run.
    #[n(1)]
    UseExisting,
    /// It terminates the open run and takes its place.
    #[n(2)]
    TerminateExisting,
}
