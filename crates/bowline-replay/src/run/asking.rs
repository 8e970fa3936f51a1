//! What the code asks for in one turn, and under which numbers.
//!
//! In:    commands, in the order of asking; drops and scope steps, as they come.
//! Out:   the turn's commands: what was asked, then scopes, what was let go of, all drops in an
//!        order of their own, and the closing command last.

use std::{
    collections::{BTreeMap, BTreeSet},
    rc::Rc,
};

use bowline_core::{
    Cancelled, Cause, Command, CompleteUpdate, ContinueAsNew, Decision, EventId, Failure, Ranges,
    RejectUpdate, RunId, ScopeId, ScopeStep, UpdateAnswer, UpdateId, UpdateRequest,
};

use super::{Run, entry::What};
use crate::{
    expect::{Recorded, Said},
    random::run_id,
};

/// What the open turn has asked for so far.
#[derive(Default)]
pub(crate) struct Asking {
    /// The turn's `TurnCompleted`, written or to be written.
    completed: EventId,
    /// What history says that it asked for; nothing if the turn is live.
    recorded: Option<Rc<[Recorded]>>,
    /// How many of those the code has asked for again.
    at: usize,
    /// How many events were asked for.
    events: u64,
    /// Which of them are calls whose input was mended.
    mended: Vec<usize>,
    /// How many recorded patches the code does not ask for any more.
    passed: u64,
    commands: Vec<Command>,
    pub(crate) steps: Vec<ScopeStep>,
    pub(crate) dropped: BTreeMap<EventId, Dropped>,
    /// What was dropped while nobody said why, in the order of dropping.
    pub(crate) plain: Vec<EventId>,
    pub(crate) detached: BTreeSet<EventId>,
    /// Signals that the code received.
    pub(crate) received: BTreeSet<EventId>,
    /// Accepted updates that were dropped without an answer, by their acceptance.
    pub(crate) unanswered: BTreeMap<EventId, UpdateRequest>,
    /// Offered updates that were dropped without a decision.
    pub(crate) undecided: BTreeMap<UpdateId, UpdateRequest>,
}

/// A thing that was cancelled in this turn.
pub(crate) struct Dropped {
    pub(crate) what: What,
    pub(crate) scope: ScopeId,
    pub(crate) cause: Rc<Cause>,
}

/// All that a turn asked for.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    pub(crate) commands: Vec<Command>,
    /// One for each event that must follow, in order.
    pub(crate) said: Vec<Said>,
    pub(crate) cancels: Ranges,
    pub(crate) detached: Ranges,
    /// Updates that were refused, which leaves no event.
    pub(crate) refused: Vec<UpdateId>,
    pub(crate) steps: Vec<ScopeStep>,
}

impl Asking {
    /// What a turn asks for: nothing yet.
    pub(crate) fn of_turn(completed: EventId, recorded: Option<Rc<[Recorded]>>) -> Self {
        Self { completed, recorded, ..Self::default() }
    }

    pub(crate) fn ask(&mut self, command: Command) -> EventId {
        let number = match Said::asked(&command) {
            Some(said) => self.number(&said),
            None => EventId(0),
        };
        self.commands.push(command);
        number
    }

    /// The call that was just asked for was mended.
    pub(crate) fn mend(&mut self) {
        self.mended.extend(self.events.checked_sub(1).map(|last| last as usize));
    }

    /// The child that was just asked for is to have this run id.
    pub(crate) fn set_run(&mut self, id: RunId) {
        if let Some(Command::StartChild(_, run)) = self.commands.last_mut() {
            *run = id;
        }
    }

    /// Whether this turn says `patch`: a live one does, a recorded one if it did.
    pub(crate) fn says_patch(&self, patch: &str) -> bool {
        let Some(recorded) = &self.recorded else { return true };
        recorded[self.at..].iter().any(|recorded| recorded.said.patch() == Some(patch))
    }

    /// The number of the event that is asked for next. One turn's events stand in the order of
    /// asking, right behind its `TurnCompleted`, so it is known before the commit.
    fn number(&mut self, said: &Said) -> EventId {
        if let Some(recorded) = &self.recorded {
            let passed = recorded[self.at..]
                .iter()
                .take_while(|recorded| recorded.said.patch().is_some() && recorded.said != *said)
                .count();
            self.passed += passed as u64;
            self.at = (self.at + passed + 1).min(recorded.len());
        }
        let number = self.next_number();
        self.events += 1;
        number
    }

    fn next_number(&self) -> EventId {
        self.completed.plus(1 + self.events + self.passed)
    }

