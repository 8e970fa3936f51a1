//! One memory store, seen from two sides: by the process that works on it and can die, and by the
//! test, which is a client beside it and cannot.
//!
//! In:    calls of either.
//! Out:   the memory store's answers, and the faults that were planned.
//! Never: an answer for a dead process. Its calls change nothing, and nobody hears from them.

use std::{
    future::{pending, ready},
    sync::Arc,
};

use bowline_engine::{
    core::{Ending, Epoch, Message, Name, Time, Version},
    store::{
        Answer, Ask, Attest, Attested, CatalogPut, CatalogRead, ClaimActivities, ClaimRuns,
        ClaimedActivity, ClaimedRun, Commit, Committed, Error, Filter, Fired, Hints, Item, Join,
        Joined, Leftovers, Page, Pending, Posted, Posting, Read, Renewal, Renewed, Reply, Result,
        RunRead, Settle, Settled, Store, Subtree, Sweep, Swept, TakeUp,
    },
};

use super::{
    point::{Side, Step},
    world::{Passed, Trouble, World},
};
use crate::Phase;

/// The store as one life of the process sees it.
pub(super) struct Inside {
    pub(super) world: Arc<World>,
    pub(super) life: u64,
}

/// The store as the test sees it: it asks and reads, and leaves the work to the process.
pub(super) struct Outside(pub(super) Arc<World>);

/// What the test's own engine has for an epoch: it holds nothing, so nobody compares it.
const NO_EPOCH: Epoch = Epoch(u64::MAX);

/// What is answered where a fault was asked for.
fn trouble(side: Side) -> Error {
    match side {
        Side::Before => Error::Busy("the test wants it so".into()),
        Side::After => Error::Unknown("the test wants it so".into()),
    }
}

/// A call that passes points: it may fail before, or after, or never be answered.
fn passing<T: Send + 'static>(
    world: &World,
    passed: &[Passed],
    call: impl FnOnce() -> Answer<T>,
    fail: impl Fn(Error) -> T,
) -> Answer<T> {
    match world.store_passes(Side::Before, passed) {
        Ok(()) => {}
        Err(Trouble::Fails) => return Box::pin(ready(fail(trouble(Side::Before)))),
        Err(Trouble::Died) => return Box::pin(pending()),
    }
    // The memory store has done everything when this returns.
    let answer = call();
    match world.store_passes(Side::After, passed) {
        Ok(()) => answer,
        Err(Trouble::Fails) => Box::pin(ready(fail(trouble(Side::After)))),
        Err(Trouble::Died) => Box::pin(pending()),
    }
}

fn of_post(posts: &[Posting]) -> Vec<Passed> {
    let is_cancel = |posting: &Posting| match posting {
        Posting::Message { message, .. } => {
            matches!(message, Message::Cancel(_) | Message::Terminate(_))
        }
        _ => false,
    };
    let requested = posts.iter().any(is_cancel).then_some(Phase::Requested);
    let phases = requested.map(|phase| (Step::Phase(phase), Vec::new()));
    [(Step::Post, Vec::new())].into_iter().chain(phases).collect()
}

impl Inside {
    fn is_dead(&self) -> bool {
        self.world.life() != self.life
    }

    fn call<T: Send + 'static>(&self, call: impl FnOnce() -> Answer<T>) -> Answer<T> {
        if self.is_dead() { Box::pin(pending()) } else { call() }
    }

    fn passes<T: Send + 'static>(
        &self,
        passed: &[Passed],
        call: impl FnOnce() -> Answer<T>,
        fail: impl Fn(Error) -> T,
    ) -> Answer<T> {
        self.call(|| passing(&self.world, passed, call, fail))
    }

    fn of_settle(&self, settles: &[Settle]) -> Vec<Passed> {
        // That code which was given up runs on is no end.
        let ends = settles.iter().filter(|settle| settle.ending != Ending::RunsOn);
        let names: Vec<Name> =
            ends.filter_map(|end| self.world.name_of(end.run, end.activity)).collect();
        let passed = (Step::Settle, names);
        Some(passed).filter(|(_, names)| !names.is_empty()).into_iter().collect()
    }
}

fn step(step: Step) -> Vec<Passed> {
    vec![(step, Vec::new())]
}

impl Store for Inside {
    fn join(&self, join: Join) -> Answer<Result<Joined>> {
        self.call(|| self.world.memory.join(join))
    }

    fn renew(&self, renewal: Renewal) -> Answer<Result<Renewed>> {
        self.passes(&step(Step::Renew), || self.world.memory.renew(renewal), Err)
    }

    fn post(&self, posts: Vec<Posting>) -> Answer<Vec<Result<Posted>>> {
        let (passed, count) = (of_post(&posts), posts.len());
        self.passes(&passed, || self.world.memory.post(posts), |error| all(error, count))
    }

    fn claim_runs(&self, claim: ClaimRuns) -> Answer<Result<Vec<ClaimedRun>>> {
        self.passes(&step(Step::Claim), || self.world.memory.claim_runs(claim), Err)
    }

    fn take_up(&self, take: TakeUp) -> Answer<Result<Vec<ClaimedRun>>> {
        self.passes(&step(Step::Claim), || self.world.memory.take_up(take), Err)
    }

    fn attest(&self, attest: Attest) -> Answer<Result<Attested>> {
        self.call(|| self.world.memory.attest(attest))
    }

    fn claim_activities(&self, claim: ClaimActivities) -> Answer<Result<Vec<ClaimedActivity>>> {
        self.passes(&step(Step::Claim), || self.world.memory.claim_activities(claim), Err)
    }

