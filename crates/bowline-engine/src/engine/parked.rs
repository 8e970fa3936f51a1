//! Parked runs: how one comes to be parked, and which of them this process may try.

use std::{collections::BTreeSet, sync::Arc};

use bowline_core::{Fence, GaveUp, MayTry, Name, Queue, RunId, Time, Tried};
use bowline_store::{Filter, Head};

use super::{EngineInner, exchange::Stop};
use crate::{Error, Result, limits};

/// Runs that may be tried now, and when the next one may.
#[derive(Debug, Default)]
pub(crate) struct Found {
    pub(crate) now: Vec<RunId>,
    pub(crate) next: Option<Time>,
}

/// Whether this process has the code of a workflow, and works on its queue.
pub(crate) trait Serves: Fn(&Queue, &Name) -> bool + Sync {}

impl<F: Fn(&Queue, &Name) -> bool + Sync> Serves for F {}

impl EngineInner {
    /// This process cannot go on with a run: it is parked, visible and untouched, until somebody
    /// tries it whose code can. Where there are others, they are asked first.
    pub(crate) async fn park(self: &Arc<Self>, run: RunId, fence: Option<Fence>, stop: Stop) {
        let Stop { failures, reason, harms } = stop;
        let others = self.has_others().await;
        match others {
            true => tracing::warn!(%run, %reason, "the run is passed on to other processes"),
            false => tracing::error!(%run, %reason, "the run is parked"),
        }
        let by = Tried { epoch: self.epoch(), build: self.settings.build.clone() };
        let gave_up = GaveUp { by, failures, reason, harms, others };
        if let Err(error) = self.give_up(run, fence, gave_up).await {
            tracing::error!(%run, %error, "the run could not be parked");
        }
    }

    /// Every parked run that may be tried here.
    pub(crate) async fn all_parked(&self, serves: &impl Serves) -> Found {
        let mut found = Found::default();
        let mut pages = self.open_runs().map(|open| Filter { parked: Some(true), ..open });
        while let Some(heads) = self.turn_page(&mut pages).await {
            heads.iter().for_each(|head| self.weigh(head, serves, &mut found));
        }
        found
    }

    /// Those of these.
    pub(crate) async fn these_parked(
        &self,
        runs: BTreeSet<RunId>,
        serves: &impl Serves,
    ) -> Result<Found> {
        let mut found = Found::default();
        for run in runs {
            match self.head_of(run).await {
                Ok(head) => self.weigh(&head, serves, &mut found),
                Err(Error::NotFound(_)) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(found)
    }

    fn weigh(&self, head: &Head, serves: &impl Serves, found: &mut Found) {
        let is_ours = head.status.is_open() && serves(&head.queue, &head.name);
        let parked = head.parked.as_ref().filter(|_| is_ours);
        match parked.map(|own| own.may_try(self.epoch(), &self.settings.build, self.now())) {
            // Somebody may be trying it: then the store refuses it, and tells when it is free.
            Some(MayTry::Now) => found.now.push(head.run),
            Some(MayTry::At(at)) => found.next = found.next.into_iter().chain([at]).min(),
            Some(MayTry::Never) | None => {}
        }
    }

    /// Lets everybody try all parked runs again that a filter finds; how many there were.
    pub(crate) async fn retry_all(self: &Arc<Self>, filter: Filter) -> Result<usize> {
        let mut filter = Filter { parked: Some(true), limit: limits::PAGE, ..filter };
        let mut retried = 0;
        loop {
            let page = self.find(filter.clone()).await?;
            for head in page.runs.iter().filter(|head| head.status.is_open()) {
                match self.retry(head.run).await {
                    Ok(()) => retried += 1,
                    Err(Error::NotFound(_)) => {}
                    Err(error) => return Err(error),
                }
            }
            match page.next {
                Some(next) => filter.after = Some(next),
                None => return Ok(retried),
            }
        }
    }
}
