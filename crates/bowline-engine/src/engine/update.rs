//! Who waits for an update to be taken or answered.

use std::{
    collections::{BTreeMap, VecDeque},
    pin::pin,
};

use bowline_core::{
    Event, EventId, EventKind, Failure, Message, RunId, Time, UpdateId, UpdateRequest, UpdateStage,
};
use bowline_store::{Head, Read, RunKey};
use parking_lot::Mutex;
use tokio::sync::oneshot;

use super::Core;
use crate::{Error, Result, limits};

type Key = (RunId, UpdateId);

/// For what, and for how long, somebody waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UpdateWait {
    /// That the code took it is enough; otherwise its answer is wanted.
    pub accepted: bool,
    /// Until this moment.
    pub until: Time,
}

#[derive(Debug)]
struct Waiter {
    accepted: bool,
    tell: oneshot::Sender<UpdateStage>,
}

/// Everybody who waits. A waiter that gives up is dropped with the next answer, or when there are
/// too many.
#[derive(Debug)]
pub(crate) struct Waiters {
    state: Mutex<State>,
    limit: usize,
}

#[derive(Debug, Default)]
struct State {
    waiting: BTreeMap<Key, Vec<Waiter>>,
    count: usize,
    /// Refusals leave no trace in history; other members may ask for those of late.
    refused: VecDeque<(Key, Failure)>,
}

impl Default for Waiters {
    fn default() -> Self {
        Self::new(limits::UPDATE_WAITERS)
    }
}

impl Waiters {
    fn new(limit: usize) -> Self {
        Self { state: Mutex::default(), limit }
    }

    fn wait(
        &self,
        run: RunId,
        id: UpdateId,
        accepted: bool,
    ) -> Result<oneshot::Receiver<UpdateStage>> {
        let mut state = self.state.lock();
        if state.count >= self.limit {
            state.forget_gone();
        }
        if state.count >= self.limit {
            return Err(Error::TooMany { what: "waiters for updates", limit: self.limit });
        }
        let (tell, told) = oneshot::channel();
        state.count += 1;
        state.waiting.entry((run, id)).or_default().push(Waiter { accepted, tell });
        Ok(told)
    }

    /// Whether somebody here waits for an update.
    pub(crate) fn is_awaited(&self, run: RunId, id: &UpdateId) -> bool {
        self.state.lock().waiting.contains_key(&(run, id.clone()))
    }

    /// Keeps a refusal in mind, for members at which somebody may wait for it.
    pub(crate) fn remember(&self, run: RunId, id: &UpdateId, why: &Failure) {
        let mut state = self.state.lock();
        if state.refused.len() >= limits::REFUSALS {
            state.refused.pop_front();
        }
        state.refused.push_back(((run, id.clone()), why.clone()));
    }

    /// Why an update was refused of late.
    pub(crate) fn refused(&self, run: RunId, id: &UpdateId) -> Option<Failure> {
        let state = self.state.lock();
        let key = (run, id.clone());
        state.refused.iter().rev().find(|(known, _)| *known == key).map(|(_, why)| why.clone())
    }

    /// Passes an answer on. That an update was accepted is one for those who asked for that.
    pub(crate) fn tell(&self, run: RunId, id: &UpdateId, stage: &UpdateStage) {
        let waiting = {
            let mut state = self.state.lock();
            let all = state.waiting.remove(&(run, id.clone())).unwrap_or_default();
            let hears = |waiter: &Waiter| *stage != UpdateStage::Accepted || waiter.accepted;
            let (waiting, left): (Vec<_>, Vec<_>) = all.into_iter().partition(hears);
            state.count -= waiting.len();
            if !left.is_empty() {
                state.waiting.insert((run, id.clone()), left);
            }
            waiting
        };
        for waiter in waiting {
            // Whoever has stopped waiting does not want to know.
            let _ = waiter.tell.send(stage.clone());
        }
    }
}

impl State {
    fn forget_gone(&mut self) {
        self.waiting.retain(|_, waiting| {
            waiting.retain(|waiter| !waiter.tell.is_closed());
            !waiting.is_empty()
        });
        self.count = self.waiting.values().map(Vec::len).sum();
    }
}

impl Core {
    /// Asks a run's code for something, and waits for its answer.
    pub(crate) async fn update(&self, run: RunId, request: UpdateRequest) -> Result<UpdateStage> {
        let wait = UpdateWait { accepted: false, until: Time::MAX };
        let stage = self.update_for(run, request, wait).await?;
        stage.ok_or(Error::TimedOut("the update"))
    }

