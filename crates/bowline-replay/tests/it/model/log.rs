//! What a random workflow did, written down by itself and checked against history afterwards.

use std::{cell::RefCell, collections::BTreeSet, rc::Rc};

use bowline_core::{Event, EventKind, Note};
use bowline_replay::{Context, Stopped};

use crate::support::World;

thread_local! {
    static ENTRIES: RefCell<Vec<Entry>> = const { RefCell::new(Vec::new()) };
}

/// Something that happened to a scope.
#[derive(Clone, Debug)]
enum Entry {
    /// An activity or child was started, and not detached.
    Started {
        number: u64,
        around: BTreeSet<usize>,
    },
    Opened {
        scope: usize,
        around: Vec<usize>,
        cleans: bool,
    },
    /// The clean-up began, at this event; these had been started inside, and these were told to
    /// have completed.
    Cleaning {
        scope: usize,
        at: u64,
        started: Vec<u64>,
        completed: Vec<u64>,
    },
    /// A guard could not be dropped in peace.
    Panicked,
    /// The code inside these wants to go on as a new run.
    Continued {
        around: Vec<usize>,
    },
    Cleaned {
        scope: usize,
    },
    /// Whoever waited for it has its result.
    Over {
        scope: usize,
        at: u64,
        started: Vec<u64>,
        well: bool,
    },
}

/// The scopes around a part of the workflow, and what was started in each.
#[derive(Clone, Default)]
pub(super) struct Scopes {
    around: Vec<Inside>,
}

#[derive(Clone)]
struct Inside {
    id: usize,
    cleans: bool,
    started: Rc<RefCell<Vec<u64>>>,
}

thread_local! {
    static NEXT: RefCell<usize> = const { RefCell::new(0) };
}

impl Scopes {
    /// A scope inside these, and its number.
    pub(super) fn inner(&self, cleans: bool) -> (Self, usize) {
        let id = NEXT.with_borrow_mut(|next| {
            *next += 1;
            *next
        });
        let mut inner = self.clone();
        inner.around.push(Inside { id, cleans, started: Rc::default() });
        (inner, id)
    }

    /// Something was started inside.
    pub(super) fn started(&self, number: u64) {
        let around = self.around.iter().map(|inside| inside.id).collect();
        write(Entry::Started { number, around });
        self.around.iter().for_each(|inside| inside.started.borrow_mut().push(number));
    }

    pub(super) fn opened(&self, scope: usize) {
        let around = self.around.iter().map(|inside| inside.id).filter(|id| *id != scope);
        let cleans = self.around.iter().any(|inside| inside.id == scope && inside.cleans);
        write(Entry::Opened { scope, around: around.collect(), cleans });
    }

    pub(super) fn cleaning(&self, scope: usize, ctx: &Context, stopped: &Stopped) {
        let (at, started) = (ctx.history().0, self.members(scope));
        let completed = stopped.completed.iter().map(|item| item.number.0).collect();
        write(Entry::Cleaning { scope, at, started, completed });
    }

    pub(super) fn continued(&self) {
        write(Entry::Continued { around: self.around.iter().map(|inside| inside.id).collect() });
    }

    pub(super) fn cleaned(&self, scope: usize) {
        write(Entry::Cleaned { scope });
    }

    pub(super) fn over(&self, scope: usize, ctx: &Context, well: bool) {
        let (at, started) = (ctx.history().0, self.members(scope));
        write(Entry::Over { scope, at, started, well });
    }

    fn members(&self, scope: usize) -> Vec<u64> {
        let inside = self.around.iter().find(|inside| inside.id == scope);
        inside.map(|inside| inside.started.borrow().clone()).unwrap_or_default()
    }
}

fn write(entry: Entry) {
    ENTRIES.with_borrow_mut(|entries| entries.push(entry));
}

/// A guard could not be dropped in peace.
pub(super) fn panicked() {
    write(Entry::Panicked);
}

/// Forgets everything.
pub(super) fn clear() {
    ENTRIES.with_borrow_mut(Vec::clear);
    NEXT.with_borrow_mut(|next| *next = 0);
}

/// Says that a scope with these inside is over.
pub(super) fn pretend_over(started: Vec<u64>) {
    write(Entry::Over { scope: 0, at: u64::MAX, started, well: true });
}

/// What a random workflow did.
pub(super) struct Log(Vec<Entry>);

impl Log {
    pub(super) fn take() -> Self {
        Self(ENTRIES.with_borrow_mut(std::mem::take))
    }

    /// No guard has panicked, whenever it was dropped.
    pub(super) fn check_guards(&self) {
        assert_eq!(self.count(|entry| matches!(entry, Entry::Panicked)), 0, "a guard panicked");
    }

    /// Compares it with history.
    pub(super) fn check(&self, world: &World) {
        let closing = world.history.last().expect("there is a history");
        self.check_guards();
        let cancelled = matches!(closing.kind, EventKind::WorkflowCancelled(_));
        for entry in &self.0 {
            if let Entry::Cleaning { scope, started, completed, .. } = entry {
                self.told_all(world, *scope, started, completed);
            }
            match entry {
                Entry::Started { number, .. } if cancelled => {
                    stopped_once(world, *number, closing.id.0);
                }
                Entry::Cleaning { at, started, .. } | Entry::Over { at, started, .. } => {
                    started.iter().for_each(|number| stopped_once(world, *number, *at));
                }
                Entry::Opened { scope, around, cleans } => {
                    self.cleaned_once(*scope, *cleans);
                    around.iter().for_each(|outer| self.inner_first(*scope, *outer));
                }
                Entry::Started { .. } | Entry::Cleaned { .. } => {}
                Entry::Continued { .. } | Entry::Panicked => {}
            }
        }
    }

