//! A claim was done, and its answer was lost: what it took stands in this member's name, and
//! nobody here knows of it. It is looked for, and given back.

use std::{collections::BTreeSet, sync::Arc};

use bowline_core::{Ending, Fence, Holder, Queue, RunId, Status};
use bowline_store::{ActivityRow, AttemptRef, Filter, Head, Read, RunKey};

use super::{Core, OWN_FENCES, desk::AttemptEnd};
use crate::limits;

/// What a claim has taken.
#[derive(Debug)]
pub(crate) struct Claimed<T> {
    pub(crate) items: Vec<T>,
    /// An earlier try may have taken more, and its answer was lost.
    pub(crate) is_unsure: bool,
}

impl Core {
    /// Lets go of runs that are held in this member's name without its knowing.
    pub(crate) async fn recover_runs(self: Arc<Self>) {
        let Some(local) = self.local.get() else { return };
        let mut pages = self.open_runs();
        while let Some(heads) = self.turn_page(&mut pages).await {
            let lost = heads.into_iter().filter(|head| !local.holds(head.run));
            for (run, holder) in lost.map(|head| (head.run, head.holder)) {
                let Some(fence) = holder.filter(|fence| self.is_claim(fence)) else { continue };
                if let Err(error) = self.release(run, fence).await {
                    tracing::warn!(%run, %error, "a lost run could not be let go of");
                }
            }
        }
    }

    /// Gives activities of a queue back that were started in this member's name without its
    /// knowing. Their runs may have closed meanwhile, so they are looked for by who has them.
    pub(crate) async fn recover_activities(self: Arc<Self>, queue: Queue) {
        let own = match self.inventory().await {
            Ok(own) => own,
            Err(error) => return tracing::warn!(%error, "lost attempts could not be looked for"),
        };
        let runs: BTreeSet<RunId> = own.into_iter().map(|(run, _)| run).collect();
        for run in runs.into_iter().map(RunKey::Run) {
            let read = Read { activities_max: usize::MAX, ..Read::head(run) };
            let Ok(read) = self.read(read).await else { continue };
            for row in read.activities.iter().filter(|row| row.spec.queue == queue) {
                self.recover(row).await;
            }
        }
    }

    async fn recover(&self, row: &ActivityRow) {
        let Some(Holder::Native(fence)) = row.live.started().map(|start| &start.holder) else {
            return;
        };
        let (run, activity, attempt) = (row.run, row.activity, row.live.attempt);
        let attempt = AttemptRef { run, activity, attempt };
        let known = self.local.get().is_some_and(|local| local.knows(attempt));
        if known || !self.is_claim(fence) {
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

    /// Whether a lease was made by a claim of this opening of the store.
    fn is_claim(&self, fence: &Fence) -> bool {
        fence.epoch == self.epoch() && fence.counter < OWN_FENCES
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
