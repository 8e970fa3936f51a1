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

use super::EngineInner;
use crate::{Error, Result, limits};

type UpdateKey = (RunId, UpdateId);

/// For what, and for how long, somebody waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UpdateWait {
    /// That the code took it is enough; otherwise its answer is wanted.
    pub accepted: bool,
    /// Until this moment.
    pub until: Time,
}

#[derive(Debug)]
struct UpdateWaiter {
    accepted: bool,
    tell: oneshot::Sender<UpdateStage>,
}

/// Everybody who waits. A waiter that gives up is dropped with the next answer, or when there are
/// too many.
#[derive(Debug)]
pub(crate) struct Waiters {
    state: Mutex<UpdateWaiters>,
    limit: usize,
}

#[derive(Debug, Default)]
struct UpdateWaiters {
    waiting: BTreeMap<UpdateKey, Vec<UpdateWaiter>>,
    count: usize,
    /// Refusals leave no trace in history; other members may ask for those of late.
    refused: VecDeque<(UpdateKey, Failure)>,
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
        state.waiting.entry((run, id)).or_default().push(UpdateWaiter { accepted, tell });
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
            let hears = |waiter: &UpdateWaiter| *stage != UpdateStage::Accepted || waiter.accepted;
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

impl UpdateWaiters {
    fn forget_gone(&mut self) {
        self.waiting.retain(|_, waiting| {
            waiting.retain(|waiter| !waiter.tell.is_closed());
            !waiting.is_empty()
        });
        self.count = self.waiting.values().map(Vec::len).sum();
    }
}

impl EngineInner {
    /// Asks a run's code for something, and waits for its answer.
    pub(crate) async fn update(&self, run: RunId, request: UpdateRequest) -> Result<UpdateStage> {
        let wait = UpdateWait { accepted: false, until: Time::MAX };
        let (_, stage) = self.update_for(run, request, wait).await?;
        stage.ok_or(Error::TimedOut("the update"))
    }

    /// The same for a while: none if nobody has looked at it by then. It is asked for still. Says
    /// which run has it: another one, if that went on before the code had looked.
    pub(crate) async fn update_for(
        &self,
        run: RunId,
        request: UpdateRequest,
        wait: UpdateWait,
    ) -> Result<(RunId, Option<UpdateStage>)> {
        let id = request.id.clone();
        let told = self.updates.wait(run, id.clone(), wait.accepted)?;
        let posted = self.post_message(run.into(), Message::Update(Box::new(request))).await;
        if let Err(error) = posted {
            // The same update, sent again, may have been answered before the run closed.
            let mut seen = SeenUpdates::new();
            let (answer, _) = self.look_for(run, &id, &mut seen, wait.accepted).await?;
            return match answer {
                Some(UpdateStage::Moved(next)) => self.follow_update(next, id, wait).await,
                answer => answer.map(|answer| (run, Some(answer))).ok_or(error),
            };
        }
        self.told(run, &id, told, wait).await
    }

    /// Waits for what becomes of an update that was asked for before.
    pub(crate) async fn follow_update(
        &self,
        run: RunId,
        id: UpdateId,
        wait: UpdateWait,
    ) -> Result<(RunId, Option<UpdateStage>)> {
        let told = self.updates.wait(run, id.clone(), wait.accepted)?;
        let (known, head) = self.knows_update(run, &id).await?;
        if known {
            return self.told(run, &id, told, wait).await;
        }
        let Some(next) = self.moved_to(&head, &id).await? else {
            return Err(Error::NotFound("update"));
        };
        let told = self.updates.wait(next, id.clone(), wait.accepted)?;
        self.told(next, &id, told, wait).await
    }

    /// Whether an update of this id was ever asked of a run, refused ones aside.
    async fn knows_update(&self, run: RunId, id: &UpdateId) -> Result<(bool, Head)> {
        let read = self.read(Read::whole(run)).await?;
        let events = super::run::events(run, &read.batches)?;
        let known = events.iter().any(|event| stage(event, id).is_some())
            || read.head.record.admitted.iter().any(|request| request.id == *id)
            || read.inbox.iter().any(|received| is_update(&received.message, id));
        Ok((known, read.head))
    }

