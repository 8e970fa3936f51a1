//! The attempts that run here: told what they must know, reported, settled.

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    sync::Arc,
    time::Duration,
};

use bowline_core::{Cause, Code, Ending, Epoch, Fence, Rung, StopAttempt, Time};
use parking_lot::Mutex;
use tokio::{
    runtime::{Builder, Handle},
    sync::{Notify, mpsc},
};

use super::{
    Setup, Worker,
    activity::{
        Assignment, Attempt, AttemptKey, Ended, MayRun, Notice, Report, Spawn, Supervision, What,
    },
    contact,
    registry::ActivityCode,
    seen::Seen,
    slots::Permit,
};
use crate::{
    Error, Result,
    engine::{
        EngineInner,
        exchange::{
            AttemptEnd, AttemptRef, Heartbeat, OfferedEnd, Proof, Reports, Sighting, bounded,
        },
    },
    limits,
};

/// Every attempt of this worker.
pub(super) struct Attempts {
    supervision: Supervision,
    state: Mutex<AttemptMap>,
    settled: Notify,
}

#[derive(Default)]
struct AttemptMap {
    running: BTreeMap<AttemptKey, Attempt>,
    /// Attempts that are over for their runs, and whose code has not ended: it has its grace.
    ending: BTreeSet<AttemptKey>,
    /// Notices whose attempt is not known yet: a notice can overtake the work that it is about.
    early: BTreeMap<AttemptKey, (Time, StopAttempt)>,
    /// Notices that were seen, so that a repeated one is known.
    seen: Seen,
    heartbeats: BTreeMap<AttemptKey, Heartbeat>,
    sightings: BTreeMap<AttemptKey, Sighting>,
    draining: Option<(Time, Cause)>,
    /// Attempts of this epoch, and of older ones, belong to others by now.
    lost: Epoch,
    /// What is on its way to the rows, in order for each attempt.
    settling: BTreeMap<AttemptKey, VecDeque<(AttemptEnd, Option<OfferedEnd>)>>,
}

impl Attempts {
    pub(super) fn new(
        inner: &Arc<EngineInner>,
        setup: &Setup,
    ) -> Result<(Self, mpsc::Receiver<Report>)> {
        let (reports, reported) = mpsc::channel(limits::REPORTS);
        let (code, watch): (Arc<dyn Spawn>, Arc<dyn Spawn>) = match &inner.killable {
            Some(killable) => (Arc::new(killable.clone()), Arc::new(killable.clone())),
            None => (Arc::new(inner.runtime.clone()), Arc::new(watch(inner)?)),
        };
        let (clock, probe) = (inner.clock.clone(), setup.probe.clone());
        let asked = inner.clone();
        let may_run: MayRun = Arc::new(move || asked.is_in_contact());
        watch.spawn(contact::watch(inner.clone()));
        let may_run = Some(may_run);
        let supervision = Supervision { clock, code, watch, reports, probe, may_run };
        Ok((Self { supervision, state: Mutex::default(), settled: Notify::new() }, reported))
    }

    pub(super) fn is_empty(&self) -> bool {
        let state = self.state.lock();
        state.running.is_empty() && state.ending.is_empty() && state.settling.is_empty()
    }

    /// Waits until everything that ran here has ended, or was given up, and that is on its row.
    pub(super) async fn all_settled(&self) {
        loop {
            let settled = self.settled.notified();
            if self.is_empty() {
                return;
            }
            settled.await;
        }
    }

