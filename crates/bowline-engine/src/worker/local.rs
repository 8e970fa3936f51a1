//! The worker as the engine sees it. Every call returns at once: it rings a bell or tells code.

use std::{collections::BTreeSet, pin::Pin};

use bowline_core::{Birth, Epoch, Event, EventKind, Fence, Name, Namespace, Notice, Queue, RunId};

use super::{Worker, activity};
use crate::engine::{
    exchange::{Assignment, AttemptRef, LocalWorker, Reports, Reservation, TurnLease},
    net::UnreadInboxes,
};

impl LocalWorker for Worker {
    fn inbox_grew(&self, run: RunId) {
        self.threads.inbox_grew(run);
        self.dispatch.inbox_grew(run);
    }

    fn turn_waits(&self, _namespace: Namespace, queue: &Queue) {
        if self.queues.contains_key(queue) {
            self.dispatch.turns.notify_one();
        }
    }

    fn activity_waits(&self, _namespace: Namespace, queue: &Queue) {
        if let Some(lane) = self.queues.get(queue) {
            lane.bell.ring();
        }
    }

    fn parked(&self, run: RunId) {
        self.parked.ring(run);
    }

    fn everything(&self) {
        self.dispatch.turns.notify_one();
        self.parked.ring_all();
        self.threads.held().into_iter().for_each(|run| self.inbox_grew(run));
        self.queues.values().for_each(|lane| lane.bell.ring());
    }

    fn closed(&self, run: RunId) {
        self.threads.closed(run);
    }

    fn notify(&self, notice: Notice) {
        match notice {
            Notice::StopAttempt(stop) => {
                let (is_cancel, decided_at) = (stop.is_cancel, stop.decided_at);
                if self.attempts.tell(stop) && is_cancel {
                    self.inner.meter.cancel_delivery.took(decided_at, self.inner.now());
                }
            }
            Notice::Drain { within, reason } => self.drain_soon(within.0, reason),
            Notice::Configure { queue, slots, rate } => {
                let options = crate::QueueOptions { slots, rate };
                if let Err(error) = self.configure(&queue, options) {
                    tracing::warn!(%error, "a notice to configure this worker was not followed");
                }
            }
            other => tracing::warn!(?other, "a notice that this version does not know"),
        }
    }

    fn holds(&self, run: RunId) -> bool {
        self.threads.holds(run)
    }

    fn knows(&self, attempt: AttemptRef, fence: Fence) -> bool {
        self.attempts.knows(attempt, fence)
    }

    fn leaks(&self) -> bool {
        self.leaks.leaked() > 0
    }

    fn is_running(&self) -> bool {
        !self.attempts.is_empty()
    }

    fn take_reports(&self) -> Reports {
        self.attempts.take_reports()
    }

    fn give_back(&self, reports: Reports) {
        self.attempts.give_back(reports);
    }

    fn look(&self, unread: UnreadInboxes) {
        self.dispatch.turns.notify_one();
        self.parked.look(self.inner.now());
        self.queues.values().for_each(|lane| lane.bell.ring());
        let held: BTreeSet<RunId> = self.threads.held().into_iter().collect();
        // A run that is held nowhere is claimed, or has gone on as another one.
        let grown: BTreeSet<RunId> = unread.runs.into_keys().collect();
        let all = unread.all || !grown.is_subset(&held);
        let runs = if all { held } else { grown };
        runs.into_iter().for_each(|run| self.inbox_grew(run));
    }

    fn lost(&self, attempt: AttemptRef) {
        self.attempts.lost(attempt);
    }

    fn all_lost(&self, epoch: Epoch) {
        self.attempts.all_lost(epoch);
        self.threads.forget(epoch);
    }

    fn all_cut(&self, epoch: Epoch) {
        self.attempts.all_cut(epoch);
        self.threads.forget(epoch);
    }

    fn doubts_all(&self) {
        let Some(worker) = self.itself.upgrade() else { return };
        self.inner.spawn(async move { worker.compare().await });
    }

    fn rest(&self) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        Box::pin(self.attempts.all_settled())
    }

    fn choose(&self, draw: &mut dyn FnMut() -> RunId) -> RunId {
        self.threads.choose(draw)
    }

    fn expect(&self, birth: &Birth) -> Option<Fence> {
        let [Event { kind: EventKind::WorkflowStarted(started), .. }, ..] = &birth.events[..]
        else {
            return None;
        };
        let serves = birth.wake && self.queues.contains_key(&started.queue);
        let serves = serves && !self.inner.standing.is_out();
        if !serves || self.dispatch.is_draining() || self.workflows.find(&started.name).is_none() {
            return None;
        }
        self.threads.expect(birth.run)
    }

    fn is_prompt(&self, run: RunId) -> bool {
        self.threads.is_prompt(run)
    }

    fn begun(&self, lease: TurnLease) {
        let Some(worker) = self.itself.upgrade() else { return };
        self.inner.finish_here(async move { worker.threads.begun(lease).await });
    }

    fn unexpect(&self, run: RunId, fence: Fence) {
        self.threads.unexpect(run, fence);
    }

    fn reserve(&self, queue: &Queue, name: &Name) -> Option<Reservation> {
        let lane = self.queues.get(queue)?;
        if lane.bell.is_behind() || self.dispatch.is_draining() {
            return None;
        }
        self.activities.find(name)?;
        let permit = lane.slots.take(1).pop()?;
        let (sent, worker) = (self.inner.send_fence(), self.identity.clone());
        Some(Reservation { sent, worker, permit })
    }

    fn begin_attempt(&self, reservation: Reservation, assignment: Assignment) {
        let Reservation { sent, permit, .. } = reservation;
        self.run(assignment, permit);
        // Not before the attempt is known here.
        drop(sent);
    }
}

impl Worker {
    /// Runs an attempt whose start is durable.
    pub(super) fn run(&self, assignment: Assignment, permit: super::slots::Permit) {
        let Some(code) = self.activities.find(&assignment.spec.name) else {
            // Claims and reservations are filtered by name.
            return tracing::error!(name = %assignment.spec.name, "no such activity");
        };
        if let Some(end) = self.attempts.start(assignment, code, permit)
            && let Some(worker) = self.itself.upgrade()
        {
            worker.settle(end);
        }
    }

    /// Lets go of every run, whose next turn is then about what is stored; and compares attempts
    /// that run here with those that stand in this member's name.
    async fn compare(&self) {
        let running = self.attempts.running();
        self.threads.release_all().await;
        self.inner.recover_runs().await;
        for (queue, lane) in &self.queues {
            // What a claim has taken and not yet handed over must not be mistaken for lost.
            let _no_claims = lane.claims.lock().await;
            self.inner.recover_activities(queue).await;
        }
        for (attempt, fence) in self.inner.strays(running).await {
            self.attempts.strayed(attempt, fence);
        }
    }

    fn drain_soon(&self, within: std::time::Duration, reason: String) {
        tracing::info!(%reason, "this worker is told to drain");
        self.dispatch.start_draining();
        self.attempts.drain(within, activity::drain_cause(reason));
    }
}
