//! What is left of a subtree.

use std::collections::{BTreeSet, VecDeque};

use bowline_core::{EventId, Message, ParentClose, RunId};

use super::{
    Data,
    row::{Activity, Run},
};
use crate::{AttemptLine, Error, Leftovers, Result, RunLine, Subtree};

impl Data {
    pub(super) fn leftovers(&self, subtree: &Subtree) -> Result<Leftovers> {
        match subtree {
            Subtree::Run(run) => {
                self.rows.run(*run)?;
                Ok(self.below(*run))
            }
            Subtree::Receipt(id) => {
                let receipt = self.rows.receipts.get(id).ok_or(Error::Missing("receipt"))?;
                Ok(Leftovers { receipt: Some(receipt.clone()), ..self.below(receipt.run) })
            }
            Subtree::Orphans => Ok(self.orphans()),
        }
    }

    /// The target and everything below it, parents before children.
    pub(super) fn subtree(&self, target: RunId) -> Vec<RunId> {
        let (mut found, mut seen) = (Vec::new(), BTreeSet::from([target]));
        let mut next = VecDeque::from([target]);
        while let Some(run) = next.pop_front() {
            let Some(row) = self.rows.runs.get(&run) else { continue };
            found.push(run);
            if run != target && self.left_alone(row) {
                continue;
            }
            let children = self.rows.children.get(&run).into_iter().flatten();
            let below = row.head.successor.iter().chain(children);
            next.extend(below.copied().filter(|run| seen.insert(*run)));
        }
        found
    }

    fn below(&self, target: RunId) -> Leftovers {
        let mut left = Leftovers::default();
        for run in self.subtree(target) {
            let row = &self.rows.runs[&run];
            left.runs.push(self.run_line(row));
            if run != target && self.left_alone(row) {
                continue;
            }
            let started = row.activities.iter().filter(|(_, own)| listed(own));
            left.attempts.extend(started.map(|(id, own)| self.attempt_line(run, *id, own)));
            let marked = row.queued().filter(|(_, marked)| *marked).count() as u64;
            left.unswept += marked;
            left.queued += row.queued().count() as u64 - marked;
            left.never_started += row.never_started;
            left.unread += row.inbox.len() as u64;
        }
        left.bound();
        left
    }

    /// Whatever should not be there at all.
    fn orphans(&self) -> Leftovers {
        let mut found = Leftovers::default();
        for row in self.rows.runs.values() {
            if row.head.status.is_open() {
                found
                    .runs
                    .extend(Some(row).filter(|row| self.orphan(row)).map(|r| self.run_line(r)));
                continue;
            }
            let left = row.left();
            let untold = |id: EventId| row.marked(id).is_none() && !left.contains(id);
            found.queued += row.queued().filter(|(id, _)| untold(*id)).count() as u64;
            let started = row.activities.iter().filter(|(id, own)| {
                own.live.started().is_some() && own.live.cancel.is_none() && untold(**id)
            });
            let run = row.head.run;
            found.attempts.extend(started.map(|(id, own)| self.attempt_line(run, *id, own)));
        }
        found.bound();
        found
    }

    /// Code dies with its process: what leaked in another one does not run any more.
    fn attempt_line(&self, run: RunId, activity: EventId, own: &Activity) -> AttemptLine {
        let leaked = own.live.adrift.runs_in(self.index.epoch());
        AttemptLine { leaked, ..AttemptLine::of(run, activity, own.spec.name.clone(), &own.live) }
    }

    /// An open child whose closed parent wanted it told, and which nobody told.
    fn orphan(&self, row: &Run) -> bool {
        let stops =
            |message: &Message| matches!(message, Message::Cancel(_) | Message::Terminate(_));
        let told = row.inbox.values().any(|received| stops(&received.message));
        let asked = row.head.cancel.is_some() || told;
        self.parent_closed(row) && !asked && self.rows.policy(row) != ParentClose::Abandon
    }

    fn left_alone(&self, row: &Run) -> bool {
        let open = row.head.status.is_open() && row.head.cancel.is_none();
        open && self.parent_closed(row) && self.rows.policy(row) == ParentClose::Abandon
    }

    fn parent_closed(&self, row: &Run) -> bool {
        let parent = row.head.parent.and_then(|(parent, _)| self.rows.runs.get(&parent));
        parent.is_some_and(|parent| !parent.head.status.is_open())
    }

    fn run_line(&self, row: &Run) -> RunLine {
        let head = &row.head;
        RunLine {
            run: head.run,
            workflow_id: head.workflow_id.clone(),
            name: head.name.clone(),
            status: head.status,
            parent: head.parent.map(|(run, event)| (run, event, self.rows.policy(row))),
            successor: head.successor,
            cancel: head.cancel.clone(),
            closed_at: head.closed_at,
        }
    }
}

/// A worker has it; or it was cancelled, after one had; or its code runs on.
fn listed(own: &Activity) -> bool {
    own.live.started().is_some() || own.live.cancel.is_some() || !own.live.adrift.is_empty()
}
