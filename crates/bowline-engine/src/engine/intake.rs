//! Messages of remote runs become events soon after they arrive, whether or not anybody polls.
//! What closes a run without asking its code is taken in for native runs too: their code may be
//! stuck, parked, or nowhere at all.

use std::sync::Arc;

use bowline_core::Namespace;
use bowline_store::{ClaimRuns, RunRead, Want};
use tokio::sync::oneshot;

use super::{
    EngineInner,
    exchange::Stop,
    remote::{Decision, KnownRun, QuestionCount},
    submit::Patience,
};
use crate::{Result, limits};

/// Takes in whatever waits, until the engine stops.
pub(crate) async fn run(inner: Arc<EngineInner>) {
    loop {
        for namespace in inner.spaces.all() {
            while pass(&inner, namespace).await {}
        }
        inner.bells.intake.notified().await;
    }
}

/// Takes in a bounded number of runs; true if that got anywhere.
async fn pass(inner: &Arc<EngineInner>, namespace: Namespace) -> bool {
    let claim = ClaimRuns {
        epoch: inner.epoch(),
        namespace,
        want: Want::Intake,
        queues: Vec::new(),
        names: Vec::new(),
        count: limits::CLAIM_RUNS,
        now: inner.now(),
    };
    let asked = inner.queries.asked();
    let claimed = inner.patiently(|| inner.store.claim_runs(claim.clone())).await;
    let claimed = match inner.heed(claim.epoch, claimed) {
        Ok(claimed) => claimed,
        Err(error) => {
            tracing::error!(%error, "messages could not be taken in; waiting for the next hint");
            return false;
        }
    };
    // Together, so that one group of commits writes all of them.
    let taking = claimed.into_iter().map(|claimed| taking(inner, claimed.read, asked));
    let taking: Vec<_> = taking.collect();
    let mut progress = false;
    for taken in taking {
        progress |= taken.await.unwrap_or(false);
    }
    progress
}

/// Takes in what waits for a run, in the background; true if that got anywhere.
fn taking(
    inner: &Arc<EngineInner>,
    read: RunRead,
    asked: QuestionCount,
) -> oneshot::Receiver<bool> {
    let (done, taken) = oneshot::channel();
    let inner = inner.clone();
    inner.clone().spawn(async move {
        let run = read.head.run;
        let moved = match inner.take_in(&read, asked).await {
            Ok(moved) => moved,
            // A run that does not read must not hold up the others.
            Err(error) if read.head.parked.is_none() && error.is_corrupt() => {
                inner.park(run, None, Stop::once(error.to_string())).await;
                false
            }
            Err(error) => {
                tracing::error!(%run, %error, "its messages could not be taken in");
                false
            }
        };
        let _ = done.send(moved);
    });
    taken
}

impl EngineInner {
    /// Takes in what waits for one run; false if there was nothing that may be taken now. `asked`
    /// is how many questions there had been before it was read.
    pub(crate) async fn take_in(
        self: &Arc<Self>,
        read: &RunRead,
        asked: QuestionCount,
    ) -> Result<bool> {
        let head = &read.head;
        let known = KnownRun::of(read, asked)?;
        if !known.state.started.cron.is_empty() && self.schedules.get().is_none() {
            // Whoever reads its schedule takes it in: here nobody knows which run follows it.
            return Ok(false);
        }
        let KnownRun { version: expected, consumed, record, state, events, inbox, .. } = known;
        let mut draft = self.draft_of(state, record, consumed);
        draft.intake(&inbox);
        let closes = !draft.state().status.is_open();
        // What a native run's code must see is for its turn.
        if draft.consumed() == consumed || (head.rules.is_native() && !closes) {
            return Ok(false);
        }
        let handed = match head.rules.is_native() {
            true => None,
            false => self.hand_to_poll(&mut draft, &events),
        };
        let decision =
            Decision { draft, expected, events, ended: Vec::new(), patience: Patience::Long };
        match self.write_seated(decision, handed, asked).await {
            Ok(()) => {
                if let Some(local) = self.local.get().filter(|_| closes) {
                    local.closed(head.run);
                }
                Ok(true)
            }
            // Somebody else was faster; whatever is left comes round again.
            Err(error) if error.is_race() => Ok(true),
            Err(error) => Err(error),
        }
    }
}
