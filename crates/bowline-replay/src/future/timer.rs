//! A timer is set.

use std::time::Duration;

use bowline_core::{Cause, Command, EventId, Name, Span, TimerId};

use super::{Ask, mixed_up};
use crate::run::{End, Run, What};

/// A timer that rings after this long. Ends with `Err` if it was cancelled instead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delay(pub Duration);

#[expect(private_interfaces, reason = "nobody outside can name this trait, or call it")]
impl Ask for Delay {
    type Output = Result<(), Cause>;

    fn ask(self: Box<Self>, run: &mut Run, detached: bool) -> EventId {
        let number = run.ask(Command::StartTimer(TimerId::default(), Span(self.0)));
        run.enlist(number, What::Timer, Name::default(), detached);
        number
    }

    fn output(end: End) -> Result<(), Cause> {
        match end {
            End::Timer(result) => result,
            other => mixed_up(&other),
        }
    }
}
