//! A transaction of a group of calls: the runs that they touch, each read and written once.
//!
//! In:    calls, one after the other; each sees what the ones before it did.
//! Out:   rows, and the changes that the index takes over when the rows are committed.
//! Never: tells the index or anybody else of something that may still be rolled back.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::{Arc, atomic::Ordering},
};

use bowline_core::{
    ActivityLive, Alarm, Batch, Birth, Epoch, EventId, Fence, Message, Namespace, Number, Received,
    RunId, Time, codec,
};
use bowline_store::{
    Error, Head, Hint, Recent,
    ready::{Change, Index, Mark, Standing},
    stored::PlannedRows,
};
use rusqlite::params;

use crate::{
    connection::db::{Db, Outcome},
    limits,
    queue::sweep::Cursor,
    read::leftovers,
    rows::{
        activity::Activity,
        blob::int,
        inbox,
        run::{self, Run},
    },
    write::pending::Pending,
};

/// What the writer remembers between transactions.
#[derive(Default)]
pub(crate) struct WriterMemory {
    pub(crate) index: Index,
    /// Labels of the runs that were used lately, so that a commit need not read them again. A
    /// label never changes, so nothing here can be stale.
    pub(crate) labels: Recent<RunId, Arc<run::Label>, { limits::LABELS_MAX }>,
    /// The largest key of each namespace.
    pub(crate) keys: HashMap<Namespace, i64>,
    pub(crate) missing_rows: PlannedRows,
    /// Where sweeping goes on looking for runs that may go.
    pub(crate) cursor: Cursor,
}

impl WriterMemory {
    /// Forgets what a transaction that was rolled back may have left here.
    pub(crate) fn roll_back(&mut self) {
        self.labels.clear();
        self.keys.clear();
        self.missing_rows.clear();
    }
}

pub(crate) struct Tx<'a> {
    pub(crate) db: Db<'a>,
    pub(crate) memory: &'a mut WriterMemory,
    runs: HashMap<RunId, Loaded>,
    /// Runs in the order in which they were first written to.
    written: Vec<RunId>,
    /// First messages of runs that have begun in this transaction, and are not written: the first
    /// turn, which may be a part of it too, has no use for them.
    wakes: BTreeMap<RunId, (Number, Time)>,
    edits: u64,
    pending: Pending,
    pub(crate) hints: BTreeSet<Hint>,
    pub(crate) member: Option<Membership>,
    /// How many runs and activities the calls so far have claimed; the index does not know yet.
    pub(crate) claimed: usize,
    /// Closed runs of trees that may be over since this transaction.
    rests: BTreeSet<RunId>,
}

/// What becomes of the member once the transaction is committed.
#[derive(Clone, Copy)]
pub(crate) enum Membership {
    Joined(Epoch),
    Left,
}

struct Loaded {
    run: Run,
    state: State,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Clean,
    Dirty,
    New,
}

/// What a transaction did, for whoever may know of it once it is committed.
pub(crate) struct Done {
    pub(crate) changes: Vec<Change>,
    pub(crate) hints: BTreeSet<Hint>,
    pub(crate) member: Option<Membership>,
}

impl<'a> Tx<'a> {
    pub(crate) fn new(db: Db<'a>, memory: &'a mut WriterMemory) -> Self {
        Self {
            db,
            memory,
            runs: HashMap::new(),
            written: Vec::new(),
            wakes: BTreeMap::new(),
            edits: 0,
            pending: Pending::default(),
            hints: BTreeSet::new(),
            member: None,
            claimed: 0,
            rests: BTreeSet::new(),
        }
    }

    /// Refuses whoever is not the member: stores of one process have one at a time.
    pub(crate) fn alive(&self, epoch: Epoch) -> Outcome<()> {
        match self.memory.index.epoch() == Some(epoch) {
            true => Ok(()),
            false => Err(Error::Fenced.into()),
        }
    }

