//! The walk through a subtree: a run, the runs that it continued as, and what they started.
//!
//! A walk goes down a small tree run by run. What it does not reach (earlier runs of the chain, and
//! the rest of a large tree) is found from below: the runs of the whole tree that are not over are
//! indexed, and each is followed up until it is known whether it belongs to the subtree.

use std::{
    collections::{BTreeSet, HashMap, VecDeque},
    sync::Arc,
};

use bowline_core::{ActivityLive, Batch, Blob, EventId, ParentClose, Ranges, RunId};
use bowline_store::{
    RunLine, left_by, lingers,
    tree::{Heir, Top, Verdict, inherit, policy},
};
use rusqlite::params;

use crate::{
    connection::db::{Db, Outcome},
    limits,
    rows::{
        blob::{self, number, wide},
        run::{self, Run},
    },
    stats::count,
};

pub(super) struct Tree<'a> {
    db: Db<'a>,
    parents: HashMap<RunId, Option<Ranges>>,
    verdicts: HashMap<RunId, Verdict>,
    /// A run has more children than are told.
    is_wide: bool,
}

/// How a walk ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Walked {
    Whole,
    /// Whoever looked has seen enough.
    Enough,
    /// There was more than is looked at.
    Cut,
}

impl<'a> Tree<'a> {
    pub(super) fn new(db: Db<'a>) -> Self {
        Self { db, parents: HashMap::new(), verdicts: HashMap::new(), is_wide: false }
    }

    /// Visits the target and what is below it, parents before children, until `visit` has seen
    /// enough; then whatever else of the subtree is not over. Says of each whether it was left
    /// alone; what is below such a run is not visited.
    pub(super) fn walk(
        &mut self,
        target: RunId,
        top: Top,
        mut visit: impl FnMut(&mut Self, &Run, bool) -> Outcome<bool>,
    ) -> Outcome<Walked> {
        let (mut next, mut seen) = (VecDeque::from([(target, None)]), BTreeSet::from([target]));
        let (mut visited, mut tree) = (BTreeSet::new(), None);
        while let Some((id, heir)) = next.pop_front() {
            if visited.len() >= limits::WALK {
                break;
            }
            let Some(mut run) = self.read(id)? else { continue };
            if !inherit(&mut run.head, heir) {
                seen.remove(&id);
                continue;
            }
            visited.insert(id);
            tree.get_or_insert(run.head.tree);
            let alone = !top.is(&run.head) && self.left_alone(&run)?;
            if !visit(self, &run, alone)? {
                return Ok(Walked::Enough);
            }
            if alone {
                continue;
            }
            let goes_on = matches!(top, Top::Chain(_)) || id != target;
            let successor = run.head.successor.filter(|_| goes_on).map(|next| (next, heir));
            let below = successor.into_iter().chain(self.below(&run)?);
            next.extend(below.filter(|(run, _)| seen.insert(*run)));
        }
        let is_long = self.is_wide || visited.len() >= limits::WALK;
        match tree {
            Some(tree) if is_long || self.is_one_of_many(target, top)? => {
                self.rest(tree, top, &visited, visit)
            }
            _ => Ok(Walked::Whole),
        }
    }

    /// Whether the chain at the top has other runs than the target.
    fn is_one_of_many(&self, target: RunId, top: Top) -> Outcome<bool> {
        let Top::Chain(first) = top else { return Ok(false) };
        Ok(first != target || run::newest(self.db, first)?.is_some())
    }

