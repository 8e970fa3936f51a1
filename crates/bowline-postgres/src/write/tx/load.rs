//! Reading what calls want to know. What is known already is not read again; what is known to be
//! wanted is read at once.

use std::collections::BTreeSet;

use bowline_core::{Epoch, EventId, Namespace, RunId, WorkflowId};
use bowline_store::{
    Error,
    ready::{Mark, Standing},
    stored::MissingRows,
};
use futures_util::future::try_join4;
use uuid::Uuid;

use super::{Kept, Loaded, Newest, Slot, Trust, Tx};
use crate::{
    connection::db::Outcome,
    fault::Fault,
    rows::{
        activity::{self, Activity},
        blob::{self, int, number},
        missing_rows,
        run::{self, COLUMNS, Run, WANTED},
    },
};

/// What a group will look at, as far as can be told beforehand.
#[derive(Default)]
pub(crate) struct Wants {
    pub(crate) runs: BTreeSet<RunId>,
    pub(crate) ids: BTreeSet<(Namespace, WorkflowId)>,
    pub(crate) activities: BTreeSet<(RunId, EventId)>,
    pub(crate) epochs: BTreeSet<Epoch>,
    /// Those of the runs that this process holds, as far as it knows.
    pub(crate) held: BTreeSet<RunId>,
    /// Those of the runs that begin with the group, under ids that were just made.
    pub(crate) new: BTreeSet<RunId>,
}

