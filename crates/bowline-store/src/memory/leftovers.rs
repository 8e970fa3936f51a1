//! What is left of a subtree.

use std::collections::{BTreeSet, VecDeque};

use bowline_core::{EventId, Message, ParentClose, RunId};

use super::{
    Data,
    row::{Activity, Run},
};
use crate::{AttemptLine, Error, Leftovers, Result, RunLine, Subtree};

/// A run of a subtree.
#[derive(Clone, Copy, Debug)]
pub(super) struct Member {
    pub(super) run: RunId,
    /// Its parent, or the fork that inherited it, and the number that it has there.
    above: Option<(RunId, EventId)>,
    /// It was left alone when that closed.
    alone: bool,
}

impl Data {
    pub(super) fn leftovers(&self, subtree: &Subtree) -> Result<Leftovers> {
        match subtree {
            Subtree::Run(run) => {
                self.rows.run(*run)?;
                Ok(self.below(*run))
            }
            // Nothing here takes long: an outline is the whole.
            Subtree::Receipt(id) | Subtree::Outline(id) => {
                let receipt = self.rows.receipts.get(id).ok_or(Error::Missing("receipt"))?;
                Ok(Leftovers { receipt: Some(receipt.clone()), ..self.below(receipt.run) })
            }
            Subtree::Orphans => Ok(self.orphans()),
        }
    }

    /// The target and everything below it, parents before children.
    pub(super) fn subtree(&self, target: RunId) -> Vec<Member> {
        let first = Member { run: target, above: None, alone: false };
        let (mut found, mut seen) = (Vec::new(), BTreeSet::from([target]));
        let mut next = VecDeque::from([first]);
        while let Some(member) = next.pop_front() {
            let Some(row) = self.rows.runs.get(&member.run) else { continue };
            let above = member.above.or(row.head.parent);
            let alone = member.run != target && self.left_alone(row, above);
            found.push(Member { above, alone, ..member });
            if alone {
                continue;
            }
            let successor = row.head.successor.map(|run| Member { run, ..member });
            let below = successor.into_iter().chain(self.children(row));
            next.extend(below.filter(|member| seen.insert(member.run)));
        }
        found
    }

    /// The children of a run, and those that it inherited from the run that it is a fork of.
    fn children(&self, row: &Run) -> Vec<Member> {
        let of = |parent: RunId| self.rows.children.get(&parent).into_iter().flatten().copied();
        let own = |run| Member { run, above: None, alone: false };
        let mut children: Vec<_> = of(row.head.run).map(own).collect();
        let (mut from, mut cut) = (row.head.forked, EventId(u64::MAX));
        while let Some((old, at)) = from {
            cut = cut.min(at);
            for run in of(old) {
                let parent = self.rows.runs.get(&run).and_then(|row| row.head.parent);
                if let Some((_, event)) = parent.filter(|(_, event)| *event <= cut) {
                    children.push(Member { run, above: Some((row.head.run, event)), alone: false });
                }
            }
            from = self.rows.runs.get(&old).and_then(|row| row.head.forked);
        }
        children
    }

    fn below(&self, target: RunId) -> Leftovers {
        let mut left = Leftovers::default();
        for Member { run, above, alone } in self.subtree(target) {
            let row = &self.rows.runs[&run];
            left.runs.push(self.run_line(row, above));
            if alone {
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
                let line = |row: &Run| self.run_line(row, row.head.parent);
                found.runs.extend(Some(row).filter(|row| self.orphan(row)).map(line));
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
        let leaked = self.roll.there().any(|epoch| own.live.adrift.runs_in(Some(epoch)));
        AttemptLine { leaked, ..AttemptLine::of(run, activity, own.spec.name.clone(), &own.live) }
    }

    /// An open child whose closed parent wanted it told, and which nobody told.
    fn orphan(&self, row: &Run) -> bool {
        let stops =
            |message: &Message| matches!(message, Message::Cancel(_) | Message::Terminate(_));
        let told = row.inbox.values().any(|received| stops(&received.message));
        let asked = row.head.cancel.is_some() || told;
        let above = row.head.parent;
        let told = asked || self.rows.policy(row, above) == ParentClose::Abandon;
        self.parent_closed(above) && !told
    }

    fn left_alone(&self, row: &Run, above: Option<(RunId, EventId)>) -> bool {
        let open = row.head.status.is_open() && row.head.cancel.is_none();
        open && self.parent_closed(above) && self.rows.policy(row, above) == ParentClose::Abandon
    }

    fn parent_closed(&self, above: Option<(RunId, EventId)>) -> bool {
        let parent = above.and_then(|(parent, _)| self.rows.runs.get(&parent));
        parent.is_some_and(|parent| !parent.head.status.is_open())
    }

    fn run_line(&self, row: &Run, above: Option<(RunId, EventId)>) -> RunLine {
        let head = &row.head;
        RunLine {
            run: head.run,
            workflow_id: head.workflow_id.clone(),
            name: head.name.clone(),
            status: head.status,
            parent: above.map(|(run, event)| (run, event, self.rows.policy(row, above))),
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
