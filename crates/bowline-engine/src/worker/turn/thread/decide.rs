//! A turn: what is new is told to the code, and what the code wants is written.

use bowline_core::{
    Command, Decided, Draft, Event, Received, RunId,
    planted::{Defect, planted},
};
use bowline_replay::Fault;

use super::{Thread, lasts};
use crate::{engine::EngineInner, limits, worker::turn::offer::TakenEnds};

impl Thread {
    /// Has a turn, if there is something to have it about.
    pub(super) fn turn(&mut self, run: RunId) {
        let Some(cached) = self.cache.find(run) else { return };
        if cached.is_waiting() && self.handle.shared.want_answer(run) {
            return self.answered();
        }
        if !cached.is_ready() {
            return;
        }
        let is_owed = self.inner.net.is_owed(run, cached.seen());
        let expects_mail =
            (is_owed || self.handle.shared.expects_mail(run)) && !planted(Defect::EndOvertakes);
        let (inbox, taken) = cached.take_news(self.inner.now(), expects_mail);
        if inbox.is_empty() {
            return;
        }
        let Some(state) = cached.state.take() else { return };
        let draft = self.inner.draft_of(state, cached.record.clone(), cached.consumed);
        self.enter(run);
        let decided = self.decide(run, draft, &inbox);
        self.leave();
        if self.is_given_up() {
            return;
        }
        match decided {
            Ok(decided) => self.commit(run, decided, taken),
            Err((reason, lasting)) => self.failed(run, &reason, lasting),
        }
    }

    fn decide(
        &mut self,
        run: RunId,
        mut draft: Draft,
        inbox: &[Received],
    ) -> Result<Decided, (String, bool)> {
        let Some(cached) = self.cache.find(run) else {
            return Err(("the run is gone".to_owned(), false));
        };
        let replay = &mut cached.replay;
        let refused = |fault: Fault| (fault.to_string(), lasts(&fault));
        draft.intake(inbox);
        if !draft.state().status.is_open() {
            return Ok(draft.finish());
        }
        for event in draft.events() {
            replay.feed(event).map_err(refused)?;
        }
        // What nobody waits for is written down, and told with the next turn.
        let awaited = || draft.wants_turn() && replay.is_awaited(draft.skipped());
        if draft.insists() || awaited() {
            let fed = draft.events().len();
            draft.open_turn();
            for event in &draft.events()[fed..] {
                replay.feed(event).map_err(refused)?;
            }
            let fed = draft.events().len();
            let commands = self.inner.name_runs(replay.commands().map_err(refused)?);
            draft.complete_turn(commands).map_err(|refusal| (refusal.to_string(), true))?;
            for event in &draft.events()[fed..] {
                replay.feed(event).map_err(refused)?;
            }
        }
        // Nobody will wake it once it has left memory, and nobody would know.
        if draft.state().status.is_open() && replay.is_stranded() {
            return Err(refused(Fault::Stranded));
        }
        Ok(draft.finish())
    }

    fn commit(&mut self, run: RunId, decided: Decided, taken: TakenEnds) {
        let Some(cached) = self.cache.find(run) else { return };
        cached.next = Some((decided.record.clone(), decided.consumed));
        let lease = (run, cached.fence, cached.version);
        // Of a thread that nobody reaches any more, nobody wants to hear.
        let Some(handle) = self.handle.handle() else { return };
        let (inner, room) = (self.inner.clone(), self.room.clone());
        let weight = decided.events.iter().map(Event::weight).sum::<u64>();
        let is_small = decided.events.len() <= limits::LENT_EVENTS && weight <= limits::LENT_BYTES;
        let may_wait = handle.waits() == 0 && is_small;
        let work = async move {
            let (ended, answers) = taken.apart();
            // What is moved until it is polled is small.
            let done = Box::pin(inner.commit_turn(lease, decided, ended)).await;
            TakenEnds::answer(answers, done.is_ok());
            handle.answer(&room, run, lease.1, done).await;
        };
        match may_wait {
            true => self.inner.finish_lending(work),
            false => self.inner.finish_here(work),
        }
    }
}

impl EngineInner {
    /// Children and continuations get their run ids here: workflow code cannot draw them.
    fn name_runs(&self, commands: Vec<Command>) -> Vec<Command> {
        let named = commands.into_iter().map(|command| match command {
            Command::StartChild(spec, _) => Command::StartChild(spec, self.new_run()),
            Command::ContinueAsNew(next, _) => Command::ContinueAsNew(next, self.new_run()),
            other => other,
        });
        named.collect()
    }
}
