//! A claim was done, and its answer was lost: what it took stands in this member's name, and
//! nobody here knows of it. Or a standby has taken over, and what was let go of before stands
//! again. It is looked for, and given back.

use std::{
    collections::BTreeSet,
    sync::{Arc, atomic::Ordering},
};

use bowline_core::{Ending, Fence, Holder, Queue, RunId, Status};
use bowline_store::{ActivityRow, AttemptRef, Filter, Head, Read, RunKey};

use super::{EngineInner, exchange::AttemptEnd};
use crate::{Error, Result, limits};

/// What a claim has taken.
#[derive(Debug)]
pub(crate) struct Claimed<T> {
    pub(crate) items: Vec<T>,
    /// An earlier try may have taken more, and its answer was lost.
    pub(crate) is_unsure: bool,
}

impl EngineInner {
    /// The store says which past it is of. If it is another one, nothing that is known is sure.
    pub(super) fn meets(&self, past: u64) {
        if self.past.swap(past, Ordering::AcqRel) != past
            && let Some(local) = self.local.get()
        {
            tracing::warn!("another server has taken over: what is held is let go of and compared");
            local.doubts_all();
        }
    }

    /// Lets go of runs that are held in this member's name without its knowing.
    pub(crate) async fn recover_runs(self: &Arc<Self>) {
        let Some(local) = self.local.get() else { return };
        let mut pages = self.open_runs();
        while let Some(heads) = self.turn_page(&mut pages).await {
            let lost = heads.into_iter().filter(|head| !local.holds(head.run));
            for (run, holder) in lost.map(|head| (head.run, head.holder)) {
                let Some(fence) = holder.filter(|fence| fence.epoch == self.epoch()) else {
                    continue;
                };
                if let Err(error) = self.release(run, fence).await {
                    tracing::warn!(%run, %error, "a lost run could not be let go of");
                }
            }
        }
    }

    /// Gives activities of a queue back that were started in this member's name without its
    /// knowing. Their runs may have closed meanwhile, so they are looked for by who has them.
    pub(crate) async fn recover_activities(&self, queue: &Queue) {
        match self.started().await {
            Ok(rows) => {
                for row in rows.iter().filter(|row| row.spec.queue == *queue) {
                    self.recover(row).await;
                }
            }
            Err(error) => tracing::warn!(%error, "lost attempts could not be looked for"),
        }
    }

    /// Those of some attempts, known to have begun before, that do not stand in this member's name.
    pub(crate) async fn strays(
        &self,
        mut attempts: Vec<(AttemptRef, Fence)>,
    ) -> Vec<(AttemptRef, Fence)> {
        let rows = match self.started().await {
            Ok(rows) => rows,
            Err(error) => {
                tracing::warn!(%error, "attempts could not be compared");
                return Vec::new();
            }
        };
        let stands = |row: &ActivityRow| match &row.live.started()?.holder {
            Holder::Native(fence) => Some((row.run, row.activity, row.live.attempt, *fence)),
            Holder::Remote { .. } => None,
        };
        let stand: BTreeSet<_> = rows.iter().filter_map(stands).collect();
        attempts
            .retain(|(own, fence)| !stand.contains(&(own.run, own.activity, own.attempt, *fence)));
        attempts
    }

    /// The activities of every run that has a started attempt of this member.
    async fn started(&self) -> Result<Vec<ActivityRow>> {
        let runs: BTreeSet<RunId> =
            self.inventory().await?.into_iter().map(|(run, _)| run).collect();
        let mut rows = Vec::new();
        for run in runs.into_iter().map(RunKey::Run) {
            let read = Read { activities_max: usize::MAX, ..Read::head(run) };
            match self.read(read).await {
                Ok(read) => rows.extend(read.activities),
                Err(Error::NotFound(_)) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(rows)
    }

    async fn recover(&self, row: &ActivityRow) {
        let Some(Holder::Native(fence)) = row.live.started().map(|start| &start.holder) else {
            return;
        };
        let (run, activity, attempt) = (row.run, row.activity, row.live.attempt);
        let attempt = AttemptRef { run, activity, attempt };
        // In this order: an attempt is known before it is on its way no more.
        let is_sent = fence.epoch != self.epoch() || self.fences.is_sent(fence);
        if is_sent || self.local.get().is_some_and(|local| local.knows(attempt, *fence)) {
            return;
        }
        let end = AttemptEnd {
            attempt,
            fence: *fence,
            ending: Ending::Returned,
            runs_on: false,
            rung: None,
            delivered_at: None,
            observed_at: None,
        };
        if let Err(error) = self.settle(end).await {
            tracing::warn!(?attempt, %error, "a lost attempt could not be given back");
        }
    }

    /// Every open run, page by page.
    pub(super) fn open_runs(&self) -> Option<Filter> {
        let statuses = vec![Status::Running, Status::Cancelling];
        let namespace = self.settings.namespace;
        Some(Filter { namespace, statuses, limit: limits::PAGE, ..Filter::default() })
    }

    pub(super) async fn turn_page(&self, pages: &mut Option<Filter>) -> Option<Vec<Head>> {
        let filter = pages.take()?;
        let page = self.patiently(|| self.store.find(filter.clone())).await.ok()?;
        *pages = page.next.map(|next| Filter { after: Some(next), ..filter });
        Some(page.runs)
    }
}
