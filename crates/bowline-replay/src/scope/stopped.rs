//! What a scope that did not end well leaves behind, for whoever cleans up.

use bowline_core::{EventId, Name, Payload};

use crate::Ended;

/// A scope has stopped without a value: why, and what had become of everything inside.
///
/// The lists are in the order of scheduling, and filled for scopes with a clean-up or a deadline.
/// They hold what nested scopes did as well, unless those have cleaned up after themselves.
#[derive(Clone, Debug, PartialEq)]
pub struct Stopped {
    /// Why it stopped.
    pub why: Ended,
    /// Activities and children that had completed, late successes included.
    pub completed: Vec<Item>,
    /// Activities and children that were cancelled.
    pub cancelled: Vec<Item>,
    /// Activities that would not stop and were given up.
    pub abandoned: Vec<Item>,
}

/// An activity or a child inside a scope.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Item {
    /// The activity or workflow.
    pub name: Name,
    /// Its number.
    pub number: EventId,
    /// Its result, or what it left behind.
    pub result: Option<Payload>,
}

impl Stopped {
    /// Stopped for this reason, with nothing known of what was inside.
    pub(crate) fn new(why: Ended) -> Self {
        let none = Vec::new;
        Self { why, completed: none(), cancelled: none(), abandoned: none() }
    }
}

impl From<Stopped> for Ended {
    fn from(stopped: Stopped) -> Self {
        stopped.why
    }
}