    /// Runs an attempt, unless a cancel has overtaken it: then its code is never polled, and what
    /// must be settled instead is returned.
    pub(super) fn start(
        &self,
        assignment: Assignment,
        code: Arc<dyn ActivityCode>,
        permit: Permit,
    ) -> Option<AttemptEnd> {
        let key = assignment.key();
        let now = self.supervision.clock.now();
        // Hooks before anything is locked: who is out of contact stops everything.
        let may_run = self.supervision.may_run.as_ref().is_none_or(|ask| ask());
        let mut state = self.state.lock();
        if !may_run || assignment.fence.epoch <= state.lost {
            // Its start was answered after its member was given up: somebody else has it.
            return None;
        }
        if let Some((_, notice)) = state.early.remove(&key)
            && notice.is_cancel
        {
            return Some(AttemptEnd {
                rung: Some(Rung::NeverStarted),
                delivered_at: Some(now),
                ..plain_end(key, assignment.fence, Ending::Cancelled(None))
            });
        }
        let attempt = self.supervision.start(assignment, code, permit);
        if let Some((deadline, cause)) = state.draining.clone() {
            attempt.tell(Notice::Drain { cause, deadline });
        }
        // One of the same number is of a past that nobody knows any more, and its fence with it.
        let stray = state.running.insert(key, attempt);
        drop(state);
        stray.iter().for_each(stop_lost);
        None
    }

    /// Tells an attempt to stop. True if it runs here, and had not heard of this before.
    pub(super) fn tell(&self, notice: StopAttempt) -> bool {
        let key =
            AttemptKey { run: notice.run, activity: notice.activity, attempt: notice.attempt };
        let now = self.supervision.clock.now();
        let mut state = self.state.lock();
        state.forget(now);
        if let Some(attempt) = state.running.get(&key).cloned() {
            // A repeated one is passed on if it may push harder.
            let pushes = notice.cause.activity_ladder().is_some();
            let is_new = state.seen.is_new(notice.id(), now);
            if is_new || pushes {
                drop(state);
                tell(&attempt, notice);
            }
            return is_new;
        }
        if !state.settling.contains_key(&key) && state.early.len() < limits::NOTICES {
            state.early.insert(key, (now, notice));
        }
        false
    }

    /// Tells everything that runs, or will run, to be gone in time.
    pub(super) fn drain(&self, within: Duration, cause: Cause) {
        let deadline = self.supervision.clock.now().after(within);
        let mut state = self.state.lock();
        state.draining = Some((deadline, cause.clone()));
        for attempt in state.running.values() {
            attempt.tell(Notice::Drain { cause: cause.clone(), deadline });
        }
    }

    pub(super) fn take_reports(&self) -> Reports {
        let mut state = self.state.lock();
        Reports {
            heartbeats: std::mem::take(&mut state.heartbeats).into_values().collect(),
            sightings: std::mem::take(&mut state.sightings).into_values().collect(),
        }
    }

    /// Keeps reports that could not be passed on, unless there is newer word.
    pub(super) fn give_back(&self, reports: Reports) {
        let mut state = self.state.lock();
        for beat in reports.heartbeats {
            state.heartbeats.entry(key(beat.attempt)).or_insert(beat);
        }
        for seen in reports.sightings {
            let newer = state.sightings.entry(key(seen.attempt)).or_insert(seen);
            newer.delivered_at = newer.delivered_at.min(seen.delivered_at);
            newer.observed_at = newer.observed_at.or(seen.observed_at);
        }
    }

    /// Whether an attempt runs here under this fence, or its end is being written.
    pub(super) fn knows(&self, attempt: AttemptRef, fence: Fence) -> bool {
        let (state, key) = (self.state.lock(), key(attempt));
        state.runs(key, fence).is_some() || state.settling.contains_key(&key)
    }

    /// Every attempt that runs here.
    pub(super) fn running(&self) -> Vec<(AttemptRef, Fence)> {
        let state = self.state.lock();
        state.running.iter().map(|(key, own)| (reference(*key), own.fence())).collect()
    }

    /// An attempt belongs to somebody else now, or to nobody: its code is told to stop.
    pub(super) fn lost(&self, attempt: AttemptRef) {
        let attempt = self.state.lock().running.get(&key(attempt)).cloned();
        attempt.iter().for_each(stop_lost);
    }

    /// The same for one under this fence, and for no other of its number.
    pub(super) fn strayed(&self, attempt: AttemptRef, fence: Fence) {
        let attempt = self.state.lock().runs(key(attempt), fence).cloned();
        attempt.iter().for_each(stop_lost);
    }

