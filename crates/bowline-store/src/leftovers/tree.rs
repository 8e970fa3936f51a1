//! What a walk through a subtree asks of each run, whoever reads the rows.

use bowline_core::{EventId, ParentClose, RunId};

use crate::Head;

/// A fork, and the number up to which children of the old run are its own.
pub type Heir = (RunId, EventId);

/// What a subtree begins with.
#[derive(Clone, Copy, Debug)]
pub enum Top {
    /// All runs of the chain with this first one.
    Chain(RunId),
    /// This run, and not how its chain went on.
    Run(RunId),
}

impl Top {
    /// Whether a run is at the top itself: its parent is none of the subtree.
    pub fn is(self, head: &Head) -> bool {
        match self {
            Self::Chain(first) => head.first_run == first,
            Self::Run(id) => head.run == id,
        }
    }
}

/// How a run stands to the top.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Elsewhere, or below one that was left alone.
    Outside,
    /// Of the subtree.
    Inside,
    /// Inside, and left alone.
    Alone,
}

impl Verdict {
    /// How a run stands whose parent stands so.
    pub fn below(self, left_alone: bool) -> Self {
        match self {
            Self::Inside if left_alone => Self::Alone,
            Self::Inside => Self::Inside,
            Self::Outside | Self::Alone => Self::Outside,
        }
    }
}

/// Puts a run below the fork through which it was found; false if that has not inherited it.
pub fn inherit(head: &mut Head, heir: Option<Heir>) -> bool {
    let Some((fork, cut)) = heir else { return true };
    match &mut head.parent {
        Some((parent, event)) if *event <= cut => {
            *parent = fork;
            true
        }
        _ => false,
    }
}

/// What becomes of a run when its parent closes; what a closed parent had let go of is left.
pub fn policy(close: ParentClose, is_left: bool) -> ParentClose {
    if is_left { ParentClose::Abandon } else { close }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_below_one_that_was_left_alone_is_outside() {
        assert_eq!(Verdict::Inside.below(false), Verdict::Inside);
        assert_eq!(Verdict::Inside.below(true), Verdict::Alone);
        assert_eq!(Verdict::Alone.below(false), Verdict::Outside);
        assert_eq!(Verdict::Outside.below(true), Verdict::Outside);
    }
}
