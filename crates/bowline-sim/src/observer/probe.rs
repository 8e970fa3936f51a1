//! Which code runs right now: from its first poll to its drop, or to the death of its process.

use std::sync::Arc;

use bowline_core::{EventId, RunId};
use bowline_engine::worker::activity::{ActivityContext, Assignment, Passing, Probe as Points};

use super::Observer;
use crate::{far::FIRST, process::Life};

/// Code that runs.
#[derive(Clone, Debug)]
pub(super) struct Probe {
    pub(super) life: Life,
    pub(super) run: RunId,
    pub(super) activity: EventId,
    pub(super) attempt: u32,
    pub(super) beside: bool,
}

/// As long as this is there, the code runs.
pub(crate) struct Runs {
    observer: Arc<Observer>,
    number: u64,
}

impl Observer {
    /// The code of an attempt is polled for the first time.
    pub(crate) fn begins(
        self: &Arc<Self>,
        life: Life,
        one: impl Into<Attempt>,
        beside: bool,
    ) -> Runs {
        let Attempt(run, activity, attempt) = one.into();
        self.tell_of(run, |run| {
            let what = if beside { "something beside " } else { "" };
            format!("{life} begins {what}activity {activity} of {run}, attempt {attempt}")
        });
        let mut known = self.known.lock();
        known.probes += 1;
        let number = known.probes;
        known.begun.insert((run, activity, attempt), life);
        known.reach("code begins");
        known.running.insert(number, Probe { life, run, activity, attempt, beside });
        drop(known);
        self.look();
        Runs { observer: self.clone(), number }
    }

    /// The code of an attempt is about to answer.
    pub(crate) fn returns(&self, one: impl Into<Attempt>, completed: bool) {
        let Attempt(run, activity, attempt) = one.into();
        if completed {
            self.known.lock().completed.insert((run, activity, attempt));
        }
    }

    /// A process is dead: whatever it ran is over.
    pub(crate) fn killed(&self, life: Life) {
        let kind = if life.member < FIRST { "a member is killed" } else { "a worker vanishes" };
        self.goes_wrong(kind, || format!("{life} is killed"));
        let mut known = self.known.lock();
        known.running.retain(|_, probe| probe.life != life);
        known.intruded.retain(|_, own| *own != life);
        known.dead.insert(life);
    }
}

/// Which attempt of which activity of which run.
pub(crate) struct Attempt(RunId, EventId, u32);

impl From<&ActivityContext> for Attempt {
    fn from(ctx: &ActivityContext) -> Self {
        Self(ctx.info().run, ctx.info().activity, ctx.info().attempt)
    }
}

impl From<(RunId, EventId, u32)> for Attempt {
    fn from((run, activity, attempt): (RunId, EventId, u32)) -> Self {
        Self(run, activity, attempt)
    }
}

/// Sees attempts being told to stop, in one process.
pub(crate) struct Sees(pub(crate) Arc<Observer>);

impl Points for Sees {
    fn passes(&self, attempt: &Assignment, at: Passing) -> bool {
        let one = (attempt.run, attempt.activity, attempt.attempt);
        let mut known = self.0.known.lock();
        match at {
            // What is told here is written later: the worker has it from this moment on.
            Passing::BeforeDelivered => drop(known.delivered.insert(one)),
            Passing::BeforeObserved => drop(known.observed.insert(one)),
            _ => {}
        }
        true
    }
}

impl Drop for Runs {
    fn drop(&mut self) {
        let mut known = self.observer.known.lock();
        // A dead process drops what it had, and it was over before.
        let Some(probe) = known.running.remove(&self.number) else { return };
        let Probe { life, run, activity, attempt, beside } = probe;
        known.rested.insert(run, self.observer.now());
        if !beside {
            let step = known.trace.facts();
            known.ended.insert((run, activity, attempt), step);
        }
        drop(known);
        self.observer.tell_of(run, |run| {
            let what = if beside { "something beside " } else { "" };
            format!("{life}: {what}activity {activity} of {run}, attempt {attempt}, has ended")
        });
    }
}
