//! Reading runs: their heads, histories and endings.

use std::sync::Arc;

use bowline_core::{
    Asked, Batch, Command, Draft, Event, EventId, EventKind, Number, Payload, Received, RunEnding,
    RunId, State, Time, TurnRecord, codec,
};
use bowline_store::{Filter, Head, Page, Read, RunKey, RunRead};

use super::{
    EngineInner,
    follow::{Follower, RunEnd},
};
use crate::{Error, Result, limits};

/// What whoever waits for the end of a run does while it is parked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WhenParked {
    /// Waits on: somebody will mend it.
    Wait,
    /// Is told.
    Tell,
}

/// Refuses to wait for the code of a run that is parked; or says when to ask again, because another
/// process may take it up until then. One that is about to be closed, because a message waits that
/// does so, is as good as closed: nobody's code is waited for.
pub(crate) fn is_parked(head: &Head, now: Time) -> Result<Option<Time>> {
    match head.why_parked().filter(|_| head.cut_in <= head.consumed) {
        Some(parked) if parked.is_told(now) => {
            Err(Error::Parked { failures: parked.failures, reason: parked.reason.clone() })
        }
        Some(parked) => Ok(parked.told_from),
        None => Ok(None),
    }
}

/// The events of batches.
pub(crate) fn events(run: RunId, batches: &[Batch]) -> Result<Vec<Event>> {
    let mut events = Vec::new();
    for batch in batches {
        let more = batch
            .events()
            .map_err(|corrupt| Error::Store(bowline_store::Error::Corrupt { run, corrupt }))?;
        events.extend(more);
    }
    Ok(events)
}

/// The state of a run: its newest snapshot, and what happened since.
pub(crate) fn state(read: &RunRead) -> Result<State> {
    state_after(read, &events(read.head.run, &read.batches)?)
}

/// The same, where its events are decoded already.
pub(crate) fn state_after(read: &RunRead, events: &[Event]) -> Result<State> {
    let run = read.head.run;
    let mut state = match &read.snapshot {
        Some(snapshot) => codec::decode(snapshot.bytes.as_slice())
            .map_err(|corrupt| Error::Store(bowline_store::Error::Corrupt { run, corrupt }))?,
        None => State::new(run),
    };
    for event in events {
        if event.id >= state.next_event {
            state.evolve(event);
        }
    }
    Ok(state)
}

impl EngineInner {
    /// Reads a run.
    pub(crate) async fn read(&self, read: Read) -> Result<RunRead> {
        let found = self.retrying(|| self.store.read(read.clone())).await?;
        found.ok_or(Error::NotFound("run"))
    }

    /// The head of a run.
    pub(crate) async fn head(&self, run: RunKey) -> Result<Head> {
        Ok(self.read(Read::head(run)).await?.head)
    }

    /// The head of a run that is named exactly.
    pub(crate) async fn head_of(&self, run: RunId) -> Result<Head> {
        self.head(RunKey::Run(run)).await
    }

    /// Lists runs. A store looks at so many for one page and no more; whoever asks here goes on
    /// until a page is full, or so many were looked at that the caller should decide whether to go
    /// on. The store is free for others in between.
    pub(crate) async fn find(&self, mut filter: Filter) -> Result<Page> {
        let mut page = self.retrying(|| self.store.find(filter.clone())).await?;
        filter.limit = filter.limit.min(Page::LOOKS_MAX);
        let mut looks = 1;
        while let Some(after) = page.next.filter(|_| page.runs.len() < filter.limit) {
            if looks == limits::FIND_LOOKS {
                break;
            }
            looks += 1;
            let limit = filter.limit - page.runs.len();
            let rest = Filter { after: Some(after), limit, ..filter.clone() };
            let more = self.retrying(|| self.store.find(rest.clone())).await?;
            page.runs.extend(more.runs);
            page.next = more.next;
        }
        Ok(page)
    }

    /// The whole history of a run, as it stands.
    pub(crate) async fn history(&self, run: RunId) -> Result<Vec<Event>> {
        let read = Read { inbox: false, ..Read::whole(run) };
        events(run, &self.read(read).await?.batches)
    }

