//! Questions that wait for an answer, and where each of them is.

use std::{
    collections::BTreeMap,
    sync::atomic::{AtomicU64, Ordering},
};

use bowline_core::{AskId, Namespace, Queue, RunId, Time};
use parking_lot::Mutex;
use tokio::sync::oneshot;

use super::{QueryAnswer, RemoteQuery};
use crate::{
    Error, Result,
    engine::{peer::Went, remote::stand::Others},
    limits,
};

/// Where a question is.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum QuestionPlace {
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

/// How many questions there were at a moment: one with this number, or a higher one, came later.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd)]
pub(crate) struct QuestionCount(pub(in crate::engine::remote) u64);

#[derive(Debug)]
struct Open {
    /// The how-manyth question this is.
    number: QuestionCount,
    query: RemoteQuery,
    place: QuestionPlace,
    reply: oneshot::Sender<QueryAnswer>,
}

/// Questions that wait for an answer.
#[derive(Debug, Default)]
pub(crate) struct Queries {
    open: Mutex<BTreeMap<(RunId, AskId), Open>>,
    /// Those that wait at other members.
    pub(super) others: Mutex<Others>,
    asked: AtomicU64,
}

impl Queries {
    pub(super) fn add(
        &self,
        run: RunId,
        query: RemoteQuery,
    ) -> Result<oneshot::Receiver<QueryAnswer>> {
        let (reply, answer) = oneshot::channel();
        let mut open = self.open.lock();
        if open.len() >= limits::QUERIES {
            return Err(Error::TooMany { what: "queries", limit: limits::QUERIES });
        }
        let number = QuestionCount(self.asked.fetch_add(1, Ordering::Relaxed));
        open.insert((run, query.id), Open { number, query, place: QuestionPlace::Waits, reply });
        Ok(answer)
    }

    /// Moves a question, unless somebody has moved it meanwhile.
    pub(super) fn move_to(
        &self,
        run: RunId,
        id: AskId,
        from: &QuestionPlace,
        place: QuestionPlace,
    ) {
        if let Some(open) = self.open.lock().get_mut(&(run, id)).filter(|open| open.place == *from)
        {
            open.place = place;
        }
    }

    pub(super) fn place(&self, run: RunId, id: AskId) -> Option<QuestionPlace> {
        self.open.lock().get(&(run, id)).map(|open| open.place.clone())
    }

    /// A worker brings answers: until they are given, nobody else is asked. Given back are the
    /// questions that were waited for here.
    pub(in crate::engine::remote) fn delivered(
        &self,
        run: RunId,
        ids: impl Iterator<Item = AskId>,
        now: Time,
    ) -> Vec<AskId> {
        let mut all = self.open.lock();
        let here = ids.filter(|id| {
            let open = all
                .get_mut(&(run, *id))
                .filter(|open| matches!(open.place, QuestionPlace::Rides(_)));
            open.map(|open| open.place = QuestionPlace::Out(now)).is_some()
        });
        here.collect()
    }

    /// These answers did not come after all, or whoever was to be asked has gone.
    pub(in crate::engine::remote) fn again(&self, run: RunId, ids: &[AskId]) {
        let mut all = self.open.lock();
        for id in ids {
            let open =
                all.get_mut(&(run, *id)).filter(|open| matches!(open.place, QuestionPlace::Out(_)));
            open.into_iter().for_each(|open| open.place = QuestionPlace::Waits);
        }
    }

    /// Asked again under another id.
    pub(super) fn retire(&self, run: RunId, id: AskId) {
        if let Some(open) = self.open.lock().get_mut(&(run, id)) {
            open.place = QuestionPlace::Old;
        }
    }

    /// How many questions there were so far. Taken before a run is read for its turn: a question
    /// that came later may know of messages which that turn does not show.
    pub(crate) fn asked(&self) -> QuestionCount {
        // Under the lock, so that a question which is counted here is there to be joined.
        let _open = self.open.lock();
        QuestionCount(self.asked.load(Ordering::Relaxed))
    }

    /// What waits for a run, of the first so many questions, goes out with its turn.
    pub(in crate::engine::remote) fn join_turn(
        &self,
        run: RunId,
        serial: u64,
        asked: QuestionCount,
    ) -> Vec<RemoteQuery> {
        let mut all = self.open.lock();
        let (first, last) = ((run, AskId(0)), (run, AskId(u128::MAX)));
        let mut joined = Vec::new();
        for (_, open) in all.range_mut(first..=last) {
            if open.number < asked
                && matches!(open.place, QuestionPlace::Waits | QuestionPlace::Stands(..))
            {
                open.place = QuestionPlace::Rides(serial);
                joined.push(open.query.clone());
            }
        }
        joined
    }

    /// A question that stands in this queue, taken out of it.
    pub(super) fn take(
        &self,
        namespace: Namespace,
        queue: &Queue,
        now: Time,
    ) -> Option<(RunId, RemoteQuery)> {
        let mut all = self.open.lock();
        let found = all.iter_mut().find(|((run, _), open)| match &open.place {
            QuestionPlace::Stands(place, _) => run.namespace == namespace && place == queue,
            _ => false,
        });
        let ((run, _), open) = found?;
        open.place = QuestionPlace::Out(now);
        Some((*run, open.query.clone()))
    }

    /// Another member says that a question waits there.
    pub(crate) fn hears(&self, run: RunId, id: AskId, at: Option<Queue>, now: Time) {
        let number = QuestionCount(self.asked.fetch_add(1, Ordering::Relaxed));
        self.others.lock().put((run, id), at, number, now);
    }

    /// Another member says that it waits no more.
    pub(crate) fn over(&self, run: RunId, id: AskId) {
        self.others.lock().remove(&(run, id));
    }

    /// A worker has come to another member for a question that stands here.
    pub(crate) fn give(&self, run: RunId, id: AskId, now: Time) -> Went {
        match self.open.lock().get_mut(&(run, id)) {
            Some(open) if matches!(open.place, QuestionPlace::Stands(..)) => {
                open.place = QuestionPlace::Out(now);
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
            if matches!(open.place, QuestionPlace::Waits | QuestionPlace::Stands(..)) {
                open.place = QuestionPlace::Rides(serial);
                given.push((*id, open.query.question.clone()));
            }
        }
        Went::Questions(given)
    }

    pub(super) fn knows(&self, run: RunId, id: AskId) -> bool {
        self.open.lock().contains_key(&(run, id))
    }

    pub(crate) fn answer(&self, run: RunId, id: AskId, answer: QueryAnswer) -> bool {
        match self.open.lock().remove(&(run, id)) {
            Some(open) => open.reply.send(answer).is_ok(),
            None => false,
        }
    }

    pub(super) fn forget(&self, run: RunId, id: AskId) {
        self.open.lock().remove(&(run, id));
    }
}
