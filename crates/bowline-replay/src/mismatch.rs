//! The code does not do what history says it did: where, and both sides.

use std::fmt;

use bowline_core::{EventId, Name};

/// How wide a hint is written.
const COLUMNS: usize = 76;

/// The code does not do what history says it did. The run stays as it is; the replay is dead.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Mismatch {
    /// Where in history.
    pub event: EventId,
    /// The `TurnCompleted` of the turn in question, if it is about one.
    pub turn: Option<EventId>,
    /// What differs first: the how-manyth event that the turn asked for, or step of a scope, from
    /// 1; or 0.
    pub decision: usize,
    /// What differs first, for cancels and work that is let go of: what is on one side only.
    pub target: Option<(EventId, Name)>,
    /// In which way.
    pub difference: Difference,
    /// What history says.
    pub recorded: String,
    /// What the code asks for.
    pub asked: String,
}

/// In which way code and history differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Difference {
    /// The code asks for something else.
    Other,
    /// The code asks for more.
    More,
    /// The code makes the same call, and gives it something else.
    Input,
    /// The code asks for less.
    Less,
    /// The code cancels other activities.
    Cancels,
    /// The code lets go of other things.
    Detached,
    /// The code refuses other updates.
    Refused,
    /// The code opens or leaves other scopes.
    Scopes,
    /// History tells of something that the code never asked for, or that is over.
    Unknown,
    /// The events cannot follow each other like this. That is not the code's fault.
    Disorder,
}

impl Mismatch {
    pub(crate) fn new(
        event: EventId,
        difference: Difference,
        recorded: impl Into<String>,
        asked: impl Into<String>,
    ) -> Self {
        let (recorded, asked) = (recorded.into(), asked.into());
        let (turn, target) = (None, None);
        Self { event, turn, decision: 0, target, difference, recorded, asked }
    }

    /// What to look for.
    pub fn hint(&self) -> &'static str {
        match self.difference {
            Difference::Cancels | Difference::Detached | Difference::Scopes => {
                "a race has another winner, or something is dropped earlier or later than it was. \
                 Look for `tokio::select!` without `biased` (use the select of this crate), for \
                 iteration over a HashMap, and for clocks or random numbers that are not the \
                 context's. If the code was changed, ask `patched` which way to go"
            }
            Difference::Input => {
                "the call is the same, what it is given is not: its result would be told of \
                 another input. Look for iteration over a HashMap, and for clocks or random \
                 numbers that are not the context's. If the input was changed on purpose, say \
                 `.mended()` at the call, or ask `patched` which way to go"
            }
            Difference::Disorder => {
                "these events are not in the order of a history: they were fed wrongly, or what \
                 stored them is broken"
            }
            _ => {
                "if the code was changed, ask `patched` which way to go. Otherwise look for \
                 choices that are not the same each time: `tokio::select!` without `biased` (use \
                 the select of this crate), iteration over a HashMap, clocks or random numbers \
                 that are not the context's"
            }
        }
    }
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "the code does not do what history says it did")?;
        write!(f, "  where:    event {}", self.event)?;
        if let Some(turn) = self.turn {
            write!(f, ", the turn completed by event {turn}")?;
        }
        match &self.target {
            Some((number, name)) => write!(f, ", first number {number} {name:?}")?,
            None if self.decision > 0 => write!(f, ", decision {}", self.decision)?,
            None => {}
        }
        writeln!(f)?;
        writeln!(f, "  recorded: {}", self.recorded)?;
        writeln!(f, "  asked:    {}", self.asked)?;
        f.write_str("  hint:    ")?;
        wrapped(self.hint(), f)
    }
}

/// Words in lines that a terminal holds, below each other.
fn wrapped(text: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let mut column = 0;
    for word in text.split(' ') {
        column += word.len() + 1;
        if column > COLUMNS {
            column = word.len() + 1;
            f.write_str("\n           ")?;
        }
        write!(f, " {word}")?;
    }
    Ok(())
}

impl std::error::Error for Mismatch {}