    /// Visits what was not visited before and is not over.
    fn rest(
        &mut self,
        tree: RunId,
        top: Top,
        visited: &BTreeSet<RunId>,
        mut visit: impl FnMut(&mut Self, &Run, bool) -> Outcome<bool>,
    ) -> Outcome<Walked> {
        let mut looks = 0;
        let (mut page, mut after) = (vec![tree], None);
        loop {
            for id in page.into_iter().filter(|id| !visited.contains(id)) {
                looks += 1;
                let Some(run) = self.read(id)?.filter(|_| looks <= limits::KIN_MAX) else {
                    continue;
                };
                let verdict = self.verdict(&run, top)?;
                if verdict == Verdict::Outside || is_over(self.db, &run)? {
                    continue;
                }
                if !visit(self, &run, verdict == Verdict::Alone)? {
                    return Ok(Walked::Enough);
                }
            }
            if looks > limits::KIN_MAX {
                return Ok(Walked::Cut);
            }
            let found = self.kin(tree, after)?;
            let Some((last, _)) = found.last() else { return Ok(Walked::Whole) };
            after = Some(*last);
            page = found.into_iter().map(|(_, id)| id).collect();
        }
    }

    /// Runs of a tree that may not be over, beside its first one: the next page.
    fn kin(&self, tree: RunId, after: Option<i64>) -> Outcome<Vec<(i64, RunId)>> {
        let sql = "SELECT key, uuid FROM labels INDEXED BY labels_kin \
                   WHERE kin = ? AND namespace = ? AND key > ? ORDER BY key LIMIT ?";
        let namespace = tree.namespace;
        let after = after.unwrap_or(i64::MIN);
        let most = i64::try_from(limits::WALK).unwrap_or(i64::MAX);
        self.db.all(sql, params![tree.uuid.to_be_bytes(), namespace.0, after, most], |row| {
            Ok((row.get(0)?, RunId { namespace, uuid: wide(row, 1)? }))
        })
    }

    /// How a run stands to the top: followed up from parent to parent.
    fn verdict(&mut self, run: &Run, top: Top) -> Outcome<Verdict> {
        let (mut path, mut next) = (Vec::new(), Some(run.clone()));
        let mut verdict = loop {
            let Some(run) = next.take() else { break Verdict::Outside };
            if top.is(&run.head) {
                break Verdict::Inside;
            }
            if let Some(known) = self.verdicts.get(&run.head.run) {
                break *known;
            }
            if let Some((parent, _)) = self.above(&run)? {
                next = self.read(parent)?;
            }
            path.push(run);
        };
        for run in path.iter().rev() {
            let is_alone = verdict == Verdict::Inside && self.left_alone(run)?;
            verdict = verdict.below(is_alone);
            self.verdicts.insert(run.head.run, verdict);
        }
        Ok(verdict)
    }

    pub(super) fn read(&self, id: RunId) -> Outcome<Option<Run>> {
        let Some(label) = run::label(self.db, id)? else { return Ok(None) };
        run::run(self.db, Arc::new(label)).map(Some)
    }

