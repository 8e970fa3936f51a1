//! What must hold at the end, when faults have stopped and everything has settled.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use bowline_core::{Event, EventId, EventKind, Namespace, RunId, Time, WorkflowId};
use bowline_replay::{Fault, Replay};
use bowline_store::{Filter, Head, Store, Subtree};

use super::{Known, Observer, check::at_once, history::Story};
use crate::{
    host::KEPT,
    program::{
        code::{Edition, Flow, number},
        notes::{Notes, Said},
    },
    world::World,
};

/// How much later than at once something may be forgotten.
const SLACK: Duration = Duration::from_secs(5);

impl Observer {
    /// The heads of all runs that there are.
    pub(crate) fn heads(&self) -> Vec<Head> {
        let filter = Filter { namespace: Namespace(1), limit: 10_000, ..Filter::default() };
        at_once(self.rows.find(filter)).map(|page| page.runs).unwrap_or_default()
    }

    /// Why the world has not settled; none if it has.
    pub(crate) fn unsettled(&self) -> Option<String> {
        for head in self.heads() {
            let name = self.known.lock().name(head.run);
            if head.status.is_open() {
                let parked = head
                    .parked
                    .map_or(String::new(), |parked| format!(", parked: {}", parked.reason));
                return Some(format!("{name} is {:?}{parked}", head.status));
            }
            let left = at_once(self.rows.leftovers(Subtree::Run(head.run))).ok()?;
            if let Some(line) = left.attempts.iter().find(|line| line.running) {
                return Some(format!("activity {} of {name} runs by its row", line.activity));
            }
            if left.queued > 0 || left.unswept > 0 {
                return Some(format!(
                    "{name} has {} queued, {} unswept",
                    left.queued, left.unswept
                ));
            }
        }
        let known = self.known.lock();
        let probe = known.running.values().next()?;
        let name = known.name(probe.run);
        Some(format!("code of activity {} of {name} runs on {}", probe.activity, probe.life))
    }

    /// A run whose code wants to go on as a new one, and that waits for nothing, has done so.
    pub(crate) fn hung(&self, world: &Arc<World>) {
        let open: Vec<(RunId, Vec<Event>)> = {
            let known = self.known.lock();
            let open = known.runs.iter().filter(|(_, own)| !own.closed && own.waits_for_nothing());
            open.map(|(run, story)| (*run, story.events.clone())).collect()
        };
        for (run, events) in open {
            let Ok(said) = said(world, run, &events) else { continue };
            if !said.foreign.is_empty() {
                continue;
            }
            if said.continues && said.awaits.is_empty() {
                let name = self.known.lock().name(run);
                let what = format!("{name} wants to go on as a new run, and does not");
                self.broke("whoever goes on as a new run does so", what);
            }
        }
    }

    /// A run whose code waits for what no history has is parked; and one that the newest code can
    /// go on with is not.
    pub(crate) fn parked(&self, world: &Arc<World>, now: Time) {
        for head in self.heads().into_iter().filter(|head| head.status.is_open()) {
            let (name, events) = {
                let known = self.known.lock();
                let Some(story) = known.runs.get(&head.run) else { continue };
                (story.name.clone(), story.events.clone())
            };
            let newest = said_by(Edition::default(), world, head.run, &events);
            if self.known.lock().intruded.contains_key(&head.run) {
                let what = format!("{name} was woken from elsewhere, and nobody says so");
                self.broke("what is woken from elsewhere is parked", what);
            }
            match (newest, head.why_parked()) {
                // Its pause is long after many tries.
                (_, Some(parked)) if parked.next.is_some_and(|next| next.after(SLACK) > now) => {}
                // What is parked for being woken from elsewhere may be woken so again.
                (Ok(said), Some(parked))
                    if said.foreign.is_empty() && !world.is_shuffled() && !world.is_foreign() =>
                {
                    let what = format!("{name} stays parked: {}", parked.reason);
                    self.broke("mended code goes on by itself", what);
                }
                _ => {}
            }
        }
    }

    /// Whatever has expired is gone, also while its chain goes on.
    pub(crate) fn kept(&self, now: Time) {
        let heads = self.heads();
        for head in &heads {
            let Some(closed) = head.closed_at.filter(|at| at.after(KEPT * 2 + SLACK) < now) else {
                continue;
            };
            let known = self.known.lock();
            let tree = known.tree(head.run);
            let receipts = known.receipts.iter().map(|(_, run)| run).chain(&known.told);
            let is_told = known.deleted.contains(&head.run)
                || receipts
                    .into_iter()
                    .any(|run| known.tree(*run).contains(&head.run) || tree.contains(run));
            // The children that were open where a fork begins are its own.
            let mut below = known.below_of(head.run);
            below.extend(head.forked.into_iter().flat_map(|(from, _)| known.below_of(from)));
            // What has just closed below is noticed by the next sweep.
            let has_closed = |other: &Head| other.closed_at.is_some_and(|at| at.after(SLACK) < now);
            let is_open = |other: &Head| !has_closed(other) && below.contains(&other.run);
            let name = known.name(head.run);
            drop(known);
            // So is code that has just ended.
            let is_busy = |run: &RunId| self.is_busy(*run) || self.rests_since(*run, SLACK);
            let is_busy = below.iter().chain([&head.run]).any(is_busy);
            if !is_told && !heads.iter().any(is_open) && !is_busy {
                let what = format!("{name} was closed at {closed:?}, and is still there");
                return self.broke("what has expired is forgotten", what);
            }
        }
    }

