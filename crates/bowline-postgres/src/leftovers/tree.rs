//! The walk through a subtree: a run, the runs that it continued as, and what they started.

use std::collections::{BTreeSet, HashMap, VecDeque};

use bowline_core::{EventId, ParentClose, Ranges, RunId};
use bowline_store::{RunLine, left_by};

use crate::{
    blob,
    db::{Db, Outcome, Value},
    owed,
    run::{self, Run},
};

/// How many runs one walk visits; a larger subtree is told in part, and says so.
pub(crate) const WALK_MAX: usize = 100_000;

/// A fork, and the number up to which children of the old run are its own.
type Heir = (RunId, EventId);

pub(super) struct Tree<'a> {
    db: Db<'a>,
    parents: HashMap<RunId, Option<Ranges>>,
}

/// Where a walk has come to.
pub(super) struct Walk {
    target: RunId,
    next: VecDeque<(RunId, Option<Heir>)>,
    seen: BTreeSet<RunId>,
}

impl Walk {
    pub(super) fn from(target: RunId) -> Self {
        Self { target, next: VecDeque::from([(target, None)]), seen: BTreeSet::from([target]) }
    }

    /// Whether it was given up because there was too much.
    pub(super) fn is_cut(&self) -> bool {
        self.seen.len() > WALK_MAX
    }
}

impl<'a> Tree<'a> {
    pub(super) fn new(db: Db<'a>) -> Self {
        Self { db, parents: HashMap::new() }
    }

    /// The next run of a walk through the target and everything below it, parents before children.
    /// Says whether it was left alone; what is below such a run is not visited.
    pub(super) async fn step(&mut self, walk: &mut Walk) -> Outcome<Option<(Run, bool)>> {
        while let Some((id, heir)) = walk.next.pop_front().filter(|_| !walk.is_cut()) {
            let Some(mut run) = run::one(self.db, id).await? else { continue };
            if !inherit(&mut run, heir) {
                walk.seen.remove(&id);
                continue;
            }
            let alone = id != walk.target && self.left_alone(&run).await?;
            if !alone {
                let successor = run.head.successor.map(|next| (next, heir));
                let below = successor.into_iter().chain(self.below(&run).await?);
                walk.next.extend(below.filter(|(run, _)| walk.seen.insert(*run)));
            }
            return Ok(Some((run, alone)));
        }
        Ok(None)
    }

    /// The children of a run, and those that it may have inherited as a fork of another.
    async fn below(&self, run: &Run) -> Outcome<Vec<(RunId, Option<Heir>)>> {
        let own = self.children(run.head.run).await?;
        let mut below: Vec<_> = own.into_iter().map(|child| (child, None)).collect();
        let (mut from, mut cut) = (run.head.forked, EventId(u64::MAX));
        while let Some((old, at)) = from {
            cut = cut.min(at);
            let heir = Some((run.head.run, cut));
            below.extend(self.children(old).await?.into_iter().map(|child| (child, heir)));
            from = run::one(self.db, old).await?.and_then(|old| old.head.forked);
        }
        Ok(below)
    }

    async fn children(&self, id: RunId) -> Outcome<Vec<RunId>> {
        let sql = "SELECT namespace, run FROM @labels \
                   WHERE namespace = $1 AND parent = $2 ORDER BY run";
        let values: [Value<'_>; 2] = [&blob::space(id), &blob::uuid(id)];
        let rows = self.db.rows(sql, &values).await?;
        rows.iter().map(|row| blob::run_id(row, 0)).collect()
    }

    pub(super) async fn line(&mut self, run: &Run) -> Outcome<RunLine> {
        let parent = match run.head.parent {
            Some((parent, event)) => Some((parent, event, self.policy(run).await?)),
            None => None,
        };
        let head = &run.head;
        Ok(RunLine {
            run: head.run,
            workflow_id: head.workflow_id.clone(),
            name: head.name.clone(),
            status: head.status,
            parent,
            successor: head.successor,
            cancel: head.cancel.clone(),
            closed_at: head.closed_at,
        })
    }

    /// Open, by the policy that it was started with, and asked by nobody to stop.
    async fn left_alone(&mut self, run: &Run) -> Outcome<bool> {
        Ok(run.is_open()
            && run.head.cancel.is_none()
            && self.parent_closed(run).await?
            && self.policy(run).await? == ParentClose::Abandon)
    }

    /// What becomes of a run when its parent closes; what a closed parent had let go of is left.
    pub(super) async fn policy(&mut self, run: &Run) -> Outcome<ParentClose> {
        let Some((parent, event)) = run.head.parent else { return Ok(ParentClose::default()) };
        let left = self.left(parent).await?.is_some_and(|left| left.contains(event));
        let close = run.origin.parent.map(|above| above.close).unwrap_or_default();
        Ok(if left { ParentClose::Abandon } else { close })
    }

    pub(super) async fn parent_closed(&mut self, run: &Run) -> Outcome<bool> {
        match run.head.parent {
            Some((parent, _)) => Ok(self.left(parent).await?.is_some()),
            None => Ok(false),
        }
    }

    /// What a closed run had let go of, or left alone; none for an open one, or none at all.
    pub(super) async fn left(&mut self, id: RunId) -> Outcome<Option<&Ranges>> {
        if !self.parents.contains_key(&id) {
            let closed = run::one(self.db, id).await?.filter(|run| !run.is_open());
            let left = match closed {
                Some(run) => Some(left(self.db, &run).await?),
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

async fn left(db: Db<'_>, run: &Run) -> Outcome<Ranges> {
    let sql = "SELECT first, last, bytes FROM @history \
               WHERE namespace = $1 AND run = $2 ORDER BY first DESC LIMIT 1";
    let id = run.head.run;
    let Some(row) = db.first(sql, &[&blob::space(id), &blob::uuid(id)]).await? else {
        return Ok(Ranges::default());
    };
    Ok(left_by(&owed::batch(&row)?).unwrap_or_default())
}

/// Whether every run of a subtree is closed, those that were left alone excepted, and nothing of
/// it waits, runs or is owed.
pub(crate) async fn settled(db: Db<'_>, target: RunId) -> Outcome<bool> {
    let (mut tree, mut walk) = (Tree::new(db), Walk::from(target));
    while let Some((run, alone)) = tree.step(&mut walk).await? {
        if alone {
            continue;
        }
        let id = run.head.run;
        let sql = "SELECT 1 FROM @activities \
                   WHERE namespace = $1 AND run = $2 AND place < 2 LIMIT 1";
        let values: [Value<'_>; 2] = [&blob::space(id), &blob::uuid(id)];
        if run.is_open() || run.owing > 0 || db.first(sql, &values).await?.is_some() {
            return Ok(false);
        }
    }
    Ok(!walk.is_cut())
}
