//! The loop: events in, commands out.
//!
//! Events are gathered until a turn is whole, and only then does the code run: a recorded turn
//! when all that it asked for is known (`patched` has to look there), a live one when its commands
//! are wanted. Either way the messages are delivered one by one, in order, and the code is polled
//! for each.
//!
//! In:    events, the recorded and the live ones by the same call.
//! Out:   commands, or a [`Fault`] that names both sides.
//! Never: guesses. What does not fit is a fault, and after one there is nothing but that fault.

mod delivery;
mod program;

use std::{cell::RefCell, rc::Rc, sync::Arc};

use bowline_core::{
    Command, Event, EventId, EventKind, Failure, Payload, Ranges, RunId, Time,
    planted::{Defect, planted},
};

use crate::{
    Context, Difference, Fault, Mismatch, Workflow,
    expect::{Completed, Recorded, Said, compare},
    fault::guarded,
    run::{self, Asked, Asking, Run, Shared},
};

use delivery::Delivery;
use program::Program;

/// One run of a workflow, in memory. Dropping it says nothing: that is how runs are evicted.
pub struct Replay {
    workflow: Arc<dyn Workflow>,
    shared: Shared,
    program: Program,
    turn: Turn,
    /// The newest event that was fed.
    last: EventId,
    closed: bool,
    dead: Option<Fault>,
}

/// What is known of the turn that comes next.
#[derive(Default)]
struct Turn {
    /// What the code has to be told.
    deliveries: Vec<Delivered>,
    /// It was begun.
    started: bool,
    /// What it asked for, if the code was run.
    asked: Option<Asked>,
    /// What history says that it asked for, if it is recorded.
    completed: Option<Completed>,
    recorded: Vec<Recorded>,
}

/// Something the code has to be told, and from which event.
struct Delivered {
    id: EventId,
    time: Time,
    what: Delivery,
}

impl Replay {
    /// A run that was told nothing yet. Feed it its history from the first event on.
    pub fn new(workflow: Arc<dyn Workflow>, run: RunId) -> Self {
        let shared = Rc::new(RefCell::new(Run::new(run)));
        Self {
            workflow,
            shared,
            program: Program::new(),
            turn: Turn::default(),
            last: EventId(0),
            closed: false,
            dead: None,
        }
    }

    /// Has this called, on whatever thread, when the code is woken by something that is in no
    /// history: whatever is asked of this next says so, as [`Fault::Intruded`].
    pub fn guard(&mut self, alarm: impl Fn() + Send + Sync + 'static) {
        self.program.guard(Arc::new(alarm));
    }

    /// Takes the next event of the run.
    ///
    /// # Errors
    /// If the code does not fit to history up to here, or panics on the way. A turn is checked
    /// when it is known to be whole, that is with the first event after it.
    pub fn feed(&mut self, event: &Event) -> Result<(), Fault> {
        self.alive(|replay| replay.take(event))
    }

    /// Checks everything that was fed, without waiting for the event after it.
    ///
    /// # Errors
    /// As [`feed`](Self::feed).
    pub fn settle(&mut self) -> Result<(), Fault> {
        self.alive(Self::settle_turn)
    }

    /// Runs the turn that was begun with the last event, a `TurnStarted`, and tells what the code
    /// asks for. `TurnCompleted` and the events of these commands are to be fed next. Runs that
    /// are begun have ids made of stable parts; they may be replaced before the commit.
    ///
    /// # Errors
    /// As [`feed`](Self::feed), and if no turn was begun. Nothing may be committed then.
    pub fn commands(&mut self) -> Result<Vec<Command>, Fault> {
        self.alive(|replay| {
            replay.settle_turn()?;
            if replay.turn.asked.is_none() {
                if !replay.turn.started {
                    return Err(replay.disorder("no turn was started", "the turn's commands"));
                }
                let asked = replay.run_turn(replay.last.plus(1), None)?;
                replay.turn.asked = Some(asked);
            }
            Ok(replay.turn.asked.as_ref().map(|asked| asked.commands.clone()).unwrap_or_default())
        })
    }

    /// Whether the code waits for anything that was fed since its last turn, or for the end of
    /// anything in `skipped`. If it does not, there need be no turn for it: whatever was fed is
    /// told, in order, at the beginning of the next one.
    pub fn is_awaited(&self, skipped: &Ranges) -> bool {
        let run = self.shared.borrow();
        // Once the body is over, the run waits for everything that has not stopped.
        let waits = |id| self.program.is_over() || run.waits_for(id);
        let awaited = |told: &Delivered| match told.what.end_of() {
            Some(target) => waits(target),
            None => !matches!(told.what, Delivery::ChildBegan(_)),
        };
        self.turn.deliveries.iter().any(awaited) || skipped.ids().any(waits)
    }

