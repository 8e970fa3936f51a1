//! Every reason for which the rules say no.

use std::fmt;

use crate::{EventId, TurnFault, limits};

/// Why something was refused. Nothing has changed.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Refusal {
    /// The run is closed.
    Closed,
    /// There is no turn that this answer belongs to: it was answered, timed out or taken back.
    NoSuchTurn,
    /// A command of the turn is not acceptable. The turn must be failed with this fault.
    Command(TurnFault, String),
    /// The run wants to close while messages wait that its code has not seen.
    Unhandled,
    /// There is no such activity, timer or child, or it is over.
    NoSuchTarget(EventId),
    /// The run's rules do not know this.
    NotUnderTheseRules(&'static str),
    /// Something given from outside is not acceptable: what, and why.
    Invalid(&'static str, String),
    /// Too many updates are open, or there were too many in all.
    TooManyUpdates,
    /// The run has had as many signals as one may have.
    TooManySignals(u64),
    /// Too many signals wait that the run's code has not received: how many, and their bytes.
    TooManyUnread(u64, u64),
    /// History cannot be cut at this event.
    CannotFork(EventId, &'static str),
}

impl Refusal {
    /// A stable word for programs, the same at every door.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Closed => "run_closed",
            Self::NoSuchTurn => "no_such_turn",
            Self::Command(..) => "bad_command",
            Self::Unhandled => "unhandled_messages",
            Self::NoSuchTarget(_) => "no_such_target",
            Self::NotUnderTheseRules(_) => "not_under_these_rules",
            Self::Invalid(..) => "invalid",
            Self::TooManyUpdates => "too_many_updates",
            Self::TooManySignals(_) => "too_many_signals",
            Self::TooManyUnread(..) => "too_many_unread",
            Self::CannotFork(..) => "cannot_fork",
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Closed => f.write_str("the run is closed"),
            Self::NoSuchTurn => f.write_str("no such turn: it was answered, or is over"),
            Self::Command(fault, why) => write!(f, "{fault:?}: {why}"),
            Self::Unhandled => f.write_str("messages wait that the code has not seen"),
            Self::NoSuchTarget(id) => write!(f, "nothing with number {id} is open"),
            Self::NotUnderTheseRules(what) => write!(f, "this run's rules do not know {what}"),
            Self::Invalid(what, why) => write!(f, "{what} is not acceptable: {why}"),
            Self::TooManyUpdates => f.write_str("too many updates"),
            Self::TooManySignals(limit) => {
                write!(f, "the run has had {limit} signals, and may have no more")
            }
            Self::TooManyUnread(count, bytes) => write!(
                f,
                "{count} signals wait that the run's code has not received, and with this one they \
                 take {bytes} bytes: at most {} may wait, and {} bytes",
                limits::UNREAD_MAX,
                limits::UNREAD_BYTES_MAX
            ),
            Self::CannotFork(id, why) => write!(f, "history cannot be cut at event {id}: {why}"),
        }
    }
}

impl std::error::Error for Refusal {}
