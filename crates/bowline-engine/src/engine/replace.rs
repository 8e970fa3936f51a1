//! A new run takes the place of another under the same workflow id, in one commit: a fork of its
//! history, or a start that does not wait for it.

use std::sync::Arc;

use bowline_core::{
    Birth, Cause, Conflict, Effect, EventId, Message, Received, RunId, Terminate, fork,
};
use bowline_store::{Head, Posted, Posting, RunKey, StartRun};

use super::{
    Core,
    submit::{Patience, TurnCommit},
};
use crate::{Error, Result};

impl Core {
    /// Begins a run from the first events of another one, up to a `TurnStarted`. The newest run of
    /// that workflow id is terminated if it is open.
    pub(crate) async fn fork(
        self: &Arc<Self>,
        run: RunId,
        at: EventId,
        cause: Cause,
    ) -> Result<RunId> {
        let events = self.history(run).await?;
        let new = self.new_run();
        let birth = fork(&events, at, run, new, self.now())?;
        let head = self.head_of(run).await?;
        let current = RunKey::Current(run.namespace, head.workflow_id);
        self.replace(current, birth, cause).await
    }

    /// Terminates a run and begins another in its place.
    pub(crate) async fn replace(
        self: &Arc<Self>,
        old: RunKey,
        birth: Birth,
        cause: Cause,
    ) -> Result<RunId> {
        let new = birth.run;
        loop {
            let head = self.head(old.clone()).await?;
            if !head.status.is_open() {
                let start = StartRun {
                    birth: birth.clone(),
                    request_id: Default::default(),
                    conflict: Conflict::Refuse,
                    otherwise: None,
                    now: self.now(),
                };
                return match self.post(Posting::Start(Box::new(start))).await? {
                    Posted::Started(run) => Ok(run),
                    other => Err(Error::Invalid(format!("unexpected answer: {other:?}"))),
                };
            }
            match self.close_for(&head, birth.clone(), &cause).await {
                Ok(()) => {
                    if let Some(local) = self.local.get() {
                        local.closed(head.run);
                    }
                    return Ok(new);
                }
                Err(error) if error.is_race() => {}
                Err(error) => return Err(error),
            }
        }
    }

    async fn close_for(self: &Arc<Self>, head: &Head, birth: Birth, cause: &Cause) -> Result<()> {
        let (head, mut draft, mut inbox) = self.draft(head.run).await?;
        // Not a message of its own: it comes with the last one, and is never in the inbox.
        let terminate = Terminate { cause: cause.clone(), details: None, wire: None };
        let message = Message::Terminate(Box::new(terminate));
        inbox.push(Received { number: head.inbox, at: self.now(), message });
        draft.intake(&inbox);
        let mut decided = draft.finish();
        decided.effects.push(Effect::Begin(Box::new(birth)));
        let (run, expected) = (head.run, head.version);
        let turn = TurnCommit { run, fence: None, expected, decided, release: true };
        self.commit(turn, Patience::Short).await?;
        Ok(())
    }
}