    /// The same for all attempts of an epoch, and of older ones. None of them begins any more.
    pub(super) fn all_lost(&self, epoch: Epoch) {
        self.lose(epoch).iter().for_each(stop_lost);
    }

    /// The same, at once: others may run the same by now.
    pub(super) fn all_cut(&self, epoch: Epoch) {
        for attempt in self.lose(epoch) {
            attempt.tell(Notice::Cut { cause: Cause::new(Code::LeaseLost) });
        }
    }

    fn lose(&self, epoch: Epoch) -> Vec<Attempt> {
        let mut state = self.state.lock();
        state.lost = state.lost.max(epoch);
        let lost = state.running.values().filter(|attempt| attempt.fence().epoch <= epoch);
        lost.cloned().collect()
    }

    /// The code of an attempt that was over before has ended too, or counts as leaked.
    fn is_out_of_hands(&self, key: AttemptKey) {
        self.state.lock().ending.remove(&key);
        self.settled.notify_waiters();
    }
}

fn stop_lost(attempt: &Attempt) {
    attempt.tell(Notice::Stop { cause: Cause::new(Code::LeaseLost) });
}

impl AttemptMap {
    /// An attempt that runs here, if it does so under this fence.
    fn runs(&self, key: AttemptKey, fence: Fence) -> Option<&Attempt> {
        self.running.get(&key).filter(|attempt| attempt.fence() == fence)
    }

    /// Memory has a bound in time as well as in number.
    fn forget(&mut self, now: Time) {
        if self.early.len() >= limits::NOTICES / 2 {
            self.early.retain(|_, (at, _)| at.after(limits::NOTICE_MEMORY) > now);
        }
    }

    fn sighting(&mut self, key: AttemptKey, at: Time) -> &mut Sighting {
        let attempt = reference(key);
        self.sightings.entry(key).or_insert(Sighting {
            attempt,
            delivered_at: at,
            observed_at: None,
        })
    }
}

fn tell(attempt: &Attempt, notice: StopAttempt) {
    let StopAttempt { cause, decided_at, is_cancel, .. } = notice;
    attempt.tell(match is_cancel {
        true => {
            let ladder = cause.activity_ladder();
            Notice::Cancel { cause, decided_at, ladder }
        }
        false => Notice::Stop { cause },
    });
}

fn reference(key: AttemptKey) -> AttemptRef {
    AttemptRef { run: key.run, activity: key.activity, attempt: key.attempt }
}

fn key(attempt: AttemptRef) -> AttemptKey {
    AttemptKey { run: attempt.run, activity: attempt.activity, attempt: attempt.attempt }
}

/// Takes reports until the engine stops.
pub(super) async fn run(worker: Arc<Worker>, mut reports: mpsc::Receiver<Report>) {
    while let Some(report) = reports.recv().await {
        worker.reported(report);
    }
}

impl Worker {
    fn reported(self: &Arc<Self>, report: Report) {
        let Report { attempt: key, fence, what } = report;
        let mut state = self.attempts.state.lock();
        match what {
            What::Delivered { at } => {
                state.sighting(key, at);
            }
            What::Observed { at } => state.sighting(key, at).observed_at = Some(at),
            What::Heartbeat { details } => {
                let (attempt, proof) = (reference(key), Proof::Native(fence));
                state.heartbeats.insert(key, Heartbeat { attempt, proof, details });
            }
            What::Ended(ended) => {
                if ended.stopped_at.is_none() && ended.leak.is_none() {
                    state.ending.insert(key);
                }
                let end = end(key, fence, ended);
                drop(state);
                if let (Some(delivered), Some(observed)) = (end.delivered_at, end.observed_at) {
                    self.inner.meter.cancel_observation.took(delivered, observed);
                }
                return self.settle(end);
            }
            What::Late(ending) => {
                drop(state);
                return self.settle(plain_end(key, fence, ending));
            }
            What::Stopped { .. } | What::LeakEnded { .. } => {
                drop(state);
                self.settle(plain_end(key, fence, Ending::Stopped));
                return self.attempts.is_out_of_hands(key);
            }
            What::Leaked(_) => {
                drop(state);
                return self.attempts.is_out_of_hands(key);
            }
            What::Processes(_) => return,
        }
        drop(state);
        self.inner.bells.renew.notify_one();
    }