    /// Waits until a run, or the last of the runs that go on in its place, is closed.
    pub(crate) async fn outcome(
        &self,
        run: RunId,
        parked: WhenParked,
    ) -> Result<(RunId, RunEnding)> {
        self.outcome_after(run, parked, self.followers.follower()).await
    }

    /// The same for a run that was open when somebody began to follow it.
    pub(crate) async fn outcome_of_new(
        &self,
        RunEnd { run, follower }: RunEnd,
        parked: WhenParked,
    ) -> Result<(RunId, RunEnding)> {
        tokio::select! {
            biased;
            () = follower.changed() => {}
            () = self.stopping.cancelled() => return Err(Error::ShuttingDown),
        }
        match follower.completed(run) {
            Some(result) => Ok((run, RunEnding::Completed(result))),
            None => self.outcome_after(run, parked, follower).await,
        }
    }

    async fn outcome_after(
        &self,
        mut run: RunId,
        parked: WhenParked,
        mut follower: Follower,
    ) -> Result<(RunId, RunEnding)> {
        // A chain that has gone on is asked for its newest run: that is one step, however long it
        // is. What was begun again from an earlier turn is no run that this one went on as; and
        // what a chain knows as its newest is behind us where a newer one was deleted.
        let mut gone_on = None;
        loop {
            self.followers.follow_end(&mut follower, run)?;
            if let Some((chain, from)) = gone_on.take() {
                let newest = self.head(RunKey::Chain(chain)).await?;
                if newest.run != from && newest.forked.is_none() {
                    run = newest.run;
                }
                continue;
            }
            let head = match self.head(RunKey::Run(run)).await {
                // It is kept no longer, but its chain may have gone on.
                Err(Error::NotFound(_)) => self.head(RunKey::Chain(run)).await?,
                head => head?,
            };
            if head.run != run {
                run = head.run;
                continue;
            }
            let told = match parked {
                WhenParked::Tell => is_parked(&head, self.now())?,
                WhenParked::Wait => None,
            };
            match head.successor {
                Some(successor) => (run, gone_on) = (successor, Some((head.first_run, run))),
                None if !head.status.is_open() => {
                    return Ok((run, Box::pin(self.ending_of(head)).await?));
                }
                None => tokio::select! {
                    biased;
                    () = follower.changed() => {}
                    () = self.stopping.cancelled() => return Err(Error::ShuttingDown),
                    () = self.clock.sleep_until(told.unwrap_or(Time::MAX)), if told.is_some() => {}
                },
            }
            if let Some(result) = follower.completed(run) {
                return Ok((run, RunEnding::Completed(result)));
            }
        }
    }

    /// Waits until a run's history has an event of this id, or the run is closed.
    pub(crate) async fn grown(&self, run: RunId, id: EventId) -> Result<Head> {
        let mut follower = self.followers.follower();
        match id == EventId(u64::MAX) {
            // No run has that event: only its end is waited for.
            true => self.followers.follow_end(&mut follower, run)?,
            false => self.followers.follow(&mut follower, run)?,
        }
        loop {
            let head = self.head_of(run).await?;
            if head.next_event > id || !head.status.is_open() {
                return Ok(head);
            }
            tokio::select! {
                biased;
                () = follower.changed() => {}
                () = self.stopping.cancelled() => return Err(Error::ShuttingDown),
            }
        }
    }

    /// Waits until a run is closed. What closes it may be in its inbox: nobody is waited for to
    /// take that in.
    pub(crate) async fn closed(self: &Arc<Self>, run: RunId) -> Result<Head> {
        let mut follower = self.followers.follower();
        self.followers.follow_end(&mut follower, run)?;
        loop {
            let asked = self.queries.asked();
            let read = self.read(Read::state(run)).await?;
            if !read.head.status.is_open() {
                return Ok(read.head);
            }
            if !read.inbox.is_empty() && self.take_in(&read, asked).await? {
                continue;
            }
            tokio::select! {
                biased;
                () = follower.changed() => {}
                () = self.stopping.cancelled() => return Err(Error::ShuttingDown),
            }
        }
    }