    /// Whether the code waits, and for nothing that history could bring: somebody keeps a waker of
    /// it, and nobody here does. After a restart nobody would have it, and the run would wait for
    /// ever. Code that waits for nothing at all waits to be cancelled.
    ///
    /// Where there is a doubt it says no: what else is awaited may feed a channel inside the code,
    /// and scopes and shields keep a waker of their own.
    pub fn is_stranded(&self) -> bool {
        if self.closed || self.dead.is_some() || self.program.is_late() {
            return false;
        }
        let (lent, run) = (self.program.lent(), self.shared.borrow());
        let is_over = self.program.is_over() && run.live > 0;
        let is_lent = lent > 0 && !is_over && !planted(Defect::ForeignWaker);
        is_lent && !run.awaits_history() && lent > run.kept_wakers()
    }

    /// Asks the code something. It answers from where its last whole turn left it.
    ///
    /// # Errors
    /// If there is no such query, or the code fails to answer it.
    #[expect(clippy::result_large_err, reason = "a failure is what a query may answer with")]
    pub fn query(
        &mut self,
        name: &str,
        input: Option<Payload>,
    ) -> Result<Option<Payload>, Failure> {
        self.settle().map_err(|fault| Failure::new(fault.to_string()).kind("Unanswerable"))?;
        let answer = run::with(&self.shared, |run| run.queries.get(&name.into()).cloned());
        let Some(answer) = answer else { return Err(self.unknown_query(name)) };
        guarded(|| answer(input)).map_err(|panic| *panic)?
    }

    /// True if the closing event was fed.
    pub fn is_closed(&self) -> bool {
        self.closed
    }

    fn unknown_query(&self, name: &str) -> Failure {
        let known = run::with(&self.shared, |run| {
            let names: Vec<_> = run.queries.keys().map(|name| format!("{name:?}")).collect();
            names.join(", ")
        });
        let known = match known.as_str() {
            "" => "it answers none".to_owned(),
            known => format!("it answers {known}"),
        };
        Failure::new(format!("the workflow has no query {name:?}: {known}")).kind("UnknownQuery")
    }

    /// Does something that may be the last that this replay does.
    fn alive<R>(&mut self, step: impl FnOnce(&mut Self) -> Result<R, Fault>) -> Result<R, Fault> {
        if let Some(fault) = &self.dead {
            return Err(fault.clone());
        }
        let result = match self.is_intruded() {
            true => Err(Fault::Intruded),
            false => step(self),
        };
        if let Err(fault) = &result {
            self.dead = Some(fault.clone());
            self.shared.borrow_mut().open = false;
            self.program.retire();
        }
        result
    }

    /// Somebody woke the code who is in no history. Of a run that is over that is no matter.
    fn is_intruded(&self) -> bool {
        !self.closed && self.program.is_intruded()
    }

    fn take(&mut self, event: &Event) -> Result<(), Fault> {
        self.check_order(event)?;
        self.last = event.id;
        if let Some(said) = Said::recorded(&event.kind) {
            return self.take_commanded(event, said);
        }
        self.settle_turn()?;
        match &event.kind {
            EventKind::TurnStarted(_) => self.turn.started = true,
            EventKind::TurnCompleted(_) => return self.take_completed(event),
            EventKind::TurnFailed(_) | EventKind::TurnTimedOut(_) => self.turn.started = false,
            kind if kind.closes() => self.closed = true,
            kind if self.turn.started => {
                let name = kind.name();
                return Err(self.disorder(name, "the end of the turn that was started"));
            }
            _ => {
                let (id, time) = (event.id, event.time);
                let told = Delivery::of(event).map(|what| Delivered { id, time, what });
                self.turn.deliveries.extend(told);
            }
        }
        Ok(())
    }

    fn check_order(&self, event: &Event) -> Result<(), Fault> {
        let name = event.kind.name();
        let wrong = |asked: &str| {
            let text = format!("{name}, event {}", event.id);
            Err(Mismatch::new(event.id, Difference::Disorder, text, asked).into())
        };
        match &event.kind {
            _ if self.closed => wrong("nothing: the run is closed"),
            EventKind::WorkflowStarted(started) if self.last.0 == 0 => {
                match started.rules.is_native() {
                    true => Ok(()),
                    false => wrong("a run under native rules"),
                }
            }
            _ if self.last.0 == 0 => wrong("WorkflowStarted, the first event"),
            EventKind::WorkflowStarted(_) => wrong("one beginning"),
            _ if event.id != self.last.plus(1) => wrong(&format!("event {}", self.last.plus(1))),
            _ => Ok(()),
        }
    }