    /// Rises with everything that is written: an answer that refuses must leave it alone.
    pub(crate) fn touched(&self) -> u64 {
        self.edits + self.db.counters.rows_written.load(Ordering::Relaxed)
    }

    /// Writes the rows of all runs that were edited.
    pub(crate) fn flush(&mut self) -> Outcome<()> {
        while let Some(run) = self.wakes.keys().next().copied() {
            self.write_wake(run)?;
        }
        for id in std::mem::take(&mut self.written) {
            let Some(loaded) = self.runs.get_mut(&id) else { continue };
            run::save(self.db, &loaded.run, loaded.state == State::New)?;
            loaded.state = State::Clean;
            self.pending.push(Change::Run(Standing::of(&loaded.run.head)));
        }
        std::mem::take(&mut self.rests).into_iter().try_for_each(|run| self.rest(run))
    }

    /// Something of a run that was found before is over now. If the run is closed, all of it may
    /// be: that is looked at once all of the transaction is written.
    pub(crate) fn may_rest(&mut self, id: RunId) {
        let run = self.run(id);
        if !run.is_open() && run.head.kin().is_some() {
            self.rests.insert(id);
        }
    }

    /// A run that is over is not looked for any more when its tree is.
    fn rest(&mut self, id: RunId) -> Outcome<()> {
        let Some(loaded) = self.runs.get(&id) else { return Ok(()) };
        let is_out = self.pending.has_attempts(&self.memory.index, id);
        if is_out || !leftovers::is_over(self.db, &loaded.run)? {
            return Ok(());
        }
        let sql = "UPDATE labels SET kin = NULL WHERE key = ? AND kin IS NOT NULL";
        self.db.run(sql, [loaded.run.key()])?;
        Ok(())
    }

    /// What is left to do once the transaction is committed. The rows are written.
    pub(crate) fn finish(mut self) -> Outcome<Done> {
        self.flush()?;
        let Self { pending, hints, member, .. } = self;
        Ok(Done { changes: pending.into_changes(), hints, member })
    }

    // Runs.

    /// A run as it stands now; none if there is no such run.
    pub(crate) fn find(&mut self, id: RunId) -> Outcome<Option<&Run>> {
        if !self.runs.contains_key(&id) {
            let Some(label) = self.label(id)? else { return Ok(None) };
            let run = run::run(self.db, label)?;
            self.runs.insert(id, Loaded { run, state: State::Clean });
        }
        Ok(self.runs.get(&id).map(|loaded| &loaded.run))
    }

    /// A run that was found before.
    pub(crate) fn run(&self, id: RunId) -> &Run {
        &self.runs.get(&id).expect("the run was found before").run
    }

    /// A run that was found before, to be changed.
    pub(crate) fn edit(&mut self, id: RunId) -> &mut Run {
        let loaded = self.runs.get_mut(&id).expect("the run was found before");
        self.edits += 1;
        if loaded.state == State::Clean {
            loaded.state = State::Dirty;
            self.written.push(id);
        }
        &mut loaded.run
    }

    /// A run whose rows are deleted.
    pub(crate) fn gone(&mut self, id: RunId) {
        self.runs.remove(&id);
        self.written.retain(|written| *written != id);
        self.memory.labels.take(&id);
        self.wakes.remove(&id);
        self.change(Change::RunGone(id));
        self.hints.extend([Hint::Changed(id), Hint::Closed(id)]);
    }

    /// The newest run of a workflow id.
    pub(crate) fn current(
        &mut self,
        namespace: Namespace,
        workflow_id: &str,
    ) -> Outcome<Option<&Run>> {
        let Some(key) = run::current(self.db, namespace, workflow_id)? else { return Ok(None) };
        match self.find_at(key)? {
            Some(id) => self.find(id),
            None => Ok(None),
        }
    }

