//! A remote worker takes a turn, and answers it, perhaps to another process than the one it took
//! it from.

use std::sync::Arc;

use bowline_core::{
    Blob, Draft, Event, EventId, FailTurn, Name, Queue, RunId, StartTurn, State, Time, Token,
    TurnAnswer, TurnVerdict, UpdateRequest, WorkflowId,
};
use bowline_store::{ClaimRuns, Read, RunRead, Want as StoreWant};

use super::Want;
use crate::{
    Error, Result,
    engine::{
        Core,
        run::{events, state},
        submit::{Patience, TurnCommit},
    },
};

/// A turn in a worker's hands.
#[derive(Clone, Debug)]
pub struct RemoteTurn {
    /// What its answer must show.
    pub token: Blob,
    /// The run.
    pub run: RunId,
    /// Its workflow id.
    pub workflow_id: WorkflowId,
    /// The workflow.
    pub name: Name,
    /// The run's own queue.
    pub queue: Queue,
    /// Which attempt at the turn this is.
    pub attempt: u32,
    /// The `TurnStarted` of the last turn that was completed; 0 if none was.
    pub previous_started: EventId,
    /// The `TurnStarted` of this one; history as handed out ends there.
    pub started: EventId,
    /// The whole history, a provisional tail included.
    pub events: Vec<Event>,
    /// Updates that the turn should take or refuse.
    pub updates: Vec<UpdateRequest>,
}

/// What became of an answer.
#[derive(Clone, Debug)]
pub struct Answered {
    /// Whether it was taken.
    pub verdict: TurnVerdict,
    /// The next turn, if the worker wanted it in the same breath and there is one.
    pub next: Option<RemoteTurn>,
}

impl Core {
    /// Waits for a turn in a queue, until a moment.
    pub(crate) async fn poll_turn(
        self: &Arc<Self>,
        queue: &Queue,
        start: StartTurn,
        until: Time,
    ) -> Result<Option<RemoteTurn>> {
        let bell = self.polls.bell(Want::Turn, self.settings.namespace, queue);
        loop {
            if let Some(turn) = self.take_turn(queue, &start).await? {
                // Others may wait for the same queue, and more may wait in it.
                bell.notify_one();
                return Ok(Some(turn));
            }
            tokio::select! {
                () = bell.notified() => {}
                () = self.clock.sleep_until(until) => return Ok(None),
                () = self.stopping.cancelled() => return Ok(None),
            }
        }
    }

