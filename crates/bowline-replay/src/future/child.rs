//! A child is started.

use bowline_core::{ChildSpec, Command, EventId, Payload, RunId};

use super::{Ask, mixed_up};
use crate::{
    Ended,
    random::run_id,
    run::{End, NOTHING, Run, What},
};

#[expect(private_interfaces, reason = "nobody outside can name this trait, or call it")]
impl Ask for ChildSpec {
    type Output = Result<Option<Payload>, Ended>;

    fn ask(mut self: Box<Self>, run: &mut Run, detached: bool) -> EventId {
        if let Some(deadline) = run.deadline().filter(|_| !detached) {
            self.deadline = self.deadline.into_iter().chain([deadline]).min();
        }
        let name = self.name.clone();
        let number = run.ask(Command::StartChild(self, RunId::default()));
        if number == NOTHING {
            return NOTHING;
        }
        run.asking.set_run(run_id(run.id, number));
        run.enlist(number, What::Child, name, detached);
        number
    }

    fn output(end: End) -> Self::Output {
        match end {
            End::Child(result) => result,
            other => mixed_up(&other),
        }
    }
}
