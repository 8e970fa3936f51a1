//! Questions to runs whose code is at a remote worker: asked beside its turns, never in history.
//!
//! In:    a question, from a door.
//! Out:   the answer, from whichever worker was handed the question with a turn, or alone.
//! Never: shows a run that lags behind. While a turn is due or messages wait, a question waits for
//!        the next turn; only a run at rest is asked alone.

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use bowline_core::{
    AskId, Epoch, Event, EventId, EventKind, Failure, Fields, Name, Namespace, Payload, Queue,
    RunId, State, Time,
};
use bowline_store::{Head, Read, RunKey};
use minicbor::{Decode, Encode};
use parking_lot::Mutex;
use tokio::sync::oneshot;

use super::{
    stand::{self, Others},
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

/// Where a question is.
#[derive(Clone, Debug, PartialEq)]
enum QuestionPlace {
    /// It waits for the run's next turn, or for the run to be at rest.
    Waits,
    /// It went out with the turn of this serial number.
    Rides(u64),
    /// It waits in a queue for any worker that polls there; since when.
    Stands(Queue, Time),
    /// A worker has it alone, or its answer is on its way; since when.
    Out(Time),
    /// Its turn is over, and its answer may be on its way from another member; since when.
    Landed(Time),
    /// It is asked again under another id: nobody is given it, but its answer may still come.
    Old,
}

#[derive(Debug)]
struct Open {
    /// The how-manyth question this is.
    number: u64,
    query: RemoteQuery,
    spot: QuestionPlace,
    reply: oneshot::Sender<QueryAnswer>,
}

/// Questions that wait for an answer.
#[derive(Debug, Default)]
pub(crate) struct Queries {
    open: Mutex<BTreeMap<(RunId, AskId), Open>>,
    /// Those that wait at other members.
    others: Mutex<Others>,
    asked: AtomicU64,
}

impl Queries {
    fn add(&self, run: RunId, query: RemoteQuery) -> Result<oneshot::Receiver<QueryAnswer>> {
        let (reply, answer) = oneshot::channel();
        let mut open = self.open.lock();
        if open.len() >= limits::QUERIES {
            return Err(Error::TooMany { what: "queries", limit: limits::QUERIES });
        }
        let number = self.asked.fetch_add(1, Ordering::Relaxed);
        open.insert((run, query.id), Open { number, query, spot: QuestionPlace::Waits, reply });
        Ok(answer)
    }

    /// Moves a question, unless somebody has moved it meanwhile.
    fn move_to(&self, run: RunId, id: AskId, from: &QuestionPlace, spot: QuestionPlace) {
        if let Some(open) = self.open.lock().get_mut(&(run, id)).filter(|open| open.spot == *from) {
            open.spot = spot;
        }
    }

    fn spot(&self, run: RunId, id: AskId) -> Option<QuestionPlace> {
        self.open.lock().get(&(run, id)).map(|open| open.spot.clone())
    }

    /// A worker brings answers: until they are given, nobody else is asked. Given back are the
    /// questions that were waited for here.
    pub(super) fn land(
        &self,
        run: RunId,
        ids: impl Iterator<Item = AskId>,
        now: Time,
    ) -> Vec<AskId> {
        let mut all = self.open.lock();
        let here = ids.filter(|id| {
            let open = all
                .get_mut(&(run, *id))
                .filter(|open| matches!(open.spot, QuestionPlace::Rides(_)));
            open.map(|open| open.spot = QuestionPlace::Out(now)).is_some()
        });
        here.collect()
    }

    /// These answers did not come after all, or whoever was to be asked has gone.
    pub(super) fn again(&self, run: RunId, ids: &[AskId]) {
        let mut all = self.open.lock();
        for id in ids {
            let open =
                all.get_mut(&(run, *id)).filter(|open| matches!(open.spot, QuestionPlace::Out(_)));
            open.into_iter().for_each(|open| open.spot = QuestionPlace::Waits);
        }
    }

    /// Asked again under another id.
    fn retire(&self, run: RunId, id: AskId) {
        if let Some(open) = self.open.lock().get_mut(&(run, id)) {
            open.spot = QuestionPlace::Old;
        }
    }

    /// How many questions there were so far. Taken before a run is read for its turn: a question
    /// that came later may know of messages which that turn does not show.
    pub(crate) fn asked(&self) -> u64 {
        // Under the lock, so that a question which is counted here is there to be boarded.
        let _open = self.open.lock();
        self.asked.load(Ordering::Relaxed)
    }

    /// What waits for a run, of the first so many questions, goes out with its turn.
    pub(super) fn board(&self, run: RunId, serial: u64, asked: u64) -> Vec<RemoteQuery> {
        let mut all = self.open.lock();
        let (first, last) = ((run, AskId(0)), (run, AskId(u128::MAX)));
        let mut boarded = Vec::new();
        for (_, open) in all.range_mut(first..=last) {
            if open.number < asked
                && matches!(open.spot, QuestionPlace::Waits | QuestionPlace::Stands(..))
            {
                open.spot = QuestionPlace::Rides(serial);
                boarded.push(open.query.clone());
            }
        }
        boarded
    }

    /// A question that stands in this queue, taken out of it.
    fn take(&self, namespace: Namespace, queue: &Queue, now: Time) -> Option<(RunId, RemoteQuery)> {
        let mut all = self.open.lock();
        let found = all.iter_mut().find(|((run, _), open)| match &open.spot {
            QuestionPlace::Stands(place, _) => run.namespace == namespace && place == queue,
            _ => false,
        });
        let ((run, _), open) = found?;
        open.spot = QuestionPlace::Out(now);
        Some((*run, open.query.clone()))
    }

    /// Another member says that a question waits there.
    pub(crate) fn hears(&self, run: RunId, id: AskId, at: Option<Queue>, now: Time) {
        let number = self.asked.fetch_add(1, Ordering::Relaxed);
        self.others.lock().put((run, id), at, number, now);
    }

    /// Another member says that it waits no more.
    pub(crate) fn over(&self, run: RunId, id: AskId) {
        self.others.lock().remove(&(run, id));
    }

    /// A worker has come to another member for a question that stands here.
    pub(crate) fn give(&self, run: RunId, id: AskId, now: Time) -> Went {
        match self.open.lock().get_mut(&(run, id)) {
            Some(open) if matches!(open.spot, QuestionPlace::Stands(..)) => {
                open.spot = QuestionPlace::Out(now);
                Went::Questions(vec![(id, open.query.question.clone())])
            }
            _ => Went::Nowhere,
        }
    }

    /// Another member has handed a turn out, and takes along what waits here for that run.
    pub(crate) fn give_along(&self, run: RunId, ids: &[AskId], serial: u64) -> Went {
        let mut all = self.open.lock();
        let mut given = Vec::new();
        for id in ids {
            let Some(open) = all.get_mut(&(run, *id)) else { continue };
            if matches!(open.spot, QuestionPlace::Waits | QuestionPlace::Stands(..)) {
                open.spot = QuestionPlace::Rides(serial);
                given.push((*id, open.query.question.clone()));
            }
        }
        Went::Questions(given)
    }

    fn knows(&self, run: RunId, id: AskId) -> bool {
        self.open.lock().contains_key(&(run, id))
    }

    pub(crate) fn answer(&self, run: RunId, id: AskId, answer: QueryAnswer) -> bool {
        match self.open.lock().remove(&(run, id)) {
            Some(open) => open.reply.send(answer).is_ok(),
            None => false,
        }
    }

    fn forget(&self, run: RunId, id: AskId) {
        self.open.lock().remove(&(run, id));
    }
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
        let Some(spot) = self.queries.spot(head.run, id) else { return later };
        let record = &head.record;
        let out = record.turn.as_ref().is_some_and(|turn| turn.started.is_some());
        let next = match &spot {
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
            QuestionPlace::Stands(place, since) if is_at_rest(head) => {
                let patience = since.after(limits::QUERY_STICKY);
                match *place == head.queue || patience > now {
                    true => spot.clone(),
                    // The worker that has the run in its cache does not come for it.
                    false => QuestionPlace::Stands(head.queue.clone(), now),
                }
            }
            _ if is_at_rest(head) => {
                let sticky = record.sticky.as_ref().filter(|_| head.status.is_open());
                let place = sticky.map_or(&head.queue, |sticky| &sticky.queue);
                QuestionPlace::Stands(place.clone(), now)
            }
            _ => QuestionPlace::Waits,
        };
        self.queries.move_to(head.run, id, &spot, next.clone());
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
    pub(super) async fn board(&self, run: RunId, serial: u64, asked: u64) -> Vec<RemoteQuery> {
        let mut boarded = self.queries.board(run, serial, asked);
        let mut elsewhere: BTreeMap<Epoch, Vec<AskId>> = BTreeMap::new();
        for id in self.queries.others.lock().board(run, asked) {
            elsewhere.entry(stand::home(id)).or_default().push(id);
        }
        for (home, ids) in elsewhere {
            let given = self.ask_peer(home, PeerRequest::Board { run, ids, serial }).await;
            let given = given.map(Went::questions).unwrap_or_default();
            boarded.extend(given.into_iter().map(|(id, question)| RemoteQuery { id, question }));
        }
        boarded
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
    use super::*;

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
        assert_eq!(queries.board(run, 7, asked), [ask(1)]);
        assert_eq!(queries.spot(run, AskId(2)), Some(QuestionPlace::Waits));
        assert_eq!(queries.board(run, 8, queries.asked()), [ask(2)], "the next turn shows it all");
    }
}
