//! The contract: every method is handed to the writer or to a reader, and answered from there.

use std::future::ready;

use bowline_core::{Epoch, Namespace, Queue, RunId, Time, Version};
use bowline_store::{
    Answer, Ask, Attest, Attested, CatalogPut, CatalogRead, ClaimActivities, ClaimRuns,
    ClaimedActivity, ClaimedRun, Commit, Committed, Error, Filter, Fired, Hint, Hints, Item, Join,
    Joined, Leftovers, Page, Pending, Posted, Posting, Read, Renewal, Renewed, Reply, Result,
    RunRead, Settle, Settled, Store, Subtree, Sweep, Swept, TakeUp, ready::Sought, stored::Weight,
};
use tokio::sync::{
    mpsc::{self, error::TrySendError},
    oneshot,
};

use crate::{
    SqliteStore,
    connection::{
        db::{Db, Outcome},
        guard,
    },
    queue::{
        claim,
        fire::{Fire, fire},
        member, sweep,
    },
    read::{
        catalog, find, leftovers, one as read,
        reader::{self, Question},
    },
    write::{
        call::{Many, Step},
        commit::commit,
        post,
        settle::settle,
        writer::Order,
    },
};

impl SqliteStore {
    /// One item, one answer.
    fn one<I: Send + 'static, O: Send + 'static>(
        &self,
        item: I,
        step: Step<I, O>,
        weigh: fn(&I) -> Weight,
    ) -> Answer<Result<O>> {
        let (reply, answer) = oneshot::channel();
        self.submit(Order::Call(Box::new(Many::one(item, step, weigh, reply))), answer, Err)
    }

    /// Many items, as many answers.
    fn many<I: Send + 'static, O: Send + 'static>(
        &self,
        items: Vec<I>,
        step: Step<I, O>,
        weigh: fn(&I) -> Weight,
    ) -> Answer<Vec<Result<O>>> {
        let count = items.len();
        let (reply, answer) = oneshot::channel();
        let order = Order::Call(Box::new(Many::all(items, step, weigh, reply)));
        let refuse = move |error: Error| (0..count).map(|_| Err(error.clone())).collect();
        self.submit(order, answer, refuse)
    }

    /// Hands an order over at once, so that it is carried out whether or not anybody waits for it.
    /// Only where the queue is full does the caller have to wait to be let in.
    pub(crate) fn submit<T: Send + 'static>(
        &self,
        order: Order,
        answer: oneshot::Receiver<T>,
        refuse: impl FnOnce(Error) -> T + Send + 'static,
    ) -> Answer<T> {
        if guard::is_inside() {
            // The writer runs this very closure: whoever waited for it there would wait for ever.
            let why = "inside a transaction, ask through the transaction and not through the store";
            return Box::pin(ready(refuse(Error::Invalid(why.into()))));
        }
        match self.send(order) {
            Ok(()) => Box::pin(async move { answer.await.unwrap_or_else(|_| refuse(Error::Shut)) }),
            Err(TrySendError::Closed(_)) => Box::pin(ready(refuse(Error::Shut))),
            Err(TrySendError::Full(order)) => {
                let (orders, loan) = (self.orders.clone(), self.loan.clone());
                Box::pin(async move {
                    let Ok(room) = orders.reserve().await else { return refuse(Error::Shut) };
                    loan.sends();
                    room.send(order);
                    answer.await.unwrap_or_else(|_| refuse(Error::Shut))
                })
            }
        }
    }

    /// Sends an order to the writer's thread, unless this thread has the writer.
    pub(crate) fn send(&self, order: Order) -> std::result::Result<(), TrySendError<Order>> {
        let order = match order {
            Order::Call(call) => match self.loan.keep(call) {
                Some(call) => Order::Call(call),
                None => return Ok(()),
            },
            other => other,
        };
        self.loan.sends();
        let sent = self.orders.try_send(order);
        if sent.is_err() {
            self.loan.carried_out(1);
        }
        sent
    }

    /// Asks a reader.
    fn reading<T: Send + 'static>(
        &self,
        read: impl FnOnce(Db<'_>) -> Outcome<T> + Send + 'static,
    ) -> Answer<Result<T>> {
        Self::asking(&self.questions, read)
    }

    /// Asks the reader of lists, so that nobody else waits while one is made.
    fn listing<T: Send + 'static>(
        &self,
        read: impl FnOnce(Db<'_>) -> Outcome<T> + Send + 'static,
    ) -> Answer<Result<T>> {
        Self::asking(&self.lists, read)
    }

    fn asking<T: Send + 'static>(
        questions: &mpsc::Sender<Question>,
        read: impl FnOnce(Db<'_>) -> Outcome<T> + Send + 'static,
    ) -> Answer<Result<T>> {
        let (reply, answer) = oneshot::channel();
        let question = reader::question(read, reply);
        match questions.try_send(question) {
            Ok(()) => Box::pin(async move { answer.await.unwrap_or(Err(Error::Shut)) }),
            Err(TrySendError::Closed(_)) => Box::pin(async { Err(Error::Shut) }),
            Err(TrySendError::Full(question)) => {
                let questions = questions.clone();
                Box::pin(async move {
                    questions.send(question).await.map_err(|_| Error::Shut)?;
                    answer.await.unwrap_or(Err(Error::Shut))
                })
            }
        }
    }
}

