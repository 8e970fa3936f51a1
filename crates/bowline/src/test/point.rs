//! Where something is to go wrong, and what.

use std::fmt;

use bowline_engine::core::Name;

use crate::{Activity, Phase, ctx::assert_path, registry::Registry};

/// A point that runs pass, where you can make something go wrong: before or after a [`Step`] or a
/// [`Phase`] of a cancel, of any activity or of one.
///
/// ```
/// use bowline::{Phase, test::{Point, Step}};
///
/// # async fn charge(order: String) -> bowline::Result<String> { Ok(order) }
/// let untold = Point::before(Phase::Observed).of(charge);
/// let done_and_forgotten = Point::before(Step::Settle).of(charge);
/// let third_turn = Point::after(Step::Commit).nth(3);
/// assert_eq!(third_turn.to_string(), "the third time after Step::Commit");
/// # let _ = (untold, done_and_forgotten);
/// ```
#[derive(Clone, Debug)]
#[must_use = "give it to `once`"]
pub struct Point {
    side: Side,
    step: Step,
    activity: Option<Subject>,
    nth: u32,
}

/// One thing that happens to a run. A point counts each time it happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Step {
    /// A run is started, or sent a message: it enters the store.
    Post,
    /// The worker takes work from the store: runs that wait for a turn, activities that wait for a
    /// slot.
    Claim,
    /// A turn's decision is written. With [`Point::of`], one that schedules that activity.
    Commit,
    /// An attempt begins: before its code is first polled, or after it has reached its first await.
    Begin,
    /// An attempt has ended, and its end is written. Before this step, everything the code did is
    /// done and nobody knows.
    Settle,
    /// Timers that are due fire.
    Fire,
    /// The worker reports what its attempts do, and is told what is cancelled.
    Renew,
    /// A cancel reaches a phase: [`Requested`](Phase::Requested), [`Decided`](Phase::Decided),
    /// [`Delivered`](Phase::Delivered), [`Observed`](Phase::Observed) or
    /// [`Stopped`](Phase::Stopped), which is the same as [`Step::Settle`].
    Phase(Phase),
}

impl From<Phase> for Step {
    fn from(phase: Phase) -> Self {
        match phase {
            Phase::Stopped => Self::Settle,
            phase => Self::Phase(phase),
        }
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Phase(phase) => write!(f, "Phase::{phase:?}"),
            step => write!(f, "Step::{step:?}"),
        }
    }
}

/// What goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fault {
    /// The process dies, from one instruction to the next, and is started again at once. What is in
    /// the store is there; nothing else is. Code that only looks without an await
    /// ([`is_cancelled`](crate::ActivityCtx::is_cancelled)) still runs to its next await, and sees
    /// there that it is not cancelled.
    Crash,
    /// The same, but nobody starts it again: another worker takes over when the lease of the lost
    /// one has run out, 30 seconds later.
    LoseWorker,
    /// The store fails once. Before a step: it is busy, and nothing is done. After it: everything
    /// is done, and the answer is lost, so that the caller cannot know.
    StoreFails,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    Before,
    After,
}

/// An activity by its path: its name is looked up where the program is known.
#[derive(Clone, Copy, Debug)]
struct Subject {
    path: &'static str,
    name: fn(&Registry) -> Result<Name, String>,
}

impl Point {
    /// Just before this step or phase.
    ///
    /// # Panics
    /// For [`Phase::Settled`] and [`Phase::Clean`], which come about by themselves.
    pub fn before(step: impl Into<Step>) -> Self {
        Self::new(Side::Before, step.into())
    }

    /// Just after this step or phase.
    ///
    /// # Panics
    /// For [`Phase::Settled`] and [`Phase::Clean`], which come about by themselves.
    pub fn after(step: impl Into<Step>) -> Self {
        Self::new(Side::After, step.into())
    }

    fn new(side: Side, step: Step) -> Self {
        assert!(
            !matches!(step, Step::Phase(Phase::Settled | Phase::Clean)),
            "nothing passes {step} at one moment: it is what is left when the rest has stopped"
        );
        Self { side, step, activity: None, nth: 1 }
    }

    /// Counts only where this activity is concerned.
    pub fn of<F, M>(self, activity: F) -> Self
    where
        F: Activity<M>,
    {
        const { assert_path::<F>() };
        let _ = activity;
        let name = |registry: &Registry| Ok(registry.activity::<F>()?.name.clone());
        Self { activity: Some(Subject { path: std::any::type_name::<F>(), name }), ..self }
    }

    /// Happens the `nth` time from now on instead of the first, counted from one.
    ///
    /// # Panics
    /// If `nth` is zero.
    pub fn nth(self, nth: u32) -> Self {
        assert!(nth > 0, "times are counted from one");
        Self { nth, ..self }
    }

    pub(super) fn planned(self, fault: Fault, registry: &Registry) -> Result<Planned, String> {
        let has_store =
            !matches!(self.step, Step::Begin | Step::Phase(Phase::Delivered | Phase::Observed));
        if fault == Fault::StoreFails && !has_store {
            return Err(format!("the store takes no part in {}: it cannot fail there", self.step));
        }
        let activity = self.activity.map(|subject| (subject.name)(registry)).transpose()?;
        let text = format!("{fault:?} {self}");
        Ok(Planned { side: self.side, step: self.step, activity, left: self.nth, fault, text })
    }
}

impl fmt::Display for Point {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let side = match self.side {
            Side::Before => "before",
            Side::After => "after",
        };
        match self.nth {
            1 => write!(f, "the first time {side} {}", self.step)?,
            2 => write!(f, "the second time {side} {}", self.step)?,
            3 => write!(f, "the third time {side} {}", self.step)?,
            nth => write!(f, "the {nth}th time {side} {}", self.step)?,
        }
        match self.activity {
            Some(subject) => write!(f, " of `{}`", subject.path),
            None => Ok(()),
        }
    }
}

/// A fault that has not happened yet.
#[derive(Debug)]
pub(super) struct Planned {
    side: Side,
    step: Step,
    activity: Option<Name>,
    left: u32,
    pub(super) fault: Fault,
    pub(super) text: String,
}

impl Planned {
    /// Counts a passing; true if this is the one.
    pub(super) fn is_due(&mut self, side: Side, step: Step, names: &[Name]) -> bool {
        let fits = self.side == side
            && self.step == step
            && self.activity.as_ref().is_none_or(|name| names.contains(name));
        self.left = self.left.saturating_sub(u32::from(fits));
        fits && self.left == 0
    }
}
