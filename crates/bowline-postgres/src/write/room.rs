//! Calls that need a row which somebody else's transaction has locked: an application's own, that
//! is not in a hurry. They wait here, without a connection, and everybody else goes on.
//!
//! In:    calls that a lane could not carry out in time, and later ones about the same runs.
//! Out:   the same calls, in their order, once their runs are free; or an error after a while.
//! Never: keeps a lane or a connection while it waits.

use std::{
    collections::{BTreeSet, HashMap, VecDeque},
    sync::Arc,
    time::Instant,
};

use bowline_core::RunId;
use bowline_store::Error;
use parking_lot::Mutex;
use tokio::sync::Notify;

use crate::{
    limits,
    shared::Shared,
    write::{ahead::Group, call::Call, tx::Wants, work, writer},
};

/// A call that waits.
pub(crate) struct Waiter {
    call: Box<dyn Call>,
    /// The runs that it waits for; none where it is not known for what it waits.
    on: BTreeSet<RunId>,
    /// The runs that begin with it.
    begins: BTreeSet<RunId>,
    since: Instant,
}

#[derive(Default)]
pub(crate) struct Room {
    inner: Mutex<LockWaiters>,
    came: Notify,
}

#[derive(Default)]
struct LockWaiters {
    waiters: VecDeque<Waiter>,
    /// Runs that were found locked, and when.
    seen: HashMap<RunId, Instant>,
    is_closed: bool,
}

impl Waiter {
    /// Takes those calls out of a group that need what is locked, and those that must not overtake
    /// them.
    pub(crate) fn pick(calls: &mut Vec<Box<dyn Call>>, locked: &[RunId]) -> Vec<Self> {
        Self::pick_if(calls, locked.iter().copied().collect(), false)
    }

    /// Takes all of them.
    pub(crate) fn all(calls: &mut Vec<Box<dyn Call>>) -> Vec<Self> {
        Self::pick_if(calls, BTreeSet::new(), true)
    }

    /// Takes those that must not overtake others.
    pub(crate) fn after(calls: &mut Vec<Box<dyn Call>>, others: &[Self]) -> Vec<Self> {
        Self::pick_if(calls, others.iter().flat_map(|own| &own.begins).copied().collect(), false)
    }

    fn pick_if(
        calls: &mut Vec<Box<dyn Call>>,
        mut blocked: BTreeSet<RunId>,
        every: bool,
    ) -> Vec<Self> {
        let (mut picked, mut kept) = (Vec::new(), Vec::new());
        for call in calls.drain(..) {
            let wants = wanted(&*call);
            let on: BTreeSet<RunId> = wants.runs.intersection(&blocked).copied().collect();
            if every || !on.is_empty() {
                blocked.extend(&wants.new);
                picked.push(Self { call, on, begins: wants.new, since: Instant::now() });
            } else {
                kept.push(call);
            }
        }
        *calls = kept;
        picked
    }

    /// Whether a run begins with it.
    pub(crate) fn begins(&self, run: RunId) -> bool {
        self.begins.contains(&run)
    }

    fn is_late(&self, shared: &Shared) -> bool {
        self.since.elapsed() > shared.settings.patience * 9 / 10
    }

    fn give_up(mut self, shared: &Shared) {
        let why = "somebody else's transaction has the run locked";
        (0..self.call.items()).for_each(|item| self.call.fail(item, Error::Busy(why.into())));
        shared.ahead.written(&self.begins);
        self.call.answer();
    }
}

fn wanted(call: &dyn Call) -> Wants {
    let mut wants = Wants::default();
    (0..call.items()).for_each(|item| call.wants(item, &mut wants));
    wants
}

impl Room {
    /// Has calls wait, those that came first before the others.
    pub(crate) fn put(&self, shared: &Shared, waiters: Vec<Waiter>) {
        if waiters.is_empty() {
            return;
        }
        let mut inner = self.inner.lock();
        let mut refused = Vec::new();
        for waiter in waiters {
            match inner.is_closed || inner.waiters.len() >= limits::CALLS_MAX {
                true => refused.push(waiter),
                false => inner.waiters.push_back(waiter),
            }
        }
        drop(inner);
        refused.into_iter().for_each(|waiter| waiter.give_up(shared));
        self.came.notify_one();
    }