    /// Finds the run behind a key.
    pub(crate) fn find_at(&mut self, key: i64) -> Outcome<Option<RunId>> {
        let Some(label) = run::label_at(self.db, key)? else { return Ok(None) };
        let id = label.run;
        self.memory.labels.put(id, Arc::new(label));
        Ok(self.find(id)?.map(|run| run.head.run))
    }

    /// The key of a run.
    pub(crate) fn label(&mut self, id: RunId) -> Outcome<Option<Arc<run::Label>>> {
        if let Some(label) = self.memory.labels.find(&id) {
            return Ok(Some(label));
        }
        let Some(label) = run::label(self.db, id)?.map(Arc::new) else { return Ok(None) };
        self.memory.labels.put(id, label.clone());
        Ok(Some(label))
    }

    /// Begins a run. Whoever holds it from the start does so before anything waits for it: nobody
    /// else is told of a turn that is not to be had.
    pub(crate) fn begin_run(
        &mut self,
        birth: &Birth,
        hold: Option<Fence>,
        now: Time,
    ) -> Outcome<()> {
        let (head, started) = Head::born(birth)?;
        let id = birth.run;
        if self.find(id)?.is_some() {
            return Err(Error::Invalid(format!("the run id {id} was used before")).into());
        }
        let last = match self.memory.keys.get(&id.namespace) {
            Some(last) => *last,
            None => run::last_key(self.db, id.namespace)?,
        };
        let key = last + 1;
        self.memory.keys.insert(id.namespace, key);
        let mut run = run::insert(self.db, key, head, started)?;
        run.head.holder = hold;
        self.memory.labels.put(id, run.label.clone());
        self.runs.insert(id, Loaded { run, state: State::New });
        self.written.push(id);
        let batch = Batch::of(&birth.events).expect("it begins with an event");
        self.append(key, &batch)?;
        for (number, spec) in &birth.activities {
            let live = ActivityLive::queued(now, now);
            let spec = (**spec).clone();
            self.add(&Activity { key, run: id, number: *number, spec, live }, now)?;
        }
        for alarm in &birth.alarms {
            self.arm(id, *alarm)?;
        }
        match hold {
            _ if !birth.wake => {}
            None => drop(self.deliver(id, &Message::Wake, now)?),
            Some(_) => {
                let head = &mut self.edit(id).head;
                head.inbox.0 += 1;
                let number = head.inbox;
                self.wakes.insert(id, (number, now));
            }
        }
        self.stand(id);
        self.hints.insert(Hint::Changed(id));
        Ok(())
    }

    /// Appends a row of history.
    pub(crate) fn append(&mut self, key: i64, batch: &Batch) -> Outcome<()> {
        self.db.run(
            "INSERT INTO history (run, first, last, bytes) VALUES (?, ?, ?, ?)",
            params![key, int(batch.first.0), int(batch.last.0), batch.bytes.as_slice()],
        )?;
        Ok(())
    }

    /// Puts a message into the inbox of a run that was found before.
    pub(crate) fn deliver(&mut self, to: RunId, message: &Message, at: Time) -> Outcome<Number> {
        let run = self.edit(to);
        let (key, (number, alarm)) = (run.key(), run.head.receive(message, at));
        inbox::put(self.db, key, number, message, at)?;
        if let Some(alarm) = alarm {
            self.arm(to, alarm)?;
        }
        self.stand(to);
        Ok(number)
    }

    /// Whether a run that was found before may take a message.
    pub(crate) fn admit(&self, to: RunId, message: &Message) -> Outcome<()> {
        let run = self.run(to);
        let bytes = match run.head.must_weigh(message) {
            Some(_) => inbox::weight(self.db, run.key())?,
            None => 0,
        };
        Ok(run.head.admit(message, bytes)?)
    }

    /// Writes the first message of a run after all.
    fn write_wake(&mut self, id: RunId) -> Outcome<()> {
        let Some((number, at)) = self.wakes.remove(&id) else { return Ok(()) };
        inbox::put(self.db, self.run(id).key(), number, &Message::Wake, at)
    }