    /// Whether code of a run has ended, and not longer ago than this.
    fn rests_since(&self, run: RunId, span: Duration) -> bool {
        let ended = self.known.lock().rested.get(&run).copied();
        ended.is_some_and(|at| at + span > self.now())
    }

    /// Whatever should not be there at all.
    pub(crate) fn orphans(&self) {
        match at_once(self.rows.leftovers(Subtree::Orphans)) {
            Ok(left) if left.is_empty() => {}
            Ok(left) => {
                let what = format!(
                    "{} runs, {} attempts, {} queued",
                    left.runs.len(),
                    left.attempts.len(),
                    left.queued
                );
                self.broke("there are no orphans", what);
            }
            Err(error) => self.broke("there are no orphans", error.to_string()),
        }
    }

    /// Every rule about what was acknowledged and what was written.
    pub(crate) fn judge(&self, world: &Arc<World>) {
        let histories: Vec<(RunId, Vec<Event>)> = {
            let known = self.known.lock();
            known.runs.iter().map(|(run, story)| (*run, story.events.clone())).collect()
        };
        let mut says = BTreeMap::new();
        for (run, events) in histories {
            match said(world, run, &events) {
                Ok(said) => drop(says.insert(run, said)),
                Err(fault) => {
                    let name = self.known.lock().name(run);
                    self.broke("every history replays", format!("{name}: {fault}"));
                }
            }
        }
        let known = self.known.lock();
        let found: Vec<_> = [
            known.refused_child(),
            known.lost_signal(&says),
            known.overtaken(),
            known.unrefunded(&says),
            known.robbed(&says),
            known.swapped(&says),
            known.unasked(),
            known.unanswered(),
        ]
        .into_iter()
        .flatten()
        .collect();
        drop(known);
        for (rule, what) in found {
            self.broke(rule, what);
        }
    }
}

/// What the code of a run says about itself when its history is replayed.
fn said(world: &Arc<World>, run: RunId, events: &[Event]) -> Result<Said, Fault> {
    let mut first = None;
    for (drifts, turned) in [(false, false), (false, true), (true, false), (true, true)] {
        match said_by(Edition { drifts, turned, ..Edition::default() }, world, run, events) {
            Err(Fault::Mismatch(mismatch)) => {
                first.get_or_insert(Fault::Mismatch(mismatch));
            }
            other => return other,
        }
    }
    Err(first.expect("every edition of the code was tried"))
}

/// The same, by one edition of the code.
fn said_by(
    edition: Edition,
    world: &Arc<World>,
    run: RunId,
    events: &[Event],
) -> Result<Said, Fault> {
    let notes = Arc::new(Notes::default());
    let flow = Flow { world: world.clone(), notes: notes.clone(), edition };
    let mut replay = Replay::new(Arc::new(flow), run);
    events.iter().try_for_each(|event| replay.feed(event))?;
    replay.settle()?;
    Ok(notes.said())
}

type Says = BTreeMap<RunId, Said>;