    /// The history of a run, which has had a turn: one that was only just started shows nothing
    /// yet. Closed and parked runs are not waited for.
    pub(crate) async fn begun(&self, run: RunId) -> Result<Vec<Event>> {
        let mut follower = self.followers.follower();
        self.followers.follow(&mut follower, run)?;
        loop {
            let head = self.head_of(run).await?;
            let events = self.history(run).await?;
            let had_one = events.iter().any(|e| matches!(e.kind, EventKind::TurnCompleted(..)));
            if had_one || !head.status.is_open() || head.is_parked() {
                return Ok(events);
            }
            tokio::select! {
                biased;
                () = follower.changed() => {}
                () = self.stopping.cancelled() => return Err(Error::ShuttingDown),
            }
        }
    }

    /// How a closed run ended.
    pub(crate) async fn ending(&self, run: RunId) -> Result<RunEnding> {
        self.ending_of(self.head(RunKey::Run(run)).await?).await
    }

    async fn ending_of(&self, head: Head) -> Result<RunEnding> {
        let run = head.run;
        let last = EventId(head.next_event.0.saturating_sub(1));
        let read = Read { events_from: Some(last), ..Read::head(RunKey::Run(run)) };
        let events = events(run, &self.read(read).await?.batches)?;
        let cause = |event: &Event| {
            event.notes.iter().find_map(|note| match note {
                bowline_core::Note::Outstanding(left) => left.cause.clone(),
                bowline_core::Note::Cause(cause) => Some(cause.clone()),
                _ => None,
            })
        };
        let last = events.last().ok_or(Error::NotFound("event"))?;
        let requested = head.cancel.map(|cancel| cancel.cause);
        ending(last, requested.or_else(|| cause(last))).ok_or(Error::NotFound("closing event"))
    }

    /// What a decision about a run begins with, without running its code.
    pub(crate) async fn draft(&self, run: RunId) -> Result<(Head, Draft, Vec<Received>)> {
        let read = self.read(Read::state(run)).await?;
        let state = state(&read)?;
        let (record, consumed) = (read.head.record.clone(), read.head.consumed);
        let draft = self.draft_of(state, record, consumed);
        Ok((read.head, draft, read.inbox))
    }

    pub(crate) fn draft_of(&self, state: State, record: TurnRecord, consumed: Number) -> Draft {
        let spare = self.new_run_in(state.run.namespace);
        let now = self.now();
        let next = match state.started.cron.is_empty() {
            true => None,
            false => self.next_start(&state.started.cron, state.since, now).unwrap_or_default(),
        };
        let mut draft = Draft::new(state, record, consumed, now, spare);
        if let Some(next) = next {
            draft.starts_next(next);
        }
        draft
    }

    /// When a schedule starts a run next.
    pub(crate) fn next_start(
        &self,
        schedule: &str,
        since: Time,
        after: Time,
    ) -> std::result::Result<Option<Time>, String> {
        match self.schedules.get() {
            Some(schedules) => schedules.next(schedule, since, after),
            None => Err("nothing here reads schedules".to_owned()),
        }
    }

    /// Tells a decision about the schedules that its commands name.
    pub(crate) fn look_up(&self, draft: &mut Draft, commands: &[Asked]) {
        let now = self.now();
        for asked in commands {
            let schedule = match &asked.command {
                Command::StartChild(spec, _) => Some(&spec.cron),
                Command::ContinueAsNew(next, _) => next.cron.as_ref(),
                _ => None,
            };
            let Some(schedule) = schedule.filter(|schedule| !schedule.is_empty()) else { continue };
            if let Ok(Some(next)) = self.next_start(schedule, now, now) {
                draft.knows_schedule(schedule, next);
            }
        }
    }
}

fn ending(event: &Event, cause: Option<bowline_core::Cause>) -> Option<RunEnding> {
    let result = |payload: &Option<Payload>| payload.clone();
    Some(match &event.kind {
        EventKind::WorkflowCompleted(e) => RunEnding::Completed(result(&e.result)),
        EventKind::WorkflowFailed(e) => RunEnding::Failed(e.failure.clone(), e.retry),
        EventKind::WorkflowCancelled(e) => RunEnding::Cancelled(result(&e.details), cause),
        EventKind::WorkflowTimedOut(e) => RunEnding::TimedOut(e.retry),
        EventKind::WorkflowTerminated(e) => RunEnding::Terminated(e.cause.clone()),
        EventKind::WorkflowContinuedAsNew(e) => RunEnding::Continued(e.next_run),
        _ => return None,
    })
}
