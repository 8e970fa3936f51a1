//! A store that checks every commit against the rules of history, counts what it is asked, and
//! holds calls back where a test wants to look in between.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use bowline_core::{Epoch, Event, EventId, RunId, Time, Version, lawful::Lawful};
use bowline_store::{
    Answer, Ask, Attest, Attested, CatalogPut, CatalogRead, ClaimActivities, ClaimRuns,
    ClaimedActivity, ClaimedRun, Commit, Committed, Filter, Fired, Hints, Item, Join, Joined,
    Leftovers, Page, Pending, Posted, Posting, Read, Renewal, Renewed, Reply, Result, RunRead,
    Settle, Settled, Store, Subtree, Sweep, Swept, TakeUp, memory::Method,
};
use parking_lot::Mutex;
use tokio::sync::Notify;

/// The store, and what was seen of it. Clones are the same.
#[derive(Clone)]
pub(crate) struct Checked {
    inner: Arc<dyn Store>,
    book: Arc<Book>,
}

/// What was seen; outlives every opening of the store.
#[derive(Default)]
pub(crate) struct Book {
    laws: Mutex<BTreeMap<RunId, Law>>,
    broken: Mutex<Option<String>>,
    counts: Mutex<Counts>,
    held: Mutex<BTreeSet<&'static str>>,
    released: Notify,
}

struct Law {
    lawful: Lawful,
    next: EventId,
}

/// What the engine has asked of its store.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    /// Calls, by method.
    pub(crate) calls: BTreeMap<&'static str, u64>,
    /// Events that commits wrote.
    pub(crate) events_written: u64,
    /// Events that claims and reads brought along: what somebody had to fold or replay.
    pub(crate) events_read: u64,
    /// Rows of activities, alarms and messages that commits wrote.
    pub(crate) rows_written: u64,
}

impl Counts {
    /// Calls of one method.
    pub(crate) fn of(&self, method: &str) -> u64 {
        self.calls.get(method).copied().unwrap_or(0)
    }
}

impl Book {
    /// What has been counted so far.
    pub(crate) fn counts(&self) -> Counts {
        self.counts.lock().clone()
    }

    /// Holds back every call of a method from now on, until it is let go.
    pub(crate) fn hold(&self, method: Method) {
        self.held.lock().insert(name(method));
    }

    /// Lets the calls of a method go.
    pub(crate) fn release(&self, method: Method) {
        self.held.lock().remove(name(method));
        self.released.notify_waiters();
    }

    /// The rule that a commit has broken, if one has.
    pub(crate) fn broken(&self) -> Option<String> {
        self.broken.lock().clone()
    }

    fn holds(&self, method: &'static str) -> bool {
        self.held.lock().contains(method)
    }

    async fn pass(&self, method: &'static str) {
        loop {
            let mut released = std::pin::pin!(self.released.notified());
            released.as_mut().enable();
            if !self.holds(method) {
                return;
            }
            released.await;
        }
    }

    fn called(&self, method: &'static str) {
        *self.counts.lock().calls.entry(method).or_default() += 1;
    }

    fn reads(&self, read: &RunRead) {
        let events = read.batches.iter().map(|batch| batch.last.0 - batch.first.0 + 1);
        self.counts.lock().events_read += events.sum::<u64>();
    }

    /// Checks events that one commit wrote. What was seen before is stepped over: a commit whose
    /// outcome was unknown is sent again.
    fn check(&self, run: RunId, events: &[Event]) {
        let mut laws = self.laws.lock();
        let law =
            laws.entry(run).or_insert_with(|| Law { lawful: Lawful::new(run), next: EventId(1) });
        let mut checked = Ok(());
        let seen = law.next;
        for event in events.iter().filter(|event| event.id >= seen) {
            law.next = event.id.plus(1);
            checked = checked.and_then(|()| law.lawful.check(event));
        }
        if let Err(unlawful) = checked.and_then(|()| law.lawful.check_commit()) {
            let events: Vec<_> = events.iter().map(|event| event.kind.name()).collect();
            let broken = format!("{run}: {unlawful}; the commit was {events:?}");
            *self.broken.lock() = Some(broken.clone());
            panic!("{broken}");
        }
    }

