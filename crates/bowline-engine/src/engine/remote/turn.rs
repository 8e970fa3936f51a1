//! A remote worker takes a turn, and answers it, perhaps to another process than the one it took
//! it from.

use std::sync::Arc;

use bowline_core::{
    AskId, Blob, Epoch, Event, EventId, FailTurn, Name, Namespace, Queue, Refusal, RunId,
    StartTurn, State, Token, TurnAnswer, TurnRecord, TurnVerdict, UpdateRequest, WorkflowId,
};
use bowline_store::{ClaimRuns, Read, RunRead, Want as StoreWant, ready::Sought};

use super::{
    Along, Decision, Eager, KnownRun, QueryAnswer, QuestionCount, RemoteActivity, RemoteAsk,
    RemoteQuery, Wait, Want,
};
use crate::{
    Error, Result,
    engine::{
        EngineInner,
        exchange::Stop,
        run::{events, state_after},
        submit::{Patience, TurnCommit},
    },
    limits,
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
    /// History, a provisional tail included: all of it, or, where the turn waited in a worker's own
    /// queue, at least what follows `previous_started`.
    pub events: Vec<Event>,
    /// Updates that the turn should take or refuse.
    pub updates: Vec<UpdateRequest>,
    /// Questions that its answer should answer too.
    pub queries: Vec<RemoteQuery>,
}

/// What a poll for turns brings.
#[derive(Clone, Debug)]
pub enum Taken {
    /// A turn.
    Turn(Box<RemoteTurn>),
    /// A question to a run at rest.
    Ask(Box<RemoteAsk>),
}

impl Taken {
    /// The turn, if it is one.
    pub fn turn(self) -> Option<RemoteTurn> {
        match self {
            Self::Turn(turn) => Some(*turn),
            Self::Ask(_) => None,
        }
    }
}

/// The history of a run, as a worker may read it.
#[derive(Clone, Debug, Default)]
pub struct History {
    /// What is written.
    pub written: Vec<Event>,
    /// The events of a turn that is out and not yet written. If it comes to nothing, others will
    /// have their numbers.
    pub tail: Vec<Event>,
}

/// What became of an answer.
#[derive(Clone, Debug)]
pub struct Answered {
    /// Whether it was taken.
    pub verdict: TurnVerdict,
    /// The next turn, if the worker wanted it in the same breath and there is one.
    pub next: Option<RemoteTurn>,
    /// The `TurnStarted` of the last turn that was completed.
    pub last_started: EventId,
    /// Activities that the worker asked for with its answer, and has now.
    pub activities: Vec<RemoteActivity>,
}

impl EngineInner {
    /// Waits for a turn, or a question, in a queue.
    pub(crate) async fn poll_turn(
        self: &Arc<Self>,
        (namespace, queue): (Namespace, &Queue),
        start: StartTurn,
        wait: Wait,
    ) -> Result<Option<Taken>> {
        let bell = self.polls.bell(Want::Turn, namespace, queue);
        while !wait.gone.is_cancelled() {
            let taken = match self.take_query(namespace, queue).await? {
                Some(ask) => Some(ask),
                None => {
                    let turn = self.take_turn((namespace, queue), &start).await?;
                    turn.map(|turn| Taken::Turn(Box::new(turn)))
                }
            };
            if taken.is_some() {
                // Others may wait for the same queue, and more may wait in it.
                bell.rung.notify_one();
                return Ok(taken);
            }
            let mut handed = bell.sit(start.clone());
            let is_over = tokio::select! {
                biased;
                handed = &mut handed.turn => match handed {
                    Ok(turn) => return Ok(Some(Taken::Turn(Box::new(turn)))),
                    // It has come to nothing: perhaps the turn waits in the queue.
                    Err(_) => continue,
                },
                () = bell.rung.notified() => false,
                () = self.clock.sleep_until(wait.until) => true,
                () = wait.gone.cancelled() => true,
                () = self.stopping.cancelled() => true,
            };
            if !handed.leave()
                && let Ok(turn) = (&mut handed.turn).await
            {
                // What it was woken for waits still.
                bell.rung.notify_one();
                return Ok(Some(Taken::Turn(Box::new(turn))));
            }
            if is_over {
                break;
            }
        }
        Ok(None)
    }

