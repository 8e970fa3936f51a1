//! Where a run stands, in one word.

use std::fmt;

use minicbor::{Decode, Encode};

/// Where a run stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Encode, Decode)]
#[cbor(index_only)]
#[non_exhaustive]
pub enum Status {
    /// Open.
    #[default]
    #[n(0)]
    Running,
    /// Open, and asked to cancel.
    #[n(1)]
    Cancelling,
    /// Closed with a result.
    #[n(2)]
    Completed,
    /// Closed with a failure.
    #[n(3)]
    Failed,
    /// Closed by a cancel, after its clean-up.
    #[n(4)]
    Cancelled,
    /// Closed because its time was up.
    #[n(5)]
    TimedOut,
    /// Closed from outside.
    #[n(6)]
    Terminated,
    /// Closed, and goes on as a new run.
    #[n(7)]
    ContinuedAsNew,
}

impl Status {
    /// Every status, in the order of their numbers.
    pub const ALL: [Self; 8] = [
        Self::Running,
        Self::Cancelling,
        Self::Completed,
        Self::Failed,
        Self::Cancelled,
        Self::TimedOut,
        Self::Terminated,
        Self::ContinuedAsNew,
    ];

    /// True until the closing event.
    pub fn is_open(self) -> bool {
        matches!(self, Self::Running | Self::Cancelling)
    }

    /// The stable word for it, the same at every door.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Cancelling => "cancelling",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
            Self::TimedOut => "timed_out",
            Self::Terminated => "terminated",
            Self::ContinuedAsNew => "continued_as_new",
        }
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
