//! Questions to runs whose code is at a remote worker: asked beside its turns, never in history.
//!
//! In:    a question, from a door.
//! Out:   the answer, from whichever worker was handed the question with a turn, or alone.
//! Never: shows a run that lags behind. While a turn is due or messages wait, a question waits for
//!        the next turn; only a run at rest is asked alone.

pub(super) mod open;

use std::{collections::BTreeMap, sync::Arc};

use bowline_core::{
    AskId, Epoch, Event, EventId, EventKind, Failure, Fields, Name, Namespace, Payload, Queue,
    RunId, State, Time,
};
use bowline_store::{Head, Read, RunKey};
use minicbor::{Decode, Encode};

use self::open::{QuestionCount, QuestionPlace};
use super::{
    stand::{self},
    turn::{RemoteTurn, Taken},
};
use crate::{
    Error, Result,
    engine::{
        EngineInner,
        peer::{PeerNews, PeerRequest, Went},
        run::{events, state},
    },
    limits,
};

/// What a run's code is asked.
#[derive(Clone, Debug, Default, PartialEq, Encode, Decode)]
pub struct Question {
    /// Which query.
    #[n(0)]
    pub name: Name,
    /// What it carries.
    #[n(1)]
    pub input: Option<Payload>,
    /// Travels beside the input.
    #[n(2)]
    pub header: Fields,
}

/// What the code answers.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
pub enum QueryAnswer {
    /// A value.
    #[n(0)]
    Value(#[n(0)] Option<Payload>),
    /// It could not say.
    #[n(1)]
    Failed(#[n(0)] Failure),
}

/// A question in a worker's hands.
#[derive(Clone, Debug, PartialEq)]
pub struct RemoteQuery {
    /// What its answer must name.
    pub id: AskId,
    /// What is asked.
    pub question: Question,
}

/// A question that comes alone, to a run at rest.
#[derive(Clone, Debug)]
pub struct RemoteAsk {
    /// The question.
    pub query: RemoteQuery,
    /// The run as its code is to see it. Not a turn: there is nothing to complete.
    pub turn: RemoteTurn,
}

/// Somebody waits for an answer, until this is dropped.
struct OpenQuestion<'c> {
    inner: &'c EngineInner,
    run: RunId,
    id: AskId,
}

impl Drop for OpenQuestion<'_> {
    fn drop(&mut self) {
        let (run, id) = (self.run, self.id);
        self.inner.queries.forget(run, id);
        self.inner.say(&PeerNews::Answered { run, id });
    }
}

impl EngineInner {
    /// Asks a run's code, wherever it is, and waits for the answer until a moment.
    pub(crate) async fn query_remote(
        self: &Arc<Self>,
        run: RunId,
        question: Question,
        until: Time,
    ) -> Result<QueryAnswer> {
        tokio::select! {
            biased;
            answer = self.ask_remote(run, question, until) => answer,
            () = self.clock.sleep_until(until) => Err(Error::TimedOut("the answer to the query")),
            () = self.stopping.cancelled() => Err(Error::ShuttingDown),
        }
    }

    /// Asks under an id of this epoch. Once this process was given up and is somebody new, no
    /// answer to that id finds its way here from another member, and it is asked again.
    async fn ask_remote(
        self: &Arc<Self>,
        run: RunId,
        question: Question,
        until: Time,
    ) -> Result<QueryAnswer> {
        let epoch = self.epoch();
        let id = stand::id(epoch, self.draw());
        let answer = self.queries.add(run, RemoteQuery { id, question: question.clone() })?;
        let _asked = OpenQuestion { inner: self, run, id };
        let again = async {
            self.standing.is_after(epoch).await;
            self.queries.retire(run, id);
            Box::pin(self.ask_remote(run, question, until)).await
        };
        tokio::select! {
            biased;
            answer = answer => answer.map_err(|_| Error::ShuttingDown),
            failed = self.follow_query(run, id, until) => Err(failed),
            answer = again => answer,
        }
    }

    /// Keeps a question where it can be answered, while the run changes. Ends only if it fails.
    async fn follow_query(self: &Arc<Self>, run: RunId, id: AskId, until: Time) -> Error {
        let mut follower = self.followers.follower();
        if let Err(error) = self.followers.follow(&mut follower, run) {
            return error;
        }
        loop {
            let head = match self.head(RunKey::Run(run)).await {
                Ok(head) => head,
                Err(error) => return error,
            };
            match self.can_answer(&head, until).await {
                Ok(()) => {}
                Err(error) => return error,
            }
            let look_again = self.place_query(&head, id);
            tokio::select! {
                biased;
                () = follower.changed() => {}
                () = self.clock.sleep_until(look_again) => {}
            }
        }
    }

