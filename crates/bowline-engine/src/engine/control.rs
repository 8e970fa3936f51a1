//! The push half of the engine: a committed cancel finds the worker that runs the attempt.
//!
//! In:    attempts that a commit, an alarm or a renewal has hit.
//! Out:   a notice on the one control channel of the worker that has the attempt.
//! Never: writes, decides, or is needed for correctness. A lost notice is found again at renewal,
//!        or when a remote worker comes for its notices; one that comes twice is recognised by
//!        its id.

mod leave;
mod place;

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use bowline_core::{ControlQueue, Holder, Notice, NoticeId, StopAttempt, Time};
use bowline_store::{AttemptHit, AttemptRef, Sighting};
use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use super::{EngineInner, peer::PeerNews};
use crate::{CommandOutcome, Result, limits};
use leave::Leaving;
use place::Places;

/// The control channels of remote workers. Each is a mailbox: one worker that does not come for
/// its notices delays nobody else.
#[derive(Debug, Default)]
pub(crate) struct Control {
    channels: Mutex<BTreeMap<ControlQueue, Arc<Channel>>>,
    /// In whose mailbox there is something about an attempt.
    about: Mutex<BTreeMap<AttemptRef, ControlQueue>>,
    /// Where workers listen.
    places: Places,
    leaving: Leaving,
}

#[derive(Debug, Default)]
struct Channel {
    waiting: Mutex<Mailbox>,
    arrived: Notify,
    /// How many polls wait for it here.
    polls: AtomicUsize,
}

/// A poll that waits.
struct Polling<'c>(&'c Channel);

impl<'c> Polling<'c> {
    fn new(channel: &'c Channel) -> Self {
        channel.polls.fetch_add(1, Ordering::AcqRel);
        Self(channel)
    }
}

impl Drop for Polling<'_> {
    fn drop(&mut self) {
        self.0.polls.fetch_sub(1, Ordering::AcqRel);
    }
}

/// What became of a notice.
#[derive(Debug, PartialEq)]
enum Put {
    /// It is in the worker's mailbox.
    Kept,
    /// It was there already.
    Known,
    /// It cannot be delivered here.
    Refused(CommandOutcome),
}

#[derive(Debug, Default)]
struct Mailbox {
    fresh: VecDeque<StopAttempt>,
    /// Handed out, but the worker has not said that it has them: since when.
    out: Vec<(Time, StopAttempt)>,
}

impl EngineInner {
    /// Passes hits on to whoever runs the attempts.
    pub(crate) fn push(&self, hits: Vec<AttemptHit>) {
        for hit in hits {
            let notice = StopAttempt {
                run: hit.run,
                activity: hit.activity,
                attempt: hit.attempt,
                cause: hit.cause,
                decided_at: hit.decided_at,
                is_cancel: hit.cancel,
            };
            match hit.holder {
                Holder::Native(fence) if fence.epoch == self.epoch() => {
                    if let Some(local) = self.local.get() {
                        self.meter.notices_sent.add(1);
                        local.notify(Notice::StopAttempt(notice));
                    }
                }
                // Another member's: it learns from its own renewal.
                Holder::Native(_) => {}
                Holder::Remote { control, .. } => self.push_remote(&control, notice),
            }
        }
    }

    fn push_remote(&self, control: &ControlQueue, notice: StopAttempt) {
        let StopAttempt { run, activity, attempt, decided_at: at, is_cancel, .. } = notice;
        let why = notice.cause.code;
        match self.control.put(control, notice) {
            Put::Kept => self.meter.notices_sent.add(1),
            Put::Known => return,
            Put::Refused(outcome) => return self.meter.command(run.namespace, outcome),
        }
        // A cancel stands on the attempt's row, for whichever member its worker listens to. That
        // an attempt is over is said once.
        if !is_cancel && !self.control.is_polled(control) {
            let control = control.clone();
            self.say(&PeerNews::Stop { control, run, activity, attempt, at, why });
        }
    }

    /// A worker says where it listens; other members are told.
    pub(crate) fn worker_listens(&self, worker: &str, control: &ControlQueue) {
        if self.control.places.learn(worker, control) {
            let (worker, control) = (worker.to_owned(), control.clone());
            self.say(&PeerNews::Listens { worker, control });
        }
    }

