//! The observer: it knows the truth, from outside of all members. Which code runs right now, what
//! was acknowledged and in which order, and everything that was ever written.
//!
//! In:    probes in the code of activities, every call that took effect, every answer to a client.
//! Out:   the first rule that is broken, in a sentence.
//! Never: changes anything, or asks an engine.

mod check;
mod history;
mod last;
mod probe;
mod words;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

use bowline_core::{EventId, ReceiptId, RunId};
use bowline_store::memory::MemoryStore;
use parking_lot::Mutex;
use tokio::{sync::Notify, time::Instant};

use crate::{chance::mix, play::Look, process::Life, trace::Trace};

use history::Story;
use probe::Probe;

pub(crate) use probe::Sees;

/// How many polls a world may take before it counts as going in circles.
const POLLS_MAX: u64 = 400_000;

/// A rule that was broken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// Which rule, in the same words every time.
    pub rule: &'static str,
    /// What happened.
    pub what: String,
}

/// What is known.
pub(crate) struct Observer {
    began: Instant,
    rows: MemoryStore,
    known: Mutex<Known>,
    pub(crate) broken: Notify,
}

#[derive(Default)]
struct Known {
    trace: Trace,
    /// Rules that nobody looks at.
    ignored: Vec<String>,
    violation: Option<Violation>,
    faults: u64,
    polls: u64,
    /// Code that runs right now.
    running: BTreeMap<u64, Probe>,
    probes: u64,
    /// Attempts whose code has begun, ever, and where.
    begun: BTreeMap<(RunId, EventId, u32), Life>,
    /// Attempts that were told to stop; whose code has heard; whose code has answered well.
    delivered: BTreeSet<(RunId, EventId, u32)>,
    observed: BTreeSet<(RunId, EventId, u32)>,
    completed: BTreeSet<(RunId, EventId, u32)>,
    dead: BTreeSet<Life>,
    /// What has happened at all, and how often.
    reached: BTreeMap<&'static str, u64>,
    /// When code of a run last ended.
    rested: BTreeMap<RunId, Duration>,
    /// When the code of attempts ended.
    ended: BTreeMap<(RunId, EventId, u32), u64>,
    /// Every run there ever was.
    runs: BTreeMap<RunId, Story>,
    /// In the order of coming.
    order: Vec<RunId>,
    roots: BTreeMap<usize, RunId>,
    receipts: Vec<(ReceiptId, RunId)>,
    signals: BTreeMap<u64, (RunId, u64)>,
    deleted: BTreeSet<RunId>,
    /// Runs that a receipt is about, whether or not whoever asked has heard of it.
    told: BTreeSet<RunId>,
    clients: BTreeMap<u64, bool>,
    /// Updates that were answered, by the request that asked for them.
    updates: BTreeMap<u64, RunId>,
    /// Runs that were woken from elsewhere, where, and that nobody has parked since.
    intruded: BTreeMap<RunId, Life>,
}

impl Observer {
    pub(crate) fn new(rows: MemoryStore, look: &Look) -> Arc<Self> {
        let (trace, ignored) = (Trace::new(look.tells), look.ignores.clone());
        let known = Known { trace, ignored, ..Known::default() };
        let (began, broken) = (Instant::now(), Notify::new());
        Arc::new(Self { began, rows, known: Mutex::new(known), broken })
    }

    fn now(&self) -> Duration {
        self.began.elapsed()
    }

    /// A fact, for the story.
    pub(crate) fn tell(&self, fact: impl FnOnce() -> String) {
        let now = self.now();
        self.known.lock().trace.tell(now, fact);
    }

    /// A fact about a run, for the story.
    pub(crate) fn tell_of(&self, run: RunId, fact: impl FnOnce(&str) -> String) {
        let now = self.now();
        let mut known = self.known.lock();
        let name = known.name(run);
        known.trace.tell(now, || fact(&name));
    }

    /// How many attempts have begun, ever.
    pub(crate) fn begun(&self) -> usize {
        self.known.lock().begun.len()
    }

    /// A future of a member is polled.
    pub(crate) fn polled(&self, life: Life, n: u64) {
        let mut known = self.known.lock();
        known.polls += 1;
        known.trace.feed(mix(life.bits()) ^ n);
        let goes_on = known.polls != POLLS_MAX;
        drop(known);
        if !goes_on {
            self.broke("nothing goes in circles", format!("{POLLS_MAX} polls"));
        }
    }

    /// Something goes wrong on purpose.
    pub(crate) fn goes_wrong(&self, kind: &'static str, what: impl FnOnce() -> String) {
        let mut known = self.known.lock();
        known.faults += 1;
        known.reach(kind);
        drop(known);
        self.tell(what);
    }

    /// Something has happened that should happen in some world.
    pub(crate) fn reach(&self, what: &'static str) {
        self.known.lock().reach(what);
    }