    fn knows_all_before(&self, run: RunId, first: EventId) -> bool {
        self.laws.lock().get(&run).is_some_and(|law| law.next >= first)
    }
}

impl Checked {
    pub(crate) fn new(inner: Arc<dyn Store>, book: Arc<Book>) -> Self {
        Self { inner, book }
    }

    fn call<T: Send + 'static>(
        &self,
        method: Method,
        call: impl FnOnce(Arc<dyn Store>) -> Answer<T> + Send + 'static,
    ) -> Answer<T> {
        let (inner, book) = (self.inner.clone(), self.book.clone());
        self.book.called(name(method));
        if !self.book.holds(name(method)) {
            // A store does its work even if nobody waits for the answer.
            return call(inner);
        }
        Box::pin(async move {
            book.pass(name(method)).await;
            call(inner).await
        })
    }

    /// Checks what a commit wrote, and before it what an answer that never came may have hidden.
    async fn written(inner: &Arc<dyn Store>, book: &Book, commit: &Commit) {
        book.counts.lock().count(commit);
        for birth in &commit.births {
            book.check(birth.run, &birth.events);
        }
        let Some(batch) = &commit.batch else { return };
        if book.knows_all_before(commit.run, batch.first) {
            let events = batch.events().expect("what was just encoded reads");
            return book.check(commit.run, &events);
        }
        let whole = inner.read(Read::whole(commit.run)).await.expect("the run reads");
        for batch in whole.into_iter().flat_map(|read| read.batches) {
            // Bytes that a test has damaged are not a matter of order.
            let Ok(events) = batch.events() else { return };
            book.check(commit.run, &events);
        }
    }
}

impl Counts {
    fn count(&mut self, commit: &Commit) {
        let batch = commit.batch.as_ref();
        self.events_written += batch.map_or(0, |batch| batch.last.0 - batch.first.0 + 1);
        let rows = commit.activities.len() + commit.arm.len() + commit.disarm.len();
        self.rows_written += (rows + commit.posts.len() + commit.births.len()) as u64;
    }
}

fn name(method: Method) -> &'static str {
    match method {
        Method::Join => "join",
        Method::Renew => "renew",
        Method::Post => "post",
        Method::ClaimRuns => "claim_runs",
        Method::ClaimActivities => "claim_activities",
        Method::Commit => "commit",
        Method::Settle => "settle",
        Method::Fire => "fire",
        Method::Sweep => "sweep",
        Method::Attest => "attest",
        Method::Ask => "ask",
        Method::Answer => "answer",
        Method::Read => "read",
        Method::Find => "find",
        Method::Leftovers => "leftovers",
        Method::CatalogPut => "write_catalog",
        Method::CatalogRead => "read_catalog",
    }
}

impl Store for Checked {
    fn join(&self, join: Join) -> Answer<Result<Joined>> {
        self.call(Method::Join, move |inner| inner.join(join))
    }

    fn renew(&self, renewal: Renewal) -> Answer<Result<Renewed>> {
        self.call(Method::Renew, move |inner| inner.renew(renewal))
    }

    fn post(&self, posts: Vec<Posting>) -> Answer<Vec<Result<Posted>>> {
        let book = self.book.clone();
        let births: Vec<_> = posts
            .iter()
            .map(|posting| match posting {
                Posting::Start(start) => Some(start.birth.clone()),
                _ => None,
            })
            .collect();
        let posted = self.call(Method::Post, move |inner| inner.post(posts));
        Box::pin(async move {
            let posted = posted.await;
            for (birth, posted) in births.into_iter().zip(&posted) {
                if let (Some(birth), Ok(Posted::Started(run))) = (birth, posted)
                    && birth.run == *run
                {
                    book.check(birth.run, &birth.events);
                }
            }
            posted
        })
    }