    /// The same for a while: none if nobody has looked at it by then. It is asked for still.
    pub(crate) async fn update_for(
        &self,
        run: RunId,
        request: UpdateRequest,
        wait: UpdateWait,
    ) -> Result<Option<UpdateStage>> {
        let id = request.id.clone();
        let told = self.updates.wait(run, id.clone(), wait.accepted)?;
        let posted = self.post_message(run.into(), Message::Update(Box::new(request))).await;
        if let Err(error) = posted {
            // The same update, sent again, may have been answered before the run closed.
            let (answer, _) = self.answered(run, &id, EventId(1), wait.accepted).await?;
            return answer.map(Some).ok_or(error);
        }
        self.told(run, &id, told, wait).await
    }

    /// Waits for what becomes of an update that was asked for before.
    pub(crate) async fn follow_update(
        &self,
        run: RunId,
        id: UpdateId,
        wait: UpdateWait,
    ) -> Result<Option<UpdateStage>> {
        let told = self.updates.wait(run, id.clone(), wait.accepted)?;
        let read = self.read(Read::whole(run)).await?;
        let events = super::run::events(run, &read.batches)?;
        let known = events.iter().any(|event| stage(event, &id, true).is_some())
            || read.head.record.admitted.iter().any(|request| request.id == id)
            || read.inbox.iter().any(|received| is_update(&received.message, &id));
        match known {
            true => self.told(run, &id, told, wait).await,
            false => Err(Error::NotFound("update")),
        }
    }

    async fn told(
        &self,
        run: RunId,
        id: &UpdateId,
        told: oneshot::Receiver<UpdateStage>,
        wait: UpdateWait,
    ) -> Result<Option<UpdateStage>> {
        let mut follower = self.followers.follower();
        self.followers.follow(&mut follower, run)?;
        let mut told = pin!(told);
        // The same update, sent again, may have been answered long ago.
        let mut from = EventId(1);
        loop {
            let (answer, head) = self.answered(run, id, from, wait.accepted).await?;
            if answer.is_some() {
                return Ok(answer);
            }
            from = head.next_event;
            let again = super::run::is_parked(&head, self.now())?;
            // Whoever closed the run is about to say what became of the update, unless it died.
            let given_up = self.now().after(limits::QUERY);
            tokio::select! {
                biased;
                stage = &mut told => return stage.map(Some).map_err(|_| Error::ShuttingDown),
                () = self.stopping.cancelled() => return Err(Error::ShuttingDown),
                // Whoever wrote the answer may have died before it told anybody.
                () = follower.changed() => {}
                () = self.clock.sleep_until(again.unwrap_or(Time::MAX)), if again.is_some() => {}
                () = self.clock.sleep_until(given_up), if !head.status.is_open() => {
                    return Err(closed(&head));
                }
                () = self.clock.sleep_until(wait.until), if wait.until < Time::MAX => {
                    return Ok(None);
                }
            }
        }
    }

    /// The answer to an update, if it stands in history from this event on.
    async fn answered(
        &self,
        run: RunId,
        id: &UpdateId,
        from: EventId,
        accepted: bool,
    ) -> Result<(Option<UpdateStage>, Head)> {
        let read = Read { events_from: Some(from), ..Read::head(RunKey::Run(run)) };
        let read = self.read(read).await?;
        let events = super::run::events(run, &read.batches)?;
        Ok((events.iter().rev().find_map(|event| stage(event, id, accepted)), read.head))
    }
}

fn closed(head: &Head) -> Error {
    Error::Closed { run: head.run, status: head.status, successor: head.successor }
}

fn is_update(message: &Message, id: &UpdateId) -> bool {
    matches!(message, Message::Update(request) if request.id == *id)
}

fn stage(event: &Event, id: &UpdateId, accepted: bool) -> Option<UpdateStage> {
    match &event.kind {
        EventKind::UpdateCompleted(done) if done.id == *id => {
            Some(UpdateStage::Completed(done.answer.clone()))
        }
        EventKind::UpdateAccepted(taken) if accepted && taken.request.id == *id => {
            Some(UpdateStage::Accepted)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bowline_core::Namespace;

    #[tokio::test]
    async fn there_is_a_bound_that_those_who_have_gone_do_not_count_for() {
        let waiters = Waiters::new(2);
        let run = RunId { namespace: Namespace(1), uuid: 1 };
        let first = waiters.wait(run, "a".into(), false).expect("one");
        let second = waiters.wait(run, "b".into(), false).expect("two");
        let refused = waiters.wait(run, "a".into(), false).expect_err("three");
        assert_eq!(refused.code(), "too_many");
        assert!(refused.to_string().contains("at most 2"), "{refused}");
        drop(first);
        let third = waiters.wait(run, "b".into(), false).expect("one has gone");
        let stage = UpdateStage::Rejected(Failure::new("no"));
        waiters.tell(run, &"b".into(), &stage);
        assert_eq!((second.await, third.await), (Ok(stage.clone()), Ok(stage)));
        assert_eq!(waiters.state.lock().count, 0);
    }
}