    async fn take_turn(
        self: &Arc<Self>,
        queue: &Queue,
        start: &StartTurn,
    ) -> Result<Option<RemoteTurn>> {
        loop {
            let claim = ClaimRuns {
                epoch: self.epoch,
                namespace: self.settings.namespace,
                want: StoreWant::RemoteTurn,
                queues: vec![queue.clone()],
                names: Vec::new(),
                count: 1,
                now: self.now(),
            };
            let mut claimed = self.retrying(|| self.store.claim_runs(claim.clone())).await?;
            let Some(claimed) = claimed.pop() else { return Ok(None) };
            match self.start_turn(&claimed.read, start).await {
                Ok(Some(turn)) => return Ok(Some(turn)),
                Ok(None) => {}
                // A run that does not read must not hold up the queue.
                Err(error) if error.is_corrupt() => {
                    self.park(claimed.read.head.run, None, 1, error.to_string()).await;
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Hands a run's turn out; none if there is none after all, or somebody else was faster.
    async fn start_turn(
        self: &Arc<Self>,
        read: &RunRead,
        start: &StartTurn,
    ) -> Result<Option<RemoteTurn>> {
        let head = &read.head;
        let mut history = events(head.run, &read.batches)?;
        let mut draft = self.draft_of(state(read)?, head.record.clone(), head.consumed);
        draft.intake(&read.inbox);
        let Ok(token) = draft.start_turn(start.clone()) else {
            // What waited has closed the run, or taken the turn back.
            self.take_in(read).await?;
            return Ok(None);
        };
        let turn = TurnCommit {
            run: head.run,
            fence: None,
            expected: head.version,
            decided: draft.clone().finish(),
            release: false,
        };
        match self.commit(turn, Patience::Short).await {
            Ok(_) => {
                history.extend(draft.events().iter().cloned());
                Ok(Some(handed_out(&draft, token, history)))
            }
            Err(error) if error.is_race() => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Takes a worker's answer, whoever handed the turn out. `again` is set if the worker wants
    /// the next turn in the same breath.
    pub(crate) async fn answer_turn(
        self: &Arc<Self>,
        token: &[u8],
        answer: impl Fn(Token) -> TurnAnswer,
        again: Option<StartTurn>,
    ) -> Result<Answered> {
        let token = decode(token)?;
        loop {
            let (head, mut draft, inbox) = self.draft(token.run).await?;
            if !head.status.is_open() {
                return Err(bowline_core::Refusal::NoSuchTurn.into());
            }
            let verdict = draft.answer_turn(answer(token), &inbox)?;
            let next = match (&again, draft.record().turn.is_some()) {
                (Some(start), true) if verdict == TurnVerdict::Taken => {
                    draft.start_turn(start.clone()).ok()
                }
                _ => None,
            };
            let turn = TurnCommit {
                run: head.run,
                fence: None,
                expected: head.version,
                decided: draft.clone().finish(),
                release: false,
            };
            match self.commit(turn, Patience::Short).await {
                Ok(_) => {
                    let next = match next {
                        Some(token) => Some(self.hand_out(&draft, token).await?),
                        None => None,
                    };
                    return Ok(Answered { verdict, next });
                }
                Err(error) if error.is_race() => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// A worker says that it cannot.
    pub(crate) async fn fail_turn(
        self: &Arc<Self>,
        token: &[u8],
        fail: impl Fn(Token) -> FailTurn,
    ) -> Result<()> {
        let token = decode(token)?;
        loop {
            let (head, mut draft, inbox) = self.draft(token.run).await?;
            draft.fail_turn(fail(token), &inbox)?;
            let turn = TurnCommit {
                run: head.run,
                fence: None,
                expected: head.version,
                decided: draft.finish(),
                release: false,
            };
            match self.commit(turn, Patience::Short).await {
                Ok(_) => return Ok(()),
                Err(error) if error.is_race() => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// History as a remote client may see it: what is written, and the tail of a turn that is out
    /// and not yet written.
    pub(crate) async fn remote_history(&self, run: RunId) -> Result<Vec<Event>> {
        let read = self.read(Read { inbox: false, ..Read::whole(run) }).await?;
        let mut history = events(run, &read.batches)?;
        let record = &read.head.record;
        if record.turn.as_ref().is_some_and(|turn| turn.provisional) {
            history.extend(record.tail(&State::of(run, &history)));
        }
        Ok(history)
    }

    async fn hand_out(&self, draft: &Draft, token: Token) -> Result<RemoteTurn> {
        let run = draft.state().run;
        let read = self.read(Read { inbox: false, ..Read::whole(run) }).await?;
        Ok(handed_out(draft, token, events(run, &read.batches)?))
    }
}

fn decode(token: &[u8]) -> Result<Token> {
    Token::from_blob(token).map_err(|corrupt| Error::BadToken(corrupt.to_string()))
}

fn handed_out(draft: &Draft, token: Token, mut history: Vec<Event>) -> RemoteTurn {
    let state = draft.state();
    history.retain(|event| event.id <= token.started);
    history.extend(draft.record().tail(state));
    RemoteTurn {
        token: token.to_blob(),
        run: state.run,
        workflow_id: state.started.workflow_id.clone(),
        name: state.started.name.clone(),
        queue: state.started.queue.clone(),
        attempt: token.attempt,
        previous_started: state.last_started,
        started: token.started,
        events: history,
        updates: draft.record().admitted.clone(),
    }
}
