//! An activity is called.

use bowline_core::{ActivitySpec, Command, EventId, Outcome};

use super::{Ask, mixed_up};
use crate::run::{End, Run, What};

#[expect(private_interfaces, reason = "nobody outside can name this trait, or call it")]
impl Ask for ActivitySpec {
    type Output = Outcome;

    fn ask(mut self: Box<Self>, run: &mut Run, detached: bool) -> EventId {
        // Known to the code as its remaining time, and not a limit of its own: a deadline is a
        // cancel, after which the code may stop in its own time.
        let outer = run.deadline().filter(|_| !detached);
        self.deadline = self.deadline.into_iter().chain(outer).min();
        let name = self.name.clone();
        let number = run.ask(Command::ScheduleActivity(self));
        run.enlist(number, What::Activity, name, detached);
        number
    }

    fn output(end: End) -> Outcome {
        match end {
            End::Activity(outcome) => outcome,
            other => mixed_up(&other),
        }
    }
}
