//! What must hold at the end, when faults have stopped and everything has settled.

use std::{collections::BTreeSet, sync::Arc};

use bowline_core::{Event, EventId, EventKind, Namespace, RunId};
use bowline_replay::{Replay, Workflow};
use bowline_store::{Filter, Head, Store, Subtree};

use super::{Known, Observer, check::at_once};
use crate::program::code::number;

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
    pub(crate) fn judge(&self, workflow: &Arc<dyn Workflow>) {
        let known = self.known.lock();
        let found: Vec<_> = [known.refused_child(), known.lost_signal(), known.overtaken()]
            .into_iter()
            .chain([known.unrefunded()])
            .flatten()
            .collect();
        let histories: Vec<(RunId, Vec<Event>)> =
            known.runs.iter().map(|(run, story)| (*run, story.events.clone())).collect();
        drop(known);
        for (rule, what) in found {
            self.broke(rule, what);
        }
        for (run, events) in histories {
            let mut replay = Replay::new(workflow.clone(), run);
            let fault = events.iter().find_map(|event| replay.feed(event).err());
            if let Some(fault) = fault {
                let name = self.known.lock().name(run);
                self.broke("every history replays", format!("{name}: {fault}"));
            }
        }
    }
}

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
    fn lost_signal(&self) -> Found {
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
            let heard = told.iter().any(|link| self.received.contains(&(*link, *signal)));
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

    /// A clean-up is told of everything inside its scope that has completed.
    fn unrefunded(&self) -> Found {
        for ((run, scope), completed) in &self.refunds {
            let Some(story) = self.runs.get(run) else { continue };
            let inside: BTreeSet<EventId> = self
                .inside
                .iter()
                .filter(|((own, _), around)| own == run && *around == scope)
                .map(|((_, number), _)| *number)
                .collect();
            let done = story.events.iter().find_map(|event| match &event.kind {
                EventKind::ActivityCompleted(end) if inside.contains(&end.activity) => {
                    Some(end.activity).filter(|number| !completed.contains(number))
                }
                _ => None,
            });
            if let Some(number) = done {
                let what = format!(
                    "activity {number} of {} completed inside scope {scope}, and its clean-up was \
                     not told",
                    story.name
                );
                return Some(("a clean-up is told of everything that completed", what));
            }
        }
        None
    }
}
