//! Messages of remote runs become events soon after they arrive, whether or not anybody polls.
//! What closes a run without asking its code is taken in for native runs too: their code may be
//! stuck, in quarantine, or nowhere at all.

use std::sync::Arc;

use bowline_core::Namespace;
use bowline_store::{ClaimRuns, Want};

use super::{
    Core,
    run::state,
    submit::{Patience, TurnCommit},
};
use crate::{Result, limits};

/// Takes in whatever waits, until the engine stops.
pub(crate) async fn run(core: Arc<Core>) {
    loop {
        for namespace in core.spaces.all() {
            while pass(&core, namespace).await {}
        }
        core.bells.intake.notified().await;
    }
}

/// Takes in a bounded number of runs; true if that got anywhere.
async fn pass(core: &Arc<Core>, namespace: Namespace) -> bool {
    let claim = ClaimRuns {
        epoch: core.epoch(),
        namespace,
        want: Want::Intake,
        queues: Vec::new(),
        names: Vec::new(),
        count: limits::CLAIM_RUNS,
        now: core.now(),
    };
    let claimed = core.patiently(|| core.store.claim_runs(claim.clone())).await;
    let claimed = match core.heed(claim.epoch, claimed) {
        Ok(claimed) => claimed,
        Err(error) => {
            tracing::error!(%error, "messages could not be taken in; waiting for the next hint");
            return false;
        }
    };
    let mut progress = false;
    for claimed in claimed {
        let run = claimed.read.head.run;
        match core.take_in(&claimed.read).await {
            Ok(moved) => progress |= moved,
            // A run that does not read must not hold up the others.
            Err(error) if claimed.read.head.quarantine.is_none() && error.is_corrupt() => {
                core.park(run, None, 1, error.to_string()).await;
            }
            Err(error) => tracing::error!(%run, %error, "its messages could not be taken in"),
        }
    }
    progress
}

impl Core {
    /// Takes in what waits for one run; false if there was nothing that may be taken now.
    pub(crate) async fn take_in(self: &Arc<Self>, read: &bowline_store::RunRead) -> Result<bool> {
        let head = &read.head;
        let state = state(read)?;
        if !state.started.cron.is_empty() && self.schedules.get().is_none() {
            // Whoever reads its schedule takes it in: here nobody knows which run follows it.
            return Ok(false);
        }
        let mut draft = self.draft_of(state, head.record.clone(), head.consumed);
        draft.intake(&read.inbox);
        let decided = draft.finish();
        let closes = !decided.state.status.is_open();
        // What a native run's code must see is for its turn.
        if decided.consumed == head.consumed || (head.rules.is_native() && !closes) {
            return Ok(false);
        }
        let (run, expected) = (head.run, head.version);
        let turn =
            TurnCommit { run, fence: None, expected, decided, ended: Vec::new(), release: false };
        match self.commit(turn, Patience::Long).await {
            Ok(_) => {
                if let Some(local) = self.local.get().filter(|_| closes) {
                    local.closed(run);
                }
                Ok(true)
            }
            // Somebody else was faster; whatever is left comes round again.
            Err(error) if error.is_race() => Ok(true),
            Err(error) => Err(error),
        }
    }
}