impl Tx<'_> {
    /// Takes what this process knows without reading: rows of runs that it holds, as its own last
    /// write left them; that it is alive; and that nobody has used an id that was just made. The
    /// statement compares all of it, by `rev`, by the member's state and by the table's key.
    pub(crate) fn recall(&mut self, wants: &mut Wants) {
        let Some((own, _)) = self.shared.member() else { return };
        if self.trust != Trust::Memory {
            return;
        }
        for rows in self.shared.held.take(&wants.held, own) {
            self.assumed = true;
            let (run, activities) = (rows.run, rows.activities);
            for row in &activities {
                wants.activities.remove(&(row.run, row.number));
            }
            self.know_activities(&[], activities);
            self.know_runs(&[], vec![(run.head.run, Ok(run))]);
        }
        for id in &wants.new {
            self.assumed = true;
            self.runs.entry(*id).or_insert(Slot::Absent);
        }
        if wants.epochs.remove(&own) {
            self.assumed = true;
            self.members.insert(own, true);
        }
    }

    /// Reads what is wanted, in one go where nothing is locked.
    pub(crate) async fn prefetch(&mut self, wants: Wants) -> Outcome<()> {
        let Wants { runs, ids, activities, epochs, .. } = wants;
        let runs: Vec<RunId> = runs.into_iter().filter(|id| !self.runs.contains_key(id)).collect();
        let ids: Vec<_> = ids.into_iter().collect();
        let activities: Vec<_> = activities.into_iter().collect();
        let epochs: Vec<Epoch> = epochs.into_iter().collect();
        if self.trust == Trust::Locks {
            // One after the other: a row must be read after its run was locked.
            self.lock(runs, &ids).await?;
            let rows = self.fetch_activities(&activities).await?;
            self.know_activities(&activities, rows);
            let alive = self.fetch_members(&epochs).await?;
            self.know_members(&epochs, alive);
            return Ok(());
        }
        if runs.is_empty() && ids.is_empty() && activities.is_empty() && epochs.is_empty() {
            return Ok(());
        }
        // The runs first: a row that is newer than its run's number is refused by the fence, and
        // one that is older would not be. All is sent at once, and done in the order in which it is
        // sent; that is the order here, as long as no statement has to be made known first.
        self.db.know(&[&self.runs_text(), IDS, &activities_text(), MEMBERS]).await?;
        let (found, named, rows, alive) = try_join4(
            self.fetch_runs(&runs),
            self.fetch_ids(&ids),
            self.fetch_activities(&activities),
            self.fetch_members(&epochs),
        )
        .await?;
        self.know_runs(&runs, found);
        self.know_ids(&ids, named);
        self.know_activities(&activities, rows);
        self.know_members(&epochs, alive);
        Ok(())
    }

    /// Locks runs, and the newest ones of workflow ids. Whoever begins a newer one has compared the
    /// one before it: once that is locked and still the newest, it stays so.
    async fn lock(&mut self, runs: Vec<RunId>, ids: &[(Namespace, WorkflowId)]) -> Outcome<()> {
        let mut wanted: BTreeSet<RunId> = runs.into_iter().collect();
        loop {
            let named = self.fetch_ids(ids).await?;
            wanted.extend(named.iter().map(|(_, newest)| newest.run));
            wanted.retain(|run| !self.runs.contains_key(run));
            if wanted.is_empty() {
                self.know_ids(ids, named);
                return Ok(());
            }
            let all: Vec<RunId> = wanted.iter().copied().collect();
            let found = self.fetch_runs(&all).await?;
            self.know_runs(&all, found);
        }
    }

    // Runs.

    /// A run as it stands now; none if there is no such run.
    pub(crate) async fn find(&mut self, id: RunId) -> Outcome<Option<&Run>> {
        if !self.runs.contains_key(&id) {
            let found = self.fetch_runs(&[id]).await?;
            self.know_runs(&[id], found);
        }
        match self.runs.get(&id) {
            Some(Slot::Here(loaded)) if !loaded.gone => Ok(Some(&loaded.run)),
            Some(Slot::Broken(error)) => Err(error.clone().into()),
            _ => Ok(None),
        }
    }

    async fn fetch_runs(&self, ids: &[RunId]) -> Outcome<Vec<(RunId, Outcome<Run>)>> {
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        if self.trust == Trust::Locks {
            self.locks.lock().extend(ids);
        }
        let (spaces, uuids) = run::keys(ids);
        let rows = self.db.rows(&self.runs_text(), &[&spaces, &uuids]).await?;
        rows.iter().map(|row| Ok((blob::run_id(row, 0)?, run::read(row)))).collect()
    }

    fn runs_text(&self) -> String {
        let lock = match self.trust == Trust::Locks {
            true => " ORDER BY r.namespace, r.run FOR UPDATE OF r",
            false => "",
        };
        format!("SELECT {COLUMNS} FROM {WANTED}{lock}")
    }

    fn know_runs(&mut self, asked: &[RunId], found: Vec<(RunId, Outcome<Run>)>) {
        for (id, run) in found {
            let slot = match run {
                Ok(run) => {
                    let before = Some(Standing::of(&run.head));
                    Slot::Here(Box::new(Loaded { run, before, dirty: false, gone: false, next: 0 }))
                }
                Err(fault) => Slot::Broken(Error::from(fault)),
            };
            self.runs.entry(id).or_insert(slot);
        }
        for id in asked {
            self.runs.entry(*id).or_insert(Slot::Absent);
        }
    }

    /// The newest run of a workflow id.
    pub(crate) async fn current(
        &mut self,
        namespace: Namespace,
        id: &WorkflowId,
    ) -> Outcome<Option<RunId>> {
        let key = (namespace, id.clone());
        if !self.ids.contains_key(&key) {
            let asked = [key.clone()];
            let named = self.fetch_ids(&asked).await?;
            self.know_ids(&asked, named);
        }
        let Some(newest) = self.ids.get(&key).copied().flatten() else { return Ok(None) };
        Ok(self.find(newest.run).await?.map(|run| run.head.run))
    }

    async fn fetch_ids(
        &self,
        ids: &[(Namespace, WorkflowId)],
    ) -> Outcome<Vec<(WorkflowId, Newest)>> {
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        let spaces: Vec<i64> = ids.iter().map(|(space, _)| i64::from(space.0)).collect();
        let names: Vec<&str> = ids.iter().map(|(_, id)| id.as_str()).collect();
        let rows = self.db.rows(IDS, &[&spaces, &names]).await?;
        rows.iter()
            .map(|row| {
                let id: &str = row.try_get(2)?;
                let newest = Newest { run: blob::run_id(row, 0)?, serial: row.try_get(3)? };
                Ok((WorkflowId::from(id), newest))
            })
            .collect()
    }

    fn know_ids(&mut self, asked: &[(Namespace, WorkflowId)], found: Vec<(WorkflowId, Newest)>) {
        for (id, newest) in found {
            self.ids.entry((newest.run.namespace, id)).or_insert(Some(newest));
        }
        for key in asked {
            self.ids.entry(key.clone()).or_insert(None);
        }
    }

    // Activities.

    /// The row of an activity of a run that was found before.
    pub(crate) async fn activity(
        &mut self,
        run: RunId,
        activity: EventId,
    ) -> Outcome<Option<Activity>> {
        let key = (run, activity);
        if !self.activities.contains_key(&key) {
            self.look_up(&[key]).await?;
        }
        Ok(self.activities.get(&key).and_then(|kept| kept.row.clone()))
    }

    /// Reads rows of activities that will be asked for.
    pub(crate) async fn look_up(&mut self, named: &[(RunId, EventId)]) -> Outcome<()> {
        let unknown: Vec<_> =
            named.iter().copied().filter(|key| !self.activities.contains_key(key)).collect();
        let rows = self.fetch_activities(&unknown).await?;
        self.know_activities(&unknown, rows);
        Ok(())
    }

    async fn fetch_activities(&self, named: &[(RunId, EventId)]) -> Outcome<Vec<Activity>> {
        if named.is_empty() {
            return Ok(Vec::new());
        }
        let spaces: Vec<i64> = named.iter().map(|(run, _)| blob::space(*run)).collect();
        let uuids: Vec<Uuid> = named.iter().map(|(run, _)| blob::uuid(*run)).collect();
        let numbers: Vec<i64> = named.iter().map(|(_, number)| int(number.0)).collect();
        let rows = self.db.rows(&activities_text(), &[&spaces, &uuids, &numbers]).await?;
        rows.iter().map(activity::read).collect()
    }

    fn know_activities(&mut self, asked: &[(RunId, EventId)], found: Vec<Activity>) {
        for row in found {
            let kept = Kept { stored: true, row: Some(row.clone()), dirty: false };
            self.activities.entry((row.run, row.number)).or_insert(kept);
        }
        for key in asked {
            let nothing = || Kept { stored: false, row: None, dirty: false };
            self.activities.entry(*key).or_insert_with(nothing);
        }
    }

    /// Activities of a run that workers have.
    pub(crate) async fn attempts(&mut self, run: RunId) -> Outcome<Vec<EventId>> {
        if self.started.insert(run) {
            let rows =
                self.db.rows(&attempts_text(), &[&blob::space(run), &blob::uuid(run)]).await?;
            let found = rows.iter().map(activity::read).collect::<Outcome<Vec<_>>>()?;
            self.know_activities(&[], found);
        }
        let own = self.activities.iter().filter(|((own, _), _)| *own == run);
        let has = |kept: &Kept| kept.row.as_ref().is_some_and(|row| row.live.started().is_some());
        let mut out: Vec<EventId> =
            own.filter(|(_, kept)| has(kept)).map(|((_, number), _)| *number).collect();
        out.sort_unstable();
        Ok(out)
    }

    // Marks, missing_rows, members.

    /// The marks of a run that was found before.
    pub(crate) async fn marks(&mut self, id: RunId) -> Outcome<&[Mark]> {
        if !self.marks.contains_key(&id) {
            let marks = match self.run(id).marked {
                0 => Vec::new(),
                _ => marks(self.db, id).await?,
            };
            self.marks.insert(id, marks);
        }
        Ok(&self.marks[&id])
    }

    /// The first mark that covers an activity of a run that was found before.
    pub(crate) async fn mark(&mut self, id: RunId, activity: EventId) -> Outcome<Option<Mark>> {
        let marks = self.marks(id).await?;
        Ok(marks.iter().find(|mark| mark.ranges.contains(activity)).cloned())
    }

    /// What a run that was found before owes.
    pub(crate) async fn missing_rows(&mut self, id: RunId) -> Outcome<&[MissingRows]> {
        if !self.missing_rows.contains_key(&id) {
            let missing_rows = match self.run(id).owing {
                0 => Vec::new(),
                _ => missing_rows::read_missing(self.db, id).await?,
            };
            self.missing_rows.insert(id, missing_rows);
        }
        Ok(&self.missing_rows[&id])
    }

    /// Whether a member is alive. Where it is, the statement will ask again.
    pub(crate) async fn is_alive(&mut self, epoch: Epoch) -> Outcome<bool> {
        if !self.members.contains_key(&epoch) {
            let alive = self.fetch_members(&[epoch]).await?;
            self.know_members(&[epoch], alive);
        }
        Ok(self.members[&epoch])
    }

    /// Refuses whoever is not alive.
    pub(crate) async fn alive(&mut self, epoch: Epoch) -> Outcome<()> {
        match self.is_alive(epoch).await? {
            true => Ok(()),
            false => Err(Fault::Said(Error::Fenced)),
        }
    }

    async fn fetch_members(&self, epochs: &[Epoch]) -> Outcome<BTreeSet<Epoch>> {
        if epochs.is_empty() {
            return Ok(BTreeSet::new());
        }
        let numbers: Vec<i64> = epochs.iter().map(|epoch| int(epoch.0)).collect();
        let rows = self.db.rows(MEMBERS, &[&numbers]).await?;
        rows.iter().map(|row| Ok(Epoch(number(row, 0)?))).collect()
    }

    fn know_members(&mut self, asked: &[Epoch], alive: BTreeSet<Epoch>) {
        for epoch in asked {
            self.members.insert(*epoch, alive.contains(epoch));
        }
    }
}

