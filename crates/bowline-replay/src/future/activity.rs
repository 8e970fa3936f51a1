//! An activity is called.

use std::time::Duration;

use bowline_core::{ActivitySpec, Command, EventId, Outcome, Span, limits};

use super::{Ask, mixed_up};
use crate::run::{End, Run, What};

/// No activity gets less: one that is started in the very moment of its deadline is over soon
/// enough by the deadline itself.
const REMAINING_MIN: Duration = Duration::from_millis(1);

#[expect(private_interfaces, reason = "nobody outside can name this trait, or call it")]
impl Ask for ActivitySpec {
    type Output = Outcome;

    fn ask(mut self, run: &mut Run, detached: bool) -> EventId {
        let deadline = run.deadline().filter(|_| !detached).filter(|deadline| {
            let remaining = deadline.at.since(run.now).clamp(REMAINING_MIN, limits::SPAN_MAX);
            let own = self.timeouts.schedule_to_close.replace(Span(remaining));
            let shorter = own.is_some_and(|own| own.0 <= remaining);
            if shorter {
                self.timeouts.schedule_to_close = own;
            }
            !shorter
        });
        let name = self.name.clone();
        let number = run.ask(Command::ScheduleActivity(Box::new(self)));
        run.enlist(number, What::Activity, name, detached);
        if let Some(deadline) = deadline {
            run.limit(number, deadline.scope);
        }
        number
    }

    fn output(end: End) -> Outcome {
        match end {
            End::Activity(outcome) => outcome,
            other => mixed_up(&other),
        }
    }
}
