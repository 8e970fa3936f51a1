//! Hints come in, and the right loop is woken. Losing all of them changes latency and nothing else.

use std::sync::Arc;

use bowline_core::{Namespace, Queue, RunId, Time};
use bowline_store::{Hint, Hints};
use parking_lot::Mutex;
use tokio::sync::Notify;

use super::EngineInner;

/// What wakes the engine's loops.
#[derive(Debug, Default)]
pub(crate) struct EngineBells {
    pub(crate) sweep: Notify,
    pub(crate) alarm: Notify,
    pub(crate) intake: Notify,
    pub(crate) renew: Notify,
    /// Turns may wait for polls that nobody has woken.
    pub(crate) turns: Notify,
    /// Another member may have asked something.
    pub(crate) asked: Notify,
    /// The earliest alarm that the alarm loop has not seen yet.
    pub(crate) alarm_due: Mutex<Option<Time>>,
    /// The earliest moment at which something expires.
    pub(crate) sweep_due: Mutex<Option<Time>>,
}

impl EngineBells {
    /// An alarm may ring earlier than all others.
    pub(crate) fn alarm_at(&self, due: Time) {
        let mut earliest = self.alarm_due.lock();
        if earliest.is_none_or(|known| due < known) {
            *earliest = Some(due);
            self.alarm.notify_one();
        }
    }

    /// Something that is kept expires then, perhaps earlier than all else.
    pub(crate) fn sweep_at(&self, due: Time) {
        let mut earliest = self.sweep_due.lock();
        if earliest.is_none_or(|known| due < known) {
            *earliest = Some(due);
            self.sweep.notify_one();
        }
    }
}

/// Passes hints on until the engine stops.
pub(crate) async fn run(inner: Arc<EngineInner>, mut hints: Hints) {
    loop {
        for hint in hints.next().await {
            pass_on(&inner, hint);
        }
    }
}

fn pass_on(inner: &Arc<EngineInner>, hint: Hint) {
    match hint {
        Hint::Inbox(run) => inner.inbox_grew(run),
        Hint::Turn(namespace, queue) => inner.turn_waits(namespace, &queue),
        Hint::RemoteTurn(namespace, queue) => inner.polls.turn_waits(namespace, &queue),
        Hint::Intake(namespace) => {
            // Whoever began something there may be another process.
            inner.spaces.meet(namespace);
            inner.bells.intake.notify_one();
        }
        Hint::Activity(namespace, queue) => inner.activity_waits(namespace, &queue),
        Hint::Alarm(due) => inner.bells.alarm_at(due),
        Hint::Cancelled => inner.bells.renew.notify_one(),
        Hint::Sweep => inner.bells.sweep.notify_one(),
        Hint::Changed(run) => inner.followers.tell(run),
        Hint::Closed(run) => inner.followers.hear_end(run),
        Hint::Parked(run) => inner.parked(run),
        Hint::Asked => inner.bells.asked.notify_one(),
        Hint::Answered(_) => {}
        Hint::Broadcast(word) => inner.hears(&word),
        Hint::Everything => everything(inner),
        _ => everything(inner),
    }
}

/// Something may have happened anywhere.
pub(super) fn everything(inner: &Arc<EngineInner>) {
    inner.bells.renew.notify_one();
    inner.bells.asked.notify_one();
    everywhere(inner);
    if let Some(local) = inner.local.get() {
        local.everything();
    }
}

/// Everything that the engine itself waits for is looked at.
pub(super) fn everywhere(inner: &Arc<EngineInner>) {
    inner.bells.intake.notify_one();
    inner.bells.sweep.notify_one();
    inner.bells.alarm_at(inner.now());
    inner.followers.tell_all();
    inner.polls.activities();
    inner.bells.turns.notify_one();
}

impl EngineInner {
    /// Hears of runs that change, and of nothing else.
    pub(crate) fn changes(&self) -> Hints {
        let mut hints = self.store.watch();
        hints.heed(|hint| matches!(hint, Hint::Changed(_) | Hint::Closed(_) | Hint::Everything));
        hints
    }

    fn inbox_grew(&self, run: RunId) {
        if let Some(local) = self.local.get() {
            local.inbox_grew(run);
        }
    }

    /// Somebody could not go on with a run: it may be tried here. Whoever waits for its code looks
    /// again.
    pub(crate) fn parked(&self, run: RunId) {
        self.followers.hear_end(run);
        if let Some(local) = self.local.get() {
            local.parked(run);
        }
    }

    fn turn_waits(&self, namespace: Namespace, queue: &Queue) {
        if let Some(local) = self.local.get() {
            local.turn_waits(namespace, queue);
        }
    }

    fn activity_waits(&self, namespace: Namespace, queue: &Queue) {
        self.polls.activity_waits(namespace, queue);
        if let Some(local) = self.local.get() {
            local.activity_waits(namespace, queue);
        }
    }
}
