//! What must hold at the end, when faults have stopped and everything has settled.

use std::{collections::BTreeMap, sync::Arc};

use bowline_core::{Event, EventId, EventKind, Namespace, RunId};
use bowline_replay::{Fault, Replay};
use bowline_store::{Filter, Head, Store, Subtree};

use super::{Known, Observer, check::at_once};
use crate::{
    program::{
        code::{Flow, number},
        notes::{Notes, Said},
    },
    world::World,
};

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
                    .quarantine
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
            if said.continues && said.awaits.is_empty() {
                let name = self.known.lock().name(run);
                let what = format!("{name} wants to go on as a new run, and does not");
                self.broke("whoever goes on as a new run does so", what);
            }
        }
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
    let notes = Arc::new(Notes::default());
    let flow = Flow { world: world.clone(), notes: notes.clone() };
    let mut replay = Replay::new(Arc::new(flow), run);
    events.iter().try_for_each(|event| replay.feed(event))?;
    replay.settle()?;
    Ok(notes.said())
}

type Says = BTreeMap<RunId, Said>;

type Found = Option<(&'static str, String)>;

impl Known {
    /// Children have ids of their own: none is ever refused.
    fn refused_child(&self) -> Found {
        self.runs.values().find_map(|story| {
            let refused = story.events.iter().find_map(|event| match &event.kind {
                EventKind::ChildStartFailed(_) => Some(event.id),
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
    /// it, or handed it on.
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
            if !heard && links.last() != Some(last) {
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
            for event in self.runs[run].events.iter().filter(|event| event.id < at) {
                let ended = match &event.kind {
                    EventKind::ActivityCompleted(end) => end.activity,
                    EventKind::ActivityFailed(end) => end.activity,
                    _ => continue,
                };
                if self.ended.get(&(*run, ended)).is_some_and(|end| end > step) {
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