impl Store for SqliteStore {
    fn join(&self, join: Join) -> Answer<Result<Joined>> {
        self.shared.clock(join.now);
        self.one(join, member::join, |_| Weight::ROW)
    }

    fn renew(&self, renewal: Renewal) -> Answer<Result<Renewed>> {
        self.shared.clock(renewal.now);
        self.one(renewal, member::renew, Weight::renewal)
    }

    fn post(&self, posts: Vec<Posting>) -> Answer<Vec<Result<Posted>>> {
        for posting in &posts {
            self.shared.clock(posting.now());
        }
        self.many(posts, post::post, Weight::posting)
    }

    fn post_ahead(&self, posts: Vec<Posting>) -> Option<Answer<Vec<Result<Posted>>>> {
        if guard::is_inside() || self.shared.is_closing() {
            return None;
        }
        for posting in &posts {
            self.shared.clock(posting.now());
        }
        let count = posts.len();
        let refuse = move |error: Error| (0..count).map(|_| Err(error.clone())).collect();
        let (reply, answer) = oneshot::channel();
        let call = Box::new(Many::all(posts, post::post, Weight::posting, reply));
        Some(match self.shared.ahead.put(call) {
            None => Box::pin(async move { answer.await.unwrap_or_else(|_| refuse(Error::Shut)) }),
            Some(call) => self.submit(Order::Call(call), answer, refuse),
        })
    }

    fn hurry(&self, _: RunId) {
        if !self.shared.ahead.is_empty() {
            // A queue that is full needs no wake-up: its thread is awake.
            let _ = self.send(Order::Wake);
        }
    }

    fn lend(&self, ask: &mut dyn FnMut()) {
        match guard::is_inside() {
            true => ask(),
            false => self.loan.lend(ask),
        }
    }

    fn may_find(&self, sought: Sought, namespace: Namespace, queue: &Queue) -> bool {
        self.shared.waiting.may_find(sought, namespace, queue)
    }

    fn claim_runs(&self, claim: ClaimRuns) -> Answer<Result<Vec<ClaimedRun>>> {
        self.shared.clock(claim.now);
        self.one(claim, claim::claim_runs, |claim| Weight::at_most(claim.count))
    }

    fn take_up(&self, take: TakeUp) -> Answer<Result<Vec<ClaimedRun>>> {
        self.shared.clock(take.now);
        self.one(take, claim::take_up, |take| Weight::at_most(take.runs.len()))
    }

    fn claim_activities(&self, claim: ClaimActivities) -> Answer<Result<Vec<ClaimedActivity>>> {
        self.shared.clock(claim.now);
        self.one(claim, claim::claim_activities, |claim| Weight::at_most(claim.count))
    }

    fn commit(&self, commits: Vec<Commit>) -> Answer<Vec<Result<Committed>>> {
        commits.iter().for_each(|commit| self.shared.clock(commit.now));
        self.many(commits, commit, Weight::commit)
    }

    fn settle(&self, settles: Vec<Settle>) -> Answer<Vec<Result<Settled>>> {
        settles.iter().for_each(|settle| self.shared.clock(settle.now));
        self.many(settles, settle, Weight::settle)
    }

