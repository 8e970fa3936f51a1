//! The walk through a subtree: a run, the runs that it continued as, and what they started.

use std::{
    collections::{BTreeSet, HashMap, VecDeque},
    sync::Arc,
};

use bowline_core::{Batch, Blob, EventId, ParentClose, Ranges, RunId};
use bowline_store::{RunLine, left_by};
use rusqlite::params;

use crate::{
    blob::{number, wide},
    db::{Db, Outcome},
    run::{self, Run},
    stats::count,
};

/// How many runs one walk visits; a larger subtree is told in part, and says so.
pub(crate) const WALK_MAX: usize = 100_000;

/// A fork, and the number up to which children of the old run are its own.
type Heir = (RunId, EventId);

pub(super) struct Tree<'a> {
    db: Db<'a>,
    parents: HashMap<RunId, Option<Ranges>>,
}

impl<'a> Tree<'a> {
    pub(super) fn new(db: Db<'a>) -> Self {
        Self { db, parents: HashMap::new() }
    }

    /// Visits the target and everything below it, parents before children, until `visit` has seen
    /// enough. Says of each whether it was left alone; what is below such a run is not visited.
    /// True if the walk came to its end.
    pub(super) fn walk(
        &mut self,
        target: RunId,
        mut visit: impl FnMut(&mut Self, &Run, bool) -> Outcome<bool>,
    ) -> Outcome<bool> {
        let (mut next, mut seen) = (VecDeque::from([(target, None)]), BTreeSet::from([target]));
        while let Some((id, heir)) = next.pop_front() {
            let Some(mut run) = self.read(id)? else { continue };
            if !inherit(&mut run, heir) {
                seen.remove(&id);
                continue;
            }
            let alone = id != target && self.left_alone(&run)?;
            if !visit(self, &run, alone)? {
                return Ok(false);
            }
            if alone {
                continue;
            }
            let successor = run.head.successor.map(|next| (next, heir));
            let below = successor.into_iter().chain(self.below(&run)?);
            next.extend(below.filter(|(run, _)| seen.insert(*run)));
            if seen.len() > WALK_MAX {
                return Ok(false);
            }
        }
        Ok(true)
    }

    pub(super) fn read(&self, id: RunId) -> Outcome<Option<Run>> {
        let Some(label) = run::label(self.db, id)? else { return Ok(None) };
        run::run(self.db, Arc::new(label)).map(Some)
    }

    /// The children of a run, and those that it may have inherited as a fork of another.
    fn below(&self, run: &Run) -> Outcome<Vec<(RunId, Option<Heir>)>> {
        let own = self.children(run.head.run)?;
        let mut below: Vec<_> = own.into_iter().map(|child| (child, None)).collect();
        let (mut from, mut cut) = (run.head.forked, EventId(u64::MAX));
        while let Some((old, at)) = from {
            cut = cut.min(at);
            let heir = Some((run.head.run, cut));
            below.extend(self.children(old)?.into_iter().map(|child| (child, heir)));
            from = self.read(old)?.and_then(|old| old.head.forked);
        }
        Ok(below)
    }

    fn children(&self, id: RunId) -> Outcome<Vec<RunId>> {
        let sql = "SELECT uuid FROM labels INDEXED BY labels_parent \
                   WHERE parent = ? AND namespace = ? ORDER BY uuid";
        let namespace = id.namespace;
        self.db.all(sql, params![id.uuid.to_be_bytes(), namespace.0], |row| {
            Ok(RunId { namespace, uuid: wide(row, 0)? })
        })
    }

    pub(super) fn line(&mut self, run: &Run) -> Outcome<RunLine> {
        let parent = match run.head.parent {
            Some((parent, event)) => Some((parent, event, self.policy(run)?)),
            None => None,
        };
        let sql = "SELECT closed_at FROM labels WHERE key = ?";
        let closed: Option<i64> = self.db.first(sql, [run.key()], |row| row.get(0))?.flatten();
        let head = &run.head;
        Ok(RunLine {
            run: head.run,
            workflow_id: head.workflow_id.clone(),
            name: head.name.clone(),
            status: head.status,
            parent,
            successor: head.successor,
            cancel: head.cancel.clone(),
            closed_at: closed.map(bowline_core::Time),
        })
    }

    /// Open, by the policy that it was started with, and asked by nobody to stop.
    fn left_alone(&mut self, run: &Run) -> Outcome<bool> {
        Ok(run.is_open()
            && run.head.cancel.is_none()
            && self.parent_closed(run)?
            && self.policy(run)? == ParentClose::Abandon)
    }

    /// What becomes of a run when its parent closes; what a closed parent had let go of is left.
    pub(super) fn policy(&mut self, run: &Run) -> Outcome<ParentClose> {
        let Some((parent, event)) = run.head.parent else { return Ok(ParentClose::default()) };
        let left = self.left(parent)?.is_some_and(|left| left.contains(event));
        let close = run.label.origin.parent.map(|above| above.close).unwrap_or_default();
        Ok(if left { ParentClose::Abandon } else { close })
    }

    pub(super) fn parent_closed(&mut self, run: &Run) -> Outcome<bool> {
        match run.head.parent {
            Some((parent, _)) => Ok(self.left(parent)?.is_some()),
            None => Ok(false),
        }
    }

    /// What a closed run had let go of, or left alone; none for an open one, or none at all.
    pub(super) fn left(&mut self, id: RunId) -> Outcome<Option<&Ranges>> {
        if !self.parents.contains_key(&id) {
            let left = match self.read(id)?.filter(|run| !run.is_open()) {
                Some(run) => Some(left(self.db, &run)?),
                None => None,
            };
            self.parents.insert(id, left);
        }
        Ok(self.parents.get(&id).expect("it was inserted above").as_ref())
    }
}

/// Puts a run below the fork through which it was found; false if that has not inherited it.
fn inherit(run: &mut Run, heir: Option<Heir>) -> bool {
    let Some((fork, cut)) = heir else { return true };
    match &mut run.head.parent {
        Some((parent, event)) if *event <= cut => {
            *parent = fork;
            true
        }
        _ => false,
    }
}

fn left(db: Db<'_>, run: &Run) -> Outcome<Ranges> {
    let sql = "SELECT first, last, bytes FROM history WHERE run = ? ORDER BY first DESC LIMIT 1";
    let last = db.first(sql, [run.key()], |row| {
        let bytes: Vec<u8> = row.get(2)?;
        let (first, last) = (EventId(number(row, 0)?), EventId(number(row, 1)?));
        Ok(Batch { first, last, bytes: Blob::from(bytes) })
    })?;
    count(&db.counters.batches_read, usize::from(last.is_some()));
    Ok(last.and_then(|last| left_by(&last).ok()).unwrap_or_default())
}

/// Whether every run of a subtree is closed, those that were left alone excepted, and nothing of
/// it waits, runs or is owed.
pub(crate) fn settled(db: Db<'_>, target: RunId) -> Outcome<bool> {
    Tree::new(db).walk(target, |_, run, alone| {
        if alone {
            return Ok(true);
        }
        let works = "SELECT 1 FROM activities WHERE run = ? AND place < 2 LIMIT 1";
        let owes = "SELECT 1 FROM owed WHERE run = ? LIMIT 1";
        Ok(!run.is_open()
            && db.first(works, [run.key()], |_| Ok(()))?.is_none()
            && db.first(owes, [run.key()], |_| Ok(()))?.is_none())
    })
}
