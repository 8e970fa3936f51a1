//! The store as one process sees it: calls take time, fail, are done and not answered; hints are
//! lost, late, doubled and out of order.
//!
//! In:    calls of an engine.
//! Out:   the same calls on the rows that all members share, when chance lets them; each is told to
//!        the observer at the moment of its effect.
//! Never: an answer for a dead process. What it sent before it died may still be done.

mod call;
mod hints;

use std::sync::{Arc, atomic::AtomicU64};

use bowline_core::{Epoch, Time, Version};
use bowline_store::{
    Answer, Ask, Attest, Attested, Broadcast, CatalogPut, CatalogRead, ClaimActivities, ClaimRuns,
    ClaimedActivity, ClaimedRun, Commit, Committed, Error, Filter, Fired, Hints, Item, Join,
    Joined, Leftovers, Listeners, Page, Pending, Posted, Posting, Read, Renewal, Renewed, Reply,
    Result, RunRead, Settle, Settled, Store, Subtree, Sweep, Swept, TakeUp, memory::MemoryStore,
};
use tokio::runtime::Handle;

use crate::{chance::Chance, observer::Observer, process::Process, weather::Sky};

/// What lies between one process and the rows.
pub(crate) struct Line {
    pub(crate) process: Arc<Process>,
    pub(crate) rows: MemoryStore,
    pub(crate) observer: Arc<Observer>,
    pub(crate) chance: Chance,
    pub(crate) sky: Arc<Sky>,
    pub(crate) runtime: Handle,
    /// Whether what a process has sent may be done after its death: a file dies with its process.
    pub(crate) outlives: bool,
    pub(crate) listeners: Listeners,
    /// Says something to all other members.
    pub(crate) says: Box<dyn Fn(Broadcast) + Send + Sync>,
    pub(crate) calls: AtomicU64,
    pub(crate) told: AtomicU64,
}

/// The store of one process.
pub(crate) struct Wire(pub(crate) Arc<Line>);

fn all<T>(count: usize) -> impl Fn(Error) -> Vec<Result<T>> + Send + 'static {
    move |error| (0..count).map(|_| Err(error.clone())).collect()
}

impl Store for Wire {
    fn join(&self, join: Join) -> Answer<Result<Joined>> {
        self.call("join", move |line| line.rows.join(join), Err)
    }

    fn renew(&self, renewal: Renewal) -> Answer<Result<Renewed>> {
        self.call("renew", move |line| line.then(line.rows.renew(renewal)), Err)
    }

    fn post(&self, posts: Vec<Posting>) -> Answer<Vec<Result<Posted>>> {
        let count = posts.len();
        let effect = move |line: &Arc<Line>| -> Answer<_> {
            let (answer, line) = (line.rows.post(posts.clone()), line.clone());
            Box::pin(async move {
                let answers = answer.await;
                line.observer.posted(&posts, &answers);
                answers
            })
        };
        self.call("post", effect, all(count))
    }

    fn claim_runs(&self, claim: ClaimRuns) -> Answer<Result<Vec<ClaimedRun>>> {
        self.call("claim_runs", move |line| line.then(line.rows.claim_runs(claim)), Err)
    }

    fn take_up(&self, take: TakeUp) -> Answer<Result<Vec<ClaimedRun>>> {
        self.call("take_up", move |line| line.then(line.rows.take_up(take)), Err)
    }

    fn claim_activities(&self, claim: ClaimActivities) -> Answer<Result<Vec<ClaimedActivity>>> {
        let effect = move |line: &Arc<Line>| -> Answer<_> {
            let (answer, line) = (line.rows.claim_activities(claim), line.clone());
            Box::pin(async move {
                let answer = answer.await;
                line.observer.claimed(answer.as_deref().unwrap_or_default());
                answer
            })
        };
        self.call("claim_activities", effect, Err)
    }

    fn commit(&self, commits: Vec<Commit>) -> Answer<Vec<Result<Committed>>> {
        let count = commits.len();
        let effect = move |line: &Arc<Line>| -> Answer<_> {
            let (answer, line) = (line.rows.commit(commits.clone()), line.clone());
            Box::pin(async move {
                let answers = answer.await;
                line.observer.committed(&commits, &answers);
                answers
            })
        };
        self.call("commit", effect, all(count))
    }

    fn settle(&self, settles: Vec<Settle>) -> Answer<Vec<Result<Settled>>> {
        let count = settles.len();
        self.call("settle", move |line| line.then(line.rows.settle(settles)), all(count))
    }

    fn fire(&self, now: Time, limit: usize) -> Answer<Result<Fired>> {
        self.call("fire", move |line| line.then(line.rows.fire(now, limit)), Err)
    }

    fn silence(&self) -> Option<std::time::Duration> {
        self.0.rows.silence()
    }

    fn attest(&self, attest: Attest) -> Answer<Result<Attested>> {
        self.call("attest", move |line| line.then(line.rows.attest(attest)), Err)
    }

    fn sweep(&self, sweep: Sweep) -> Answer<Result<Swept>> {
        self.call("sweep", move |line| line.then(line.rows.sweep(sweep)), Err)
    }

    fn ask(&self, ask: Ask) -> Answer<Result<Reply>> {
        self.call("ask", move |line| line.rows.ask(ask), Err)
    }

    fn answer(&self, epoch: Epoch, replies: Vec<Reply>) -> Answer<Result<Vec<Pending>>> {
        self.call("answer", move |line| line.rows.answer(epoch, replies), Err)
    }

    fn read(&self, read: Read) -> Answer<Result<Option<RunRead>>> {
        self.call("read", move |line| line.rows.read(read), Err)
    }

    fn find(&self, filter: Filter) -> Answer<Result<Page>> {
        self.call("find", move |line| line.rows.find(filter), Err)
    }

    fn leftovers(&self, subtree: Subtree) -> Answer<Result<Leftovers>> {
        self.call("leftovers", move |line| line.rows.leftovers(subtree), Err)
    }

    fn write_catalog(&self, puts: Vec<CatalogPut>) -> Answer<Vec<Result<Version>>> {
        let count = puts.len();
        self.call("write_catalog", move |line| line.rows.write_catalog(puts), all(count))
    }

    fn read_catalog(&self, catalog: CatalogRead) -> Answer<Result<Vec<Item>>> {
        self.call("read_catalog", move |line| line.rows.read_catalog(catalog), Err)
    }

    fn watch(&self) -> Hints {
        self.0.listeners.listen()
    }

    fn say(&self, word: Broadcast) {
        (self.0.says)(word);
    }
}
