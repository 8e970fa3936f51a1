//! What workflow code holds: the handle through which it asks for everything.
//!
//! A context is cheap to clone and bound to its thread. It is the same for the whole run: in which
//! scope something is asked for is decided by where it is first polled.

mod info;
mod patch;
mod record;

use std::time::Duration;

use bowline_core::{
    ActivitySpec, CancelExternal, Cause, ChildSpec, ContinueAsNew, Failure, Name, Payload,
    SignalExternal, Time,
    planted::{Defect, planted},
};

use crate::{
    Call, Delay, Ended, Scope, Shield, Signals, Updates,
    run::{self, Run, Shared},
};

pub use info::Info;
pub use patch::PATCH;

pub(crate) use patch::patch_of;

/// Workflow code's handle on its run. It stays on its thread:
///
/// ```compile_fail
/// fn crosses_threads<T: Send>() {}
/// crosses_threads::<bowline_replay::Context>();
/// ```
#[derive(Clone)]
pub struct Context {
    shared: Shared,
}

impl Context {
    pub(crate) fn new(shared: Shared) -> Self {
        Self { shared }
    }

    pub(crate) fn shared(&self) -> &Shared {
        &self.shared
    }

    pub(crate) fn with<R>(&self, change: impl FnOnce(&mut Run) -> R) -> R {
        run::with(&self.shared, change)
    }

    /// Whether anything may be asked now; see [`Run::may_ask`].
    pub(crate) fn may_ask(&self) -> bool {
        self.with(|run| run.may_ask())
    }

    /// True while a turn runs.
    pub(crate) fn is_open(&self) -> bool {
        self.shared.try_borrow().is_ok_and(|run| run.open)
    }

    /// An activity.
    pub fn activity(&self, spec: impl Into<Box<ActivitySpec>>) -> Call<ActivitySpec> {
        Call::new(self.clone(), spec)
    }

    /// A timer.
    pub fn timer(&self, after: Duration) -> Call<Delay> {
        Call::new(self.clone(), Delay(after))
    }

    /// A child. Without a workflow id of its own it gets one made of its parent's and its number.
    pub fn child(&self, spec: impl Into<Box<ChildSpec>>) -> Call<ChildSpec> {
        Call::new(self.clone(), spec)
    }

    /// A signal for another run; ends when that run has it.
    pub fn signal_external(&self, signal: SignalExternal) -> Call<SignalExternal> {
        Call::new(self.clone(), signal)
    }

    /// A cancel request for another run; ends when that run has it.
    pub fn cancel_external(&self, cancel: CancelExternal) -> Call<CancelExternal> {
        Call::new(self.clone(), cancel)
    }

    /// The signals of a name. Those that came before anybody asked are kept, in order; all
    /// channels of one name take from the same queue.
    pub fn signals(&self, name: impl Into<Name>) -> Signals {
        Signals::new(self.clone(), name.into())
    }

    /// The updates of a name, in the same way.
    pub fn updates(&self, name: impl Into<Name>) -> Updates {
        Updates::new(self.clone(), name.into())
    }

    /// Answers a query from now on, also when the run is closed; a newer answer to the same name
    /// replaces it. It may look, and must not ask for anything.
    pub fn expose(
        &self,
        name: impl Into<Name>,
        answer: impl Fn(Option<Payload>) -> Result<Option<Payload>, Failure> + 'static,
    ) {
        let (name, answer) = (name.into(), std::rc::Rc::new(answer));
        let replaced = self.with(|run| match run.gone {
            true => None,
            false => run.queries.insert(name, answer.clone()),
        });
        // What it owned may be the user's, and is dropped outside of `with`.
        drop(replaced);
    }

    /// A part of the workflow that is over only when everything inside has stopped.
    pub fn scope<'a, T>(&self, body: impl Future<Output = Result<T, Ended>> + 'a) -> Scope<'a, T> {
        Scope::new(self.clone(), Box::pin(body))
    }

    /// A future that is finished even if nobody waits for it any more.
    pub fn shield<T: 'static>(&self, future: impl Future<Output = T> + 'static) -> Shield<T> {
        Shield::new(self.clone(), Box::pin(future))
    }

    /// Closes the run and goes on as a new one; never resolves. Whatever the body still holds is
    /// dropped; clean-ups and shields are finished first. Signals that were not received go on with
    /// it.
    ///
    /// A shield or a clean-up may ask for it too, for the whole run: what is left of it is dropped,
    /// and so is the body. It comes too late if the run was asked to cancel or its body has
    /// returned: what was decided first stands, and only the shield or clean-up is at its end.
    pub async fn continue_as_new(&self, next: ContinueAsNew) -> std::convert::Infallible {
        self.with(|run| {
            if run.may_ask() {
                run.continued.get_or_insert(Box::new(next));
                if !planted(Defect::ContinueHangs) {
                    run.quit();
                }
            }
        });
        std::future::pending().await
    }

    /// The time of the message that the code is being told of; the same at every replay.
    pub fn now(&self) -> Time {
        self.with(|run| run.now)
    }

    /// Sixty-four random bits, the same at every replay.
    pub fn random(&self) -> u64 {
        self.with(|run| {
            run.may_ask();
            run.random.next()
        })
    }

    /// A random uuid, the same at every replay.
    pub fn uuid(&self) -> u128 {
        self.with(|run| {
            run.may_ask();
            run.random.uuid()
        })
    }

    /// Why the run was asked to cancel, if it was.
    pub fn cause(&self) -> Option<Cause> {
        self.with(|run| run.cancel.clone())
    }
}