fn activities_text() -> String {
    format!(
        "SELECT {} FROM unnest($1::int8[], $2::uuid[], $3::int8[]) AS w (namespace, run, n) \
         JOIN @activities a ON a.namespace = w.namespace AND a.run = w.run AND a.number = w.n",
        activity::COLUMNS
    )
}

/// Those that members have, and those that somebody else has. Member by member: a run may have very
/// many activities that wait.
pub(crate) fn attempts_text() -> String {
    let columns = activity::COLUMNS;
    format!(
        "SELECT {columns} FROM @members m CROSS JOIN LATERAL (SELECT * FROM @activities o \
             WHERE o.epoch = m.epoch AND o.namespace = $1 AND o.run = $2 OFFSET 0) AS a \
         WHERE a.place = 1 \
         UNION ALL SELECT {columns} FROM @activities a \
         WHERE a.namespace = $1 AND a.run = $2 AND a.place = 1 AND a.epoch IS NULL"
    )
}

/// The newest runs of workflow ids.
pub(crate) const IDS: &str = "SELECT w.namespace, l.run, w.workflow_id, l.serial \
    FROM unnest($1::int8[], $2::text[]) AS w (namespace, workflow_id) \
    CROSS JOIN LATERAL (SELECT o.run, o.serial FROM @labels o \
        WHERE o.namespace = w.namespace AND o.workflow_id = w.workflow_id \
        ORDER BY o.serial DESC LIMIT 1) AS l";

const MEMBERS: &str = "SELECT epoch FROM @members WHERE epoch = ANY($1) AND state = 0";

/// The marks of a run, by their numbers.
pub(crate) async fn marks(db: crate::connection::db::Db<'_>, id: RunId) -> Outcome<Vec<Mark>> {
    let sql = "SELECT number, bytes FROM @marks \
               WHERE namespace = $1 AND run = $2 ORDER BY number";
    let rows = db.rows(sql, &[&blob::space(id), &blob::uuid(id)]).await?;
    rows.iter().map(|row| blob::mark(id, number(row, 0)?, row, 1)).collect()
}