type Found = Option<(&'static str, String)>;

impl Known {
    /// Children have ids of their own: none is ever refused, unless a child of an earlier chain of
    /// the same workflow id is still there.
    fn refused_child(&self) -> Found {
        let begins = |event: &Event, id: &WorkflowId| match &event.kind {
            EventKind::ChildInitiated(child) => child.spec.workflow_id == *id,
            _ => false,
        };
        self.runs.values().find_map(|story| {
            let others = || self.runs.values().filter(|other| other.first != story.first);
            let refused = story.events.iter().find_map(|event| match &event.kind {
                EventKind::ChildStartFailed(failed) => {
                    let id = &failed.workflow_id;
                    let is_taken =
                        others().any(|other| other.events.iter().any(|own| begins(own, id)));
                    Some(event.id).filter(|_| !is_taken)
                }
                _ => None,
            })?;
            let what = format!("event {refused} of {} refuses a child", story.name);
            Some(("a child with an id of the engine's own is never refused", what))
        })
    }

    fn links(&self, run: RunId) -> Vec<RunId> {
        let first = self.runs.get(&run).map_or(run, |story| story.first);
        let links = self.order.iter().filter(|own| self.runs[own].first == first);
        links.copied().collect()
    }

    fn signalled(&self, run: RunId, signal: u64) -> Option<EventId> {
        let own = |event: &Event| match &event.kind {
            EventKind::WorkflowSignalled(own) => own.input.as_ref().and_then(number),
            _ => None,
        };
        let events = &self.runs.get(&run)?.events;
        events.iter().find(|event| own(event) == Some(signal)).map(|event| event.id)
    }

    /// An acknowledged signal is in history; and a run that another one goes on for has received
    /// it, or handed it on, unless it was ended: a run that follows is a fork then.
    fn lost_signal(&self, says: &Says) -> Found {
        let rule = "an acknowledged signal is never lost";
        for (signal, (run, _)) in &self.signals {
            if self.deleted.contains(run) {
                continue;
            }
            let links = self.links(*run);
            let told: Vec<RunId> = links
                .iter()
                .copied()
                .filter(|link| self.signalled(*link, *signal).is_some())
                .collect();
            let name = self.name(*run);
            let Some(last) = told.last() else {
                return Some((rule, format!("signal {signal} to {name} is in no history")));
            };
            let hears = |link| says.get(link).is_some_and(|said| said.received.contains(signal));
            let heard = told.iter().any(hears);
            let is_ended = self.runs.get(last).is_some_and(Story::is_stopped);
            if !heard && !is_ended && links.last() != Some(last) {
                let last = self.name(*last);
                let what = format!("signal {signal} was not received in {last}, nor handed on");
                return Some((rule, what));
            }
        }
        None
    }

    /// What was acknowledged first is heard first: the end of code that ended after a signal was
    /// acknowledged does not overtake that signal.
    fn overtaken(&self) -> Found {
        for (signal, (run, step)) in &self.signals {
            let Some(at) = self.signalled(*run, *signal) else { continue };
            let story = &self.runs[run];
            for event in story.events.iter().filter(|event| event.id < at) {
                let (ended, started) = match &event.kind {
                    EventKind::ActivityCompleted(end) => (end.activity, end.started),
                    // Its worker was lost, and its code was waited for no longer.
                    EventKind::ActivityFailed(end) if end.failure.kind == "worker_lost" => continue,
                    EventKind::ActivityFailed(end) => (end.activity, end.started),
                    _ => continue,
                };
                // One that was taken for lost may end long after the attempt that counts.
                let Some(attempt) = story.attempt(started) else { continue };
                if self.ended.get(&(*run, ended, attempt)).is_some_and(|end| end > step) {
                    let name = self.name(*run);
                    let what = format!(
                        "activity {ended} of {name} ended after signal {signal} was acknowledged, \
                         and is heard before it"
                    );
                    return Some(("what was acknowledged first is heard first", what));
                }
            }
        }
        None
    }

    /// Whoever calls something is given its answer, not another one's.
    fn swapped(&self, says: &Says) -> Found {
        says.iter().find_map(|(run, said)| {
            let part = said.swapped.first()?;
            let what = format!("part {part} of {} has the answer of another", self.name(*run));
            Some(("a call is given its own answer", what))
        })
    }

    /// An acknowledged cancel is in history, unless its run was closed from outside first.
    fn unasked(&self) -> Found {
        use EventKind as K;
        let says_so = |event: &Event| {
            matches!(
                event.kind,
                K::WorkflowCancelRequested(_) | K::WorkflowTerminated(_) | K::WorkflowTimedOut(_)
            )
        };
        self.runs.values().find_map(|story| {
            let owes = story.owes_cancel && !story.events.iter().any(says_so);
            let what = format!("the cancel of {} is in no history", story.name);
            owes.then_some(("an acknowledged cancel is never lost", what))
        })
    }

    /// An update that was answered is in history, with its answer.
    fn unanswered(&self) -> Found {
        self.updates.iter().find_map(|(op, run)| {
            let id = format!("op{op}");
            let is_it = |event: &Event| match &event.kind {
                EventKind::UpdateCompleted(done) => done.id.as_str() == id,
                _ => false,
            };
            let links = self.links(*run);
            let lost = !links.iter().any(|link| self.runs[link].events.iter().any(is_it));
            let what = format!("the answer to update {op} of {} is in none", self.name(*run));
            lost.then_some(("an answered update is in history", what))
        })
    }

    /// A deadline that rings after the body has succeeded takes no value away.
    fn robbed(&self, says: &Says) -> Found {
        says.iter().find_map(|(run, said)| {
            let scope = said.robbed.first()?;
            let what = format!(
                "scope {scope} of {} had its value, and ends by its deadline",
                self.name(*run)
            );
            Some(("a deadline takes nothing away that is there", what))
        })
    }

    /// A clean-up is told of everything inside its scope that has completed.
    fn unrefunded(&self, says: &Says) -> Found {
        for (run, said) in says {
            let Some(story) = self.runs.get(run) else { continue };
            for (scope, completed) in &said.refunds {
                let is_inside = |number: &EventId| said.inside.get(number) == Some(scope);
                let forgotten = story.events.iter().find_map(|event| match &event.kind {
                    EventKind::ActivityCompleted(end) => Some(end.activity)
                        .filter(|number| is_inside(number) && !completed.contains(number)),
                    _ => None,
                });
                if let Some(number) = forgotten {
                    let what = format!(
                        "activity {number} of {} completed inside scope {scope}, and its clean-up \
                         was not told",
                        story.name
                    );
                    return Some(("a clean-up is told of everything that completed", what));
                }
            }
        }
        None
    }
}