    /// Whether there will be anybody to answer a question: not where turns fail again and again,
    /// where the first turn is still to come, or where a run was closed before it had one.
    async fn can_answer(&self, head: &Head, until: Time) -> Result<()> {
        let record = &head.record;
        let attempt = record.turn.as_ref().map_or(0, |turn| turn.attempt);
        if attempt >= limits::QUERY_ATTEMPT {
            return Err(Error::NotReady("its turns fail again and again"));
        }
        let is_new = head.status.is_open() && record.turn.is_none() && record.serial == 0;
        if is_new && record.begins_at.is_some_and(|begins| begins > until) {
            return Err(Error::NotReady("its first turn is still to come"));
        }
        if head.status.is_open() {
            return Ok(());
        }
        let had_one = |event: &Event| matches!(event.kind, EventKind::TurnCompleted(_));
        match self.history(head.run).await?.iter().any(had_one) {
            true => Ok(()),
            false => Err(Error::NotReady("it was closed before its first turn")),
        }
    }

    /// Moves a question to where it belongs now; says when to look again at the latest.
    fn place_query(&self, head: &Head, id: AskId) -> Time {
        let now = self.now();
        let later = now.after(limits::QUERY);
        let again = now.after(limits::QUERY_SAID);
        let Some(place) = self.queries.place(head.run, id) else { return later };
        let record = &head.record;
        let out = record.turn.as_ref().is_some_and(|turn| turn.started.is_some());
        let next = match &place {
            QuestionPlace::Old => return later,
            QuestionPlace::Rides(serial) if out && record.serial == *serial => return later,
            // The run was read before that turn went out, and has changed since.
            QuestionPlace::Rides(serial) if record.serial < *serial => return later,
            QuestionPlace::Rides(_) if !is_tried_again(head) => QuestionPlace::Landed(now),
            QuestionPlace::Landed(since) if since.after(limits::QUERY_LANDED) > now => {
                return since.after(limits::QUERY_LANDED);
            }
            QuestionPlace::Out(since) if since.after(limits::QUERY) > now => {
                return since.after(limits::QUERY);
            }
            QuestionPlace::Stands(queue, since) if is_at_rest(head) => {
                let patience = since.after(limits::QUERY_STICKY);
                match *queue == head.queue || patience > now {
                    true => place.clone(),
                    // The worker that has the run in its cache does not come for it.
                    false => QuestionPlace::Stands(head.queue.clone(), now),
                }
            }
            _ if is_at_rest(head) => {
                let sticky = record.sticky.as_ref().filter(|_| head.status.is_open());
                let queue = sticky.map_or(&head.queue, |sticky| &sticky.queue);
                QuestionPlace::Stands(queue.clone(), now)
            }
            _ => QuestionPlace::Waits,
        };
        self.queries.move_to(head.run, id, &place, next.clone());
        let at = match next {
            QuestionPlace::Landed(since) => return since.after(limits::QUERY_LANDED),
            QuestionPlace::Stands(place, _) => Some(place),
            _ => None,
        };
        if let Some(place) = &at {
            self.polls.turn_waits(head.run.namespace, place);
        }
        // A worker may come for it to any member.
        self.say(&PeerNews::Question { run: head.run, id, at });
        again
    }

    /// A question that stands alone in this queue.
    pub(super) async fn take_query(
        &self,
        namespace: Namespace,
        queue: &Queue,
    ) -> Result<Option<Taken>> {
        let taken = self.next_query(namespace, queue).await;
        let Some((run, query)) = taken else { return Ok(None) };
        let read = self.read(Read { inbox: false, ..Read::whole(run) }).await?;
        let history = events(run, &read.batches)?;
        let state: State = state(&read)?;
        let turn = RemoteTurn {
            token: Default::default(),
            run,
            workflow_id: state.started.workflow_id.clone(),
            name: state.started.name.clone(),
            queue: state.started.queue.clone(),
            attempt: 1,
            previous_started: state.last_started,
            started: EventId(0),
            events: history,
            updates: Vec::new(),
            queries: Vec::new(),
        };
        Ok(Some(Taken::Ask(Box::new(RemoteAsk { query, turn }))))
    }