    fn silence(&self) -> Option<std::time::Duration> {
        self.inner.silence()
    }

    fn lend(&self, ask: &mut dyn FnMut()) {
        self.inner.lend(ask);
    }

    fn claim_runs(&self, claim: ClaimRuns) -> Answer<Result<Vec<ClaimedRun>>> {
        let book = self.book.clone();
        let claimed = self.call(Method::ClaimRuns, move |inner| inner.claim_runs(claim));
        Box::pin(async move {
            let claimed = claimed.await;
            claimed.iter().flatten().for_each(|claimed| book.reads(&claimed.read));
            claimed
        })
    }

    fn take_up(&self, take: TakeUp) -> Answer<Result<Vec<ClaimedRun>>> {
        let book = self.book.clone();
        let taken = self.call(Method::ClaimRuns, move |inner| inner.take_up(take));
        Box::pin(async move {
            let taken = taken.await;
            taken.iter().flatten().for_each(|taken| book.reads(&taken.read));
            taken
        })
    }

    fn claim_activities(&self, claim: ClaimActivities) -> Answer<Result<Vec<ClaimedActivity>>> {
        self.call(Method::ClaimActivities, move |inner| inner.claim_activities(claim))
    }

    fn commit(&self, commits: Vec<Commit>) -> Answer<Vec<Result<Committed>>> {
        let (inner, book) = (self.inner.clone(), self.book.clone());
        let written = commits.clone();
        let committed = self.call(Method::Commit, move |inner| inner.commit(commits));
        Box::pin(async move {
            let committed = committed.await;
            for (commit, committed) in written.iter().zip(&committed) {
                if committed.is_ok() {
                    Self::written(&inner, &book, commit).await;
                }
            }
            committed
        })
    }

    fn settle(&self, settles: Vec<Settle>) -> Answer<Vec<Result<Settled>>> {
        self.call(Method::Settle, move |inner| inner.settle(settles))
    }

    fn fire(&self, now: Time, limit: usize) -> Answer<Result<Fired>> {
        self.call(Method::Fire, move |inner| inner.fire(now, limit))
    }

    fn attest(&self, attest: Attest) -> Answer<Result<Attested>> {
        self.call(Method::Attest, move |inner| inner.attest(attest))
    }

    fn sweep(&self, sweep: Sweep) -> Answer<Result<Swept>> {
        self.call(Method::Sweep, move |inner| inner.sweep(sweep))
    }

    fn ask(&self, ask: Ask) -> Answer<Result<Reply>> {
        self.call(Method::Ask, move |inner| inner.ask(ask))
    }

    fn answer(&self, epoch: Epoch, replies: Vec<Reply>) -> Answer<Result<Vec<Pending>>> {
        self.call(Method::Answer, move |inner| inner.answer(epoch, replies))
    }

    fn read(&self, read: Read) -> Answer<Result<Option<RunRead>>> {
        let book = self.book.clone();
        let found = self.call(Method::Read, move |inner| inner.read(read));
        Box::pin(async move {
            let found = found.await;
            found.iter().flatten().for_each(|read| book.reads(read));
            found
        })
    }

    fn find(&self, filter: Filter) -> Answer<Result<Page>> {
        self.call(Method::Find, move |inner| inner.find(filter))
    }

    fn leftovers(&self, subtree: Subtree) -> Answer<Result<Leftovers>> {
        self.call(Method::Leftovers, move |inner| inner.leftovers(subtree))
    }

    fn write_catalog(&self, puts: Vec<CatalogPut>) -> Answer<Vec<Result<Version>>> {
        self.call(Method::CatalogPut, move |inner| inner.write_catalog(puts))
    }

    fn read_catalog(&self, catalog: CatalogRead) -> Answer<Result<Vec<Item>>> {
        self.call(Method::CatalogRead, move |inner| inner.read_catalog(catalog))
    }

    fn watch(&self) -> Hints {
        self.inner.watch()
    }
}
