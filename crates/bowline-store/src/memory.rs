//! The reference store: everything in memory, nothing durable, the shortest honest way to keep
//! the contract.
//!
//! In:    calls, one at a time under one lock.
//! Out:   answers that are ready at once; hints when the lock is free again.
//! Never: half a call. Whatever can refuse is looked at before the first row is written.

mod ask;
mod birth;
mod catalog;
mod claim;
mod commit;
mod fault;
mod find;
mod fire;
mod leftovers;
mod member;
mod post;
mod read;
mod roll;
mod row;
mod settle;
mod step;
mod sweep;

use std::{
    collections::BTreeSet,
    future::{Future, ready},
    sync::Arc,
};

use bowline_core::{Epoch, Namespace, Queue, RunId, Time, Version};
use parking_lot::Mutex;

use crate::{
    Answer, Ask, Attest, Attested, CatalogPut, CatalogRead, ClaimActivities, ClaimRuns,
    ClaimedActivity, ClaimedRun, Commit, Committed, Error, Filter, Fired, Hint, Hints, Item, Join,
    Joined, Leftovers, Listeners, Page, Pending, Posted, Posting, Read, Renewal, Renewed, Reply,
    Result, RunRead, Settle, Settled, Store, Subtree, Sweep, Swept, TakeUp,
    ready::{Index, Sought},
};

pub use fault::{Faults, Method, When};

/// A store in memory. Clones share their rows.
#[derive(Clone, Default)]
pub struct MemoryStore {
    data: Arc<Mutex<Data>>,
    faults: Faults,
    /// Which process this is, where there are many.
    opening: u64,
}

/// Rows, which a crash leaves alone, and everything else, which it does not.
#[derive(Default)]
struct Data {
    rows: row::Rows,
    index: Index,
    asks: ask::Asks,
    listeners: Arc<Listeners>,
    hints: BTreeSet<Hint>,
    now: Time,
    roll: roll::Roll,
    /// How often a standby has taken over.
    past: u64,
}

/// What a [`MemoryStore`] had at some moment, as a standby has it that has heard of nothing since.
#[derive(Debug)]
pub struct Standby(row::Rows);

impl MemoryStore {
    /// An empty store.
    pub fn new() -> Self {
        Self::default()
    }

    /// An empty store that many processes have open, as they have a database. Who is late with
    /// reporting is decided by its own clock. Each process has an [opening](Self::opening).
    pub fn shared(clock: impl Fn() -> Time + Send + Sync + 'static) -> Self {
        let store = Self::default();
        store.data.lock().roll = roll::Roll::shared(Arc::new(clock));
        store
    }

    /// The same store, opened by another process. Nobody dies of it.
    pub fn opening(&self) -> Self {
        let opening = self.data.lock().roll.open();
        Self { opening, ..self.clone() }
    }

    /// Says that this process is alive, as a store with a connection of its own does in the
    /// background, and hints if somebody else has stopped to, or if this one was given up.
    pub fn keep_alive(&self) {
        self.work(|data| {
            let Some((epoch, lease)) = data.roll.of(self.opening) else { return };
            if !data.roll.extend(epoch, lease) || data.roll.is_one_late() {
                data.hints.extend([Hint::Cancelled, Hint::Sweep]);
            }
        });
    }

    /// Every process that had the store open is gone for certain: somebody who knows says so.
    pub fn bury(&self) {
        self.work(|data| {
            data.asks.shut();
            data.listeners = Arc::default();
            data.roll.bury_all();
        });
    }

    /// Opens the store again, as after a crash: rows are there, and nothing else. Members that
    /// had joined before are dead, on older clones too.
    pub fn reopen(&self) -> Self {
        self.data.lock().forget();
        self.clone()
    }

    /// Gives the member up, as others do with one that was silent for too long: whatever it still
    /// writes is refused. It may enter again.
    pub fn evict(&self) {
        self.work(|data| {
            data.roll.evict();
            data.hints.insert(Hint::Sweep);
        });
    }

    /// A standby that hears of nothing that happens from now on.
    pub fn standby(&self) -> Standby {
        Standby(self.data.lock().rows.clone())
    }

    /// The standby takes over: whatever it has not heard of never happened. Members live on, with
    /// what they know of the other past, and are hinted at everything, as by lost connections.
    pub fn promote(&self, standby: &Standby) {
        self.work(|data| {
            let epoch = data.rows.epoch;
            data.rows = standby.0.clone();
            // No number is given out twice.
            data.rows.epoch = epoch;
            data.restore_all();
            data.past += 1;
            data.hints.insert(Hint::Everything);
        });
    }

    /// Errors to come.
    pub fn faults(&self) -> &Faults {
        &self.faults
    }

    /// All rows as text, so that a test can see that nothing changed.
    pub fn dump(&self) -> String {
        format!("{:#?}", self.data.lock().rows)
    }

    fn call<T: Send + 'static>(
        &self,
        method: Method,
        work: impl FnOnce(&mut Data) -> Result<T>,
    ) -> Answer<Result<T>> {
        let fault = self.faults.next(method);
        let result = match fault {
            Some(When::Before) => Err(fault::before()),
            Some(When::After) => self.work(work).and(Err(fault::after())),
            None => self.work(work),
        };
        Box::pin(ready(result))
    }

    fn calls<I, T: Send + 'static>(
        &self,
        method: Method,
        items: Vec<I>,
        mut work: impl FnMut(&mut Data, I) -> Result<T>,
    ) -> Answer<Vec<Result<T>>> {
        let fault = self.faults.next(method);
        let mut all = |items: Vec<I>| {
            self.work(|data| items.into_iter().map(|item| work(data, item)).collect::<Vec<_>>())
        };
        let results = match fault {
            Some(When::Before) => items.into_iter().map(|_| Err(fault::before())).collect(),
            Some(When::After) => {
                all(items).into_iter().map(|result| result.and(Err(fault::after()))).collect()
            }
            None => all(items),
        };
        Box::pin(ready(results))
    }

    fn work<T>(&self, work: impl FnOnce(&mut Data) -> T) -> T {
        let (result, hints, listeners) = {
            let mut data = self.data.lock();
            let result = work(&mut data);
            let now = data.now;
            data.asks.expire(now);
            let hints = data.take_hints();
            (result, hints, data.listeners.clone())
        };
        listeners.tell(&hints);
        result
    }
}