    /// The run that took an update over from this one, or from one after it.
    async fn moved_to(&self, head: &Head, id: &UpdateId) -> Result<Option<RunId>> {
        let mut next = head.successor;
        for _ in 0..limits::UPDATE_HOPS {
            let Some(run) = next else { return Ok(None) };
            let (known, head) = match self.knows_update(run, id).await {
                Err(Error::NotFound(_)) => return Ok(None),
                found => found?,
            };
            if known {
                return Ok(Some(run));
            }
            next = head.successor;
        }
        Ok(None)
    }

    /// Waits for what becomes of an update, in whichever run has it.
    async fn told(
        &self,
        mut run: RunId,
        id: &UpdateId,
        mut told: oneshot::Receiver<UpdateStage>,
        wait: UpdateWait,
    ) -> Result<(RunId, Option<UpdateStage>)> {
        loop {
            match self.told_of(run, id, told, wait).await? {
                Some(UpdateStage::Moved(next)) => {
                    told = self.updates.wait(next, id.clone(), wait.accepted)?;
                    run = next;
                }
                stage => return Ok((run, stage)),
            }
        }
    }

    async fn told_of(
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
        let mut seen = SeenUpdates::new();
        loop {
            let (answer, head) = self.look_for(run, id, &mut seen, wait.accepted).await?;
            if answer.is_some() {
                return Ok(answer);
            }
            let again = super::run::is_parked(&head, self.now())?;
            // Whoever closed the run is about to say what became of the update, unless it died.
            let given_up = self.now().after(limits::UPDATE_ORPHANED);
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
                    return Ok(seen.taken.then_some(UpdateStage::Accepted));
                }
            }
        }
    }

    /// What became of an update, if what has not been seen of its run's history says so.
    async fn look_for(
        &self,
        run: RunId,
        id: &UpdateId,
        seen: &mut SeenUpdates,
        accepted: bool,
    ) -> Result<(Option<UpdateStage>, Head)> {
        let read = Read { events_from: Some(seen.from), ..Read::head(RunKey::Run(run)) };
        let read = self.read(read).await?;
        let events = super::run::events(run, &read.batches)?;
        let head = read.head;
        let is_open = head.status.is_open();
        seen.from = head.next_event;
        let last = events.iter().rev().find_map(|event| stage(event, id));
        seen.taken |= last.is_some();
        let stage = match last {
            Some(UpdateStage::Completed(answer)) => Some(UpdateStage::Completed(answer)),
            _ if seen.taken && !is_open => Some(UpdateStage::Unanswered),
            _ if seen.taken && accepted => Some(UpdateStage::Accepted),
            _ if !seen.taken && !is_open => self.moved_to(&head, id).await?.map(UpdateStage::Moved),
            _ => None,
        };
        Ok((stage, head))
    }
}

/// How much of a run's history somebody who waits for an update has seen.
struct SeenUpdates {
    from: EventId,
    /// The code took it.
    taken: bool,
}

impl SeenUpdates {
    fn new() -> Self {
        Self { from: EventId(1), taken: false }
    }
}

fn closed(head: &Head) -> Error {
    Error::Closed { run: head.run, status: head.status, successor: head.successor }
}

fn is_update(message: &Message, id: &UpdateId) -> bool {
    matches!(message, Message::Update(request) if request.id == *id)
}

fn stage(event: &Event, id: &UpdateId) -> Option<UpdateStage> {
    match &event.kind {
        EventKind::UpdateCompleted(done) if done.id == *id => {
            Some(UpdateStage::Completed(done.answer.clone()))
        }
        EventKind::UpdateAccepted(taken) if taken.request.id == *id => Some(UpdateStage::Accepted),
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
