//! What the test and the process that it tests have in common: rows, faults to come, and whether
//! the process lives.

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use bowline_engine::{
    Engine,
    core::{EventId, Name, RunId},
    store::{Commit, memory::MemoryStore},
    worker::activity::{Assignment, Passing, Probe},
};
use parking_lot::Mutex;
use tokio::sync::Notify;

use super::{
    point::{Fault, Planned, Side, Step},
    real::RealTime,
};
use crate::Phase;

/// One world for one test.
#[derive(Default)]
pub(super) struct World {
    pub(super) memory: MemoryStore,
    faults: Mutex<Vec<Planned>>,
    /// Which activity has which name: what cancels and ends are recognised by.
    names: Mutex<BTreeMap<(RunId, EventId), Name>>,
    /// How many attempts of each activity have begun.
    begun: Mutex<BTreeMap<Name, u32>>,
    /// The process, while it lives.
    process: Mutex<Option<Engine>>,
    /// How often a process has died: what belongs to an earlier life is dead.
    life: AtomicU64,
    fate: Mutex<Option<Fault>>,
    pub(super) died: Notify,
}

/// What somebody passes: a step, and the activities that it is about.
pub(super) type Passed = (Step, Vec<Name>);

impl World {
    pub(super) fn plan(&self, planned: Planned) {
        self.faults.lock().push(planned);
    }

    /// What was planned and never happened.
    pub(super) fn unmet(&self) -> Vec<String> {
        self.faults.lock().iter().map(|planned| planned.text.clone()).collect()
    }

    /// Somebody passes a point: what goes wrong there, if anything does.
    fn fault(&self, side: Side, passed: &[Passed]) -> Option<Fault> {
        let mut faults = self.faults.lock();
        let mut due = None;
        for (step, names) in passed {
            faults.retain_mut(|planned| {
                // One thing at a time: what is due at the same moment happens the next time.
                let happens = planned.is_due(side, *step, names) && due.is_none();
                due = due.or(happens.then_some(planned.fault));
                !happens
            });
        }
        due
    }

    /// The same, where the store may fail: the error is for whoever asked.
    pub(super) fn store_passes(&self, side: Side, passed: &[Passed]) -> Result<(), Trouble> {
        match self.fault(side, passed) {
            None => Ok(()),
            Some(Fault::StoreFails) => Err(Trouble::Fails),
            Some(fault) => {
                self.die(fault);
                Err(Trouble::Died)
            }
        }
    }

    /// The same for one activity; false if the process is dead now.
    pub(super) fn passes(&self, side: Side, step: Step, name: &Name) -> bool {
        match self.fault(side, &[(step, vec![name.clone()])]) {
            Some(fault) => {
                self.die(fault);
                false
            }
            None => true,
        }
    }

    /// An attempt begins.
    pub(super) fn begins(&self, name: &Name) {
        *self.begun.lock().entry(name.clone()).or_default() += 1;
    }

    pub(super) fn begun(&self, name: &Name) -> u32 {
        self.begun.lock().get(name).copied().unwrap_or_default()
    }

    /// Which life this is.
    pub(super) fn life(&self) -> u64 {
        self.life.load(Ordering::Acquire)
    }

    /// A process begins to live.
    pub(super) fn lives(&self, engine: Engine) {
        *self.process.lock() = Some(engine);
    }

    /// The process is dead from here on, whatever it was about to do.
    pub(super) fn die(&self, fault: Fault) {
        self.life.fetch_add(1, Ordering::AcqRel);
        if let Some(engine) = self.process.lock().take() {
            engine.kill();
        }
        *self.fate.lock() = Some(fault);
        self.died.notify_one();
    }

    /// How the process died, if it did and nobody has asked before.
    pub(super) fn fate(&self) -> Option<Fault> {
        self.fate.lock().take()
    }

    /// What a commit passes. Its activities are known by name from now on.
    pub(super) fn of_commit(&self, commit: &Commit) -> Vec<Passed> {
        let mut names = self.names.lock();
        let mut passed = Vec::new();
        let ended = commit.ended.iter().map(|end| (end.settle.run, end.settle.activity));
        let ended: Vec<Name> = ended.filter_map(|key| names.get(&key).cloned()).collect();
        if !ended.is_empty() {
            passed.push((Step::Settle, ended));
        }
        if commit.batch.is_some() {
            let new = commit.activities.iter().map(|new| {
                names.insert((commit.run, new.activity), new.spec.name.clone());
                new.spec.name.clone()
            });
            passed.push((Step::Commit, new.collect()));
        }
        if !commit.cancels.is_empty() {
            let of_run = names.range((commit.run, EventId(0))..=(commit.run, EventId(u64::MAX)));
            let hit = of_run.filter(|((_, id), _)| {
                commit.cancels.iter().any(|(ranges, _)| ranges.contains(*id))
            });
            let hit = hit.map(|(_, name)| name.clone()).collect();
            passed.push((Step::Phase(Phase::Decided), hit));
        }
        passed
    }

    /// The name of an activity that was scheduled here.
    pub(super) fn name_of(&self, run: RunId, activity: EventId) -> Option<Name> {
        self.names.lock().get(&(run, activity)).cloned()
    }
}

/// What goes wrong in the middle of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Trouble {
    /// The caller gets an error.
    Fails,
    /// There is no caller any more.
    Died,
}

/// Attempts on their way from a cancel to its end, as the faults see them.
pub(super) struct Phases {
    pub(super) world: Arc<World>,
    pub(super) real: RealTime,
}

impl Probe for Phases {
    fn passes(&self, attempt: &Assignment, at: Passing) -> bool {
        let (side, phase) = match at {
            Passing::BeforeDelivered => (Side::Before, Phase::Delivered),
            Passing::Delivered => (Side::After, Phase::Delivered),
            Passing::BeforeObserved => (Side::Before, Phase::Observed),
            Passing::Observed => (Side::After, Phase::Observed),
            _ => return true,
        };
        self.world.passes(side, Step::Phase(phase), &attempt.spec.name)
    }

    fn begins_real(&self) -> Option<Box<dyn Send>> {
        Some(Box::new(self.real.begin_process()))
    }
}