    /// Waits for notices for a remote worker, and takes all there are.
    pub(crate) async fn poll_control(
        self: &Arc<Self>,
        control: &ControlQueue,
        until: Time,
    ) -> Vec<StopAttempt> {
        let channel = self.control.channel(control);
        let _polling = Polling::new(&channel);
        self.meter.control_polls.add(1);
        if let Err(error) = self.refill(control, &channel).await {
            tracing::warn!(%error, "what a remote worker was not told could not be read");
        }
        loop {
            let arrived = channel.arrived.notified();
            let now = self.now();
            let (late, notices, again) = {
                let mut waiting = channel.waiting.lock();
                let (late, notices) = waiting.take(now);
                (late, notices, waiting.again())
            };
            for notice in &notices[..late] {
                self.meter.command(notice.run.namespace, CommandOutcome::Unanswered);
            }
            if !notices.is_empty() || now >= until {
                self.meter.control_notices.add(notices.len());
                return notices;
            }
            tokio::select! {
                biased;
                () = arrived => {}
                () = self.clock.sleep_until(again.map_or(until, |again| again.min(until))) => {}
                () = self.stopping.cancelled() => return Vec::new(),
            }
        }
    }

    /// Finds what was decided and never delivered to a remote worker: the rows are the outbox, and
    /// the mailbox here forgets it all when the process dies.
    async fn refill(self: &Arc<Self>, control: &ControlQueue, channel: &Channel) -> Result<()> {
        let before = channel.waiting.lock().ids();
        let mut hits = self.undelivered(control).await?;
        let owed: BTreeSet<NoticeId> = hits.iter().map(id_of).collect();
        // What the rows do not say any more, another member has delivered, or it is over.
        let is_moot = |id: &NoticeId| id.is_cancel && before.contains(id) && !owed.contains(id);
        channel.waiting.lock().fresh.retain(|notice| !is_moot(&notice.id()));
        before.iter().filter(|id| is_moot(id)).for_each(|id| self.control.delivered(id));
        let known = channel.waiting.lock().ids();
        hits.retain(|hit| is_of(hit, control) && !known.contains(&id_of(hit)));
        self.push(hits);
        Ok(())
    }

    /// A remote worker has these notices. Only what is about attempts of that worker counts:
    /// whoever says so may have made it up.
    pub(crate) async fn acknowledge(
        self: &Arc<Self>,
        control: &ControlQueue,
        notices: &[NoticeId],
    ) -> Result<()> {
        let mut named: BTreeSet<NoticeId> = notices.iter().copied().collect();
        let delivered_at = self.now();
        let mut had = Vec::new();
        if let Some(channel) = self.control.known(control) {
            channel.waiting.lock().out.retain(|(_, out)| {
                let is_there = named.remove(&out.id());
                if is_there {
                    had.push(out.id());
                }
                if is_there && out.is_cancel {
                    self.meter.cancel_delivery.took(out.decided_at, delivered_at);
                }
                !is_there
            });
        }
        // Another member may have handed the others out: the rows know whose they are.
        named.retain(|notice| notice.is_cancel);
        if !named.is_empty() {
            let hits = self.undelivered(control).await?;
            let own = hits.iter().filter(|hit| is_of(hit, control)).map(id_of);
            had.extend(own.filter(|id| named.contains(id)));
        }
        for notice in &had {
            self.control.delivered(notice);
            self.meter.command(notice.run.namespace, CommandOutcome::Delivered);
        }
        let sightings = had.iter().filter(|notice| notice.is_cancel).map(|notice| Sighting {
            attempt: attempt_of(notice),
            delivered_at,
            observed_at: None,
        });
        self.report(Vec::new(), sightings.collect()).await?;
        Ok(())
    }
}

impl EngineInner {
    /// A worker leaves. Polls of its own may wait at other members, too.
    pub(crate) fn worker_left(&self, worker: &str) {
        if !worker.is_empty() {
            self.control.left(worker);
            self.say(&PeerNews::Left { worker: worker.to_owned() });
        }
    }

    /// A remote worker could not do what these notices say. They are handed out again later.
    pub(crate) fn refused(&self, control: &ControlQueue, notices: &[NoticeId]) {
        let Some(channel) = self.control.known(control) else { return };
        let out = channel.waiting.lock().ids();
        let refused = notices.iter().filter(|notice| out.contains(notice)).collect::<BTreeSet<_>>();
        let Some(first) = refused.first() else { return };
        // One line, however many there are. The name is the worker's own.
        tracing::warn!(?control, count = refused.len(), run = %first.run, "commands were refused");
        for notice in refused {
            self.meter.command(notice.run.namespace, CommandOutcome::Refused);
        }
    }
}

impl Control {
    /// The mailbox of a worker, if there is one.
    fn known(&self, control: &ControlQueue) -> Option<Arc<Channel>> {
        self.channels.lock().get(control).cloned()
    }

    fn channel(&self, control: &ControlQueue) -> Arc<Channel> {
        let mut channels = self.channels.lock();
        if channels.len() >= limits::CONTROL_CHANNELS {
            channels.retain(|_, channel| Arc::strong_count(channel) > 1);
            self.about.lock().retain(|_, control| channels.contains_key(control));
        }
        channels.entry(control.clone()).or_default().clone()
    }

