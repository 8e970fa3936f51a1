//! The contract: what is posted, committed and settled is gathered into groups; everything else is
//! done by itself. All of it runs on the store's own threads, whether or not anybody waits.

use std::{future::Future, sync::Arc};

use bowline_core::{Epoch, RunId, Time, Version};
use bowline_store::{
    Answer, Ask, Attest, Attested, Broadcast, CatalogPut, CatalogRead, ClaimActivities, ClaimRuns,
    ClaimedActivity, ClaimedRun, Commit, Committed, Error, Filter, Fired, Hint, Hints, Item, Join,
    Joined, Leftovers, Page, Pending, Posted, Posting, Read, Renewal, Renewed, Reply, Result,
    RunKey, RunRead, Settle, Settled, Store, Subtree, Sweep, Swept, TakeUp, stored::Weight,
};
use tokio::sync::{mpsc::error::TrySendError, oneshot};

use crate::{
    PostgresStore,
    connection::db::Outcome,
    queue::{claim, fate, fire, member, sweep},
    read::{ask, catalog, find, leftovers, one as read, reader::Look},
    shared::Shared,
    write::{
        call::{Call, Many, Wake},
        commit, post, settle,
        tx::Wants,
        work::Step,
    },
};

impl PostgresStore {
    /// Many items, as many answers, in a group with others.
    fn many<I: Send + Sync + 'static, O: Send + 'static>(
        &self,
        items: Vec<I>,
        step: Step<I, O>,
        wants: fn(&I, &mut Wants),
        weigh: fn(&I) -> Weight,
    ) -> Answer<Vec<Result<O>>> {
        let count = items.len();
        let (reply, answer) = oneshot::channel();
        let answers = items.iter().map(|_| None).collect();
        match self.shared.enter() {
            Some(busy) => {
                let call = Many { items, answers, step, wants, weigh, reply, _busy: busy };
                self.submit(Box::new(call), answer, count)
            }
            None => Box::pin(async move { (0..count).map(|_| Err(Error::Shut)).collect() }),
        }
    }

    /// Gives a call to the lanes.
    fn submit<O: Send + 'static>(
        &self,
        call: Box<dyn Call>,
        answer: oneshot::Receiver<Vec<Result<O>>>,
        count: usize,
    ) -> Answer<Vec<Result<O>>> {
        let shut = move || (0..count).map(|_| Err(Error::Shut)).collect();
        // Handed over at once, so that it is carried out whether or not anybody waits for it. Only
        // where the queue is full does the caller have to wait to be let in.
        match self.calls.try_send(call) {
            Ok(()) => Box::pin(async move { answer.await.unwrap_or_else(|_| shut()) }),
            Err(TrySendError::Closed(_)) => Box::pin(async move { shut() }),
            Err(TrySendError::Full(call)) => {
                let calls = self.calls.clone();
                Box::pin(async move {
                    match calls.send(call).await {
                        Ok(()) => answer.await.unwrap_or_else(|_| shut()),
                        Err(_) => shut(),
                    }
                })
            }
        }
    }

    /// Has a lane look what waits. Where the queue is full they are all awake.
    fn wake(&self) {
        let _ = self.calls.try_send(Box::new(Wake));
    }

    /// An inbox, read with others.
    fn look(&self, run: RunId) -> Answer<Result<Option<RunRead>>> {
        let Some(busy) = self.shared.enter() else { return Box::pin(async { Err(Error::Shut) }) };
        let (reply, answer) = oneshot::channel();
        let (looks, look) = (self.looks.clone(), Look { run, reply, _busy: busy });
        Box::pin(async move {
            match looks.send(look).await {
                Ok(()) => answer.await.unwrap_or(Err(Error::Shut)),
                Err(_) => Err(Error::Shut),
            }
        })
    }

    /// Something that is done by itself.
    fn alone<T, F>(&self, work: impl FnOnce(Arc<Shared>) -> F) -> Answer<Result<T>>
    where
        T: Send + 'static,
        F: Future<Output = Outcome<T>> + Send + 'static,
    {
        let Some(busy) = self.shared.enter() else { return Box::pin(async { Err(Error::Shut) }) };
        let worked = work(self.shared.clone());
        let done = self.threads.runtime().spawn(async move {
            let outcome = worked.await;
            drop(busy);
            outcome
        });
        Box::pin(async move {
            match done.await {
                Ok(outcome) => outcome.map_err(Error::from),
                Err(stopped) if stopped.is_panic() => {
                    Err(Error::Backend("a bug in the store: it panicked, see above".into()))
                }
                Err(_) => Err(Error::Shut),
            }
        })
    }
}

/// The run of which nothing is wanted but its inbox.
fn inbox_only(read: &Read) -> Option<RunId> {
    match read {
        Read {
            run: RunKey::Run(run),
            events_from: None,
            snapshot: false,
            batches_max: _,
            inbox: true,
            activities_max: 0,
        } => Some(*run),
        _ => None,
    }
}

impl Store for PostgresStore {
    fn join(&self, join: Join) -> Answer<Result<Joined>> {
        self.shared.clock(join.now);
        self.alone(|shared| async move { member::join(&shared, &join).await })
    }

    fn renew(&self, renewal: Renewal) -> Answer<Result<Renewed>> {
        self.shared.clock(renewal.now);
        self.alone(|shared| async move { member::renew(&shared, &renewal).await })
    }

    fn post(&self, posts: Vec<Posting>) -> Answer<Vec<Result<Posted>>> {
        posts.iter().for_each(|posting| self.shared.clock(posting.now()));
        self.many(posts, post::post, post::wants, Weight::posting)
    }

