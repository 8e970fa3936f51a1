//! Another run is sent a signal, or asked to cancel.

use bowline_core::{CancelExternal, Command, EventId, ExternalRefusal, Name, SignalExternal};

use super::{Ask, mixed_up};
use crate::run::{End, Run, What};

#[expect(private_interfaces, reason = "nobody outside can name this trait, or call it")]
impl Ask for SignalExternal {
    type Output = Result<(), ExternalRefusal>;

    fn ask(self: Box<Self>, run: &mut Run, detached: bool) -> EventId {
        let name = self.name.clone();
        let number = run.ask(Command::SignalExternal(self));
        run.enlist(number, What::External, name, detached);
        number
    }

    fn output(end: End) -> Self::Output {
        answer(end)
    }
}

#[expect(private_interfaces, reason = "nobody outside can name this trait, or call it")]
impl Ask for CancelExternal {
    type Output = Result<(), ExternalRefusal>;

    fn ask(self: Box<Self>, run: &mut Run, detached: bool) -> EventId {
        let number = run.ask(Command::CancelExternal(self));
        run.enlist(number, What::External, Name::default(), detached);
        number
    }

    fn output(end: End) -> Self::Output {
        answer(end)
    }
}

fn answer(end: End) -> Result<(), ExternalRefusal> {
    match end {
        End::External(result) => result,
        other => mixed_up(&other),
    }
}