    fn commit(&self, commits: Vec<Commit>) -> Answer<Vec<Result<Committed>>> {
        let passed: Vec<_> = commits.iter().flat_map(|c| self.world.of_commit(c)).collect();
        let count = commits.len();
        self.passes(&passed, || self.world.memory.commit(commits), |error| all(error, count))
    }

    fn settle(&self, settles: Vec<Settle>) -> Answer<Vec<Result<Settled>>> {
        let (passed, count) = (self.of_settle(&settles), settles.len());
        self.passes(&passed, || self.world.memory.settle(settles), |error| all(error, count))
    }

    fn fire(&self, now: Time, limit: usize) -> Answer<Result<Fired>> {
        self.passes(&step(Step::Fire), || self.world.memory.fire(now, limit), Err)
    }

    fn sweep(&self, sweep: Sweep) -> Answer<Result<Swept>> {
        self.call(|| self.world.memory.sweep(sweep))
    }

    fn ask(&self, ask: Ask) -> Answer<Result<Reply>> {
        self.call(|| self.world.memory.ask(ask))
    }

    fn answer(&self, epoch: Epoch, replies: Vec<Reply>) -> Answer<Result<Vec<Pending>>> {
        self.call(|| self.world.memory.answer(epoch, replies))
    }

    fn read(&self, read: Read) -> Answer<Result<Option<RunRead>>> {
        self.call(|| self.world.memory.read(read))
    }

    fn find(&self, filter: Filter) -> Answer<Result<Page>> {
        self.call(|| self.world.memory.find(filter))
    }

    fn leftovers(&self, subtree: Subtree) -> Answer<Result<Leftovers>> {
        self.call(|| self.world.memory.leftovers(subtree))
    }

    fn write_catalog(&self, puts: Vec<CatalogPut>) -> Answer<Vec<Result<Version>>> {
        self.call(|| self.world.memory.write_catalog(puts))
    }

    fn read_catalog(&self, catalog: CatalogRead) -> Answer<Result<Vec<Item>>> {
        self.call(|| self.world.memory.read_catalog(catalog))
    }

    fn watch(&self) -> Hints {
        self.world.memory.watch()
    }
}

fn all<T>(error: Error, count: usize) -> Vec<Result<T>> {
    (0..count).map(|_| Err(error.clone())).collect()
}

fn nothing<T: Default + Send + 'static>() -> Answer<Result<T>> {
    Box::pin(ready(Ok(T::default())))
}

impl Store for Outside {
    fn join(&self, _: Join) -> Answer<Result<Joined>> {
        Box::pin(ready(Ok(Joined { epoch: NO_EPOCH })))
    }

    fn renew(&self, _: Renewal) -> Answer<Result<Renewed>> {
        nothing()
    }

    fn post(&self, posts: Vec<Posting>) -> Answer<Vec<Result<Posted>>> {
        let (passed, count) = (of_post(&posts), posts.len());
        // The test lives on where the process dies, and its own call is answered.
        let died = self.0.life();
        let memory = self.0.memory.clone();
        let again = posts.clone();
        let answer = passing(&self.0, &passed, || memory.post(posts), |error| all(error, count));
        if self.0.life() == died { answer } else { self.0.memory.post(again) }
    }

    fn claim_runs(&self, _: ClaimRuns) -> Answer<Result<Vec<ClaimedRun>>> {
        nothing()
    }

    fn take_up(&self, _: TakeUp) -> Answer<Result<Vec<ClaimedRun>>> {
        nothing()
    }

    fn attest(&self, attest: Attest) -> Answer<Result<Attested>> {
        self.0.memory.attest(attest)
    }

    fn claim_activities(&self, _: ClaimActivities) -> Answer<Result<Vec<ClaimedActivity>>> {
        nothing()
    }

    fn commit(&self, commits: Vec<Commit>) -> Answer<Vec<Result<Committed>>> {
        self.0.memory.commit(commits)
    }

    fn settle(&self, settles: Vec<Settle>) -> Answer<Vec<Result<Settled>>> {
        self.0.memory.settle(settles)
    }

    fn fire(&self, _: Time, _: usize) -> Answer<Result<Fired>> {
        nothing()
    }

    fn sweep(&self, _: Sweep) -> Answer<Result<Swept>> {
        nothing()
    }

    fn ask(&self, ask: Ask) -> Answer<Result<Reply>> {
        self.0.memory.ask(ask)
    }

    fn answer(&self, _: Epoch, _: Vec<Reply>) -> Answer<Result<Vec<Pending>>> {
        nothing()
    }

    fn read(&self, read: Read) -> Answer<Result<Option<RunRead>>> {
        self.0.memory.read(read)
    }

    fn find(&self, filter: Filter) -> Answer<Result<Page>> {
        self.0.memory.find(filter)
    }

    fn leftovers(&self, subtree: Subtree) -> Answer<Result<Leftovers>> {
        self.0.memory.leftovers(subtree)
    }

    fn write_catalog(&self, puts: Vec<CatalogPut>) -> Answer<Vec<Result<Version>>> {
        self.0.memory.write_catalog(puts)
    }

    fn read_catalog(&self, catalog: CatalogRead) -> Answer<Result<Vec<Item>>> {
        self.0.memory.read_catalog(catalog)
    }

    /// No hints: the process tells whoever waits at the test's doors.
    fn watch(&self) -> Hints {
        Hints::default()
    }
}
