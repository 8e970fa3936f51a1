//! What the run knows of a scope.

use std::{collections::BTreeSet, task::Waker};

use bowline_core::{Cause, Code, EventId, ScopeId, Time};

use super::{Item, Stopped};
use crate::{Ended, LocalFuture, reason::chained, run::Numbers};

/// What runs after a scope that did not end well.
pub(crate) type Cleanup = Box<dyn FnOnce(Stopped) -> LocalFuture<'static, Result<(), Ended>>>;

/// A scope.
pub(crate) struct Record {
    pub(crate) parent: ScopeId,
    pub(crate) name: String,
    /// Outer scopes wait for it, and do not cancel it.
    pub(crate) shield: bool,
    /// What is left of a shield, while somebody else polls it.
    pub(crate) rest: Option<LocalFuture<'static, Result<(), Ended>>>,
    /// What is polled in it, a shield or a clean-up, went on as a new run.
    pub(crate) quits: bool,
    /// When it is to be over, by its own deadline or an outer one.
    pub(crate) deadline: Option<Time>,
    /// The timer of its own deadline.
    pub(crate) alarm: Option<EventId>,
    pub(crate) phase: Phase,
    /// What was started in it and has not stopped.
    pub(crate) members: Numbers,
    /// The activities among those, without the cancelled ones.
    pub(crate) calls: Numbers,
    /// Scopes that were opened in it and are not over.
    pub(crate) inside: BTreeSet<ScopeId>,
    /// It, or a scope around it, wants to know what became of everything.
    pub(crate) remembers: bool,
    pub(crate) items: Vec<(Fate, Item)>,
    pub(crate) cleanup: Option<Cleanup>,
    /// It cleans up after itself.
    pub(crate) cleans: bool,
    /// Somebody has its future.
    pub(crate) held: bool,
    pub(crate) waker: Option<Waker>,
}

/// How far a scope has come.
pub(crate) enum Phase {
    /// Its body runs.
    Open,
    /// Its body is over, or is to be dropped; what is left inside was told to stop.
    Stopping(Why),
    /// Its body was done and everything has stopped: its holder may have the value.
    Settled,
    /// The clean-up runs.
    Cleaning(Box<Leaving>),
    /// The clean-up is over; what it left was told to stop.
    Closing(Box<Leaving>, Option<Ended>),
    /// Over; its holder has not looked yet. True if its clean-up failed.
    Over(Box<Stopped>, bool),
}

/// Why a scope was left.
pub(crate) enum Why {
    /// Its body was done.
    Done,
    /// Anything else.
    Ended(Box<Leaving>),
}

/// Why a scope was left before it was done.
#[derive(Clone)]
pub(crate) struct Leaving {
    /// For the one who waits.
    pub(crate) ended: Ended,
    /// For history.
    pub(crate) cause: Cause,
    /// For what is inside.
    pub(crate) inner: Cause,
}

/// What became of something inside a scope.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    Completed,
    Cancelled,
    Abandoned,
}

impl From<Leaving> for Why {
    fn from(leaving: Leaving) -> Self {
        Self::Ended(Box::new(leaving))
    }
}

impl Leaving {
    /// Cancelled, for a reason that holds for what is inside as well.
    pub(crate) fn passing_on(cause: Cause) -> Self {
        Self { ended: Ended::Cancelled(cause.clone()), inner: cause.clone(), cause }
    }

    /// Cancelled from outside: what is inside is cancelled because this scope is left.
    pub(crate) fn cancelled(cause: Cause, name: &str) -> Self {
        let inner = chained(exit(name), Some(&cause));
        Self { ended: Ended::Cancelled(cause.clone()), cause, inner }
    }

    /// Its body ended without a value.
    pub(crate) fn ended(ended: Ended, name: &str) -> Self {
        let Ended::Cancelled(cause) = &ended else {
            let text = match name {
                "" => ended.to_string(),
                name => format!("{name} {ended}"),
            };
            let cause = Cause::new(Code::ScopeExit).detail(text);
            return Self { ended, inner: cause.clone(), cause };
        };
        let cause = cause.clone();
        Self::cancelled(cause, name)
    }
}

/// A scope of that name is left.
pub(crate) fn exit(name: &str) -> Cause {
    Cause::new(Code::ScopeExit).detail(name)
}

impl Record {
    /// Its body runs: it waits for nothing that is inside.
    pub(crate) fn is_open(&self) -> bool {
        matches!(self.phase, Phase::Open)
    }

    /// Its body or its clean-up runs, so that somebody polls what is inside.
    pub(crate) fn is_polled(&self) -> bool {
        matches!(self.phase, Phase::Open | Phase::Cleaning(_))
    }

    pub(crate) fn root() -> Self {
        Self {
            parent: ScopeId(0),
            name: String::new(),
            shield: false,
            rest: None,
            quits: false,
            deadline: None,
            alarm: None,
            phase: Phase::Open,
            members: Numbers::default(),
            calls: Numbers::default(),
            inside: BTreeSet::new(),
            remembers: false,
            items: Vec::new(),
            cleanup: None,
            cleans: false,
            held: true,
            waker: None,
        }
    }

    /// A clean-up runs or is still to be run.
    pub(crate) fn owes(&self) -> bool {
        match &self.phase {
            Phase::Stopping(Why::Ended(_)) => self.cleanup.is_some(),
            Phase::Cleaning(_) | Phase::Closing(..) => true,
            _ => false,
        }
    }

    /// A run that is cancelled need not wait for it: it is over, or outlives cancels by design.
    pub(crate) fn is_left_alone(&self) -> bool {
        self.shield || matches!(self.phase, Phase::Over(..))
    }

    /// Keeps what became of something inside, if anybody wants to know.
    pub(crate) fn remember(&mut self, fate: Fate, item: Item) {
        if self.remembers {
            self.items.push((fate, item));
        }
    }

    /// What the clean-up is told.
    pub(crate) fn stopped(&self, why: Ended) -> Stopped {
        let mut items = self.items.clone();
        items.sort_by_key(|(_, item)| item.number);
        let mut stopped = Stopped::new(why);
        for (fate, item) in items {
            match fate {
                Fate::Completed => stopped.completed.push(item),
                Fate::Cancelled => stopped.cancelled.push(item),
                Fate::Abandoned => stopped.abandoned.push(item),
            }
        }
        stopped
    }
}