    fn post_ahead(&self, posts: Vec<Posting>) -> Option<Answer<Vec<Result<Posted>>>> {
        let [Posting::Start(start)] = &posts[..] else { return None };
        let (run, now) = (start.birth.run, start.now);
        let busy = self.shared.enter()?;
        self.shared.clock(now);
        let (reply, answer) = oneshot::channel();
        let call: Box<dyn Call> = Box::new(Many {
            items: posts,
            answers: vec![None],
            step: post::post,
            wants: post::wants,
            weigh: Weight::posting,
            reply,
            _busy: busy,
        });
        match self.shared.ahead.put(run, call) {
            None => Some(Box::pin(async move { answer.await.unwrap_or(vec![Err(Error::Shut)]) })),
            // There is no room: nothing was done.
            Some(_) => None,
        }
    }

    fn hurry(&self, run: RunId) {
        if self.shared.ahead.hurry(run) {
            self.wake();
        }
    }

    fn claim_runs(&self, claim: ClaimRuns) -> Answer<Result<Vec<ClaimedRun>>> {
        self.shared.clock(claim.now);
        self.alone(|shared| async move { claim::claim_runs(&shared, &claim).await })
    }

    fn take_up(&self, take: TakeUp) -> Answer<Result<Vec<ClaimedRun>>> {
        self.shared.clock(take.now);
        self.alone(|shared| async move { claim::take_up(&shared, &take).await })
    }

    fn claim_activities(&self, claim: ClaimActivities) -> Answer<Result<Vec<ClaimedActivity>>> {
        self.shared.clock(claim.now);
        self.alone(|shared| async move {
            let _turn = shared.claiming.lock().await;
            claim::claim_activities(&shared, &claim).await
        })
    }

    fn commit(&self, commits: Vec<Commit>) -> Answer<Vec<Result<Committed>>> {
        commits.iter().for_each(|commit| self.shared.clock(commit.now));
        self.many(commits, commit::commit, commit::wants, Weight::commit)
    }

    fn settle(&self, settles: Vec<Settle>) -> Answer<Vec<Result<Settled>>> {
        settles.iter().for_each(|settle| self.shared.clock(settle.now));
        self.many(settles, settle::settle, settle::wants, Weight::settle)
    }

    fn fire(&self, now: Time, limit: usize) -> Answer<Result<Fired>> {
        self.shared.clock(now);
        self.alone(move |shared| async move {
            let _turn = shared.firing.lock().await;
            fire::fire(&shared, now, limit).await
        })
    }

    fn sweep(&self, sweep: Sweep) -> Answer<Result<Swept>> {
        self.shared.clock(sweep.now);
        self.alone(|shared| async move {
            let _turn = shared.sweeping.lock().await;
            sweep::sweep(&shared, &sweep).await
        })
    }

    fn silence(&self) -> Option<std::time::Duration> {
        self.shared.silence()
    }

    fn attest(&self, attest: Attest) -> Answer<Result<Attested>> {
        self.alone(|shared| async move { fate::attest(&shared, &attest).await })
    }

    fn ask(&self, ask: Ask) -> Answer<Result<Reply>> {
        let asked = self.shared.asks.ask(&ask);
        self.shared.asks.expire(self.shared.now());
        if asked.is_ok() {
            let shared = self.shared.clone();
            self.threads.runtime().spawn(async move { ask::put(&shared, ask).await });
        }
        Box::pin(async move { asked?.await.unwrap_or(Err(Error::Shut)) })
    }

    fn answer(&self, epoch: Epoch, replies: Vec<Reply>) -> Answer<Result<Vec<Pending>>> {
        self.alone(move |shared| async move { ask::answer(&shared, epoch, replies).await })
    }

    fn read(&self, read: Read) -> Answer<Result<Option<RunRead>>> {
        if let Some(run) = inbox_only(&read) {
            return self.look(run);
        }
        self.alone(|shared| async move { read::read(&shared, &read).await })
    }

    fn find(&self, filter: Filter) -> Answer<Result<Page>> {
        self.alone(|shared| async move { find::find(&shared, &filter).await })
    }

    fn leftovers(&self, subtree: Subtree) -> Answer<Result<Leftovers>> {
        self.alone(|shared| async move { leftovers::leftovers(&shared, &subtree).await })
    }

    fn write_catalog(&self, puts: Vec<CatalogPut>) -> Answer<Vec<Result<Version>>> {
        let count = puts.len();
        let all = self.alone(|shared| async move {
            let mut answers = Vec::new();
            for put in &puts {
                answers.push(catalog::write_catalog(&shared, put).await.map_err(Error::from));
            }
            Ok(answers)
        });
        Box::pin(async move {
            all.await.unwrap_or_else(|error| (0..count).map(|_| Err(error.clone())).collect())
        })
    }

    fn read_catalog(&self, catalog: CatalogRead) -> Answer<Result<Vec<Item>>> {
        self.alone(|shared| async move { catalog::read_catalog(&shared, &catalog).await })
    }

    fn watch(&self) -> Hints {
        self.shared.listeners.listen()
    }

    fn say(&self, word: Broadcast) {
        self.shared.tell_others(&[Hint::Broadcast(word)].into());
    }

    fn shut(&self) -> Answer<()> {
        self.shared.stop();
        if self.shared.ahead.hurry_all() {
            self.wake();
        }
        let shared = self.shared.clone();
        Box::pin(async move {
            shared.rest().await;
            shared.close();
        })
    }
}