    pub(crate) fn reached(&self) -> BTreeMap<&'static str, u64> {
        self.known.lock().reached.clone()
    }

    /// A rule is broken. The first stays.
    pub(crate) fn broke(&self, rule: &'static str, what: String) {
        let now = self.now();
        let mut known = self.known.lock();
        if known.violation.is_some() || known.ignored.iter().any(|own| own == rule) {
            return;
        }
        known.trace.tell(now, || format!("BROKEN: {rule}: {what}"));
        known.violation.get_or_insert(Violation { rule, what });
        drop(known);
        self.broken.notify_one();
    }

    pub(crate) fn violation(&self) -> Option<Violation> {
        self.known.lock().violation.clone()
    }

    pub(crate) fn hash(&self) -> u64 {
        self.known.lock().trace.hash()
    }

    /// Facts, and things that went wrong on purpose.
    pub(crate) fn counts(&self) -> (u64, u64) {
        let known = self.known.lock();
        (known.trace.facts(), known.faults)
    }

    pub(crate) fn story(&self) -> Vec<String> {
        self.known.lock().trace.story()
    }

    // What clients are told.

    pub(crate) fn client_begins(&self, op: u64) {
        self.known.lock().clients.insert(op, false);
    }

    pub(crate) fn client(&self, op: u64, life: Life, answer: Option<&str>) {
        self.tell(|| match answer {
            Some(answer) => format!("client {op} hears through {life}: {answer}"),
            None => format!("client {op} has no answer through {life}, and tries again"),
        });
        if answer.is_some() {
            self.known.lock().clients.insert(op, true);
        }
    }

    /// Clients that still wait.
    pub(crate) fn waiting(&self) -> Vec<u64> {
        let known = self.known.lock();
        known.clients.iter().filter(|(_, done)| !**done).map(|(op, _)| *op).collect()
    }

    pub(crate) fn acknowledges_start(&self, program: usize, run: RunId) {
        self.known.lock().roots.entry(program).or_insert(run);
    }

    pub(crate) fn acknowledges_signal(&self, id: u64, run: RunId) {
        self.tell_of(run, |run| format!("signal {id} to {run} is acknowledged"));
        let mut known = self.known.lock();
        let step = known.trace.facts();
        known.signals.entry(id).or_insert((run, step));
    }

    /// A run is woken by something that is in no history.
    pub(crate) fn intrudes(&self, run: RunId, life: Life) {
        self.tell_of(run, |run| format!("{run} is woken from elsewhere on {life}"));
        self.known.lock().intruded.insert(run, life);
    }

    pub(crate) fn answers_update(&self, id: u64, run: RunId) {
        self.known.lock().updates.insert(id, run);
    }

    /// A turn of a program's newest run, to begin again from.
    pub(crate) fn turn(&self, program: usize, nth: u64) -> Option<(RunId, EventId)> {
        let known = self.known.lock();
        let root = *known.roots.get(&program)?;
        let run = known.newest(root);
        let turns = known.runs.get(&run)?.turns();
        let turn = (!turns.is_empty()).then(|| turns[nth as usize % turns.len()])?;
        Some((run, turn))
    }

    pub(crate) fn deletes(&self, run: RunId) {
        let mut known = self.known.lock();
        let tree = known.tree(run);
        known.deleted.extend(tree);
    }

    /// The first run of a program.
    pub(crate) fn root(&self, program: usize) -> Option<RunId> {
        self.known.lock().roots.get(&program).copied()
    }

    /// Some run below a program's, or one that goes on in its place.
    pub(crate) fn below(&self, program: usize, nth: u64) -> Option<RunId> {
        let known = self.known.lock();
        let root = *known.roots.get(&program)?;
        let tree: Vec<RunId> = known.tree(root).into_iter().filter(|run| *run != root).collect();
        (!tree.is_empty()).then(|| tree[nth as usize % tree.len()])
    }

    /// Something that a program's newest run has started.
    pub(crate) fn started(&self, program: usize, nth: u64) -> Option<(RunId, EventId)> {
        let known = self.known.lock();
        let root = *known.roots.get(&program)?;
        let run = known.newest(root);
        let targets = known.runs.get(&run)?.targets();
        (!targets.is_empty()).then(|| (run, targets[nth as usize % targets.len()]))
    }
}

impl Known {
    /// Something has happened that should happen in some world.
    fn reach(&mut self, what: &'static str) {
        *self.reached.entry(what).or_default() += 1;
    }

    /// What a run is called in stories.
    fn name(&self, run: RunId) -> String {
        self.runs.get(&run).map_or_else(|| format!("{run}"), |story| story.name.clone())
    }

    /// All links of the chain that a run belongs to, and everything that any of them started.
    fn tree(&self, run: RunId) -> Vec<RunId> {
        let first = |run: RunId| self.runs.get(&run).map_or(run, |story| story.first);
        let mut chains = BTreeSet::from([first(run)]);
        let mut tree = Vec::new();
        for run in &self.order {
            let story = &self.runs[run];
            let above = story.parent.is_some_and(|parent| chains.contains(&first(parent)));
            if above || chains.contains(&story.first) {
                chains.insert(story.first);
                tree.push(*run);
            }
        }
        tree
    }

    /// Everything that a run started, and what goes on for that; not what goes on for itself.
    fn below_of(&self, run: RunId) -> Vec<RunId> {
        let children = self.order.iter().filter(|own| self.runs[own].parent == Some(run));
        children.flat_map(|child| self.tree(*child)).collect()
    }

    /// The last link of a run's chain.
    fn newest(&self, run: RunId) -> RunId {
        let first = self.runs.get(&run).map_or(run, |story| story.first);
        let mut links = self.order.iter().rev().filter(|own| self.runs[own].first == first);
        links.next().copied().unwrap_or(run)
    }
}