    fn put(&self, control: &ControlQueue, notice: StopAttempt) -> Put {
        if control.is_empty() {
            // This worker has no such channel: it learns from the answer to its heartbeat.
            return Put::Refused(CommandOutcome::NoChannel);
        }
        let channel = self.channel(control);
        let mut waiting = channel.waiting.lock();
        if waiting.fresh.len() + waiting.out.len() >= limits::NOTICES {
            return Put::Refused(CommandOutcome::Full);
        }
        let attempt = attempt_of(&notice.id());
        if self.about.lock().insert(attempt, control.clone()).is_some() {
            return Put::Known;
        }
        waiting.fresh.push_back(notice);
        drop(waiting);
        channel.arrived.notify_one();
        Put::Kept
    }

    /// Another member has a notice for a worker that may listen here.
    pub(crate) fn pass_on(&self, control: &ControlQueue, notice: StopAttempt) {
        if self.is_polled(control) {
            self.put(control, notice);
        }
    }

    fn is_polled(&self, control: &ControlQueue) -> bool {
        let channels = self.channels.lock();
        channels.get(control).is_some_and(|channel| channel.polls.load(Ordering::Acquire) > 0)
    }

    /// The control queues whose workers wait here.
    pub(crate) fn polled(&self) -> Vec<ControlQueue> {
        let channels = self.channels.lock();
        let polled = |(_, channel): &(&ControlQueue, &Arc<Channel>)| {
            channel.polls.load(Ordering::Acquire) > 0
        };
        channels.iter().filter(polled).map(|(control, _)| control.clone()).collect()
    }

    /// Another member says where a worker listens.
    pub(crate) fn learn(&self, worker: &str, control: &ControlQueue) {
        self.places.learn(worker, control);
    }

    /// Where a worker listens, if it has said so to anybody.
    pub(crate) fn place(&self, worker: &str) -> Option<ControlQueue> {
        self.places.of(worker)
    }

    /// Waits until a worker has said where it listens.
    pub(crate) async fn placed(&self, worker: &str) -> ControlQueue {
        self.places.wait(worker).await
    }

    /// A worker has left.
    pub(crate) fn left(&self, worker: &str) {
        self.places.forget(worker);
        self.leaving.of(worker).cancel();
    }

    /// Fires when a worker says that it leaves, or has: whatever polls for it is answered then.
    pub(crate) fn leaving(&self, worker: &str) -> CancellationToken {
        self.leaving.of(worker)
    }

    fn delivered(&self, notice: &NoticeId) {
        self.about.lock().remove(&attempt_of(notice));
    }

    /// An attempt is over: nothing about it need be delivered any more.
    pub(crate) fn over(&self, attempt: AttemptRef) {
        let Some(control) = self.about.lock().remove(&attempt) else { return };
        let Some(channel) = self.channels.lock().get(&control).cloned() else { return };
        let mut waiting = channel.waiting.lock();
        waiting.fresh.retain(|notice| attempt_of(&notice.id()) != attempt);
        waiting.out.retain(|(_, notice)| attempt_of(&notice.id()) != attempt);
    }
}

/// Whether an attempt is in the hands of the worker that listens there.
fn is_of(hit: &AttemptHit, control: &ControlQueue) -> bool {
    matches!(&hit.holder, Holder::Remote { control: own, .. } if own == control)
}

fn id_of(hit: &AttemptHit) -> NoticeId {
    let AttemptHit { run, activity, attempt, cancel, .. } = *hit;
    NoticeId { run, activity, attempt, is_cancel: cancel }
}

fn attempt_of(notice: &NoticeId) -> AttemptRef {
    AttemptRef { run: notice.run, activity: notice.activity, attempt: notice.attempt }
}

impl Mailbox {
    /// What is in it, and what was handed out and is not acknowledged.
    fn ids(&self) -> BTreeSet<NoticeId> {
        let out = self.out.iter().map(|(_, notice)| notice);
        self.fresh.iter().chain(out).map(StopAttempt::id).collect()
    }

    /// When something that was handed out is handed out again.
    fn again(&self) -> Option<Time> {
        self.out.iter().map(|(since, _)| since.after(limits::NOTICE_ACKNOWLEDGED)).min()
    }

    /// What was handed out but not acknowledged in time, how many that are, and everything that is
    /// new.
    fn take(&mut self, now: Time) -> (usize, Vec<StopAttempt>) {
        let (late, out): (Vec<_>, Vec<_>) = self
            .out
            .drain(..)
            .partition(|(since, _)| since.after(limits::NOTICE_ACKNOWLEDGED) <= now);
        self.out = out;
        let overdue = late.len();
        let late = late.into_iter().map(|(_, notice)| notice);
        let notices: Vec<_> = late.chain(self.fresh.drain(..)).collect();
        self.out.extend(notices.iter().map(|notice| (now, notice.clone())));
        (overdue, notices)
    }
}
