//! Which code runs right now: from its first poll to its drop, or to the death of its process.

use std::sync::Arc;

use bowline_core::{EventId, RunId};
use bowline_engine::worker::activity::ActivityContext;

use super::Observer;
use crate::process::Life;

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
        ctx: &ActivityContext,
        beside: bool,
    ) -> Runs {
        let (run, activity, attempt) = (ctx.info().run, ctx.info().activity, ctx.info().attempt);
        self.tell_of(run, |run| {
            let what = if beside { "something beside " } else { "" };
            format!("{life} begins {what}activity {activity} of {run}, attempt {attempt}")
        });
        let mut known = self.known.lock();
        known.probes += 1;
        let number = known.probes;
        known.begun.insert((run, activity, attempt));
        known.running.insert(number, Probe { life, run, activity, attempt, beside });
        drop(known);
        self.look();
        Runs { observer: self.clone(), number }
    }

    /// A process is dead: whatever it ran is over.
    pub(crate) fn killed(&self, life: Life) {
        self.goes_wrong(|| format!("{life} is killed"));
        self.known.lock().running.retain(|_, probe| probe.life != life);
    }
}

impl Drop for Runs {
    fn drop(&mut self) {
        let mut known = self.observer.known.lock();
        // A dead process drops what it had, and it was over before.
        let Some(probe) = known.running.remove(&self.number) else { return };
        let Probe { life, run, activity, attempt, beside } = probe;
        if !beside {
            let step = known.trace.facts();
            known.ended.insert((run, activity), step);
        }
        drop(known);
        self.observer.tell_of(run, |run| {
            let what = if beside { "something beside " } else { "" };
            format!("{life}: {what}activity {activity} of {run}, attempt {attempt}, has ended")
        });
    }
}
