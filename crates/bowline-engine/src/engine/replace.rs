//! A new run takes the place of another under the same workflow id, in one commit: a fork of its
//! history, or a start that does not wait for it.
//!
//! A fork is cut anew whenever that commit has to be tried again: what came into the old run's
//! inbox meanwhile comes along.

use std::sync::Arc;

use bowline_core::{
    Address, Birth, Cause, Code, Conflict, Effect, EndChild, Event, EventId, Message, Received,
    RunEnding, RunId, State, Terminate, fork,
};
use bowline_store::{Head, Posted, Posting, RunKey, StartRun};

use super::{
    EngineInner,
    submit::{Patience, TurnCommit},
};
use crate::{Error, Result};

/// Who takes the place.
#[derive(Clone, Debug)]
enum Newcomer {
    Start(Box<Birth>),
    /// A run whose history is that of `of`, up to event `at`.
    Fork {
        of: RunId,
        at: EventId,
        new: RunId,
    },
}

impl EngineInner {
    /// Begins a run from the first events of another one, up to a `TurnStarted`. The newest run of
    /// that workflow id is terminated if it is open; if it is the very run that is forked, the
    /// fork inherits the children that were open where it was cut.
    pub(crate) async fn fork(
        self: &Arc<Self>,
        run: RunId,
        at: EventId,
        cause: Cause,
    ) -> Result<RunId> {
        let head = self.head_of(run).await?;
        let current = RunKey::Current(run.namespace, head.workflow_id);
        let newcomer = Newcomer::Fork { of: run, at, new: self.new_run_in(run.namespace) };
        let birth = self.take_place(current, &newcomer, &cause).await?;
        // A child that ended while nobody was there to be told; one that ended later told the fork.
        for end in self.ends(&birth).await? {
            let told = self.post_message(Address::Run(birth.run), Message::EndChild(Box::new(end)));
            match told.await {
                Ok(_) | Err(Error::Closed { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(birth.run)
    }

    /// Terminates a run and begins another in its place.
    pub(crate) async fn replace(
        self: &Arc<Self>,
        old: RunKey,
        birth: Birth,
        cause: Cause,
    ) -> Result<RunId> {
        let newcomer = Newcomer::Start(Box::new(birth));
        Ok(self.take_place(old, &newcomer, &cause).await?.run)
    }

    async fn take_place(
        self: &Arc<Self>,
        old: RunKey,
        newcomer: &Newcomer,
        cause: &Cause,
    ) -> Result<Birth> {
        loop {
            let head = self.head(old.clone()).await?;
            if !head.status.is_open() {
                let birth = self.newborn(newcomer, &[]).await?;
                let start = StartRun {
                    birth: birth.clone(),
                    request_id: Default::default(),
                    conflict: Conflict::Refuse,
                    otherwise: None,
                    hold: None,
                    now: self.now(),
                };
                return match self.post(Posting::Start(Box::new(start))).await? {
                    Posted::Started(_) => Ok(birth),
                    other => Err(Error::Invalid(format!("unexpected answer: {other:?}"))),
                };
            }
            match self.close_for(&head, newcomer, cause).await {
                Ok(birth) => {
                    if let Some(local) = self.local.get() {
                        local.closed(head.run);
                    }
                    return Ok(birth);
                }
                Err(error) if error.is_race() => {}
                Err(error) => return Err(error),
            }
        }
    }

    async fn close_for(
        self: &Arc<Self>,
        head: &Head,
        newcomer: &Newcomer,
        cause: &Cause,
    ) -> Result<Birth> {
        let (head, mut draft, mut inbox) = self.draft(head.run).await?;
        // Not a message of its own: it comes with the last one, and is never in the inbox.
        let terminate = Terminate { cause: cause.clone(), details: None, wire: None };
        let message = Message::Terminate(Box::new(terminate));
        inbox.push(Received { number: head.inbox, at: self.now(), message });
        let birth = match newcomer {
            Newcomer::Fork { of, .. } if *of == head.run => {
                // What waits in the inbox belongs to the history that is forked.
                let mut rest = draft.clone();
                rest.intake(&inbox);
                let birth = self.newborn(newcomer, rest.events()).await?;
                draft.bequeath(&birth);
                birth
            }
            _ => self.newborn(newcomer, &[]).await?,
        };
        draft.intake(&inbox);
        let mut decided = draft.finish();
        decided.effects.push(Effect::Begin(Box::new(birth.clone())));
        let (run, expected) = (head.run, head.version);
        let turn =
            TurnCommit { run, fence: None, expected, decided, ended: Vec::new(), release: true };
        self.commit(turn, Patience::Short, None).await?;
        Ok(birth)
    }

    /// How the newcomer begins. `rest` is what history will end with.
    async fn newborn(&self, newcomer: &Newcomer, rest: &[Event]) -> Result<Birth> {
        let (of, at, new) = match newcomer {
            Newcomer::Start(birth) => return Ok((**birth).clone()),
            Newcomer::Fork { of, at, new } => (*of, *at, *new),
        };
        let mut events = self.history(of).await?;
        events.extend_from_slice(rest);
        let birth = fork(&events, at, of, new, self.now(), &[])?;
        match self.ends(&birth).await?.as_slice() {
            [] => Ok(birth),
            ends => Ok(fork(&events, at, of, new, self.now(), ends)?),
        }
    }

    /// Children that a fork believes to be open, and that have ended.
    async fn ends(&self, birth: &Birth) -> Result<Vec<EndChild>> {
        let mut ends = Vec::new();
        for (child, open) in State::of(birth.run, &birth.events).children {
            if let Some((run, ending)) = self.ended(open.run).await? {
                ends.push(EndChild { child, run, ending, first: Some(open.run) });
            }
        }
        Ok(ends)
    }

    /// How a chain ended; none if it goes on.
    async fn ended(&self, first: RunId) -> Result<Option<(RunId, RunEnding)>> {
        match self.head(RunKey::Chain(first)).await {
            Ok(head) if head.status.is_open() => Ok(None),
            Ok(head) => Ok(Some((head.run, self.ending(head.run).await?))),
            // Only what is over is ever forgotten.
            Err(Error::NotFound(_)) => {
                Ok(Some((first, RunEnding::Terminated(Cause::new(Code::Deleted)))))
            }
            Err(error) => Err(error),
        }
    }
}
