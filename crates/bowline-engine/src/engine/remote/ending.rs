//! The end of a run, for a door whose clients wait for the event that closes it.
//!
//! In:    runs that begin here; somebody who waits.
//! Out:   the closing event, from the commit that wrote it: nothing is read for it.
//! Never: the truth. A run that nobody here has followed from before its beginning is read.

use bowline_core::{Event, EventId, Queue, RunId, WorkflowId};
use bowline_store::{Read, Recent, RunKey};
use parking_lot::Mutex;

use crate::{
    Error, Result,
    engine::{
        EngineInner,
        follow::{Follower, RunEnd},
        run::events,
    },
    limits,
};

/// How a run ended.
#[derive(Clone, Debug)]
pub struct ClosedRun {
    /// The queue in which its turns waited.
    pub queue: Queue,
    /// The event that closed it.
    pub event: Event,
}

/// A run that began here, followed to its end.
#[derive(Debug)]
struct NewRun {
    workflow_id: WorkflowId,
    queue: Queue,
    end: RunEnd,
}

/// Runs that began here lately, for whoever comes to wait for their ends.
#[derive(Debug, Default)]
pub(crate) struct NewRuns(Mutex<Recent<RunId, NewRun, { limits::NEW_RUNS }>>);

impl NewRuns {
    /// A run has begun that was followed from before its beginning.
    pub(crate) fn keep(&self, workflow_id: WorkflowId, queue: Queue, end: RunEnd) {
        self.0.lock().put(end.run, NewRun { workflow_id, queue, end });
    }

    fn take(&self, run: RunId) -> Option<NewRun> {
        self.0.lock().take(&run)
    }
}

/// A new run in the hands of somebody who waits for it; kept again if they wait no longer.
struct Waited<'r> {
    new: Option<NewRun>,
    runs: &'r NewRuns,
}

impl Drop for Waited<'_> {
    fn drop(&mut self) {
        if let Some(new) = self.new.take() {
            self.runs.keep(new.workflow_id, new.queue, new.end);
        }
    }
}

impl EngineInner {
    /// Waits until a run is closed, if it is the one of that workflow id.
    pub(crate) async fn closing(&self, run: RunId, id: Option<&WorkflowId>) -> Result<ClosedRun> {
        let Some(new) = self.new_runs.take(run) else {
            let mut follower = self.followers.follower();
            self.followers.follow_end(&mut follower, run)?;
            return self.closing_after(run, id, &follower).await;
        };
        let mut waited = Waited { new: Some(new), runs: &self.new_runs };
        let Some(new) =
            waited.new.as_ref().filter(|new| id.is_none_or(|id| new.workflow_id == *id))
        else {
            return Err(Error::NotFound("run"));
        };
        self.changed(&new.end.follower).await?;
        let Some(new) = waited.new.take() else { return Err(Error::NotFound("run")) };
        match new.end.follower.ended(run) {
            Some(ended) => Ok(ClosedRun { queue: new.queue, event: ended.event.clone() }),
            None => self.closing_after(run, id, &new.end.follower).await,
        }
    }

    async fn closing_after(
        &self,
        run: RunId,
        id: Option<&WorkflowId>,
        follower: &Follower,
    ) -> Result<ClosedRun> {
        loop {
            let head = self.head_of(run).await?;
            if id.is_some_and(|id| head.workflow_id != *id) {
                return Err(Error::NotFound("run"));
            }
            let queue = head.queue;
            if !head.status.is_open() {
                let last = EventId(head.next_event.0.saturating_sub(1));
                let read = Read { events_from: Some(last), ..Read::head(RunKey::Run(run)) };
                let last = events(run, &self.read(read).await?.batches)?.pop();
                let event = last.ok_or(Error::NotFound("event"))?;
                return Ok(ClosedRun { queue, event });
            }
            self.changed(follower).await?;
            if let Some(ended) = follower.ended(run) {
                return Ok(ClosedRun { queue, event: ended.event.clone() });
            }
        }
    }

    async fn changed(&self, follower: &Follower) -> Result<()> {
        tokio::select! {
            biased;
            () = follower.changed() => Ok(()),
            () = self.stopping.cancelled() => Err(Error::ShuttingDown),
        }
    }
}
