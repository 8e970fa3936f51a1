//! A group of calls on its way: the rows that they touch are read, changed in memory, and written
//! by one statement that names what it was decided on.
//!
//! In:    calls, one after the other; each sees what the ones before it did.
//! Out:   one statement; the hints to tell, and the rows to keep, once it is committed.
//! Never: writes anything if a run that was looked at has changed since. Every write to any row of
//!        a run moves `rev` on the run's own row, so that number answers for all of them.

mod edit;
mod load;

use std::{
    collections::{BTreeSet, HashMap},
    time::Duration,
};

use bowline_core::{Epoch, EventId, Namespace, Number, RunId, WorkflowId};
use bowline_store::{
    Error, Hint,
    ready::{Mark, Standing},
    runs_on,
    stored::MissingRows,
};

use crate::{
    connection::{
        db::{Db, Outcome},
        nonce,
    },
    rows::{activity::Activity, inbox::Mail, known::Rows, run::Run},
    shared::Shared,
    write::{statement::Writes, work},
};

#[cfg(test)]
pub(crate) use load::{IDS, attempts_text};
pub(crate) use load::{Wants, marks};

pub(crate) struct Tx<'a> {
    pub(crate) db: Db<'a>,
    pub(crate) shared: &'a Shared,
    trust: Trust,
    /// Something was taken from memory, or for granted; the statement will tell.
    assumed: bool,
    runs: HashMap<RunId, Slot>,
    /// Runs in the order in which they were first written to.
    written: Vec<RunId>,
    /// The newest run of each workflow id.
    ids: HashMap<(Namespace, WorkflowId), Option<Newest>>,
    pub(crate) activities: HashMap<(RunId, EventId), Kept>,
    /// Runs of which every started activity is known.
    started: BTreeSet<RunId>,
    marks: HashMap<RunId, Vec<Mark>>,
    missing_rows: HashMap<RunId, Vec<MissingRows>>,
    pub(crate) mail: HashMap<RunId, Mail>,
    members: HashMap<Epoch, bool>,
    pub(crate) writes: Writes,
    pub(crate) hints: BTreeSet<Hint>,
    edits: u64,
    /// How long the statement waits for what somebody else has locked.
    wait: Option<Duration>,
    /// Runs that were locked, or were to be.
    locks: parking_lot::Mutex<BTreeSet<RunId>>,
}

/// Where the rows come from that are decided on.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Trust {
    /// From memory, where this process holds the run; otherwise they are read.
    Memory,
    /// They are read.
    Reads,
    /// They are read and locked, because somebody was faster before.
    Locks,
}

/// A run, as far as it is known.
enum Slot {
    /// There is none.
    Absent,
    /// Its row does not read.
    Broken(Error),
    Here(Box<Loaded>),
}

struct Loaded {
    run: Run,
    /// How it stood in the database; none for one that begins here.
    before: Option<Standing>,
    dirty: bool,
    /// Its rows go.
    gone: bool,
    /// Its `rev` once it is written.
    next: i64,
}

/// The newest run of a workflow id, and how many came before it.
#[derive(Clone, Copy)]
struct Newest {
    run: RunId,
    serial: i64,
}

/// The row of an activity.
pub(crate) struct Kept {
    /// It is in the database.
    pub(crate) stored: bool,
    /// None if there is none, or none any more.
    pub(crate) row: Option<Activity>,
    pub(crate) dirty: bool,
}

impl<'a> Tx<'a> {
    pub(crate) fn new(db: Db<'a>, shared: &'a Shared, trust: Trust) -> Self {
        Self {
            db,
            shared,
            trust,
            assumed: false,
            runs: HashMap::new(),
            written: Vec::new(),
            ids: HashMap::new(),
            activities: HashMap::new(),
            started: BTreeSet::new(),
            marks: HashMap::new(),
            missing_rows: HashMap::new(),
            mail: HashMap::new(),
            members: HashMap::new(),
            writes: Writes::default(),
            hints: BTreeSet::new(),
            edits: 0,
            wait: None,
            locks: parking_lot::Mutex::default(),
        }
    }