    /// Takes those calls out of a group that would have to wait for a run for which others wait.
    pub(crate) fn divert(&self, shared: &Shared, group: &mut Group) {
        let inner = self.inner.lock();
        if inner.waiters.is_empty() {
            return;
        }
        let all = inner.waiters.iter().flat_map(|own| own.on.iter().chain(&own.begins));
        let all: Vec<RunId> = all.copied().collect();
        drop(inner);
        let waiters = Waiter::pick(&mut group.calls, &all);
        group.starts.retain(|run| !waiters.iter().any(|own| own.begins.contains(run)));
        self.put(shared, waiters);
    }

    /// Remembers for a moment that these runs are locked.
    pub(crate) fn note(&self, locked: &[RunId]) {
        let mut inner = self.inner.lock();
        inner.seen.retain(|_, at| at.elapsed() < limits::LOCKED_FOR);
        if inner.seen.len() < limits::CALLS_MAX {
            inner.seen.extend(locked.iter().map(|run| (*run, Instant::now())));
        }
    }

    /// Runs that were locked a moment ago: whoever has other things to do leaves them for now.
    pub(crate) fn lately(&self) -> BTreeSet<RunId> {
        let inner = self.inner.lock();
        let seen = inner.seen.iter().filter(|(_, at)| at.elapsed() < limits::LOCKED_FOR);
        seen.map(|(run, _)| *run).collect()
    }

    /// Nobody waits any longer. Calls are answered when they are dropped.
    pub(crate) fn close(&self) {
        let mut inner = self.inner.lock();
        inner.is_closed = true;
        let dropped = std::mem::take(&mut inner.waiters);
        drop(inner);
        drop(dropped);
    }

    fn runs(&self) -> Vec<RunId> {
        let inner = self.inner.lock();
        let all: BTreeSet<RunId> = inner.waiters.iter().flat_map(|own| &own.on).copied().collect();
        all.into_iter().collect()
    }

    /// Those that need not wait any longer, in their order, and those that have waited too long.
    fn take(&self, shared: &Shared, locked: &[RunId]) -> (Vec<Waiter>, Vec<Waiter>) {
        let mut blocked: BTreeSet<RunId> = locked.iter().copied().collect();
        let (mut free, mut late, mut kept) = (Vec::new(), Vec::new(), VecDeque::new());
        let mut inner = self.inner.lock();
        for waiter in inner.waiters.drain(..) {
            if waiter.is_late(shared) {
                late.push(waiter);
            } else if waiter.on.is_disjoint(&blocked) {
                free.push(waiter);
            } else {
                blocked.extend(&waiter.begins);
                kept.push_back(waiter);
            }
        }
        inner.waiters = kept;
        (free, late)
    }
}

/// Looks now and then which runs are free again, and carries out what has waited for them.
pub(crate) async fn work(shared: Arc<Shared>) {
    let mut pause = limits::LOOK_AGAIN;
    loop {
        if shared.room.inner.lock().waiters.is_empty() {
            pause = limits::LOOK_AGAIN;
            shared.room.came.notified().await;
            continue;
        }
        tokio::time::sleep(pause).await;
        pause = limits::LOCKED_FOR.min(pause * 2);
        let runs = shared.room.runs();
        // Where nobody can be asked, all of them wait on.
        let locked = work::locked(&shared, &runs).await.unwrap_or(runs);
        let (free, late) = shared.room.take(&shared, &locked);
        late.into_iter().for_each(|waiter| waiter.give_up(&shared));
        if !free.is_empty() {
            pause = limits::LOOK_AGAIN;
        }
        carry_out(&shared, free).await;
    }
}

/// Carries calls out in groups. What is locked once more comes back, and has waited since it came
/// for the first time.
async fn carry_out(shared: &Arc<Shared>, free: Vec<Waiter>) {
    let mut free: VecDeque<Waiter> = free.into();
    let since: HashMap<usize, Instant> =
        free.iter().map(|own| (place(&*own.call), own.since)).collect();
    while !free.is_empty() {
        let mut group = Group::default();
        while let Some(next) = free.front()
            && (group.calls.is_empty() || group.fits(next.call.weight()))
            && let Some(Waiter { call, begins, .. }) = free.pop_front()
        {
            group.starts.extend(begins);
            group.push(call);
        }
        shared.room.divert(shared, &mut group);
        let mut stuck = writer::carry_out(shared, group, limits::LOOK_AGAIN).await;
        for own in &mut stuck {
            own.since = since.get(&place(&*own.call)).copied().unwrap_or(own.since);
        }
        shared.room.put(shared, stuck);
    }
}

/// Where a call lies in memory, by which it is known again.
fn place(call: &dyn Call) -> usize {
    std::ptr::from_ref(call).cast::<()>().addr()
}
