//! The only way to write: messages enter inboxes, and decisions leave as commits.
//!
//! In:    what a door asks for, or what a turn decided.
//! Out:   durable rows; then slots, waiters and workers are told.
//! Never: judges what a message means. The same corridor serves signals, outcomes and alarms.

mod cancel;
mod fold;
mod prepare;
mod start;

use std::sync::Arc;

use bowline_core::{
    Address, Cause, Decided, Event, EventKind, Fence, GaveUp, Message, Number, Parked, Payload,
    Post, ReceiptId, Refusal, RequestId, RunId, Signal, State, UpdateStage, Version,
    planted::{Defect, planted},
};
use bowline_store::{
    Commit, Committed, Error as StoreError, Head, OfferedEnd, Posted, Posting, Read, RunKey,
    Subtree,
};
pub use cancel::CancelledOne;
pub use prepare::{CancelRequest, Prepared};
pub use start::{StartOptions, Started};

use super::{
    EngineInner,
    follow::{Followers, ToldEnd},
    peer::PeerNews,
    remote::Eager,
};
use crate::{Error, RemoteActivity, Result, limits};

/// For how long a store that cannot be reached is waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Patience {
    /// For a few seconds: somebody waits for the answer, and can ask again.
    Short,
    /// Until the engine stops: nobody else will do it.
    Long,
}

/// A decision about a run, on its way to the store.
#[derive(Clone, Debug)]
pub(crate) struct TurnCommit {
    pub(crate) run: RunId,
    pub(crate) fence: Option<Fence>,
    pub(crate) expected: Version,
    pub(crate) decided: Decided,
    /// Ends of attempts that the decision knows before the store does.
    pub(crate) ended: Vec<OfferedEnd>,
    pub(crate) release: bool,
}

/// What is said on the row of a run that is let go of.
enum Change {
    None,
    /// This process could go on with it, and has nothing to do.
    Idle,
    /// This process cannot go on with it.
    Park(GaveUp),
    /// Everybody may try it again.
    Lift,
}

/// How a decision leaves its run, as far as those who wait for its end are concerned.
enum End {
    Open,
    /// It has ended so. What nobody waits for is not kept.
    Closed(Option<Arc<ToldEnd>>),
}

impl End {
    fn of(decided: &Decided, followers: &Followers) -> Self {
        if decided.state.status.is_open() {
            return Self::Open;
        }
        let closing = decided.events.last().filter(|event| event.kind.closes());
        let closing = closing.filter(|_| followers.follows(decided.state.run));
        let is_last = decided.successor.is_none();
        Self::Closed(closing.map(|event| Arc::new(ToldEnd { event: event.clone(), is_last })))
    }
}

impl EngineInner {
    /// Tries a store call again while that may help. An outcome that stays unknown is reported:
    /// a message may then have been taken, which its request id makes harmless to repeat.
    pub(crate) async fn retrying<T, F>(&self, call: impl Fn() -> F) -> Result<T>
    where
        F: Future<Output = bowline_store::Result<T>>,
    {
        self.calling(Patience::Short, call).await
    }

    /// As [`retrying`](Self::retrying), for what nobody else will do: a store that cannot be
    /// reached for an hour is a delay of an hour, and nothing else.
    pub(crate) async fn patiently<T, F>(&self, call: impl Fn() -> F) -> Result<T>
    where
        F: Future<Output = bowline_store::Result<T>>,
    {
        self.calling(Patience::Long, call).await
    }

    pub(crate) async fn calling<T, F>(&self, patience: Patience, call: impl Fn() -> F) -> Result<T>
    where
        F: Future<Output = bowline_store::Result<T>>,
    {
        let mut pause = limits::STORE_PAUSE;
        let mut tries = 1;
        loop {
            let error = match call().await {
                Err(error) if may_pass(&error, patience) => error,
                done => return Ok(done?),
            };
            let is_last = match patience {
                Patience::Short => tries == limits::STORE_TRIES,
                Patience::Long => self.stopping.is_cancelled(),
            };
            if is_last {
                return Err(error.into());
            }
            tracing::warn!(%error, tries, "the store did not answer well; trying again");
            tokio::select! {
                biased;
                () = self.clock.sleep_until(self.now().after(pause)) => {}
                () = self.stopping.cancelled(), if patience == Patience::Long => {}
            }
            pause = limits::STORE_PAUSE_MAX.min(pause * 2);
            tries += 1;
        }
    }

    /// Puts a message into an inbox.
    pub(crate) async fn post_message(&self, to: Address, message: Message) -> Result<Posted> {
        self.post(Posting::Message { to, message, now: self.now(), receipt: None }).await
    }

    pub(crate) async fn post(&self, posting: Posting) -> Result<Posted> {
        self.check_open()?;
        let posted = self
            .retrying(|| {
                let posted = self.store.post(vec![posting.clone()]);
                async move { posted.await.pop().unwrap_or(Err(StoreError::Shut)) }
            })
            .await?;
        self.posted(&posted);
        Ok(posted)
    }