    /// The children of a run, and those that it may have inherited as a fork of another.
    fn below(&mut self, run: &Run) -> Outcome<Vec<(RunId, Option<Heir>)>> {
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

    /// More than a walk visits are not told.
    fn children(&mut self, id: RunId) -> Outcome<Vec<RunId>> {
        let sql = "SELECT uuid FROM labels INDEXED BY labels_parent \
                   WHERE parent = ? AND namespace = ? LIMIT ?";
        let namespace = id.namespace;
        let most = i64::try_from(limits::WALK).unwrap_or(i64::MAX);
        let values = params![id.uuid.to_be_bytes(), namespace.0, most];
        let found: Vec<RunId> =
            self.db.all(sql, values, |row| Ok(RunId { namespace, uuid: wide(row, 0)? }))?;
        self.is_wide |= found.len() >= limits::WALK;
        Ok(found)
    }

    pub(super) fn line(&mut self, run: &Run) -> Outcome<RunLine> {
        let above = self.above(run)?;
        let parent = match above {
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
            parent_closed: self.parent_closed(run)?,
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

    /// The parent of a run, and its number there. Where that was forked behind it, the fork has
    /// inherited it.
    fn above(&mut self, run: &Run) -> Outcome<Option<(RunId, EventId)>> {
        let Some((mut parent, event)) = run.head.parent else { return Ok(None) };
        while run.is_open() && self.left(parent)?.is_some() {
            match self.heir(parent, event)? {
                Some(fork) => parent = fork,
                None => break,
            }
        }
        Ok(Some((parent, event)))
    }

    /// The newest fork of a run that was cut behind an event.
    fn heir(&self, old: RunId, event: EventId) -> Outcome<Option<RunId>> {
        let sql = "SELECT uuid FROM labels INDEXED BY labels_forked \
                   WHERE forked = ? AND namespace = ? ORDER BY key DESC";
        let namespace = old.namespace;
        let values = params![old.uuid.to_be_bytes(), namespace.0];
        let forks: Vec<RunId> =
            self.db.all(sql, values, |row| Ok(RunId { namespace, uuid: wide(row, 0)? }))?;
        for fork in forks {
            let label = run::label(self.db, fork)?;
            let cut = label.and_then(|label| label.origin.forked);
            if cut.is_some_and(|(_, cut)| event <= cut) {
                return Ok(Some(fork));
            }
        }
        Ok(None)
    }

    /// What becomes of a run when its parent closes; what a closed parent had let go of is left.
    pub(super) fn policy(&mut self, run: &Run) -> Outcome<ParentClose> {
        let Some((parent, event)) = self.above(run)? else { return Ok(ParentClose::default()) };
        let left = self.left(parent)?.is_some_and(|left| left.contains(event));
        let close = run.label.origin.parent.map(|above| above.close).unwrap_or_default();
        Ok(policy(close, left))
    }

    pub(super) fn parent_closed(&mut self, run: &Run) -> Outcome<bool> {
        match self.above(run)? {
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

/// Whether a run is closed, and nothing of it waits, runs or runs on: then that stays so.
pub(crate) fn is_over(db: Db<'_>, run: &Run) -> Outcome<bool> {
    let lives = "SELECT 1 FROM activities WHERE run = ? AND (place < 2 OR adrift IS NOT NULL) \
                 LIMIT 1";
    Ok(!run.is_open() && is_paid(db, run)? && db.first(lives, [run.key()], |_| Ok(()))?.is_none())
}

/// Whether a run has neither marks nor missing_rows that are to be swept.
fn is_paid(db: Db<'_>, run: &Run) -> Outcome<bool> {
    let owes = "SELECT 1 FROM owed WHERE run = ? LIMIT 1";
    let marked = "SELECT 1 FROM marks WHERE run = ? LIMIT 1";
    Ok(db.first(owes, [run.key()], |_| Ok(()))?.is_none()
        && db.first(marked, [run.key()], |_| Ok(()))?.is_none())
}

/// Whether something lives below a run that is settled.
pub(crate) struct Living(pub(crate) bool);

/// Whether everything below a run is closed, what was left alone excepted, and nothing of it
/// waits, runs or has no row yet. How its chain went on is no matter. Says whether something lives
/// there nevertheless: what was left alone, and code that runs on.
pub(crate) fn settled(db: Db<'_>, target: RunId) -> Outcome<Option<Living>> {
    let mut lives = false;
    let walked = Tree::new(db).walk(target, Top::Run(target), |_, run, alone| {
        lives |= alone || lingers_of(db, run)?;
        if alone {
            return Ok(true);
        }
        let works = "SELECT 1 FROM activities WHERE run = ? AND place < 2 LIMIT 1";
        let owes = "SELECT 1 FROM owed WHERE run = ? LIMIT 1";
        Ok(!run.is_open()
            && db.first(works, [run.key()], |_| Ok(()))?.is_none()
            && db.first(owes, [run.key()], |_| Ok(()))?.is_none())
    })?;
    Ok((walked == Walked::Whole).then_some(Living(lives)))
}

/// Whether code of a run may run on in a process.
fn lingers_of(db: Db<'_>, run: &Run) -> Outcome<bool> {
    let (id, adrift) = (run.head.run, "SELECT live FROM activities WHERE run = ? AND adrift = 1");
    let found = db.all(adrift, [run.key()], |row| {
        let live: ActivityLive = blob::open(id, row, 0)?;
        Ok(lingers(&live))
    })?;
    Ok(found.contains(&true))
}