    /// The drops as decisions. Activities are one decision for each scope and cause. Timers and
    /// children have events of their own, and those stand in the order of their numbers.
    pub(super) fn decisions(&self) -> Vec<Decision> {
        let mut decisions: Vec<Decision> = Vec::new();
        let mut of_scope: BTreeMap<ScopeId, Vec<usize>> = BTreeMap::new();
        let mut causes: Vec<Rc<Cause>> = Vec::new();
        let mut last_event = None;
        for (number, dropped) in &self.dropped {
            let what = match dropped.what {
                What::Activity => Cancelled::Activities,
                What::Timer => Cancelled::Timers,
                What::Child => Cancelled::Children,
                What::External => unreachable!("requests to others are never dropped"),
            };
            let same = |at: &usize| {
                let decision = &decisions[*at];
                decision.what == what
                    && decision.scope == dropped.scope
                    && (Rc::ptr_eq(&causes[*at], &dropped.cause)
                        || decision.cause == *dropped.cause)
            };
            let near = of_scope.entry(dropped.scope).or_default();
            let known = match what {
                Cancelled::Activities => near.iter().copied().find(same),
                _ => last_event.filter(same),
            };
            let at = known.unwrap_or(decisions.len());
            if known.is_none() {
                let (scope, cause) = (dropped.scope, Cause::clone(&dropped.cause));
                decisions.push(Decision { scope, what, targets: Ranges::default(), cause });
                causes.push(dropped.cause.clone());
                near.push(at);
            }
            decisions[at].targets.push(*number);
            if what != Cancelled::Activities {
                last_event = Some(at);
            }
        }
        decisions
    }
}

/// How a run closes.
pub(crate) enum Close {
    With(Command),
    Continue(Box<ContinueAsNew>),
}

impl Run {
    /// The turn is at its end: everything that it asked for, in order.
    pub(crate) fn finish_turn(&mut self, close: Option<Close>) -> Asked {
        self.answer_updates();
        let decisions = self.decisions();
        self.wide_is_told();
        self.follow_up(&decisions);
        let mut asking = std::mem::take(&mut self.asking);
        let cancels = targets(&decisions);
        let detached: Ranges = asking.detached.iter().copied().collect();
        let mut commands = std::mem::take(&mut asking.commands);
        if !asking.steps.is_empty() {
            commands.push(Command::Scopes(asking.steps.clone()));
        }
        if !detached.is_empty() {
            commands.push(Command::Detach(detached.clone()));
        }
        if !asking.received.is_empty() {
            commands.push(Command::Receive(asking.received.iter().copied().collect()));
        }
        if !decisions.is_empty() {
            commands.push(Command::Drop(decisions));
        }
        match close {
            Some(Close::With(command)) => commands.push(command),
            Some(Close::Continue(next)) => {
                let run = run_id(self.id, asking.next_number());
                commands.push(Command::ContinueAsNew(next, run));
            }
            None => {}
        }
        let mut said = Said::all(&commands);
        asking.mended.iter().for_each(|call| said[*call].mend());
        let refused = commands.iter().filter_map(|command| match command {
            Command::RejectUpdate(reject) => Some(reject.request.id.clone()),
            _ => None,
        });
        let refused = refused.collect();
        Asked { commands, said, cancels, detached, refused, steps: asking.steps }
    }

    /// Updates that nobody can answer any more are answered, in an order that does not depend on
    /// the order of dropping.
    fn answer_updates(&mut self) {
        let failure =
            || Failure::new("the update was dropped without an answer").kind("Unanswered");
        for request in std::mem::take(&mut self.asking.undecided).into_values() {
            let reject = RejectUpdate { request, failure: failure() };
            self.asking.ask(Command::RejectUpdate(Box::new(reject)));
        }
        for request in std::mem::take(&mut self.asking.unanswered).into_values() {
            let done = CompleteUpdate { request, answer: UpdateAnswer::Failed(failure()) };
            self.asking.ask(Command::CompleteUpdate(Box::new(done)));
        }
    }

    /// Timers are over with the turn that drops them, and the cancel of a child gets an answer.
    fn follow_up(&mut self, decisions: &[Decision]) {
        for decision in decisions.iter().filter(|d| d.what != Cancelled::Activities) {
            for target in decision.targets.ids() {
                let said = Said::cancel(decision.what, target);
                let number = self.asking.number(&said);
                match decision.what {
                    Cancelled::Timers => self.unset(target),
                    _ => self.enlist_answer(number),
                }
            }
        }
    }
}

/// The activities that were cancelled, whatever for.
pub(crate) fn targets(decisions: &[Decision]) -> Ranges {
    let activities = decisions.iter().filter(|d| d.what == Cancelled::Activities);
    activities.flat_map(|decision| decision.targets.ranges()).copied().collect()
}
