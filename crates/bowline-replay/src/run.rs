//! What all futures of a run share: what is open, who belongs to whom, what this turn asks for.
//!
//! In:    what futures ask, and what history delivers.
//! Out:   numbers for what was asked, wakers of whom it concerns.
//! Never: polls, drops or calls anything of the user's: that could come back here.

mod asking;
mod entry;
mod numbers;
mod wide;

use std::{
    cell::RefCell,
    collections::{BTreeMap, VecDeque},
    rc::Rc,
    task::Waker,
};

use bowline_core::{
    Cause, Command, ContinueAsNew, EventId, Failure, Name, Payload, RunId, ScopeId, Time,
    UpdateRequest, WorkflowSignalled, WorkflowStarted,
    planted::{Defect, planted},
};

use crate::{Ended, LocalFuture, adopt::Adoption, channel::Mailbox, random::Random, scope::Record};

pub(crate) use asking::{Asked, Asking, Close, targets};
pub(crate) use entry::{End, Entry, What};
pub(crate) use numbers::Numbers;
pub(crate) use wide::Wide;

/// Answers a query.
pub(crate) type Answer = Rc<dyn Fn(Option<Payload>) -> Result<Option<Payload>, Failure>>;

/// The workflow's body.
pub(crate) const ROOT: ScopeId = ScopeId(0);

/// The number of what was asked for in vain: nothing has it.
pub(crate) const NOTHING: EventId = EventId(0);

/// The shared state of a run.
pub(crate) struct Run {
    pub(crate) id: RunId,
    pub(crate) started: Rc<WorkflowStarted>,
    /// The time of the message that is being delivered, and its event.
    pub(crate) now: Time,
    pub(crate) at: EventId,
    /// A turn runs: only then may anything be asked, and only then do drops speak.
    pub(crate) open: bool,
    /// The run leaves memory: nothing may be asked any more, and nobody is told that.
    pub(crate) gone: bool,
    /// The scope whose code is being polled.
    pub(crate) current: ScopeId,
    /// Everything durable that was asked for and is not over, by number.
    pub(crate) entries: BTreeMap<EventId, Entry>,
    /// Activities that were cancelled together with others of their scope.
    pub(crate) wide: Vec<Wide>,
    /// What is over, and takes its time to be freed: that waits until the turn was told.
    pub(crate) freed: Vec<BTreeMap<EventId, Entry>>,
    /// Activities and children that have not stopped, detached ones aside.
    pub(crate) live: usize,
    /// The thing that somebody was polled for last, in vain.
    pub(crate) awaited: EventId,
    /// Boxed, as all that is large: a map with room for eleven has mostly one.
    pub(crate) scopes: BTreeMap<ScopeId, Box<Record>>,
    pub(crate) next_scope: u32,
    pub(crate) asking: Asking,
    pub(crate) signals: BTreeMap<Name, Box<Mailbox<WorkflowSignalled>>>,
    pub(crate) updates: BTreeMap<Name, Box<Mailbox<UpdateRequest>>>,
    pub(crate) queries: BTreeMap<Name, Answer>,
    pub(crate) random: Random,
    /// What `patched` has answered; it never changes its mind in one run.
    pub(crate) patches: BTreeMap<String, bool>,
    /// The cancel that was requested of the run.
    pub(crate) cancel: Option<Cause>,
    /// The code wants to go on as a new run.
    pub(crate) continued: Option<Box<ContinueAsNew>>,
    /// Futures that lost their owner since the program last looked.
    pub(crate) adoptions: VecDeque<Adoption>,
    /// A clean-up failed, and nobody was left to see it.
    pub(crate) failed: Option<Failure>,
    /// To be woken when the state is not borrowed any more.
    pub(crate) wakes: Vec<Waker>,
    /// The user's, to be dropped when the state is not borrowed any more.
    pub(crate) discarded: Vec<LocalFuture<'static, Result<(), Ended>>>,
}

/// How everybody holds the shared state.
pub(crate) type Shared = Rc<RefCell<Run>>;

impl Run {
    pub(crate) fn new(id: RunId) -> Self {
        Self {
            id,
            started: Rc::default(),
            now: Time::default(),
            at: EventId(0),
            open: false,
            gone: false,
            current: ROOT,
            entries: BTreeMap::new(),
            wide: Vec::new(),
            freed: Vec::new(),
            live: 0,
            awaited: NOTHING,
            scopes: BTreeMap::from([(ROOT, Box::new(Record::root()))]),
            next_scope: 1,
            asking: Asking::default(),
            signals: BTreeMap::new(),
            updates: BTreeMap::new(),
            queries: BTreeMap::new(),
            random: Random::of(id),
            patches: BTreeMap::new(),
            cancel: None,
            continued: None,
            adoptions: VecDeque::new(),
            failed: None,
            wakes: Vec::new(),
            discarded: Vec::new(),
        }
    }

    /// The first event was delivered.
    pub(crate) fn start(&mut self, started: &WorkflowStarted) {
        self.random = Random::of(started.original_run);
        self.started = Rc::new(started.clone());
        if let Some(root) = self.scopes.get_mut(&ROOT) {
            root.deadline = started.deadline;
        }
    }

    /// Asks for something that is recorded as an event, whose number this is.
    pub(crate) fn ask(&mut self, command: Command) -> EventId {
        match self.may_ask() {
            true => self.asking.ask(command),
            false => NOTHING,
        }
    }

    /// Asking is for turns. Elsewhere, in a query for one, it is a mistake of the user's code. But
    /// a guard that is dropped with its run, or while its code unwinds, asks in vain and in peace:
    /// a second panic would be the process's end.
    pub(crate) fn may_ask(&self) -> bool {
        let unwinds = std::thread::panicking();
        assert!(
            self.open || (self.gone && !planted(Defect::GuardPanics)) || unwinds,
            "workflow code may start, ask and draw things only inside a turn, not in a query"
        );
        self.open && !unwinds
    }

    /// Everything that was started has stopped, detached and shielded work aside.
    pub(crate) fn stopped(&self) -> bool {
        let mut inner = self.scopes.range(ScopeId(ROOT.0 + 1)..);
        self.live == 0 && inner.all(|(_, record)| record.is_left_alone())
    }

    /// A clean-up runs or is still to be run.
    pub(crate) fn owes(&self) -> bool {
        self.scopes.values().any(|record| record.owes())
    }
}

/// Runs `change` on the state, then wakes whom it concerns.
pub(crate) fn with<R>(shared: &Shared, change: impl FnOnce(&mut Run) -> R) -> R {
    let (result, wakes, discarded) = {
        let mut run = shared.borrow_mut();
        let result = change(&mut run);
        (result, std::mem::take(&mut run.wakes), std::mem::take(&mut run.discarded))
    };
    wakes.into_iter().for_each(Waker::wake);
    drop(discarded);
    result
}

/// The same for drops: only while a turn is open, and never while unwinding. A drop by eviction,
/// panic or shutdown says nothing.
pub(crate) fn on_drop(shared: &Shared, change: impl FnOnce(&mut Run)) {
    let is_open = shared.try_borrow().is_ok_and(|run| run.open);
    if is_open && !std::thread::panicking() {
        with(shared, change);
    }
}
