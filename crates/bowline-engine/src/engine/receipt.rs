//! Receipts: how far a cancel has come, and the proof that nothing is left.

use std::sync::Arc;

use bowline_core::{Cause, Code, ReceiptId, RunId};
use bowline_store::{Leftovers, Phase, Posting, RunKey, Subtree};

use super::EngineInner;
use crate::{Error, Result};

impl EngineInner {
    /// What is left of a subtree, as the store has it now.
    pub(crate) async fn leftovers(&self, subtree: Subtree) -> Result<Leftovers> {
        self.retrying(|| self.store.leftovers(subtree.clone())).await
    }

    /// Waits until a cancel has come so far.
    pub(crate) async fn wait(&self, receipt: ReceiptId, phase: Phase) -> Result<Leftovers> {
        let mut follower = self.followers.follower();
        loop {
            let left = self.look_at(receipt, phase).await?;
            if left.phase() >= phase {
                return Ok(left);
            }
            // Follow first, look again, and only then wait: a change in between is not missed.
            let before = left.runs.len();
            for line in &left.runs {
                self.followers.follow(&mut follower, line.run)?;
            }
            let again = self.look_at(receipt, phase).await?;
            if again.phase() >= phase {
                return Ok(again);
            }
            if again.runs.len() != before {
                continue;
            }
            tokio::select! {
                biased;
                () = follower.changed() => {}
                () = self.stopping.cancelled() => return Err(Error::ShuttingDown),
            }
        }
    }

    /// How far a cancel has come, as far as that says whether it has come to a phase. While very
    /// much waits below it, nobody counts that again and again.
    async fn look_at(&self, receipt: ReceiptId, phase: Phase) -> Result<Leftovers> {
        let outline = self.leftovers(Subtree::Outline(receipt)).await?;
        match outline.is_enough(phase) {
            true => Ok(outline),
            false => self.leftovers(Subtree::Receipt(receipt)).await,
        }
    }

    /// Terminates a run, and forgets it as soon as nothing of its subtree is left and no receipt
    /// speaks of it. What is closed already needs no receipt.
    pub(crate) async fn delete(
        self: &Arc<Self>,
        run: RunId,
        cause: Cause,
    ) -> Result<Option<ReceiptId>> {
        let head = self.head(RunKey::Run(run)).await?;
        if head.status.is_open() {
            let cause = Cause { code: Code::Deleted, ..cause };
            return match self.terminate(run.into(), cause, None).await {
                Ok(receipt) => Ok(Some(receipt)),
                // All of it is gone already, the receipt too.
                Err(Error::NotFound(_)) => Ok(None),
                Err(error) => Err(error),
            };
        }
        self.post(Posting::Delete { run, now: self.now() }).await?;
        self.bells.sweep.notify_one();
        Ok(None)
    }
}