    fn fire(&self, now: Time, limit: usize) -> Answer<Result<Fired>> {
        self.shared.clock(now);
        let (reply, answer) = oneshot::channel();
        let call = Many::one(Fire { now, limit }, fire, |fire| Weight::at_most(fire.limit), reply);
        // When the next alarm rings is known once the index has heard of these.
        let call = call.and_after(|memory, fired| fired.next = memory.index.next_due());
        self.submit(Order::Call(Box::new(call)), answer, Err)
    }

    fn sweep(&self, sweep: Sweep) -> Answer<Result<Swept>> {
        self.shared.clock(sweep.now);
        self.one(sweep, sweep::sweep, |sweep| Weight::at_most(sweep.limit))
    }

    fn ask(&self, ask: Ask) -> Answer<Result<Reply>> {
        let asked = self.shared.asks.ask(ask);
        self.shared.asks.expire(self.shared.now());
        self.shared.listeners.tell(&[Hint::Asked]);
        Box::pin(async move { asked?.await.unwrap_or(Err(Error::Shut)) })
    }

    fn answer(&self, epoch: Epoch, replies: Vec<Reply>) -> Answer<Result<Vec<Pending>>> {
        let answered = self.shared.asks.answer(epoch, replies);
        if let Ok((answered, _)) = &answered {
            let hints: Vec<_> = answered.iter().copied().map(Hint::Answered).collect();
            self.shared.listeners.tell(&hints);
        }
        Box::pin(async move { answered.map(|(_, pending)| pending) })
    }

    /// Nobody else has the file open, so nobody else can be gone.
    fn attest(&self, _: Attest) -> Answer<Result<Attested>> {
        Box::pin(ready(Ok(Attested::default())))
    }

    fn read(&self, read: Read) -> Answer<Result<Option<RunRead>>> {
        self.reading(move |db| read::read(db, &read))
    }

    fn find(&self, filter: Filter) -> Answer<Result<Page>> {
        self.listing(move |db| find::find(db, &filter))
    }

    fn leftovers(&self, subtree: Subtree) -> Answer<Result<Leftovers>> {
        let alive = self.shared.member();
        self.reading(move |db| leftovers::leftovers(db, &subtree, alive))
    }

    fn write_catalog(&self, puts: Vec<CatalogPut>) -> Answer<Vec<Result<Version>>> {
        self.many(puts, catalog::write_catalog, Weight::write_catalog)
    }

    fn read_catalog(&self, catalog: CatalogRead) -> Answer<Result<Vec<Item>>> {
        self.reading(move |db| catalog::read_catalog(db, &catalog))
    }

    fn watch(&self) -> Hints {
        self.shared.listeners.listen()
    }

    fn shut(&self) -> Answer<()> {
        self.begin_to_close();
        let gone = self.gone.clone();
        Box::pin(async move {
            // Nothing is ever sent: this hears the last end being dropped.
            let _ = gone.lock().await.recv().await;
        })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::sync_channel;

    use bowline_store::RunKey;

    use super::*;
    use crate::Settings;

    /// A list takes as long as it takes, and another waits behind it. Whoever reads a run, or
    /// writes, does not.
    #[tokio::test]
    async fn lists_take_no_reader_from_others() {
        let folder = tempfile::TempDir::new().expect("a folder");
        let settings = Settings { readers: 1, ..Settings::default() };
        let store = SqliteStore::open_with(folder.path().join("store.db"), settings).expect("open");
        let (begun, begins) = sync_channel(1);
        let (go_on, held) = sync_channel::<()>(1);
        let slow = store.listing(move |_| {
            let _ = begun.send(());
            let _ = held.recv();
            Ok(())
        });
        begins.recv().expect("it has begun");
        let mut list = store.find(Filter { limit: 1, ..Filter::default() });
        let run = RunId { namespace: Namespace(1), uuid: 1 };
        let read = store.read(Read::head(RunKey::Run(run))).await.expect("it is answered");
        assert!(read.is_none());
        store.fire(Time(1), 1).await.expect("it is answered");
        let waits = std::future::poll_fn(|context| {
            std::task::Poll::Ready(list.as_mut().poll(context).is_pending())
        });
        assert!(waits.await, "it was not the list that made room");
        go_on.send(()).expect("it waits");
        slow.await.expect("it is answered");
        assert!(list.await.expect("it is answered").runs.is_empty());
    }
}
