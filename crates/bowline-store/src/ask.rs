//! Questions outside history: queries, waits for updates, control across members.

use bowline_core::{AskId, Epoch, Failure, Name, Payload, RunId, Time};

/// A question.
#[derive(Clone, Debug)]
pub struct Ask {
    /// Its id.
    pub id: AskId,
    /// Who should answer.
    pub to: AskTarget,
    /// What is asked.
    pub body: AskBody,
    /// When nobody waits for the answer any more.
    pub deadline: Time,
}

/// Who should answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AskTarget {
    /// This member.
    Member(Epoch),
    /// Whichever member holds this run; any member, if none does.
    Run(RunId),
}

/// What is asked.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum AskBody {
    /// The value of a query.
    Query {
        /// Which.
        name: Name,
        /// What it carries.
        input: Option<Payload>,
    },
    /// Something that one member's engine asks of another.
    Control(Payload),
}

/// An answer.
#[derive(Clone, Debug, PartialEq)]
pub struct Reply {
    /// The question.
    pub id: AskId,
    /// The answer, or why there is none.
    pub answer: Result<Option<Payload>, Failure>,
}

/// A question that waits for this member.
#[derive(Clone, Debug)]
pub struct Pending {
    /// The question.
    pub ask: Ask,
}