    /// It waits only so long for what somebody else has locked.
    pub(crate) fn wait_for(&mut self, wait: Duration) {
        self.wait = Some(wait);
    }

    /// The runs that were looked at, or were to be locked.
    pub(crate) fn looked_at(&self) -> Vec<RunId> {
        let here = |slot: &Slot| matches!(slot, Slot::Here(loaded) if loaded.before.is_some());
        let known = self.runs.iter().filter(|(_, slot)| here(slot)).map(|(run, _)| *run);
        let mut all = self.locks.lock().clone();
        all.extend(known);
        all.into_iter().collect()
    }

    /// Rises with everything that is to be written: an answer that refuses must leave it alone.
    pub(crate) fn touched(&self) -> u64 {
        self.edits
    }

    /// Writes everything, or nothing. `commits`: nobody else ends the transaction.
    pub(crate) async fn finish(&mut self, commits: bool) -> Outcome<()> {
        if self.edits == 0 {
            return Ok(());
        }
        self.stand();
        self.gather();
        let mut writes = std::mem::take(&mut self.writes);
        writes.wait = self.wait.filter(|_| commits).map(work::millis);
        let added = writes.born.len() + writes.new_activities.len();
        writes.statement().send(self.db, commits).await?;
        self.shared.growth.add(added);
        Ok(())
    }

    /// Whether something that was decided on may not be as the database has it.
    pub(crate) fn assumes(&self) -> bool {
        self.assumed
    }

    /// The hints to tell, and the rows as they stand now. Where nothing was written, runs may
    /// still have been locked for a while, and passed over by a claim: those are told of too.
    pub(crate) fn into_hints(mut self, written: bool) -> (BTreeSet<Hint>, Vec<Rows>) {
        let mut rows = Vec::new();
        if written {
            rows = self.rows();
        } else {
            self.hints.clear();
            self.runs.values_mut().for_each(|slot| {
                if let Slot::Here(loaded) = slot
                    && let Some(before) = &loaded.before
                {
                    tell(None, before, &mut self.hints);
                }
            });
        }
        (self.hints, rows)
    }

    /// The runs that were looked at, as the statement has left them.
    fn rows(&mut self) -> Vec<Rows> {
        let mut all = Vec::with_capacity(self.runs.len());
        let mut places = HashMap::with_capacity(self.runs.len());
        for (id, slot) in self.runs.drain() {
            let Slot::Here(loaded) = slot else { continue };
            let Loaded { mut run, dirty, gone, next, .. } = *loaded;
            if gone || run.head.holder.is_none() {
                self.shared.held.forget(id);
                continue;
            }
            if dirty {
                run.rev = next;
            }
            places.insert(id, all.len());
            all.push(Rows { run, activities: Vec::new() });
        }
        for ((run, _), kept) in self.activities.drain() {
            if let (Some(place), Some(row)) = (places.get(&run), kept.row) {
                all[*place].activities.push(row);
            }
        }
        all
    }

    /// Where every run waits now, and who should hear of it. Runs that were only looked at count
    /// too: while they are locked, a claim passes them over.
    fn stand(&mut self) {
        let Self { runs, written, hints, shared, .. } = self;
        for id in written.iter() {
            let Some(Slot::Here(loaded)) = runs.get_mut(id) else { continue };
            let now = Standing::of(&loaded.run.head);
            loaded.run.wait(loaded.before.as_ref(), &now, || shared.stamp());
        }
        for slot in runs.values() {
            if let Slot::Here(loaded) = slot
                && !loaded.gone
            {
                let head = &loaded.run.head;
                let now = Standing::of(head);
                tell(loaded.before.as_ref(), &now, hints);
                // It begins here and has had its first turn, which knows of nothing that was sent
                // to it after that.
                let had_turn = loaded.before.is_none() && head.consumed.0 > 0;
                if had_turn && now.holder.is_some() && head.inbox > head.consumed {
                    hints.insert(Hint::Inbox(now.run));
                }
            }
        }
    }

