//! What passes between the engine and the local worker: leases, attempts, reports.
//!
//! The worker claims and settles here, and never sees a store.

use std::{
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use bowline_core::{
    Birth, Decided, Ending, Epoch, Event, Failure, Fence, Identity, Name, Namespace, Notice,
    Number, Queue, Received, RunId, Rung, State, Step, Time, TurnRecord, Version,
};
use bowline_store::{
    AttemptHit, ClaimActivities, ClaimRuns, ClaimedActivity, ClaimedRun, HolderKind, Read, TakeUp,
    Want,
};
pub(crate) use bowline_store::{AttemptRef, Heartbeat, OfferedEnd, Proof, Settle, Sighting};
use parking_lot::RwLock;

use super::{
    EngineInner,
    fence::Sent,
    net::UnreadInboxes,
    recover::Claimed,
    run::events,
    submit::{Patience, TurnCommit},
};
pub(crate) use crate::worker::{activity::Assignment, slots::Permit};
use crate::{Error, Result};

/// Where the local worker sits, if there is one. It leaves when the engine closes: worker and
/// engine hold each other, and would keep the store open for ever.
#[derive(Default)]
pub(crate) struct WorkerLink(RwLock<Option<Arc<dyn LocalWorker>>>);

impl WorkerLink {
    /// The worker, while it is there.
    pub(crate) fn get(&self) -> Option<Arc<dyn LocalWorker>> {
        self.0.read().clone()
    }

    /// Registers the worker; false if another one is there.
    pub(crate) fn take(&self, local: Arc<dyn LocalWorker>) -> bool {
        let mut place = self.0.write();
        let free = place.is_none();
        if free {
            *place = Some(local);
        }
        free
    }

    /// The worker leaves.
    pub(crate) fn leave(&self) {
        self.0.write().take();
    }
}

/// Sends the worker away if the runtime ends before anybody has closed the engine: with nobody left
/// to work, what the store holds for this process is let go of with the last handle.
pub(crate) async fn watch_over(inner: Arc<EngineInner>) {
    struct Leaves(Option<Arc<EngineInner>>);
    impl Drop for Leaves {
        fn drop(&mut self) {
            if let Some(inner) = &self.0 {
                inner.stopping.cancel();
                inner.local.leave();
            }
        }
    }
    let mut leaves = Leaves(Some(inner.clone()));
    inner.stopping.cancelled().await;
    // Whoever closes the engine, or kills it, does that when it is time.
    leaves.0 = None;
}

/// The local worker, as the engine sees it. Calls return at once.
pub(crate) trait LocalWorker: Send + Sync {
    /// A run that it holds has messages.
    fn inbox_grew(&self, run: RunId);
    /// A run that nobody holds waits in a queue.
    fn turn_waits(&self, namespace: Namespace, queue: &Queue);
    /// An activity waits in a queue.
    fn activity_waits(&self, namespace: Namespace, queue: &Queue);
    /// A run waits for somebody whose code can go on with it.
    fn parked(&self, run: RunId);
    /// Anything may have happened.
    fn everything(&self);
    /// A run that it may hold was closed by somebody else.
    fn closed(&self, run: RunId);
    /// An attempt of its own must be told something.
    fn notify(&self, notice: Notice);
    /// Whether it holds a run.
    fn holds(&self, run: RunId) -> bool;
    /// Whether it runs an attempt under this fence, or writes its end.
    fn knows(&self, attempt: AttemptRef, fence: Fence) -> bool;
    /// Whether code that was given up still runs here.
    fn leaks(&self) -> bool;
    /// Whether any attempt of its own is running.
    fn is_running(&self) -> bool;
    /// What its attempts have reported since the last time.
    fn take_reports(&self) -> Reports;
    /// These could not be passed on: keep them, unless there is newer word.
    fn give_back(&self, reports: Reports);
    /// Hints may have been lost: look for work, and into these inboxes.
    fn look(&self, unread: UnreadInboxes);
    /// An attempt is not its own any more.
    fn lost(&self, attempt: AttemptRef);
    /// Nothing that it has under this epoch, or an older one, is its own any more: it is forgotten,
    /// and told to stop.
    fn all_lost(&self, epoch: Epoch);
    /// The same, and what runs ends at once.
    fn all_cut(&self, epoch: Epoch);
    /// The store may be of another past than what it has in memory: nothing that it knows is sure.
    fn doubts_all(&self);
    /// Waits until no code runs here that nobody gave up, and every end was told.
    fn rest(&self) -> Pin<Box<dyn Future<Output = ()> + Send + '_>>;
    /// Draws a run whose thread is not much further behind than others.
    fn choose(&self, draw: &mut dyn FnMut() -> RunId) -> RunId;
    /// Whether it will have the first turn of a run that is about to begin, and by which lease.
    fn expect(&self, birth: &Birth) -> Option<Fence>;
    /// Whether the thread that expects a run comes to it in a moment.
    fn is_prompt(&self, run: RunId) -> bool;
    /// That run has begun, or begins with the commit of its first turn.
    fn begun(&self, lease: TurnLease);
    /// It has not; whether it is held by another lease is another matter.
    fn unexpect(&self, run: RunId, fence: Fence);
    /// A free slot for an activity, if there is one and nothing older waits for it.
    fn reserve(&self, queue: &Queue, name: &Name) -> Option<Reservation>;
    /// The attempt that a slot was reserved for is durable: run it.
    fn begin_attempt(&self, reservation: Reservation, assignment: Assignment);
}

/// A slot that is kept for an attempt whose start is being written. Dropping it frees the slot.
pub(crate) struct Reservation {
    pub(crate) sent: Sent,
    pub(crate) worker: Identity,
    pub(crate) permit: Permit,
}

/// What attempts have reported.
#[derive(Debug, Default)]
pub(crate) struct Reports {
    pub(crate) heartbeats: Vec<Heartbeat>,
    pub(crate) sightings: Vec<Sighting>,
}

/// A native run that the local worker holds now.
#[derive(Debug)]
pub(crate) struct TurnLease {
    pub(crate) run: RunId,
    pub(crate) name: Name,
    pub(crate) fence: Fence,
    pub(crate) version: Version,
    pub(crate) consumed: Number,
    pub(crate) record: TurnRecord,
    pub(crate) events: Vec<Event>,
    pub(crate) inbox: Vec<Received>,
}

/// What became of a turn's commit.
#[derive(Debug)]
pub(crate) struct TurnDone {
    pub(crate) version: Version,
    pub(crate) unread: Vec<Received>,
    /// The state that the turn leaves. It goes to the store and back, because a turn must not cost
    /// more where more is open.
    pub(crate) state: State,
}

/// Why this process cannot go on with a run.
#[derive(Debug)]
pub(crate) struct Stop {
    /// How often its turn has failed in a row.
    pub(crate) failures: u32,
    pub(crate) reason: String,
    /// Trying it holds a thread for ever, or takes the process down.
    pub(crate) harms: bool,
}

impl Stop {
    /// It failed once, and that is enough.
    pub(crate) fn once(reason: String) -> Self {
        Self { failures: 1, reason, harms: false }
    }
}

/// The end of an attempt, as the worker saw it.
#[derive(Clone, Debug)]
pub(crate) struct AttemptEnd {
    pub(crate) attempt: AttemptRef,
    pub(crate) fence: Fence,
    pub(crate) ending: Ending,
    /// Its code is known to run on.
    pub(crate) runs_on: bool,
    pub(crate) rung: Option<Rung>,
    pub(crate) delivered_at: Option<Time>,
    pub(crate) observed_at: Option<Time>,
}

impl AttemptEnd {
    /// The report of it.
    pub(crate) fn report(&self, now: Time) -> Settle {
        Settle {
            run: self.attempt.run,
            activity: self.attempt.activity,
            attempt: self.attempt.attempt,
            proof: Proof::Native(self.fence),
            ending: self.ending.clone(),
            rung: self.rung,
            delivered_at: self.delivered_at,
            observed_at: self.observed_at,
            now,
        }
    }
}

impl EngineInner {
    /// Takes runs that wait for a turn. A run whose history does not read is parked, so that it
    /// holds up nobody else.
    pub(crate) async fn claim_turns(
        self: &Arc<Self>,
        queues: Vec<Queue>,
        names: Vec<Name>,
        count: usize,
    ) -> Result<Claimed<TurnLease>> {
        let claim = ClaimRuns {
            epoch: self.epoch(),
            namespace: self.settings.namespace,
            want: Want::Turn,
            queues,
            names,
            count,
            now: self.now(),
        };
        let unsure = AtomicBool::new(false);
        let call = || noting(&unsure, self.store.claim_runs(claim.clone()));
        let claimed = self.heed(claim.epoch, self.patiently(call).await)?;
        Ok(Claimed { items: self.leases(claimed).await, is_unsure: unsure.into_inner() })
    }

    async fn leases(self: &Arc<Self>, claimed: Vec<ClaimedRun>) -> Vec<TurnLease> {
        if !claimed.is_empty() {
            self.net.touch();
        }
        let mut leases = Vec::with_capacity(claimed.len());
        for claimed in claimed {
            let (run, fence) = (claimed.read.head.run, claimed.fence);
            match lease(claimed) {
                Ok(lease) => leases.push(lease),
                Err(error) => self.park(run, fence, Stop::once(error.to_string())).await,
            }
        }
        leases
    }

    /// Takes up parked runs that may be tried here.
    pub(crate) async fn take_up(self: &Arc<Self>, runs: Vec<RunId>) -> Result<Claimed<TurnLease>> {
        let (epoch, build) = (self.epoch(), self.settings.build.clone());
        let take = TakeUp { epoch, build, runs, now: self.now() };
        let unsure = AtomicBool::new(false);
        let call = || noting(&unsure, self.store.take_up(take.clone()));
        let taken = self.heed(epoch, self.patiently(call).await)?;
        Ok(Claimed { items: self.leases(taken).await, is_unsure: unsure.into_inner() })
    }

    /// Reads what waits for a run that the worker holds.
    pub(crate) async fn unread(&self, run: RunId) -> Result<Vec<Received>> {
        self.net.paid(run);
        let read = Read::inbox(run);
        let found = self.patiently(|| self.store.read(read.clone())).await?;
        Ok(found.ok_or(Error::NotFound("run"))?.inbox)
    }

    /// Writes a turn, starts what it may start at once, and tells everybody concerned.
    pub(crate) async fn commit_turn(
        self: &Arc<Self>,
        lease: (RunId, Fence, Version),
        decided: Decided,
        ended: Vec<OfferedEnd>,
    ) -> Result<TurnDone> {
        let (run, fence, expected) = lease;
        let fence = Some(fence);
        let turn = TurnCommit { run, fence, expected, decided, ended, release: false };
        let (committed, state, _) = self.commit(turn, Patience::Long, None).await?;
        Ok(TurnDone { version: committed.version, unread: committed.unread, state })
    }

    /// Starts activities that wait.
    pub(crate) async fn claim_activities(
        &self,
        queue: Queue,
        names: Vec<Name>,
        count: usize,
        worker: Identity,
    ) -> Result<Claimed<Assignment>> {
        let claim = ClaimActivities {
            epoch: self.epoch(),
            namespace: self.settings.namespace,
            queue,
            names,
            count,
            holder: HolderKind::Native,
            worker,
            now: self.now(),
        };
        let unsure = AtomicBool::new(false);
        let call = || noting(&unsure, self.store.claim_activities(claim.clone()));
        let claimed = self.heed(claim.epoch, self.patiently(call).await)?;
        if !claimed.is_empty() {
            self.net.touch();
        }
        // What is known to be cancelled is told first, and so never polled.
        self.push(claimed.iter().filter_map(cancelled).collect());
        let items: Vec<_> = claimed.into_iter().filter_map(assignment).collect();
        self.meter.attempts_started.add(items.len());
        Ok(Claimed { items, is_unsure: unsure.into_inner() })
    }

    /// Ends an attempt. Nobody else can: a store that is out of reach is waited for.
    pub(crate) async fn settle(&self, end: AttemptEnd) -> Result<Step> {
        let settle = end.report(self.now());
        // Said first, so that there is no moment in which the attempt is over and nobody knows
        // that its code is not.
        let runs_on = Settle { ending: Ending::RunsOn, ..settle.clone() };
        let settles = Some(runs_on).filter(|_| end.runs_on).into_iter().chain([settle]);
        self.settle_all(settles.collect(), Patience::Long).await
    }

    /// Ends an attempt of a remote worker, who can report it again.
    pub(crate) async fn settle_remote(&self, settle: Settle) -> Result<Step> {
        self.settle_all(vec![settle], Patience::Short).await
    }

    /// Reports about one attempt, in order; the last one is answered.
    async fn settle_all(&self, settles: Vec<Settle>, patience: Patience) -> Result<Step> {
        let run = settles.first().map(|settle| settle.run);
        let settled = self
            .calling(patience, || {
                let settling = self.store.settle(settles.clone());
                async move { settling.await.pop().unwrap_or(Err(bowline_store::Error::Shut)) }
            })
            .await?;
        if let Some(run) = run {
            match settled.message {
                Some(number) => self.owe(run, number),
                None => self.net.touch(),
            }
            if settled.message.is_none() && settled.step == Step::Ended {
                // Of a closed run: that may have been the last thing that kept its rows.
                self.bells.sweep.notify_one();
            }
            self.followers.tell(run);
        }
        Ok(settled.step)
    }
}

/// A cancel that was decided after the store had started an activity and before it said so.
pub(super) fn cancelled(claimed: &ClaimedActivity) -> Option<AttemptHit> {
    AttemptHit::cancelled(claimed.run, claimed.activity, &claimed.live)
}

/// Notes whether the outcome of a call was unknown.
async fn noting<T>(
    unsure: &AtomicBool,
    call: bowline_store::Answer<bowline_store::Result<T>>,
) -> bowline_store::Result<T> {
    let answer = call.await;
    if matches!(answer, Err(bowline_store::Error::Unknown(_))) {
        unsure.store(true, Ordering::Relaxed);
    }
    answer
}

fn lease(claimed: ClaimedRun) -> Result<TurnLease> {
    let ClaimedRun { read, fence } = claimed;
    let run = read.head.run;
    Ok(TurnLease {
        run,
        name: read.head.name,
        fence: fence.ok_or_else(|| Error::Invalid("a native run without a lease".into()))?,
        version: read.head.version,
        consumed: read.head.consumed,
        record: read.head.record,
        events: events(run, &read.batches)?,
        inbox: read.inbox,
    })
}

fn assignment(claimed: ClaimedActivity) -> Option<Assignment> {
    let start = claimed.live.started()?.clone();
    let bowline_core::Holder::Native(fence) = start.holder else { return None };
    Some(Assignment {
        run: claimed.run,
        activity: claimed.activity,
        attempt: claimed.live.attempt,
        fence,
        workflow_id: claimed.workflow_id,
        workflow: claimed.workflow,
        scheduled_at: claimed.live.scheduled_at,
        started_at: start.at,
        deadline: claimed.spec.deadline,
        spec: Arc::new(claimed.spec),
        heartbeat: claimed.live.heartbeat,
        last_failure: claimed.live.last_failure,
    })
}

/// What code answers is held to the bound of one payload, as what it is asked is. Whatever is
/// larger is a failure that trying again would not mend.
pub(crate) fn bounded(ending: Ending) -> Ending {
    let bytes = match &ending {
        Ending::Completed(Some(result)) | Ending::Cancelled(Some(result)) => result.len(),
        Ending::Failed(failure) => failure.len(),
        _ => 0,
    };
    if bytes <= bowline_core::limits::PAYLOAD_MAX {
        return ending;
    }
    match ending {
        Ending::Cancelled(_) => Ending::Cancelled(None),
        _ => {
            let why = format!("the activity answers with {bytes} bytes, more than 2 MiB");
            Ending::Failed(Failure::new(why).kind("TooLarge").final_())
        }
    }
}
