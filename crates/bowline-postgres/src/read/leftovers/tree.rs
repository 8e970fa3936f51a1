//! The walk through a subtree: a run, the runs that it continued as, and what they started.
//!
//! A walk goes down a small tree run by run. What it does not reach (earlier runs of the chain, and
//! the rest of a large tree) is found from below: the runs of the whole tree that are not over are
//! indexed, and each is followed up until it is known whether it belongs to the subtree.

use std::collections::{BTreeSet, HashMap, VecDeque};

use bowline_core::{ActivityLive, EventId, ParentClose, Ranges, RunId};
use bowline_store::{
    RunLine, left_by, lingers,
    tree::{Heir, Top, Verdict, inherit, policy},
};
use uuid::Uuid;

use crate::{
    connection::db::{Db, Outcome, Value},
    limits,
    rows::{
        blob::{self, count},
        missing_rows,
        run::{self, Run},
    },
};

pub(super) struct Tree<'a> {
    db: Db<'a>,
    parents: HashMap<RunId, Option<Ranges>>,
    verdicts: HashMap<RunId, Verdict>,
    /// Runs that were followed up; none where there is no such run.
    known: HashMap<RunId, Option<Run>>,
    /// A run has more children than are told.
    is_wide: bool,
}

/// Where a walk has come to.
pub(super) struct Walk {
    target: RunId,
    top: Top,
    next: VecDeque<(RunId, Option<Heir>)>,
    seen: BTreeSet<RunId>,
    visited: BTreeSet<RunId>,
    /// The tree that the target is of, once it was seen.
    tree: Option<RunId>,
    up: Up,
}

/// How far the runs that are not over have been looked at.
#[derive(Default)]
struct Up {
    page: VecDeque<(Run, bool)>,
    after: Option<RunId>,
    looks: usize,
    is_done: bool,
}

impl Walk {
    pub(super) fn from(target: RunId, top: Top) -> Self {
        let next = VecDeque::from([(target, None)]);
        let (seen, visited) = (BTreeSet::from([target]), BTreeSet::new());
        Self { target, top, next, seen, visited, tree: None, up: Up::default() }
    }

    /// Whether it was given up because there was too much: then nothing is known of the rest.
    pub(super) fn is_cut(&self) -> bool {
        self.up.looks > limits::KIN_MAX
    }

    /// Whether there was more than is visited from the top down.
    pub(super) fn is_long(&self) -> bool {
        self.visited.len() >= limits::WALK
    }
}

impl<'a> Tree<'a> {
    pub(super) fn new(db: Db<'a>) -> Self {
        let (parents, verdicts, known) = (HashMap::new(), HashMap::new(), HashMap::new());
        Self { db, parents, verdicts, known, is_wide: false }
    }

    /// The next run of a walk: the target and what is below it, parents before children; then
    /// whatever else of the subtree is not over. Says whether it was left alone; what is below such
    /// a run is not visited.
    pub(super) async fn step(&mut self, walk: &mut Walk) -> Outcome<Option<(Run, bool)>> {
        while let Some((id, heir)) = walk.next.pop_front().filter(|_| !walk.is_long()) {
            let Some(mut run) = run::one(self.db, id).await? else { continue };
            if !inherit(&mut run.head, heir) {
                walk.seen.remove(&id);
                continue;
            }
            walk.visited.insert(id);
            walk.tree.get_or_insert(run.head.tree);
            let alone = !walk.top.is(&run.head) && self.left_alone(&run).await?;
            if !alone {
                let goes_on = matches!(walk.top, Top::Chain(_)) || id != walk.target;
                let successor = run.head.successor.filter(|_| goes_on).map(|next| (next, heir));
                let below = successor.into_iter().chain(self.below(&run).await?);
                walk.next.extend(below.filter(|(run, _)| walk.seen.insert(*run)));
            }
            return Ok(Some((run, alone)));
        }
        Box::pin(self.climb(walk)).await
    }

    /// The next run that was not visited from the top down, and is not over.
    async fn climb(&mut self, walk: &mut Walk) -> Outcome<Option<(Run, bool)>> {
        loop {
            if let Some(found) = walk.up.page.pop_front() {
                return Ok(Some(found));
            }
            let Some(tree) = walk.tree.filter(|_| !walk.up.is_done && !walk.is_cut()) else {
                return Ok(None);
            };
            let is_first = walk.up.after.is_none();
            if is_first && !walk.is_long() && !self.is_wide && !self.is_one_of_many(walk).await? {
                return Ok(None);
            }
            let mut page = self.kin(tree, walk.up.after).await?;
            walk.up.is_done = page.len() < limits::WALK;
            walk.up.after = page.last().copied();
            // The first run of the tree is found by its id.
            page.extend(is_first.then_some(tree));
            page.retain(|id| !walk.visited.contains(id));
            walk.up.looks += page.len();
            walk.up.page = Box::pin(self.page(&page, walk.top)).await?.into();
        }
    }

    /// Whether the chain at the top has other runs than the target.
    async fn is_one_of_many(&self, walk: &Walk) -> Outcome<bool> {
        let Top::Chain(first) = walk.top else { return Ok(false) };
        Ok(first != walk.target || run::newest(self.db, first).await?.is_some())
    }