impl Data {
    fn alive(&self, epoch: Epoch) -> Result<()> {
        match self.roll.is_alive(epoch) {
            true => Ok(()),
            false => Err(Error::Fenced),
        }
    }

    /// Questions expire by the time that calls bring along: a store has no clock.
    fn clock(&mut self, now: Time) {
        self.now = self.now.max(now);
    }

    fn take_hints(&mut self) -> Vec<Hint> {
        let mut hints = std::mem::take(&mut self.hints);
        hints.extend(self.index.take_hints());
        hints.into_iter().collect()
    }

    fn forget(&mut self) {
        self.asks.shut();
        self.roll.bury_all();
        self.listeners = Arc::default();
        self.restore_all();
        self.take_hints();
    }

    fn restore_all(&mut self) {
        self.index = Index::default();
        let runs: Vec<RunId> = self.rows.runs.keys().copied().collect();
        runs.into_iter().for_each(|run| self.restore(run));
    }
}

impl Store for MemoryStore {
    fn join(&self, join: Join) -> Answer<Result<Joined>> {
        let opening = self.opening;
        self.call(Method::Join, |data| data.join(&join, opening))
    }

    fn renew(&self, renewal: Renewal) -> Answer<Result<Renewed>> {
        self.call(Method::Renew, |data| data.renew(renewal))
    }

    fn post(&self, posts: Vec<Posting>) -> Answer<Vec<Result<Posted>>> {
        self.calls(Method::Post, posts, Data::post)
    }

    fn may_find(&self, sought: Sought, namespace: Namespace, queue: &Queue) -> bool {
        self.data.lock().index.waiting().may_find(sought, namespace, queue)
    }

    fn claim_runs(&self, claim: ClaimRuns) -> Answer<Result<Vec<ClaimedRun>>> {
        self.call(Method::ClaimRuns, |data| data.claim_runs(&claim))
    }

    fn take_up(&self, take: TakeUp) -> Answer<Result<Vec<ClaimedRun>>> {
        self.call(Method::ClaimRuns, |data| data.take_up(&take))
    }

    fn claim_activities(&self, claim: ClaimActivities) -> Answer<Result<Vec<ClaimedActivity>>> {
        self.call(Method::ClaimActivities, |data| data.claim_activities(&claim))
    }

    fn commit(&self, commits: Vec<Commit>) -> Answer<Vec<Result<Committed>>> {
        self.calls(Method::Commit, commits, Data::commit)
    }

    fn settle(&self, settles: Vec<Settle>) -> Answer<Vec<Result<Settled>>> {
        self.calls(Method::Settle, settles, |data, settle| Ok(data.settle(settle)))
    }

    fn fire(&self, now: Time, limit: usize) -> Answer<Result<Fired>> {
        self.call(Method::Fire, |data| Ok(data.fire(now, limit)))
    }

    fn silence(&self) -> Option<std::time::Duration> {
        self.data.lock().roll.silence(self.opening)
    }

    fn attest(&self, attest: Attest) -> Answer<Result<Attested>> {
        self.call(Method::Attest, |data| Ok(data.roll.attest(&attest)))
    }

    fn sweep(&self, sweep: Sweep) -> Answer<Result<Swept>> {
        self.call(Method::Sweep, |data| data.sweep(&sweep))
    }

    fn ask(&self, ask: Ask) -> Answer<Result<Reply>> {
        match self.faults.next(Method::Ask) {
            Some(When::Before) => Box::pin(ready(Err(fault::before()))),
            fault => answered(self.work(|data| data.ask(ask)), fault),
        }
    }

    fn answer(&self, epoch: Epoch, replies: Vec<Reply>) -> Answer<Result<Vec<Pending>>> {
        self.call(Method::Answer, |data| data.answer(epoch, replies))
    }

    fn read(&self, read: Read) -> Answer<Result<Option<RunRead>>> {
        self.call(Method::Read, |data| Ok(data.read(&read)))
    }

    fn find(&self, filter: Filter) -> Answer<Result<Page>> {
        self.call(Method::Find, |data| Ok(data.find(&filter)))
    }

    fn leftovers(&self, subtree: Subtree) -> Answer<Result<Leftovers>> {
        self.call(Method::Leftovers, |data| data.leftovers(&subtree))
    }

    fn write_catalog(&self, puts: Vec<CatalogPut>) -> Answer<Vec<Result<Version>>> {
        self.calls(Method::CatalogPut, puts, Data::write_catalog)
    }

    fn read_catalog(&self, catalog: CatalogRead) -> Answer<Result<Vec<Item>>> {
        self.call(Method::CatalogRead, |data| Ok(data.read_catalog(&catalog)))
    }

    fn watch(&self) -> Hints {
        self.data.lock().listeners.listen()
    }
}

fn answered(
    asked: Result<impl Future<Output = Result<Reply>> + Send + 'static>,
    fault: Option<When>,
) -> Answer<Result<Reply>> {
    match (asked, fault) {
        (Ok(_), Some(_)) => Box::pin(ready(Err(fault::after()))),
        (Ok(reply), None) => Box::pin(reply),
        (Err(error), _) => Box::pin(ready(Err(error))),
    }
}