    /// Refuses what nobody here would work on.
    pub(crate) fn check_open(&self) -> Result<()> {
        match self.stopping.is_cancelled() {
            true => Err(Error::ShuttingDown),
            false => Ok(()),
        }
    }

    /// Sends a signal. The store says whether there is room for it.
    pub(crate) async fn signal(&self, to: Address, signal: Signal) -> Result<RunId> {
        let request = signal.request_id.clone();
        let sent = self.send(self.prepare_signal(to.clone(), signal)?).await;
        match sent {
            // One that was taken before is not one more.
            Err(Error::Refused(Refusal::TooManyUnread(..))) if !request.is_empty() => {
                match self.has_taken(&to, &request).await? {
                    Some(run) => Ok(run),
                    None => sent,
                }
            }
            sent => sent,
        }
    }

    /// The run, if it has taken this very request before.
    async fn has_taken(&self, to: &Address, request: &RequestId) -> Result<Option<RunId>> {
        let Some(head) = self.find_head(to).await? else { return Ok(None) };
        let (_, draft, _) = Box::pin(self.draft(head.run)).await?;
        Ok(draft.state().requests.contains(request).then_some(head.run))
    }

    /// Sends a signal to a run that may be under remote rules. Such a one takes only so many in its
    /// life, which is asked here: the store knows only how many wait.
    pub(crate) async fn signal_counted(&self, to: Address, signal: Signal) -> Result<RunId> {
        self.check_signal(&to, &signal).await?;
        self.signal(to, signal).await
    }

    /// A remote run that has had too many signals takes no more. Most are known to have had fewer
    /// by the length of their history; that there is no such run, the post will say.
    pub(super) async fn check_signal(&self, to: &Address, signal: &Signal) -> Result<()> {
        let Some(head) = self.find_head(to).await? else { return Ok(()) };
        let Some(limit) = head.rules.signals_max() else { return Ok(()) };
        if head.next_event.0 + (head.inbox.0 - head.consumed.0) <= limit {
            return Ok(());
        }
        let (_, draft, inbox) = Box::pin(self.draft(head.run)).await?;
        Ok(draft.check_signal(signal, &inbox)?)
    }

    async fn find_head(&self, to: &Address) -> Result<Option<Head>> {
        let key = match to {
            Address::Run(run) => RunKey::Run(*run),
            Address::Chain(run) => RunKey::Chain(*run),
            Address::Current(namespace, id) => RunKey::Current(*namespace, id.clone()),
        };
        let read = Read::head(key);
        let found = self.retrying(|| self.store.read(read.clone())).await?;
        Ok(found.map(|found| found.head))
    }

    /// Closes a run without asking its code. It is closed when this answers: what closes it is
    /// taken in here and now, whoever holds the run, and whether or not anybody has its code. Only
    /// where that hangs on somebody else (a schedule that nobody here reads, a commit that is lost
    /// again and again) is it waited for, and not for ever: the request stays durable.
    pub(crate) async fn terminate(
        self: &Arc<Self>,
        to: Address,
        cause: Cause,
        details: Option<Payload>,
    ) -> Result<ReceiptId> {
        let (id, run) = self.send(self.prepare_terminate(to, cause, details)).await?;
        self.bells.intake.notify_one();
        if planted(Defect::TerminatedEarly) {
            return Ok(id);
        }
        let late = self.clock.sleep_until(self.now().after(limits::DECIDED));
        let closed = Box::pin(self.closed(run));
        tokio::select! {
            biased;
            closed = closed => match closed {
                Ok(_) => Ok(id),
                // It was closed and forgotten, which leaves the receipt; or a server has taken over
                // that knows of neither.
                Err(Error::NotFound(_)) => {
                    self.leftovers(Subtree::Outline(id)).await.map(|_| id)
                }
                Err(error) => Err(error),
            },
            () = late => Err(Error::TimedOut("the termination was taken and is durable, but")),
        }
    }

