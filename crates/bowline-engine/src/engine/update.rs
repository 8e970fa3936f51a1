//! Who waits for an update to be taken or answered.

use std::collections::BTreeMap;

use bowline_core::{Event, EventKind, Message, RunId, UpdateId, UpdateRequest, UpdateStage};
use bowline_store::Read;
use parking_lot::Mutex;
use tokio::sync::oneshot;

use super::Core;
use crate::{Error, Result};

type Key = (RunId, UpdateId);

/// Everybody who waits. A waiter that gives up is dropped with the next answer.
#[derive(Debug, Default)]
pub(crate) struct Waiters(Mutex<BTreeMap<Key, Vec<oneshot::Sender<UpdateStage>>>>);

impl Waiters {
    pub(crate) fn wait(&self, run: RunId, id: UpdateId) -> oneshot::Receiver<UpdateStage> {
        let (tell, told) = oneshot::channel();
        let mut waiters = self.0.lock();
        let waiting = waiters.entry((run, id)).or_default();
        waiting.retain(|waiter| !waiter.is_closed());
        waiting.push(tell);
        told
    }

    /// Passes an answer on. That an update was accepted is no answer yet.
    pub(crate) fn tell(&self, run: RunId, id: &UpdateId, stage: &UpdateStage) {
        if *stage == UpdateStage::Accepted {
            return;
        }
        let waiting = self.0.lock().remove(&(run, id.clone())).unwrap_or_default();
        for waiter in waiting {
            // Whoever has stopped waiting does not want to know.
            let _ = waiter.send(stage.clone());
        }
    }
}

impl Core {
    /// Asks a run's code for something, and waits for its answer.
    pub(crate) async fn update(&self, run: RunId, request: UpdateRequest) -> Result<UpdateStage> {
        let id = request.id.clone();
        let told = self.updates.wait(run, id.clone());
        self.post_message(run.into(), Message::Update(Box::new(request))).await?;
        // The same update, sent again, may have been answered long ago.
        if let Some(stage) = self.answered(run, &id).await? {
            return Ok(stage);
        }
        tokio::select! {
            biased;
            stage = told => stage.map_err(|_| Error::ShuttingDown),
            () = self.stopping.cancelled() => Err(Error::ShuttingDown),
        }
    }

    async fn answered(&self, run: RunId, id: &UpdateId) -> Result<Option<UpdateStage>> {
        let read = self.read(Read::whole(run)).await?;
        let events = super::run::events(run, &read.batches)?;
        Ok(events.iter().rev().find_map(|event| stage(event, id)))
    }
}

fn stage(event: &Event, id: &UpdateId) -> Option<UpdateStage> {
    match &event.kind {
        EventKind::UpdateCompleted(done) if done.id == *id => {
            Some(UpdateStage::Completed(done.answer.clone()))
        }
        _ => None,
    }
}