    /// The oldest unread messages of a run that was found before.
    pub(crate) fn unread(&mut self, id: RunId, limit: usize) -> Outcome<Vec<Received>> {
        self.write_wake(id)?;
        inbox::unread(self.db, id, self.run(id).key(), limit)
    }

    /// Whether a message waits after this one in the inbox of a run that was found before, and is
    /// none of these.
    pub(crate) fn is_unread_after(&self, id: RunId, last: Number, but: &[Number]) -> Outcome<bool> {
        let wake = self.wakes.get(&id);
        if wake.is_some_and(|(number, _)| *number > last && !but.contains(number)) {
            return Ok(true);
        }
        inbox::waits_after(self.db, self.run(id).key(), last, but)
    }

    /// Takes messages out of the inbox of a run that was found before: up to one, and these.
    pub(crate) fn consume(&mut self, id: RunId, last: Number, and: &[Number]) -> Outcome<()> {
        let run = self.run(id);
        let (key, is_more) = (run.key(), last > run.head.consumed);
        let wake = self.wakes.get(&id).map(|(number, _)| *number);
        if wake.is_some_and(|number| number <= last || and.contains(&number)) {
            self.wakes.remove(&id);
        }
        // A first message is the only one up to itself.
        if is_more && wake != Some(last) {
            inbox::drop_until(self.db, key, last)?;
        }
        and.iter().try_for_each(|number| inbox::drop_one(self.db, key, *number))
    }

    /// Tells the index where a run stands at this point of the group. How it stands in the end is
    /// told when its row is written; this keeps runs in the order in which they became ready.
    pub(crate) fn stand(&mut self, id: RunId) {
        let standing = Standing::of(&self.run(id).head);
        self.change(Change::Run(standing));
    }

    // What the index will know.

    pub(crate) fn change(&mut self, change: Change) {
        self.pending.push(change);
    }

    pub(crate) fn attempts(&self, run: RunId) -> BTreeSet<EventId> {
        self.pending.attempts(&self.memory.index, run)
    }

    pub(crate) fn mark(&self, run: RunId, activity: EventId) -> Option<Mark> {
        self.pending.mark(&self.memory.index, run, activity)
    }

    /// Whether this group has changed something of a run that the index does not know yet.
    pub(crate) fn is_pending(&self, run: RunId) -> bool {
        self.pending.touches(run)
    }

    pub(crate) fn owes(&self, run: RunId) -> bool {
        self.pending.owes(&self.memory.index, run)
    }

    pub(crate) fn deadline(&self, run: RunId, activity: EventId) -> Option<Time> {
        self.pending.deadline(&self.memory.index, run, activity)
    }

    // Alarms.

    pub(crate) fn alarms(&self, run: RunId) -> BTreeSet<Alarm> {
        self.pending.alarms(&self.memory.index, run)
    }

    /// Sets an alarm of a run that was found before.
    pub(crate) fn arm(&mut self, id: RunId, alarm: Alarm) -> Outcome<()> {
        let key = self.run(id).key();
        self.db.run(
            "INSERT OR IGNORE INTO alarms (due, run, what) VALUES (?, ?, ?)",
            params![alarm.due.0, key, codec::encode(&alarm.what)],
        )?;
        self.change(Change::Armed(id, alarm));
        Ok(())
    }

    /// Unsets an alarm of a run that was found before; answers how many there were.
    pub(crate) fn disarm(&mut self, id: RunId, alarm: Alarm) -> Outcome<usize> {
        let key = self.run(id).key();
        let gone = self.db.run(
            "DELETE FROM alarms WHERE due = ? AND run = ? AND what = ?",
            params![alarm.due.0, key, codec::encode(&alarm.what)],
        )?;
        self.change(Change::Disarmed(id, alarm));
        Ok(gone)
    }
}