    /// Runs of a tree that may not be over, beside its first one: the next page.
    async fn kin(&self, tree: RunId, after: Option<RunId>) -> Outcome<Vec<RunId>> {
        let sql = "SELECT namespace, run FROM @runs \
                   WHERE namespace = $1 AND kin = $2 AND run > $3 ORDER BY run LIMIT $4";
        let after = after.map_or(Uuid::nil(), blob::uuid);
        let values: [Value<'_>; 4] =
            [&blob::space(tree), &blob::uuid(tree), &after, &count(limits::WALK)];
        let rows = self.db.rows(sql, &values).await?;
        rows.iter().map(|row| blob::run_id(row, 0)).collect()
    }

    /// Those of a page that are of the subtree and not over, and whether they were left alone.
    async fn page(&mut self, ids: &[RunId], top: Top) -> Outcome<Vec<(Run, bool)>> {
        let busy = self.busy(ids).await?;
        let mut inside = Vec::new();
        let mut page = Vec::with_capacity(ids.len());
        for (id, run) in run::whole(self.db, ids).await? {
            let run = run?;
            let rests = run.marked == 0 && run.owing == 0 && !busy.contains(&id);
            if run.is_open() || !rests {
                page.push(run);
            }
        }
        self.know_above(&page).await?;
        for run in page {
            match Box::pin(self.verdict(&run, top)).await? {
                Verdict::Outside => {}
                verdict => inside.push((run, verdict == Verdict::Alone)),
            }
        }
        Ok(inside)
    }

    /// Those runs of which an activity waits, is out or runs on.
    async fn busy(&self, ids: &[RunId]) -> Outcome<BTreeSet<RunId>> {
        let sql = "SELECT w.namespace, w.run \
                   FROM unnest($1::int8[], $2::uuid[]) AS w (namespace, run) \
                   WHERE EXISTS (SELECT 1 FROM @activities a WHERE a.namespace = w.namespace \
                   AND a.run = w.run AND (a.place < 2 OR a.adrift))";
        let (spaces, uuids) = run::keys(ids);
        let rows = self.db.rows(sql, &[&spaces, &uuids]).await?;
        rows.iter().map(|row| blob::run_id(row, 0)).collect()
    }

    /// Reads the runs above these, a generation at a time.
    async fn know_above(&mut self, runs: &[Run]) -> Outcome<()> {
        let above = |run: &Run| run.head.parent.map(|(parent, _)| parent);
        let mut next: BTreeSet<RunId> = runs.iter().filter_map(above).collect();
        loop {
            next.retain(|id| !self.known.contains_key(id));
            if next.is_empty() {
                return Ok(());
            }
            let ids: Vec<RunId> = std::mem::take(&mut next).into_iter().collect();
            for (id, run) in run::whole(self.db, &ids).await? {
                let run = run?;
                next.extend(above(&run));
                self.known.insert(id, Some(run));
            }
            for id in ids {
                self.known.entry(id).or_insert(None);
            }
        }
    }

    /// A run that others are followed up to.
    async fn find(&mut self, id: RunId) -> Outcome<Option<Run>> {
        if !self.known.contains_key(&id) {
            let run = run::one(self.db, id).await?;
            self.known.insert(id, run);
        }
        Ok(self.known.get(&id).cloned().flatten())
    }

    /// How a run stands to the top: followed up from parent to parent.
    async fn verdict(&mut self, run: &Run, top: Top) -> Outcome<Verdict> {
        let (mut path, mut next) = (Vec::new(), Some(run.clone()));
        let mut verdict = loop {
            let Some(run) = next.take() else { break Verdict::Outside };
            if top.is(&run.head) {
                break Verdict::Inside;
            }
            if let Some(known) = self.verdicts.get(&run.head.run) {
                break *known;
            }
            if let Some((parent, _)) = self.above(&run).await? {
                next = self.find(parent).await?;
            }
            path.push(run);
        };
        for run in path.iter().rev() {
            let is_alone = verdict == Verdict::Inside && self.left_alone(run).await?;
            verdict = verdict.below(is_alone);
            self.verdicts.insert(run.head.run, verdict);
        }
        Ok(verdict)
    }

    /// The children of a run, and those that it may have inherited as a fork of another.
    async fn below(&mut self, run: &Run) -> Outcome<Vec<(RunId, Option<Heir>)>> {
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

    /// More than a walk visits are not told.
    async fn children(&mut self, id: RunId) -> Outcome<Vec<RunId>> {
        let sql = "SELECT namespace, run FROM @labels \
                   WHERE namespace = $1 AND parent = $2 LIMIT $3";
        let values: [Value<'_>; 3] = [&blob::space(id), &blob::uuid(id), &count(limits::WALK)];
        let rows = self.db.rows(sql, &values).await?;
        self.is_wide |= rows.len() >= limits::WALK;
        rows.iter().map(|row| blob::run_id(row, 0)).collect()
    }

    pub(super) async fn line(&mut self, run: &Run) -> Outcome<RunLine> {
        let parent = match self.above(run).await? {
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
            parent_closed: self.parent_closed(run).await?,
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

    /// The parent of a run, and its number there. Where that was forked behind it, the fork has
    /// inherited it.
    async fn above(&mut self, run: &Run) -> Outcome<Option<(RunId, EventId)>> {
        let Some((mut parent, event)) = run.head.parent else { return Ok(None) };
        while run.is_open() && self.left(parent).await?.is_some() {
            match self.heir(parent, event).await? {
                Some(fork) => parent = fork,
                None => break,
            }
        }
        Ok(Some((parent, event)))
    }

    /// The newest fork of a run that was cut behind an event.
    async fn heir(&mut self, old: RunId, event: EventId) -> Outcome<Option<RunId>> {
        let sql = "SELECT namespace, run FROM @labels \
                   WHERE namespace = $1 AND forked = $2 ORDER BY serial DESC";
        let rows = self.db.rows(sql, &[&blob::space(old), &blob::uuid(old)]).await?;
        for row in &rows {
            let fork = blob::run_id(row, 0)?;
            let cut = self.find(fork).await?.and_then(|run| run.head.forked);
            if cut.is_some_and(|(_, cut)| event <= cut) {
                return Ok(Some(fork));
            }
        }
        Ok(None)
    }

    /// What becomes of a run when its parent closes; what a closed parent had let go of is left.
    pub(super) async fn policy(&mut self, run: &Run) -> Outcome<ParentClose> {
        let Some((parent, event)) = self.above(run).await? else {
            return Ok(ParentClose::default());
        };
        let left = self.left(parent).await?.is_some_and(|left| left.contains(event));
        let close = run.origin.parent.map(|above| above.close).unwrap_or_default();
        Ok(policy(close, left))
    }

    pub(super) async fn parent_closed(&mut self, run: &Run) -> Outcome<bool> {
        match self.above(run).await? {
            Some((parent, _)) => Ok(self.left(parent).await?.is_some()),
            None => Ok(false),
        }
    }

    /// What a closed run had let go of, or left alone; none for an open one, or none at all.
    pub(super) async fn left(&mut self, id: RunId) -> Outcome<Option<&Ranges>> {
        if !self.parents.contains_key(&id) {
            let closed = self.find(id).await?.filter(|run| !run.is_open());
            let left = match closed {
                Some(run) => Some(left(self.db, &run).await?),
                None => None,
            };
            self.parents.insert(id, left);
        }
        Ok(self.parents.get(&id).expect("it was inserted above").as_ref())
    }
}

async fn left(db: Db<'_>, run: &Run) -> Outcome<Ranges> {
    let sql = "SELECT first, last, bytes FROM @history \
               WHERE namespace = $1 AND run = $2 ORDER BY first DESC LIMIT 1";
    let id = run.head.run;
    let Some(row) = db.first(sql, &[&blob::space(id), &blob::uuid(id)]).await? else {
        return Ok(Ranges::default());
    };
    Ok(left_by(&missing_rows::batch(&row)?).unwrap_or_default())
}

/// Whether something lives below a run that is settled.
pub(crate) struct Living(pub(crate) bool);

/// Whether everything below a run is closed, what was left alone excepted, and nothing of it
/// waits, runs or has no row yet. How its chain went on is no matter. Says whether something lives
/// there nevertheless: what was left alone, and code that runs on.
pub(crate) async fn settled(db: Db<'_>, target: RunId) -> Outcome<Option<Living>> {
    let (mut tree, mut walk) = (Tree::new(db), Walk::from(target, Top::Run(target)));
    let mut lives = false;
    while let Some((run, alone)) = Box::pin(tree.step(&mut walk)).await? {
        if alone {
            lives = true;
            continue;
        }
        let id = run.head.run;
        let sql = "SELECT 1 FROM @activities \
                   WHERE namespace = $1 AND run = $2 AND place < 2 LIMIT 1";
        let values: [Value<'_>; 2] = [&blob::space(id), &blob::uuid(id)];
        if run.is_open() || run.owing > 0 || db.first(sql, &values).await?.is_some() {
            return Ok(None);
        }
        lives = lives || lingers_of(db, id).await?;
    }
    Ok((!walk.is_cut()).then_some(Living(lives)))
}

/// Whether code of a run may run on in a process.
async fn lingers_of(db: Db<'_>, id: RunId) -> Outcome<bool> {
    let sql = "SELECT number, live FROM @activities WHERE namespace = $1 AND run = $2 \
               AND adrift AND number > $3 ORDER BY number LIMIT $4";
    let (space, uuid, mut after) = (blob::space(id), blob::uuid(id), 0_i64);
    loop {
        let values: [Value<'_>; 4] = [&space, &uuid, &after, &count(limits::WALK)];
        let rows = db.rows(sql, &values).await?;
        let Some(last) = rows.last() else { return Ok(false) };
        after = last.try_get(0)?;
        for row in &rows {
            if lingers(&blob::open::<ActivityLive>(id, row, 1)?) {
                return Ok(true);
            }
        }
    }
}
