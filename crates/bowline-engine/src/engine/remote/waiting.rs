//! Polls that wait for turns, and the turns that are handed to them in the very commit that makes
//! them: nobody has to claim what somebody waits for.
//!
//! In:    a poll that has looked and found nothing; a decision that leads to a turn.
//! Out:   the turn, at that poll.
//! Never: needed. A turn that nobody waits for stands in its queue, where the next poll finds it.

use std::{
    collections::VecDeque,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use bowline_core::{
    Birth, Draft, Event, EventId, FailTurn, Failure, Identity, Namespace, Queue, StartTurn, Token,
    TurnFault,
};
use parking_lot::Mutex;
use tokio::sync::{Notify, oneshot};

use super::{
    Decision, KnownRun, QuestionCount, Want,
    turn::{RemoteTurn, token_of},
};
use crate::{Result, engine::EngineInner};

/// A queue in which somebody waits for work.
#[derive(Debug, Default)]
pub(super) struct PollBell {
    /// Rings when there may be something.
    pub(super) rung: Notify,
    polls: Mutex<VecDeque<WaitingPoll>>,
    numbers: AtomicU64,
}

/// A poll that waits for a turn.
#[derive(Debug)]
pub(crate) struct WaitingPoll {
    number: u64,
    /// Who would take the turn.
    pub(crate) start: StartTurn,
    turn: oneshot::Sender<RemoteTurn>,
}

/// The place of a poll, which it gives up when this is dropped.
pub(super) struct Seated<'b> {
    bell: &'b PollBell,
    number: u64,
    pub(super) turn: oneshot::Receiver<RemoteTurn>,
}

impl PollBell {
    /// Waits to be handed a turn.
    pub(super) fn sit(&self, start: StartTurn) -> Seated<'_> {
        let (turn, handed) = oneshot::channel();
        let number = self.numbers.fetch_add(1, Ordering::Relaxed);
        self.polls.lock().push_back(WaitingPoll { number, start, turn });
        Seated { bell: self, number, turn: handed }
    }

    pub(super) fn seated(&self) -> usize {
        self.polls.lock().len()
    }

    fn next(&self) -> Option<WaitingPoll> {
        self.polls.lock().pop_front()
    }
}

impl Seated<'_> {
    /// Gives the place up. False if somebody has a turn for it that is just being written: that
    /// must be waited for.
    pub(super) fn leave(&self) -> bool {
        let mut polls = self.bell.polls.lock();
        let at = polls.iter().position(|poll| poll.number == self.number);
        at.map(|at| polls.remove(at)).is_some()
    }
}

impl Drop for Seated<'_> {
    fn drop(&mut self) {
        self.leave();
    }
}

impl EngineInner {
    /// Hands the turn that a decision leads to, if it does, to a poll that waits for it.
    /// `events` is the newest part of history: one that does not reach back to what the worker
    /// cannot know is for whoever reads it all.
    pub(crate) fn hand_to_poll(
        &self,
        draft: &mut Draft,
        events: &[Event],
    ) -> Option<(WaitingPoll, Token)> {
        let turn = draft.record().turn.as_ref().filter(|turn| turn.started.is_none())?;
        let from = match turn.sticky {
            true => draft.state().last_started.plus(1),
            false => EventId(1),
        };
        events.first().filter(|first| first.id <= from)?;
        let (namespace, queue) = (draft.state().run.namespace, turn.queue.clone());
        let poll = self.waiting(namespace, &queue)?;
        let token = draft.start_turn(poll.start.clone()).ok()?;
        Some((poll, token))
    }

    /// Writes a decision about a remote run, and hands the turn that it leads to over. Whoever
    /// waits for this may go: the poll must have what is durable. `asked` is how many questions
    /// there had been before the run was read.
    pub(crate) async fn write_seated(
        self: &Arc<Self>,
        decision: Decision,
        handed: Option<(WaitingPoll, Token)>,
        asked: QuestionCount,
    ) -> Result<()> {
        let inner = self.clone();
        let writing = async move {
            let (known, _) = inner.write_decision(decision, None).await?;
            if let Some(handed) = handed {
                inner.deliver(&known, handed, asked).await;
            }
            inner.known_runs.keep(known);
            Ok(())
        };
        self.insist(writing).await
    }

    /// A poll that waits for a turn in this queue.
    pub(crate) fn waiting(&self, namespace: Namespace, queue: &Queue) -> Option<WaitingPoll> {
        self.polls.known(Want::Turn, namespace, queue)?.next()
    }

    /// A run has begun with its first turn in the hands of a poll that waited for it.
    pub(crate) async fn deliver_first(
        self: &Arc<Self>,
        birth: Birth,
        poll: WaitingPoll,
    ) -> Result<()> {
        let known = KnownRun::born(birth)?;
        if let Some(token) = token_of(known.state.run, &known.record, &poll.start) {
            self.deliver(&known, (poll, token), QuestionCount::default()).await;
        }
        self.known_runs.keep(known);
        Ok(())
    }

    /// The turn is durable: the poll has it, and with it what was asked before the run was read. If
    /// the poll has gone meanwhile, anybody may have the turn.
    pub(crate) async fn deliver(
        self: &Arc<Self>,
        known: &KnownRun,
        (poll, token): (WaitingPoll, Token),
        asked: QuestionCount,
    ) {
        let (state, record) = (&known.state, &known.record);
        let turn = self.handed_out(state, record, token, known.events.clone(), asked).await;
        let Err(turn) = poll.turn.send(turn) else { return };
        let inner = self.clone();
        self.finish(async move {
            let fail = |token: Token| FailTurn {
                token,
                worker: Identity::default(),
                fault: TurnFault::StickyReset,
                failure: Some(Failure::new("the poll had gone when its turn was ready")),
                wire: None,
                hopeless: None,
            };
            if let Err(error) = inner.fail_turn(turn.token.as_slice(), fail).await {
                tracing::debug!(%error, "a turn that nobody waited for waits until its time is up");
            }
        });
    }
}