    /// Writes a decision, and gives the state back that it leaves. Slots for what may start at once
    /// are reserved before, so that an attempt whose start is durable always has one. A remote
    /// worker may be eager for some of the activities that the commit schedules: it has them in the
    /// same breath.
    pub(crate) async fn commit(
        self: &Arc<Self>,
        turn: TurnCommit,
        patience: Patience,
        eager: Option<&Eager>,
    ) -> Result<(Committed, State, Vec<RemoteActivity>)> {
        let updates = fold::updates(&turn.decided);
        let is_turn = |event: &Event| matches!(event.kind, EventKind::TurnCompleted(_));
        let turns = turn.decided.events.iter().filter(|event| is_turn(event)).count();
        let run = turn.run;
        let parent = turn.decided.state.started.parent.as_ref().map(|parent| parent.run);
        let end = End::of(&turn.decided, &self.followers);
        let mut folded = fold::fold(self, turn, eager);
        let told: Vec<_> = folded.commit.posts.iter().map(|post| told(post, parent)).collect();
        // The answer brings along what waits by then.
        self.net.paid(run);
        self.known_runs.forget(run);
        let closing = (!matches!(end, End::Open)).then(|| self.followers.closes(run));
        let committed = match self.write(folded.commit, patience).await {
            Ok(committed) => committed,
            Err(error) => {
                folded.starts.give_back(self, run);
                return Err(error);
            }
        };
        self.meter.turns_committed.add(turns);
        self.net.touch();
        told.iter().for_each(|to| self.owe_to(to));
        let mut taken = Vec::new();
        for (activity, attempt) in &committed.started {
            taken.extend(folded.starts.begin_attempt(self, run, *activity, *attempt));
        }
        self.push(committed.hits.clone());
        for (id, stage) in updates {
            if let UpdateStage::Rejected(why) = &stage {
                self.updates.remember(run, &id, why);
                self.say(&PeerNews::Refused { run, update: id.clone(), by: self.epoch() });
            }
            self.updates.tell(run, &id, &stage);
        }
        match end {
            End::Open => self.followers.tell(run),
            End::Closed(Some(ended)) => self.followers.tell_ended(run, &ended),
            End::Closed(None) => self.followers.tell_end(run),
        }
        drop(closing);
        Ok((committed, folded.state, taken))
    }

    /// Lets go of a run that this member holds, whatever has happened to it meanwhile.
    pub(crate) async fn release(self: &Arc<Self>, run: RunId, fence: Fence) -> Result<()> {
        self.bare(run, Some(fence), Change::None, Patience::Long).await
    }

    /// The same, of a run that this process could go on with: it is not parked any more.
    pub(crate) async fn release_idle(self: &Arc<Self>, run: RunId, fence: Fence) -> Result<()> {
        self.bare(run, Some(fence), Change::Idle, Patience::Long).await
    }

    /// Lets go of a run that this process cannot go on with, and says so on its row.
    pub(crate) async fn give_up(
        self: &Arc<Self>,
        run: RunId,
        fence: Option<Fence>,
        gave_up: GaveUp,
    ) -> Result<()> {
        self.bare(run, fence, Change::Park(gave_up), Patience::Long).await
    }

    /// Lets everybody try a parked run again.
    pub(crate) async fn retry(self: &Arc<Self>, run: RunId) -> Result<()> {
        self.bare(run, None, Change::Lift, Patience::Short).await
    }

    async fn bare(
        self: &Arc<Self>,
        run: RunId,
        fence: Option<Fence>,
        change: Change,
        patience: Patience,
    ) -> Result<()> {
        // What was held under a lost epoch is not ours to give back, or to park.
        if fence.is_some_and(|fence| fence.epoch != self.epoch() || self.standing.is_out()) {
            return Ok(());
        }
        loop {
            let read = Read::head(RunKey::Run(run));
            let found = self.calling(patience, || self.store.read(read.clone())).await?;
            let head = found.ok_or(Error::NotFound("run"))?.head;
            let lost = fence.is_some() && head.holder != fence;
            if lost || !head.status.is_open() {
                return Ok(());
            }
            let before = head.parked.as_ref();
            let parked = match &change {
                Change::None => None,
                Change::Idle => before.map(|_| None),
                Change::Lift if before.is_none() => return Ok(()),
                Change::Lift => Some(None),
                Change::Park(why) => Some(Some(Parked::after(before, why.clone(), self.now()))),
            };
            let commit = Commit { parked, ..fold::bare(self, &head, fence) };
            match self.write(commit, patience).await {
                Err(error) if error.is_race() => {}
                done => {
                    self.net.touch();
                    self.followers.tell_end(run);
                    return done.map(drop);
                }
            }
        }
    }

    async fn write(&self, commit: Commit, patience: Patience) -> Result<Committed> {
        self.calling(patience, || {
            let done = self.store.commit(vec![commit.clone()]);
            async move { done.await.pop().unwrap_or(Err(StoreError::Shut)) }
        })
        .await
    }
}

impl EngineInner {
    /// A message was put into an inbox: whoever decides about that run next must read it.
    pub(crate) fn owe(&self, run: RunId, number: Number) {
        self.known_runs.forget(run);
        self.net.owe(run, number);
    }

    fn owe_to(&self, to: &Address) {
        if let Address::Run(run) | Address::Chain(run) = to {
            self.known_runs.forget(*run);
        }
        self.net.owe_to(to);
    }
}

/// Whose inbox grew. A child's end goes to its parent, unless that has closed.
fn told(post: &Post, parent: Option<RunId>) -> Address {
    match (&post.message, parent) {
        (Message::EndChild(_), Some(parent)) => Address::Run(parent),
        _ => post.to.clone(),
    }
}

/// Whether the same call may succeed later. What nobody else will do also waits for a disk that
/// is full, or a store that fails in a way of its own.
fn may_pass(error: &StoreError, patience: Patience) -> bool {
    let failing = matches!(error, StoreError::Backend(_) | StoreError::ReadOnly(_));
    error.passes() || (failing && patience == Patience::Long)
}