    /// A scope that did not end well was cleaned up, once; one that did was not.
    fn cleaned_once(&self, id: usize, cleans: bool) {
        let well =
            self.count(|e| matches!(e, Entry::Over { scope, well: true, .. } if *scope == id));
        let begun = self.count(|e| matches!(e, Entry::Cleaning { scope, .. } if *scope == id));
        let done = self.count(|e| matches!(e, Entry::Cleaned { scope } if *scope == id));
        let expected = usize::from(cleans && well == 0);
        assert_eq!(begun, expected, "scope {id}: {:?}", self.0);
        // A clean-up may be the one who goes on as a new run.
        let quit = self.count(|e| matches!(e, Entry::Continued { around } if around.contains(&id)));
        assert!(done == expected || (done == 0 && quit > 0), "scope {id}: {:?}", self.0);
    }

    /// A clean-up is told of everything that has completed inside, in shields too, unless an inner
    /// clean-up was told of it.
    fn told_all(&self, world: &World, id: usize, started: &[u64], completed: &[u64]) {
        let inner = self.0.iter().flat_map(|entry| match entry {
            Entry::Opened { scope, around, .. } if around.contains(&id) => Some(*scope),
            _ => None,
        });
        let inner: BTreeSet<usize> = inner.collect();
        let undone = self.0.iter().flat_map(|entry| match entry {
            Entry::Cleaning { scope, started, .. } if inner.contains(scope) => started.clone(),
            _ => Vec::new(),
        });
        let undone: BTreeSet<u64> = undone.chain(self.by_clean_ups(&inner)).collect();
        let done = world.history.iter().filter_map(|event| match &event.kind {
            EventKind::ActivityCompleted(e) => Some(e.activity.0),
            EventKind::ChildCompleted(e) => Some(e.child.0),
            _ => None,
        });
        let done: BTreeSet<u64> = done.collect();
        let missed = started.iter().find(|number| {
            done.contains(number) && !undone.contains(number) && !completed.contains(number)
        });
        assert_eq!(missed, None, "the clean-up of scope {id} was not told: {:?}", self.0);
    }

    /// What was started by the clean-ups of these scopes.
    fn by_clean_ups(&self, scopes: &BTreeSet<usize>) -> Vec<u64> {
        let mut cleaning = BTreeSet::new();
        let mut started = Vec::new();
        for entry in &self.0 {
            match entry {
                Entry::Cleaning { scope, .. } if scopes.contains(scope) => {
                    cleaning.insert(*scope);
                }
                Entry::Started { number, around } if !cleaning.is_disjoint(around) => {
                    started.push(*number);
                }
                _ => {}
            }
        }
        started
    }

    /// The clean-up of an outer scope begins when everything of an inner one is over.
    fn inner_first(&self, inner: usize, outer: usize) {
        let outer_cleans = self
            .0
            .iter()
            .position(|e| matches!(e, Entry::Cleaning { scope, .. } if *scope == outer));
        let inner_opened =
            self.0.iter().position(|e| matches!(e, Entry::Opened { scope, .. } if *scope == inner));
        let (Some(cleans), Some(opened)) = (outer_cleans, inner_opened) else { return };
        if opened > cleans {
            return;
        }
        let late = self.0[cleans..].iter().any(|e| match e {
            Entry::Cleaning { scope, .. } | Entry::Cleaned { scope } => *scope == inner,
            _ => false,
        });
        assert!(!late, "{inner} was cleaned up after {outer} had begun: {:?}", self.0);
    }

    fn count(&self, is: impl Fn(&Entry) -> bool) -> usize {
        self.0.iter().filter(|entry| is(entry)).count()
    }
}

/// The thing has exactly one end in history, and had it when event `at` was told.
fn stopped_once(world: &World, number: u64, at: u64) {
    let ends: Vec<u64> = world
        .history
        .iter()
        .filter(|event| ends(event).contains(&number))
        .map(|e| e.id.0)
        .collect();
    assert!(ends.len() <= 1, "{number} has ended more than once: {ends:?}");
    let told = ends.iter().any(|end| *end <= at);
    assert!(told, "{number} has not stopped at event {at}: {ends:?}\n{}", world.kinds());
}

/// The activities and children that end with an event.
fn ends(event: &Event) -> BTreeSet<u64> {
    let one = match &event.kind {
        EventKind::ActivityCompleted(e) => Some(e.activity),
        EventKind::ActivityFailed(e) => Some(e.activity),
        EventKind::ActivityCancelled(e) => Some(e.activity),
        EventKind::ChildCompleted(e) => Some(e.child),
        EventKind::ChildFailed(e) => Some(e.child),
        EventKind::ChildCancelled(e) => Some(e.child),
        _ => None,
    };
    let skipped = event.notes.iter().flat_map(|note| match note {
        Note::Skipped(ranges) => ranges.ids().collect(),
        _ => Vec::new(),
    });
    one.into_iter().chain(skipped).map(|id| id.0).collect()
}