    /// Everything that was changed in memory becomes rows to write.
    fn gather(&mut self) {
        for (id, slot) in &mut self.runs {
            let Slot::Here(loaded) = slot else { continue };
            loaded.next = nonce::after(loaded.run.rev);
            let written = |loaded: &Loaded| Run { rev: loaded.next, ..loaded.run.clone() };
            if loaded.before.is_some() {
                self.writes.fences.push((*id, loaded.run.rev));
            }
            match (loaded.gone, loaded.before.is_some()) {
                (true, true) => self.writes.buried.push((*id, loaded.run.head.started_at)),
                (true, false) => {}
                (false, false) => self.writes.born.push(written(loaded)),
                (false, true) if loaded.dirty => self.writes.runs.push(written(loaded)),
                (false, true) => {}
            }
        }
        // Groups that begin the same workflow ids wait for each other in one order.
        self.writes.born.sort_by(|a, b| {
            let key = |run: &Run| (run.head.run.namespace, run.head.workflow_id.clone());
            key(a).cmp(&key(b))
        });
        for ((run, number), kept) in self.activities.iter().filter(|(_, kept)| kept.dirty) {
            match (kept.stored, &kept.row) {
                (true, Some(row)) => self.writes.activities.push(row.clone()),
                (false, Some(row)) => self.writes.new_activities.push(row.clone()),
                (true, None) => self.writes.old_activities.push((*run, *number)),
                (false, None) => {}
            }
        }
        self.writes.rests = self.rests();
        let relied = self.members.iter().filter(|(_, alive)| **alive);
        self.writes.epochs = relied.map(|(epoch, _)| *epoch).collect();
        self.writes.mail = std::mem::take(&mut self.mail);
        for born in &self.writes.born {
            // Nobody has written to it: what was consumed was never there.
            if let Some(mail) = self.writes.mail.get_mut(&born.head.run) {
                mail.upto = Number(0);
                mail.dropped.clear();
            }
        }
    }

    /// Closed runs of trees that are written, and of which nothing is left as far as is known.
    fn rests(&self) -> BTreeSet<RunId> {
        let slots = self.runs.values().filter_map(|slot| match slot {
            Slot::Here(loaded) if loaded.dirty && !loaded.gone => Some(&loaded.run),
            _ => None,
        });
        let closed = slots.filter(|run| !run.is_open() && run.head.kin().is_some());
        let paid = closed.filter(|run| run.marked == 0 && run.owing == 0);
        let mut rests: BTreeSet<RunId> = paid.map(|run| run.head.run).collect();
        if !rests.is_empty() {
            for ((run, _), kept) in &self.activities {
                let live = kept.row.as_ref().map(|row| &row.live);
                if live.is_some_and(|live| live.ended().is_none() || runs_on(live)) {
                    rests.remove(run);
                }
            }
        }
        rests
    }

    // Runs.

    // Marks and missing_rows of runs that were found before, and whose own were looked up.

    // Alarms.
}

/// What the way a run stands means to those who wait.
fn tell(before: Option<&Standing>, now: &Standing, hints: &mut BTreeSet<Hint>) {
    let namespace = now.run.namespace;
    if now.turn {
        hints.insert(Hint::Turn(namespace, now.queue.clone()));
    }
    if now.intake {
        hints.insert(Hint::Intake(namespace));
    }
    if let Some(queue) = &now.remote_turn {
        hints.insert(Hint::RemoteTurn(namespace, queue.clone()));
    }
    if now.holder.is_some() && before.is_some_and(|before| before.inbox < now.inbox) {
        hints.insert(Hint::Inbox(now.run));
    }
}