    async fn take_turn(
        self: &Arc<Self>,
        (namespace, queue): (Namespace, &Queue),
        start: &StartTurn,
    ) -> Result<Option<RemoteTurn>> {
        while self.store.may_find(Sought::Turn, namespace, queue) {
            let claim = ClaimRuns {
                epoch: Epoch::default(),
                namespace,
                want: StoreWant::RemoteTurn,
                queues: vec![queue.clone()],
                names: Vec::new(),
                count: 1,
                now: self.now(),
            };
            let asked = self.queries.asked();
            let claim = |epoch| self.store.claim_runs(ClaimRuns { epoch, ..claim.clone() });
            let mut claimed = self.as_member(claim).await?;
            let Some(claimed) = claimed.pop() else { return Ok(None) };
            match self.start_turn(&claimed.read, start, asked).await {
                Ok(Some(turn)) => return Ok(Some(turn)),
                Ok(None) => {}
                // A run that does not read must not hold up the queue.
                Err(error) if error.is_corrupt() => {
                    let stop = Stop::once(error.to_string());
                    self.park(claimed.read.head.run, None, stop).await;
                }
                Err(error) => return Err(error),
            }
        }
        // It has only just been looked: what comes now rings the bell.
        Ok(None)
    }

    /// Hands a run's turn out; none if there is none after all, or somebody else was faster.
    async fn start_turn(
        self: &Arc<Self>,
        read: &RunRead,
        start: &StartTurn,
        asked: QuestionCount,
    ) -> Result<Option<RemoteTurn>> {
        let known = KnownRun::of(read, asked)?;
        let KnownRun { version: expected, consumed, record, state, events, inbox, .. } = known;
        let mut draft = self.draft_of(state, record, consumed);
        draft.intake(&inbox);
        let Ok(token) = draft.start_turn(start.clone()) else {
            // What waited has closed the run, or taken the turn back.
            self.take_in(read, asked).await?;
            return Ok(None);
        };
        let decision =
            Decision { draft, expected, events, ended: Vec::new(), patience: Patience::Short };
        match self.write_decision(decision, None).await {
            Ok((known, _)) => {
                let (state, record) = (&known.state, &known.record);
                let history = known.events.clone();
                let turn = self.handed_out(state, record, token, history, asked).await;
                self.known_runs.keep(known);
                Ok(Some(turn))
            }
            Err(error) if error.is_race() => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The turn of a run that a worker has taken with its start; none if it has not, or the turn is
    /// over already.
    pub(crate) async fn first_turn(
        self: &Arc<Self>,
        run: RunId,
        worker: &StartTurn,
    ) -> Result<Option<RemoteTurn>> {
        let asked = self.queries.asked();
        let read = self.read(Read { inbox: false, ..Read::whole(run) }).await?;
        let head = &read.head;
        let Some(token) = token_of(run, &head.record, worker) else { return Ok(None) };
        let events = events(run, &read.batches)?;
        let state = state_after(&read, &events)?;
        self.meter.eager_turns.add(1);
        Ok(Some(self.handed_out(&state, &head.record, token, events, asked).await))
    }

    /// Takes a worker's answer, whoever handed the turn out. `again` is set if the worker wants
    /// the next turn in the same breath.
    pub(crate) async fn answer_turn(
        self: &Arc<Self>,
        token: &[u8],
        answer: impl Fn(Token) -> TurnAnswer,
        again: Option<StartTurn>,
        along: Along,
    ) -> Result<Answered> {
        let token = decode(token)?;
        // The commit ends the turn that the questions ride on, and they must not go out again
        // before they are answered.
        let ids = along.answers.iter().map(|(id, _)| *id);
        let delivered = self.queries.delivered(token.run, ids, self.now());
        let answered = self.conclude(token, answer, again, (&along.eager, along.answers)).await;
        if answered.is_err() {
            self.queries.again(token.run, &delivered);
            self.followers.tell(token.run);
        }
        answered
    }

    async fn conclude(
        self: &Arc<Self>,
        token: Token,
        answer: impl Fn(Token) -> TurnAnswer,
        again: Option<StartTurn>,
        (eager, answers): (&Eager, Vec<(AskId, QueryAnswer)>),
    ) -> Result<Answered> {
        let mut remembered = self.known_runs.take(token.run);
        loop {
            let asked = self.queries.asked();
            let (known, is_read) = match remembered.take() {
                Some(known) => (known, false),
                None => (self.fetch(token.run).await?, true),
            };
            if !known.state.status.is_open() {
                return Err(Refusal::NoSuchTurn.into());
            }
            let KnownRun { version: expected, consumed, record, state, events, inbox, .. } = known;
            let mut draft = self.draft_of(state, record, consumed);
            let answer = answer(token);
            self.look_up(&mut draft, &answer.commands);
            let verdict = match draft.answer_turn(answer, &inbox) {
                // The run may have gone on elsewhere.
                Err(_) if !is_read => continue,
                verdict => verdict?,
            };
            let next = match (&again, draft.record().turn.is_some()) {
                // Whatever came in while the turn was out comes before the next one.
                (Some(_), true) if !is_read => continue,
                (Some(start), true) if verdict == TurnVerdict::Taken => {
                    draft.start_turn(start.clone()).ok()
                }
                _ => None,
            };
            let decision =
                Decision { draft, expected, events, ended: Vec::new(), patience: Patience::Short };
            match self.write_decision(decision, Some(eager)).await {
                Ok((known, activities)) => {
                    self.answer_along(token.run, answers);
                    let next = match next {
                        Some(token) => Some(self.hand_out(&known, token, asked).await?),
                        None => None,
                    };
                    let last_started = known.state.last_started;
                    self.known_runs.keep(known);
                    return Ok(Answered { verdict, next, last_started, activities });
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
                ended: Vec::new(),
                release: false,
            };
            match self.commit(turn, Patience::Short, None).await {
                Ok(_) => return Ok(()),
                Err(error) if error.is_race() => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// The worker that had a run in its cache has it no more.
    pub(crate) async fn reset_sticky(self: &Arc<Self>, run: RunId) -> Result<()> {
        loop {
            let (head, mut draft, _) = self.draft(run).await?;
            if !head.status.is_open() || draft.record().sticky.is_none() {
                return Ok(());
            }
            draft.reset_sticky();
            let (expected, decided, ended) = (head.version, draft.finish(), Vec::new());
            let turn = TurnCommit { run, fence: None, expected, decided, ended, release: false };
            match self.commit(turn, Patience::Short, None).await {
                Err(error) if error.is_race() => {}
                done => return done.map(drop),
            }
        }
    }

    /// Nobody polls this queue any more: what waits there goes to anybody.
    pub(crate) async fn leave_queue(
        self: &Arc<Self>,
        (namespace, queue): (Namespace, &Queue),
    ) -> Result<()> {
        loop {
            let claim = ClaimRuns {
                epoch: Epoch::default(),
                namespace,
                want: StoreWant::RemoteTurn,
                queues: vec![queue.clone()],
                names: Vec::new(),
                count: limits::CLAIM_RUNS,
                now: self.now(),
            };
            let claim = |epoch| self.store.claim_runs(ClaimRuns { epoch, ..claim.clone() });
            let mut claimed = self.as_member(claim).await?;
            // A queue that belongs to everybody cannot be left.
            claimed.retain(|claimed| claimed.read.head.record.sticky.is_some());
            if claimed.is_empty() {
                return Ok(());
            }
            for claimed in claimed {
                self.reset_sticky(claimed.read.head.run).await?;
            }
        }
    }

    /// History as a remote client may see it: what is written, and the tail of a turn that is out
    /// and not yet written.
    pub(crate) async fn remote_history(self: &Arc<Self>, run: RunId) -> Result<History> {
        let asked = self.queries.asked();
        let mut read = self.read(Read::whole(run)).await?;
        // What was acknowledged is shown, whether or not anybody polls.
        let is_owed = !read.head.rules.is_native() && !read.inbox.is_empty();
        if is_owed && self.take_in(&read, asked).await? {
            read = self.read(Read::whole(run)).await?;
        }
        let written = events(run, &read.batches)?;
        let record = &read.head.record;
        let tail = match record.turn.as_ref().is_some_and(|turn| turn.provisional) {
            true => record.tail(&State::of(run, &written)),
            false => Vec::new(),
        };
        Ok(History { written, tail })
    }

    async fn hand_out(
        &self,
        known: &KnownRun,
        token: Token,
        asked: QuestionCount,
    ) -> Result<RemoteTurn> {
        let read = Read { inbox: false, ..Read::whole(known.state.run) };
        let history = events(known.state.run, &self.read(read).await?.batches)?;
        Ok(self.handed_out(&known.state, &known.record, token, history, asked).await)
    }

    pub(super) async fn handed_out(
        &self,
        state: &State,
        record: &TurnRecord,
        token: Token,
        mut history: Vec<Event>,
        asked: QuestionCount,
    ) -> RemoteTurn {
        history.retain(|event| event.id <= token.started);
        history.extend(record.tail(state));
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
            updates: record.admitted.clone(),
            queries: self.join_turn(state.run, token.serial, asked).await,
        }
    }
}

/// What the answer to a turn must show, if this poll has it.
pub(super) fn token_of(run: RunId, record: &TurnRecord, poll: &StartTurn) -> Option<Token> {
    let turn = record.turn.as_ref()?;
    let started = turn.started.as_ref().filter(|out| out.request_id == poll.request_id)?;
    Some(Token {
        run,
        scheduled: turn.scheduled,
        attempt: turn.attempt,
        started: started.event,
        serial: record.serial,
    })
}

fn decode(token: &[u8]) -> Result<Token> {
    Token::from_blob(token).map_err(|corrupt| Error::BadToken(corrupt.to_string()))
}
