//! What is left of a subtree.

use std::collections::{BTreeSet, VecDeque};

use bowline_core::{
    EventId, Message, ParentClose, RunId,
    planted::{Defect, planted},
};

use super::{
    Data,
    row::{Activity, Run},
};
use crate::{AttemptLine, Error, Leftovers, Result, RunLine, Subtree, lingers};

/// A run of a subtree.
#[derive(Clone, Copy, Debug)]
struct TreeRun {
    run: RunId,
    /// It was left alone when its parent closed.
    alone: bool,
}

/// Whether something lives below a run that is settled.
pub(super) struct Living(pub(super) bool);

/// What a subtree begins with.
#[derive(Clone, Copy)]
enum Root {
    /// This run, and of the runs of its chain what is not over.
    Chain(RunId, RunId),
    /// This run, and not how its chain went on.
    Run(RunId),
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

    /// The top and everything below it, parents before children; then what is not over of the rest
    /// of its chain, and below that.
    fn subtree(&self, top: Root) -> Vec<TreeRun> {
        let (Root::Chain(target, _) | Root::Run(target)) = top;
        let (mut found, mut seen) = (Vec::new(), BTreeSet::from([target]));
        let mut next = VecDeque::from([target]);
        while let Some(run) = next.pop_front() {
            let Some(row) = self.rows.runs.get(&run) else { continue };
            let alone = !top.is(row) && self.left_alone(row);
            found.push(TreeRun { run, alone });
            if alone || planted(Defect::CutWalk) {
                continue;
            }
            let goes_on = matches!(top, Root::Chain(..)) || run != target;
            let successor = row.head.successor.filter(|_| goes_on);
            let below = successor.into_iter().chain(self.children(row));
            next.extend(below.filter(|run| seen.insert(*run)));
        }
        let is_cut = planted(Defect::ChainForward) || planted(Defect::CutWalk);
        if matches!(top, Root::Chain(..)) && !is_cut {
            let unseen = self.rows.runs.values().filter(|row| !seen.contains(&row.head.run));
            let rest = unseen.filter(|row| !row.is_over());
            found.extend(rest.filter_map(|row| {
                let run = row.head.run;
                self.inside(row, top).map(|alone| TreeRun { run, alone })
            }));
        }
        found
    }

    /// Whether a run is below the top, and was left alone there; none if it is not, or if it is
    /// below one that was left alone.
    fn inside(&self, row: &Run, top: Root) -> Option<bool> {
        if top.is(row) {
            return Some(false);
        }
        let (parent, _) = self.rows.above(row)?;
        match self.inside(self.rows.runs.get(&parent)?, top)? {
            true => None,
            false => Some(self.left_alone(row)),
        }
    }

    /// The children of a run, and those that it inherited from the run that it is a fork of.
    fn children(&self, row: &Run) -> Vec<RunId> {
        let of = |parent: RunId| self.rows.children.get(&parent).into_iter().flatten().copied();
        let mut children: Vec<_> = of(row.head.run).collect();
        let (mut from, mut cut) = (row.head.forked, EventId(u64::MAX));
        while let Some((old, at)) = from {
            cut = cut.min(at);
            children.extend(of(old).filter(|run| {
                let parent = self.rows.runs.get(run).and_then(|row| row.head.parent);
                parent.is_some_and(|(_, event)| event <= cut)
            }));
            from = self.rows.runs.get(&old).and_then(|row| row.head.forked);
        }
        children
    }

    fn below(&self, target: RunId) -> Leftovers {
        let mut left = Leftovers::default();
        let Some(first) = self.rows.runs.get(&target).map(|row| row.head.first_run) else {
            return left;
        };
        let top = Root::Chain(target, first);
        for TreeRun { run, alone } in self.subtree(top) {
            let row = &self.rows.runs[&run];
            let line = self.run_line(row);
            left.runs.push(RunLine { parent_closed: line.parent_closed && !top.is(row), ..line });
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

    /// Whether everything below a run is closed, what was left alone excepted, and nothing of it
    /// waits or runs. Says whether something lives there nevertheless: what was left alone, and
    /// code that runs on.
    pub(super) fn settled(&self, run: RunId) -> Option<Living> {
        let mut lives = false;
        for member in self.subtree(Root::Run(run)) {
            let row = &self.rows.runs[&member.run];
            lives |= member.alone || row.activities.values().any(|own| lingers(&own.live));
            let ended = row.activities.values().all(|own| own.live.ended().is_some());
            if !member.alone && (row.head.status.is_open() || !ended) {
                return None;
            }
        }
        Some(Living(lives))
    }

    /// Whatever should not be there at all.
    fn orphans(&self) -> Leftovers {
        let mut found = Leftovers::default();
        for row in self.rows.runs.values() {
            if row.head.status.is_open() {
                let line = |row: &Run| self.run_line(row);
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

    fn attempt_line(&self, run: RunId, activity: EventId, own: &Activity) -> AttemptLine {
        let gone = |epoch| self.roll.gone(epoch);
        AttemptLine::of(run, activity, own.spec.name.clone(), &own.live, gone)
    }

    /// An open child whose closed parent wanted it told, and which nobody told.
    fn orphan(&self, row: &Run) -> bool {
        let stops =
            |message: &Message| matches!(message, Message::Cancel(_) | Message::Terminate(_));
        let told = row.inbox.values().any(|received| stops(&received.message));
        let asked = row.head.cancel.is_some() || told;
        let told = asked || self.policy(row) == ParentClose::Abandon;
        self.parent_closed(row) && !told
    }

    fn left_alone(&self, row: &Run) -> bool {
        let open = row.head.status.is_open() && row.head.cancel.is_none();
        open && self.parent_closed(row) && self.policy(row) == ParentClose::Abandon
    }

    fn policy(&self, row: &Run) -> ParentClose {
        self.rows.policy(row, self.rows.above(row))
    }

    fn parent_closed(&self, row: &Run) -> bool {
        let above = self.rows.above(row);
        let parent = above.and_then(|(parent, _)| self.rows.runs.get(&parent));
        parent.is_some_and(|parent| !parent.head.status.is_open())
    }

    fn run_line(&self, row: &Run) -> RunLine {
        let head = &row.head;
        let above = self.rows.above(row);
        RunLine {
            run: head.run,
            workflow_id: head.workflow_id.clone(),
            name: head.name.clone(),
            status: head.status,
            parent: above.map(|(run, event)| (run, event, self.policy(row))),
            parent_closed: self.parent_closed(row),
            successor: head.successor,
            cancel: head.cancel.clone(),
            closed_at: head.closed_at,
        }
    }
}

impl Root {
    /// Whether a run is at the top itself: its parent is none of the subtree.
    fn is(self, row: &Run) -> bool {
        match self {
            Self::Chain(_, first) => row.head.first_run == first,
            Self::Run(run) => row.head.run == run,
        }
    }
}

/// A worker has it; or it was cancelled, after one had; or its code runs on.
fn listed(own: &Activity) -> bool {
    own.live.started().is_some() || own.live.cancel.is_some() || !own.live.unseen.is_empty()
}