    fn take_completed(&mut self, event: &Event) -> Result<(), Fault> {
        if !self.turn.started {
            return Err(self.disorder("TurnCompleted", "the start of a turn"));
        }
        self.turn.completed = Some(Completed::of(event));
        self.settle_if_whole()
    }

    fn take_commanded(&mut self, event: &Event, said: Said) -> Result<(), Fault> {
        if self.turn.completed.is_none() {
            let name = event.kind.name();
            return Err(self.disorder(name, "a turn that asks for it"));
        }
        self.turn.recorded.push(Recorded { id: event.id, said });
        if event.kind.closes() {
            self.settle_turn()?;
            self.closed = true;
            return Ok(());
        }
        self.settle_if_whole()
    }

    /// A live turn is whole when all that it asked for is recorded.
    fn settle_if_whole(&mut self) -> Result<(), Fault> {
        let asked = self.turn.asked.as_ref().map(|asked| asked.said.len());
        match asked == Some(self.turn.recorded.len()) {
            true => self.settle_turn(),
            false => Ok(()),
        }
    }

    /// Compares a recorded turn with what the code asks for; runs the code first, if it was not.
    fn settle_turn(&mut self) -> Result<(), Fault> {
        let Some(completed) = self.turn.completed.take() else { return Ok(()) };
        let recorded = std::mem::take(&mut self.turn.recorded);
        let asked = match self.turn.asked.take() {
            Some(asked) => asked,
            None => self.run_turn(completed.id, Some(recorded.clone()))?,
        };
        self.turn = Turn::default();
        compare(&completed, &recorded, &asked).map_err(|mut mismatch| {
            if let Some((number, name)) = &mut mismatch.target {
                let run = self.shared.borrow();
                *name = run.entries.get(number).map_or(name.clone(), |entry| entry.name.clone());
            }
            mismatch.into()
        })
    }

    /// Tells the code what it has to be told, and gathers what it asks for.
    fn run_turn(
        &mut self,
        completed: EventId,
        recorded: Option<Vec<Recorded>>,
    ) -> Result<Asked, Fault> {
        run::with(&self.shared, |run| {
            run.asking = Asking::of_turn(completed, recorded.map(Rc::from));
            run.freed.clear();
            run.open = true;
        });
        self.program.open(true);
        let mut late = self.program.is_late();
        let deliveries = std::mem::take(&mut self.turn.deliveries);
        for Delivered { id, time, what } in deliveries {
            run::with(&self.shared, |run| {
                run.at = id;
                run.now = run.now.max(time);
            });
            // What was put off comes before whatever this turn is about.
            let lets_go = std::mem::take(&mut late);
            if lets_go {
                self.program.drop_late_body()?;
            }
            let wakes = run::with(&self.shared, |run| run.deliver(id, &what))?;
            if self.tell(&what)? || wakes || lets_go {
                self.program.poll(&self.shared)?;
            }
        }
        // Without anything that has still to end there would be no turn after this one.
        if self.program.is_late() && run::with(&self.shared, |run| run.live == 0) {
            self.program.drop_late_body()?;
            self.program.poll(&self.shared)?;
        }
        let close = self.program.close(&self.shared);
        let asked = run::with(&self.shared, |run| {
            run.open = false;
            run.finish_turn(close)
        });
        self.program.open(false);
        match self.is_intruded() {
            true => Err(Fault::Intruded),
            false => Ok(asked),
        }
    }

    /// What concerns the program itself. True if the code begins with it: at once, or, where the
    /// run's first turn is delayed, with that turn.
    fn tell(&mut self, what: &Delivery) -> Result<bool, Fault> {
        let begins = match what {
            Delivery::Start(started) => started.delay.is_none_or(|delay| delay.0.is_zero()),
            Delivery::Turn { .. } => true,
            Delivery::Cancel(cause) => {
                self.program.cancel(&self.shared, cause)?;
                false
            }
            _ => false,
        };
        let ctx = Context::new(self.shared.clone());
        Ok(begins && self.program.begin_body(&*self.workflow, ctx)?)
    }

    fn disorder(&self, recorded: &str, asked: &str) -> Fault {
        Mismatch::new(self.last, Difference::Disorder, recorded, asked).into()
    }
}

impl Drop for Replay {
    /// The futures hold the state, and the state holds futures: here the knot comes undone.
    fn drop(&mut self) {
        self.program.retire();
        run::with(&self.shared, |run| (run.open, run.gone) = (false, true));
        self.program.drop_quietly();
        let mut run = self.shared.borrow_mut();
        let owned = (
            std::mem::take(&mut run.queries),
            std::mem::take(&mut run.scopes),
            std::mem::take(&mut run.adoptions),
        );
        drop(run);
        // A panic of the user's in here concerns nobody any more.
        let _ = guarded(|| drop(owned));
    }
}
