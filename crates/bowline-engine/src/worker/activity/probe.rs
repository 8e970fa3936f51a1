//! Somebody who sees attempts pass points, on the spot: how tests let something happen there.

use super::Assignment;

/// The points that an attempt passes on its way from a cancel to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Passing {
    /// A cancel has come to the worker, and the code has not been told.
    BeforeDelivered,
    /// The code's token has fired, and the code has not been polled since.
    Delivered,
    /// The code looks, and does not know yet.
    BeforeObserved,
    /// The code is about to go on with what it knows.
    Observed,
}

/// Sees attempts pass points.
pub trait Probe: Send + Sync {
    /// An attempt passes a point. False if nothing of it may go on from here: that is how an
    /// engine is killed in the middle of it.
    fn passes(&self, attempt: &Assignment, at: Passing) -> bool;

    /// Something begins that takes real time: a child process. It is over when what this gives is
    /// dropped. Of interest to whoever keeps a virtual clock.
    fn begins_real(&self) -> Option<Box<dyn Send>> {
        None
    }
}
