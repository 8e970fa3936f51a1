//! A store behind gates: a test holds a chosen call exactly there, lets calls fail, cuts the
//! store off, swallows hints and hits, and counts everything.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use bowline_core::{Epoch, Time, Version};
use bowline_store::{
    Answer, Ask, Attest, Attested, CatalogPut, CatalogRead, ClaimActivities, ClaimRuns,
    ClaimedActivity, ClaimedRun, Commit, Committed, Error, Filter, Fired, Hint, Hints, Join,
    Joined, Leftovers, Listeners, Page, Pending, Posted, Posting, Read, Renewal, Renewed, Reply,
    Result, RunRead, Settle, Settled, Store, Subtree, Sweep, Swept, TakeUp,
    memory::{Method, When},
};
use parking_lot::Mutex;
use tokio::sync::watch;

use crate::world::within;

/// One call, or one item of its batch, as a gate sees it: before it is made, or after it was.
pub(crate) enum Call<'a> {
    Commit(&'a Commit),
    #[expect(dead_code, reason = "no gate looks inside yet; they tell calls apart")]
    Settle(&'a Settle),
    #[expect(dead_code, reason = "no gate looks inside yet; they tell calls apart")]
    Post(&'a Posting),
    Renew(&'a Renewal),
    /// What a claim of runs has found; only after the call.
    Runs(&'a [ClaimedRun]),
    /// What a claim of activities has started; only after the call.
    Activities(&'a [ClaimedActivity]),
    /// What a look at alarms has brought; only after the call.
    Fired(&'a Fired),
    Other,
}

type Which = Box<dyn Fn(&Call<'_>) -> bool + Send>;

/// What all openings of the store have in common. Clones are the same.
#[derive(Clone, Default)]
pub(crate) struct Gates(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    holds: Vec<(Method, When, Which, Arc<Point>)>,
    faults: Vec<(Method, When, Which)>,
    is_cut: bool,
    lost: Lost,
    drops_hits: bool,
    calls: Vec<Method>,
    cancels: Vec<Written>,
    renewed: Vec<usize>,
    claims: usize,
}

/// What of a commit that cancels activities says how much it cost.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Written {
    /// How many ranges of activities it cancelled.
    pub(crate) ranges: usize,
    /// How many activities that were.
    pub(crate) activities: u64,
    /// How many bytes of history it wrote.
    pub(crate) bytes: usize,
}

/// Which hints never arrive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Lost {
    #[default]
    Nothing,
    /// That an attempt was cancelled.
    Cancelled,
    Everything,
}

struct Point {
    reached: watch::Sender<bool>,
    released: watch::Sender<bool>,
}

/// A call that is held, or will be. Dropping this lets it go.
pub(crate) struct Held(Arc<Point>);

impl Held {
    /// Waits until the call stands at the gate.
    pub(crate) async fn reached(&self) {
        let mut reached = self.0.reached.subscribe();
        let stands = reached.wait_for(|reached| *reached);
        within("a call at a gate", stands).await.expect("the gate is there");
    }

    pub(crate) fn release(self) {}
}

impl Drop for Held {
    fn drop(&mut self) {
        self.0.released.send_replace(true);
    }
}

impl Gates {
    /// Holds the next call that is meant, before it is made or after its work is done.
    pub(crate) fn hold(
        &self,
        method: Method,
        when: When,
        which: impl Fn(&Call<'_>) -> bool + Send + 'static,
    ) -> Held {
        let point = Arc::new(Point {
            reached: watch::Sender::new(false),
            released: watch::Sender::new(false),
        });
        self.0.lock().holds.push((method, when, Box::new(which), point.clone()));
        Held(point)
    }

    /// Lets the next call that is meant fail: before it is made, or with its outcome unknown.
    pub(crate) fn fail(
        &self,
        method: Method,
        when: When,
        which: impl Fn(&Call<'_>) -> bool + Send + 'static,
    ) {
        self.0.lock().faults.push((method, when, Box::new(which)));
    }

    /// How many of the failures that were asked for have not happened yet.
    pub(crate) fn failures_left(&self) -> usize {
        self.0.lock().faults.len()
    }

    /// The store cannot be reached from now on, or can again.
    pub(crate) fn cut(&self, is_cut: bool) {
        self.0.lock().is_cut = is_cut;
    }

    /// These hints never arrive from now on.
    pub(crate) fn lose(&self, lost: Lost) {
        self.0.lock().lost = lost;
    }

    /// Answers do not tell any more which attempts a commit or an alarm has hit.
    pub(crate) fn drop_hits(&self) {
        self.0.lock().drops_hits = true;
    }

    /// Every call so far.
    pub(crate) fn calls(&self) -> Vec<Method> {
        self.0.lock().calls.clone()
    }

    /// Every commit so far that cancelled activities.
    pub(crate) fn cancels(&self) -> Vec<Written> {
        self.0.lock().cancels.clone()
    }

    /// Of every renewal that was answered: how many cancels the answer named.
    pub(crate) fn renewed(&self) -> Vec<usize> {
        self.0.lock().renewed.clone()
    }

    /// True if activities were looked for, and nobody looks for them now.
    pub(crate) fn are_at_rest(&self) -> bool {
        let state = self.0.lock();
        let claims = state.calls.iter().filter(|call| **call == Method::ClaimActivities).count();
        claims > 0 && claims == state.claims
    }

    fn called(&self, method: Method) -> Result<()> {
        let mut state = self.0.lock();
        state.calls.push(method);
        match state.is_cut {
            true => Err(Error::Busy("the store cannot be reached".into())),
            false => Ok(()),
        }
    }

    fn fails(&self, method: Method, when: When, calls: &[Call<'_>]) -> Result<()> {
        let mut state = self.0.lock();
        let due = state
            .faults
            .iter()
            .position(|(of, at, which)| (*of, *at) == (method, when) && calls.iter().any(which));
        match (due.map(|due| drop(state.faults.remove(due))), when) {
            (None, _) => Ok(()),
            (Some(()), When::Before) => Err(Error::Busy("a test wants it".into())),
            (Some(()), When::After) => Err(Error::Unknown("a test wants it".into())),
        }
    }

    fn stops(&self, method: Method, when: When, calls: &[Call<'_>]) -> Option<Arc<Point>> {
        let mut state = self.0.lock();
        // A gate that was let go of before anybody came is open.
        state.holds.retain(|(.., point)| !*point.released.borrow());
        let due = state
            .holds
            .iter()
            .position(|(of, at, which, _)| (*of, *at) == (method, when) && calls.iter().any(which));
        due.map(|due| state.holds.remove(due).3)
    }

    fn at(
        &self,
        method: Method,
        when: When,
        items: &[impl Item],
    ) -> (Option<Arc<Point>>, Result<()>) {
        let calls: Vec<Call<'_>> = items.iter().map(Item::call).collect();
        (self.stops(method, when, &calls), self.fails(method, when, &calls))
    }

    fn hears(&self, hint: &Hint) -> bool {
        match self.0.lock().lost {
            Lost::Nothing => true,
            Lost::Cancelled => *hint != Hint::Cancelled,
            Lost::Everything => false,
        }
    }

    fn note(&self, commits: &[Commit]) {
        let cancelling = commits.iter().filter(|commit| !commit.cancels.is_empty());
        self.0.lock().cancels.extend(cancelling.map(|commit| Written {
            ranges: commit.cancels.iter().map(|(ranges, _)| ranges.ranges().len()).sum(),
            activities: commit.cancels.iter().map(|(ranges, _)| ranges.count()).sum(),
            bytes: commit.batch.as_ref().map_or(0, |batch| batch.bytes.len()),
        }));
    }
}

/// An item of a batch.
trait Item: Clone + Send + Sync + 'static {
    fn call(&self) -> Call<'_>;
}

impl Item for Posting {
    fn call(&self) -> Call<'_> {
        Call::Post(self)
    }
}

impl Item for Commit {
    fn call(&self) -> Call<'_> {
        Call::Commit(self)
    }
}

impl Item for Settle {
    fn call(&self) -> Call<'_> {
        Call::Settle(self)
    }
}

/// Whether the process that has the store open lives. What a killed one was doing ends when its
/// runtime gets to it, which may be later than the next process begins: until then it must reach
/// neither the store nor a gate. Clones are the same.
#[derive(Clone, Default)]
pub(crate) struct Life(Arc<AtomicBool>);

impl Life {
    pub(crate) fn end(&self) {
        self.0.store(true, Ordering::SeqCst);
    }

    fn is_over(&self) -> bool {
        self.0.load(Ordering::SeqCst)
    }

    /// Never comes back in a process that is dead.
    async fn goes_on(&self) {
        if self.is_over() {
            std::future::pending().await
        }
    }

    async fn stand(&self, point: Option<Arc<Point>>) {
        if let Some(point) = point {
            point.reached.send_replace(true);
            let mut released = point.released.subscribe();
            released.wait_for(|released| *released).await.expect("the gate is there");
        }
        self.goes_on().await;
    }
}

/// A store behind gates.
pub(crate) struct Gated {
    pub(crate) inner: Arc<dyn Store>,
    pub(crate) gates: Gates,
    /// Its leases run by the story's clock. Where they run by another one, nobody counts them.
    pub(crate) is_timed: bool,
    pub(crate) life: Life,
}

impl Gated {
    /// A store whose leases nobody counts, and whose process is never killed.
    pub(crate) fn over(inner: Arc<dyn Store>, gates: Gates) -> Self {
        Self { inner, gates, is_timed: false, life: Life::default() }
    }

    fn one<T: Send + 'static>(
        &self,
        method: Method,
        before: &Call<'_>,
        call: impl FnOnce(Arc<dyn Store>) -> Answer<Result<T>> + Send + 'static,
        after: impl Fn(&T) -> Call<'_> + Send + 'static,
    ) -> Answer<Result<T>> {
        if self.life.is_over() {
            return Box::pin(std::future::pending());
        }
        let (inner, gates, life) = (self.inner.clone(), self.gates.clone(), self.life.clone());
        let called = self.gates.called(method);
        let before = std::slice::from_ref(before);
        let stops = gates.stops(method, When::Before, before);
        let fails = gates.fails(method, When::Before, before);
        Box::pin(async move {
            life.stand(stops).await;
            called.and(fails)?;
            let answer = call(inner).await?;
            life.goes_on().await;
            let stops = gates.stops(method, When::After, &[after(&answer)]);
            let fails = gates.fails(method, When::After, &[after(&answer)]);
            life.stand(stops).await;
            fails.map(|()| answer)
        })
    }

    fn many<I: Item, T: Send + 'static>(
        &self,
        method: Method,
        items: Vec<I>,
        call: impl FnOnce(Arc<dyn Store>, Vec<I>) -> Answer<Vec<Result<T>>> + Send + 'static,
    ) -> Answer<Vec<Result<T>>> {
        if self.life.is_over() {
            return Box::pin(std::future::pending());
        }
        let (inner, gates, life) = (self.inner.clone(), self.gates.clone(), self.life.clone());
        let called = self.gates.called(method);
        let (stops, fails) = gates.at(method, When::Before, &items);
        Box::pin(async move {
            life.stand(stops).await;
            if let Err(error) = called.and(fails) {
                return items.iter().map(|_| Err(error.clone())).collect();
            }
            let answers = call(inner, items.clone()).await;
            life.goes_on().await;
            let (stops, fails) = gates.at(method, When::After, &items);
            life.stand(stops).await;
            match fails {
                Ok(()) => answers,
                Err(error) => answers.into_iter().map(|a| a.and(Err(error.clone()))).collect(),
            }
        })
    }
}

fn other<T>(_: &T) -> Call<'_> {
    Call::Other
}

impl Store for Gated {
    fn join(&self, join: Join) -> Answer<Result<Joined>> {
        self.one(Method::Join, &Call::Other, move |inner| inner.join(join), other)
    }

    fn renew(&self, renewal: Renewal) -> Answer<Result<Renewed>> {
        let (before, gates) = (renewal.clone(), self.gates.clone());
        let call = move |inner: Arc<dyn Store>| -> Answer<Result<Renewed>> {
            Box::pin(async move {
                let renewed = inner.renew(renewal).await?;
                gates.0.lock().renewed.push(renewed.cancels.len());
                Ok(renewed)
            })
        };
        self.one(Method::Renew, &Call::Renew(&before), call, other)
    }

    fn post(&self, posts: Vec<Posting>) -> Answer<Vec<Result<Posted>>> {
        self.many(Method::Post, posts, |inner, posts| inner.post(posts))
    }

    fn silence(&self) -> Option<std::time::Duration> {
        self.inner.silence().filter(|_| self.is_timed)
    }

    fn lend(&self, ask: &mut dyn FnMut()) {
        self.inner.lend(ask);
    }

    fn claim_runs(&self, claim: ClaimRuns) -> Answer<Result<Vec<ClaimedRun>>> {
        let call = move |inner: Arc<dyn Store>| inner.claim_runs(claim);
        self.one(Method::ClaimRuns, &Call::Other, call, |runs| Call::Runs(runs))
    }

    fn take_up(&self, take: TakeUp) -> Answer<Result<Vec<ClaimedRun>>> {
        let call = move |inner: Arc<dyn Store>| inner.take_up(take);
        self.one(Method::ClaimRuns, &Call::Other, call, |runs| Call::Runs(runs))
    }

    fn claim_activities(&self, claim: ClaimActivities) -> Answer<Result<Vec<ClaimedActivity>>> {
        let call = move |inner: Arc<dyn Store>| inner.claim_activities(claim);
        let gates = self.gates.clone();
        let claimed =
            self.one(Method::ClaimActivities, &Call::Other, call, |found| Call::Activities(found));
        Box::pin(async move {
            let claimed = claimed.await;
            gates.0.lock().claims += 1;
            claimed
        })
    }

    fn commit(&self, commits: Vec<Commit>) -> Answer<Vec<Result<Committed>>> {
        self.gates.note(&commits);
        let gates = self.gates.clone();
        self.many(Method::Commit, commits, move |inner, commits| {
            Box::pin(async move {
                let mut committed = inner.commit(commits).await;
                if gates.0.lock().drops_hits {
                    committed.iter_mut().flatten().for_each(|done| done.hits.clear());
                }
                committed
            })
        })
    }

    fn settle(&self, settles: Vec<Settle>) -> Answer<Vec<Result<Settled>>> {
        self.many(Method::Settle, settles, |inner, all| inner.settle(all))
    }

    fn fire(&self, now: Time, limit: usize) -> Answer<Result<Fired>> {
        let gates = self.gates.clone();
        let call = move |inner: Arc<dyn Store>| -> Answer<Result<Fired>> {
            Box::pin(async move {
                let mut fired = inner.fire(now, limit).await?;
                if gates.0.lock().drops_hits {
                    fired.hits.clear();
                }
                Ok(fired)
            })
        };
        self.one(Method::Fire, &Call::Other, call, |fired| Call::Fired(fired))
    }

    fn attest(&self, attest: Attest) -> Answer<Result<Attested>> {
        self.one(Method::Attest, &Call::Other, move |inner| inner.attest(attest), other)
    }

    fn sweep(&self, sweep: Sweep) -> Answer<Result<Swept>> {
        self.one(Method::Sweep, &Call::Other, move |inner| inner.sweep(sweep), other)
    }

    fn ask(&self, ask: Ask) -> Answer<Result<Reply>> {
        self.one(Method::Ask, &Call::Other, move |inner| inner.ask(ask), other)
    }

    fn answer(&self, epoch: Epoch, replies: Vec<Reply>) -> Answer<Result<Vec<Pending>>> {
        let call = move |inner: Arc<dyn Store>| inner.answer(epoch, replies);
        self.one(Method::Answer, &Call::Other, call, other)
    }

    fn read(&self, read: Read) -> Answer<Result<Option<RunRead>>> {
        self.one(Method::Read, &Call::Other, move |inner| inner.read(read), other)
    }

    fn find(&self, filter: Filter) -> Answer<Result<Page>> {
        self.one(Method::Find, &Call::Other, move |inner| inner.find(filter), other)
    }

    fn leftovers(&self, subtree: Subtree) -> Answer<Result<Leftovers>> {
        self.one(Method::Leftovers, &Call::Other, move |inner| inner.leftovers(subtree), other)
    }

    fn write_catalog(&self, puts: Vec<CatalogPut>) -> Answer<Vec<Result<Version>>> {
        if self.life.is_over() {
            return Box::pin(std::future::pending());
        }
        self.inner.write_catalog(puts)
    }

    fn read_catalog(&self, catalog: CatalogRead) -> Answer<Result<Vec<bowline_store::Item>>> {
        self.one(Method::CatalogRead, &Call::Other, move |inner| inner.read_catalog(catalog), other)
    }

    fn watch(&self) -> Hints {
        let (mut hints, gates) = (self.inner.watch(), self.gates.clone());
        let listeners = Listeners::default();
        let heard = listeners.listen();
        tokio::spawn(async move {
            loop {
                let hints = hints.next().await;
                let hints: Vec<_> = hints.into_iter().filter(|hint| gates.hears(hint)).collect();
                listeners.tell(&hints);
            }
        });
        heard
    }
}
