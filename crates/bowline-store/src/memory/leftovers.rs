//! What is left of a subtree.

use std::collections::{BTreeSet, VecDeque};

use bowline_core::{EventId, Message, Outcome, ParentClose, RunId};

use super::{
    Data,
    row::{Activity, Run},
};
use crate::{AttemptLine, Error, Leftovers, Result, RunLine, Subtree};

/// How many lines of each kind are told.
const LINES_MAX: usize = 1_000;

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
            left.attempts.extend(started.map(|(id, own)| attempt_line(run, *id, own)));
            let marked = row.queued().filter(|(_, marked)| *marked).count() as u64;
            left.unswept += marked;
            left.queued += row.queued().count() as u64 - marked;
            left.never_started += row.never_started;
            left.unread += row.inbox.len() as u64;
        }
        bound(&mut left);
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
            found.attempts.extend(started.map(|(id, own)| attempt_line(row.head.run, *id, own)));
        }
        bound(&mut found);
        found
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

/// A worker has it; or it was cancelled, after one had.
fn listed(own: &Activity) -> bool {
    own.live.started().is_some() || own.live.cancel.is_some()
}

fn attempt_line(run: RunId, activity: EventId, own: &Activity) -> AttemptLine {
    let (cancel, end) = (own.live.cancel.as_ref(), own.live.ended());
    AttemptLine {
        run,
        activity,
        name: own.spec.name.clone(),
        attempt: own.live.attempt,
        running: own.live.started().is_some(),
        cause: cancel.map(|record| record.cause.clone()),
        decided_at: cancel.map(|record| record.decided_at),
        delivered_at: cancel.and_then(|record| record.delivered_at),
        observed_at: cancel.and_then(|record| record.observed_at),
        stopped_at: cancel.and_then(|record| record.stopped_at),
        rung: cancel.and_then(|record| record.rung),
        leaked: end.is_some_and(|end| end.leaked),
        lost: end.is_some_and(|end| end.lost),
        late: end.is_some_and(|end| matches!(end.late, Some(Outcome::Completed(_)))),
    }
}

/// Leaves out what is over before what is not, together with the parents of what is not.
fn bound(left: &mut Leftovers) {
    let open: Vec<&RunLine> = left.runs.iter().filter(|line| line.status.is_open()).collect();
    let parents: BTreeSet<RunId> =
        open.iter().filter_map(|line| line.parent.as_ref().map(|(run, ..)| *run)).collect();
    let target = left.runs.first().map(|line| line.run);
    let rank = |line: &RunLine| match line.status.is_open() {
        _ if Some(line.run) == target => 0,
        true => 1,
        false if parents.contains(&line.run) => 2,
        false => 3,
    };
    let runs = cut(&mut left.runs, rank);
    let over = |line: &AttemptLine| !(line.running || line.leaked || line.lost);
    let attempts = cut(&mut left.attempts, |line| u8::from(over(line)));
    left.truncated = runs || attempts;
}

/// Keeps the lines of the lowest ranks, in their order. True if some had to go.
fn cut<T>(lines: &mut Vec<T>, rank: impl Fn(&T) -> u8) -> bool {
    if lines.len() <= LINES_MAX {
        return false;
    }
    let mut ranks: Vec<(u8, usize)> =
        lines.iter().enumerate().map(|(at, line)| (rank(line), at)).collect();
    ranks.sort_unstable();
    let kept: BTreeSet<usize> = ranks.into_iter().take(LINES_MAX).map(|(_, at)| at).collect();
    let mut at = 0;
    lines.retain(|_| {
        at += 1;
        kept.contains(&(at - 1))
    });
    true
}