    /// Writes the end of an attempt, after what was said about it before.
    pub(super) fn settle(self: &Arc<Self>, end: AttemptEnd) {
        let key = key(end.attempt);
        let mut state = self.attempts.state.lock();
        // It counts as running until it counts as settling: somebody may wait for neither.
        let is_first = !state.settling.contains_key(&key);
        let attempt = state.runs(key, end.fence).cloned();
        if attempt.is_some() {
            state.running.remove(&key);
        }
        let offered = attempt.filter(|_| is_plain(&end)).and_then(|attempt| {
            attempt.offer_end(self.identity.clone(), end.report(self.inner.now()))
        });
        state.settling.entry(key).or_default().push_back((end, offered));
        drop(state);
        if is_first {
            let worker = self.clone();
            self.inner.finish(async move { worker.settle_in_order(key).await });
        }
    }

    async fn settle_in_order(self: Arc<Self>, key: AttemptKey) {
        loop {
            let next = {
                let mut state = self.attempts.state.lock();
                let next = state.settling.get_mut(&key).and_then(VecDeque::pop_front);
                if next.is_none() {
                    state.settling.remove(&key);
                }
                next
            };
            let Some((end, offered)) = next else { break };
            self.store_heartbeat(key).await;
            if let Some(offered) = offered
                && self.threads.offer(offered).await
            {
                continue;
            }
            if let Err(error) = self.inner.settle(end).await {
                // The row still says that this attempt runs: the next start will find it.
                tracing::error!(?key, %error, "the attempt could not be settled");
            }
        }
        self.attempts.settled.notify_waiters();
    }

    /// What the code last said is stored before its end: the next attempt wants to read it.
    async fn store_heartbeat(self: &Arc<Self>, key: AttemptKey) {
        let Some(heartbeat) = self.attempts.state.lock().heartbeats.remove(&key) else { return };
        if let Err(error) = self.inner.last_word(heartbeat).await {
            tracing::warn!(?key, %error, "the last heartbeat of an attempt is lost");
        }
    }
}

/// Supervisors have a thread of their own: code that blocks the runtime that it runs on cannot
/// keep the ladder from being climbed.
fn watch(inner: &Arc<EngineInner>) -> Result<Handle> {
    let fault = |error| Error::Invalid(format!("a thread could not be started: {error}"));
    let runtime = Builder::new_current_thread().enable_all().build().map_err(fault)?;
    let handle = runtime.handle().clone();
    let stopping = inner.stopping.clone();
    std::thread::Builder::new()
        .name("bowline-watch".to_owned())
        .spawn(move || runtime.block_on(stopping.cancelled()))
        .map_err(fault)?;
    Ok(handle)
}

fn end(key: AttemptKey, fence: Fence, ended: Ended) -> AttemptEnd {
    AttemptEnd {
        runs_on: ended.stopped_at.is_none(),
        rung: ended.rung,
        delivered_at: ended.delivered_at,
        observed_at: ended.observed_at,
        ..plain_end(key, fence, ended.ending)
    }
}

/// Whether nobody told the attempt to stop, and nothing of it is left.
fn is_plain(end: &AttemptEnd) -> bool {
    !end.runs_on && end.rung.is_none() && end.delivered_at.is_none()
}

/// An end of an attempt that nobody told to stop.
fn plain_end(key: AttemptKey, fence: Fence, ending: Ending) -> AttemptEnd {
    AttemptEnd {
        attempt: reference(key),
        fence,
        ending: bounded(ending),
        runs_on: false,
        rung: None,
        delivered_at: None,
        observed_at: None,
    }
}
