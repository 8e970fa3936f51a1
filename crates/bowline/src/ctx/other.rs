//! Another run, seen from inside a workflow.

use bowline_engine::core::{CancelExternal, External, ExternalRefusal, Name, SignalExternal};

use super::{Ctx, failure};
use crate::{Ended, Give, Outcome, Signal, ended::broken};

/// Another run, by its workflow id; see [`Ctx::run`].
#[derive(Clone)]
pub struct OtherRun {
    ctx: Ctx,
    workflow_id: String,
}

impl OtherRun {
    pub(crate) fn new(ctx: Ctx, workflow_id: String) -> Self {
        Self { ctx, workflow_id }
    }

    fn target(&self) -> External {
        let workflow_id = self.workflow_id.as_str().into();
        External { workflow_id, ..External::default() }
    }

    /// Sends it a signal, and returns when that run has it. Fails with the kind `NoSuchRun` if no
    /// run of that id is open.
    pub async fn signal<T>(&self, signal: Signal<T>, value: impl Give<T>) -> Outcome<()> {
        let input = value.give().map_err(broken)?;
        let name = Name::from(signal.name());
        let signal = SignalExternal { target: self.target(), name, input, ..Default::default() };
        self.answer(self.ctx.inner().signal_external(signal).await)
    }

    /// Asks it to cancel, with clean-up, and returns when that run has the request. Fails with the
    /// kind `NoSuchRun` if no run of that id is open.
    pub async fn cancel(&self, reason: impl Into<String>) -> Outcome<()> {
        let reason = reason.into();
        let cancel = CancelExternal { target: self.target(), reason, ..Default::default() };
        self.answer(self.ctx.inner().cancel_external(cancel).await)
    }

    fn answer(&self, answer: Result<(), ExternalRefusal>) -> Outcome<()> {
        answer.map_err(|refusal| {
            let id = &self.workflow_id;
            let (why, kind) = match refusal {
                ExternalRefusal::Full => {
                    let why = format!("the run of {id:?} has too many signals to receive first");
                    (why, "TooManySignals")
                }
                _ => (format!("there is no open run of {id:?}"), "NoSuchRun"),
            };
            Ended::Failed(failure(why, kind))
        })
    }
}