    /// A question that stands in this queue: here, or at another member.
    async fn next_query(
        &self,
        namespace: Namespace,
        queue: &Queue,
    ) -> Option<(RunId, RemoteQuery)> {
        loop {
            let now = self.now();
            if let Some(own) = self.queries.take(namespace, queue, now) {
                return Some(own);
            }
            let (run, id) = self.queries.others.lock().take(namespace, queue, now)?;
            let taken = self.ask_peer(stand::home(id), PeerRequest::Take { run, id }).await;
            let question = taken.map(Went::questions).unwrap_or_default().pop();
            if let Some((_, question)) = question {
                return Some((run, RemoteQuery { id, question }));
            }
        }
    }

    /// All questions that a turn takes along: those that wait here, and at other members.
    pub(super) async fn join_turn(
        &self,
        run: RunId,
        serial: u64,
        asked: QuestionCount,
    ) -> Vec<RemoteQuery> {
        let mut joined = self.queries.join_turn(run, serial, asked);
        let mut elsewhere: BTreeMap<Epoch, Vec<AskId>> = BTreeMap::new();
        for id in self.queries.others.lock().join_turn(run, asked) {
            elsewhere.entry(stand::home(id)).or_default().push(id);
        }
        for (home, ids) in elsewhere {
            let given = self.ask_peer(home, PeerRequest::Board { run, ids, serial }).await;
            let given = given.map(Went::questions).unwrap_or_default();
            joined.extend(given.into_iter().map(|(id, question)| RemoteQuery { id, question }));
        }
        joined
    }

    /// Answers that came with a turn's: at once to whoever asked here. Whoever asked at another
    /// member need not be waited for.
    pub(super) fn answer_along(self: &Arc<Self>, run: RunId, answers: Vec<(AskId, QueryAnswer)>) {
        let mut away = Vec::new();
        for (id, answer) in answers {
            match self.queries.knows(run, id) {
                true => drop(self.queries.answer(run, id, answer)),
                false => away.push((id, answer)),
            }
        }
        if away.is_empty() {
            return;
        }
        let inner = self.clone();
        self.spawn(async move {
            for (id, answer) in away {
                inner.answer_query(run, id, answer).await;
            }
        });
    }

    /// Whoever was to be asked has gone before it could be.
    pub(crate) fn return_query(&self, run: RunId, id: AskId) {
        self.queries.again(run, &[id]);
        self.followers.tell(run);
    }

    /// A worker answers a question; false if nobody waits for it any more.
    pub(crate) async fn answer_query(&self, run: RunId, id: AskId, answer: QueryAnswer) -> bool {
        let home = stand::home(id);
        if home == self.epoch() || self.queries.knows(run, id) {
            return self.queries.answer(run, id, answer);
        }
        self.ask_peer(home, PeerRequest::Answer { run, id, answer }).await == Some(Went::Done)
    }
}

/// Whether the turn that was out has come to nothing, and is handed out again.
fn is_tried_again(head: &Head) -> bool {
    head.record.turn.as_ref().is_some_and(|turn| turn.attempt > 1)
}

/// Whether the run's code has seen everything that there is.
fn is_at_rest(head: &Head) -> bool {
    let closed = !head.status.is_open();
    let seen = head.record.turn.is_none() && head.inbox == head.consumed;
    closed || (seen && head.record.serial > 0)
}

#[cfg(test)]
mod tests {
    use super::{open::Queries, *};

    /// A client was told that its signal is there, and asks. The turn that is just being handed
    /// out was read before that signal: the question must not ride on it.
    #[test]
    fn a_question_does_not_ride_on_a_turn_that_was_read_before_it() {
        let queries = Queries::default();
        let run = RunId::default();
        let ask = |id| RemoteQuery { id: AskId(id), question: Question::default() };
        let _first = queries.add(run, ask(1)).expect("there is room");
        let asked = queries.asked();
        let _second = queries.add(run, ask(2)).expect("there is room");
        assert_eq!(queries.join_turn(run, 7, asked), [ask(1)]);
        assert_eq!(queries.place(run, AskId(2)), Some(QuestionPlace::Waits));
        assert_eq!(
            queries.join_turn(run, 8, queries.asked()),
            [ask(2)],
            "the next turn shows it all"
        );
    }
}
