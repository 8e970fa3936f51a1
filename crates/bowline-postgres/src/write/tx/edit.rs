//! What a step may change of the rows that were read.

use bowline_core::{
    ActivityLive, Alarm, Batch, Birth, EventId, Message, Number, RunId, Time, codec,
};
use bowline_store::{Error, Head, Hint, Snapshot, ready::Mark, stored::MissingRows};

use super::{Loaded, Newest, Slot, Tx};
use crate::{
    connection::db::Outcome,
    rows::{activity::Activity, run::Run},
    write::statement::LabelEdit,
};

impl<'a> Tx<'a> {
    /// A run that was found before.
    pub(crate) fn run(&self, id: RunId) -> &Run {
        match self.runs.get(&id) {
            Some(Slot::Here(loaded)) => &loaded.run,
            _ => unreachable!("the run was found before"),
        }
    }

    /// A run that was found before, to be changed.
    pub(crate) fn edit(&mut self, id: RunId) -> &mut Run {
        self.edits += 1;
        match self.runs.get_mut(&id) {
            Some(Slot::Here(loaded)) => {
                if !std::mem::replace(&mut loaded.dirty, true) {
                    self.written.push(id);
                }
                &mut loaded.run
            }
            _ => unreachable!("the run was found before"),
        }
    }

    /// A run whose rows are deleted.
    pub(crate) fn bury(&mut self, id: RunId) {
        self.edit(id);
        if let Some(Slot::Here(loaded)) = self.runs.get_mut(&id) {
            loaded.gone = true;
        }
        self.hints.extend([Hint::Changed(id), Hint::Closed(id)]);
    }

    /// Begins a run. Its workflow id was looked up before.
    pub(crate) async fn begin_run(&mut self, birth: &Birth, now: Time) -> Outcome<()> {
        let (head, started) = Head::born(birth)?;
        let id = birth.run;
        if self.find(id).await?.is_some() {
            return Err(Error::Invalid(format!("the run id {id} was used before")).into());
        }
        self.current(id.namespace, &head.workflow_id).await?;
        let newest = self.ids.get_mut(&(id.namespace, head.workflow_id.clone()));
        let newest = newest.expect("it was looked up above");
        let serial = newest.map_or(1, |before| before.serial + 1);
        *newest = Some(Newest { run: id, serial });
        let run = Run::born(head, started, serial);
        let loaded = Loaded { run, before: None, dirty: true, gone: false, next: 0 };
        self.runs.insert(id, Slot::Here(Box::new(loaded)));
        self.written.push(id);
        self.edits += 1;
        let batch = Batch::of(&birth.events).expect("it begins with an event");
        self.append(id, &batch);
        for (number, spec) in &birth.activities {
            let live = ActivityLive::queued(now, now);
            self.add(Activity::new(id, *number, (**spec).clone(), live), now);
        }
        for alarm in &birth.alarms {
            self.arm(id, *alarm);
        }
        if birth.wake {
            self.deliver(id, &Message::Wake, now);
        }
        self.hints.insert(Hint::Changed(id));
        Ok(())
    }

    /// The label of a run that was found before, to be changed.
    pub(crate) fn label(&mut self, id: RunId) -> &mut LabelEdit {
        let started_at = self.edit(id).head.started_at;
        self.writes.labels.entry(id).or_insert_with(|| LabelEdit::of(started_at))
    }

    /// Appends to history: a row for each run that the group is about.
    pub(crate) fn append(&mut self, id: RunId, batch: &Batch) {
        self.edits += 1;
        let before = self.writes.history.last_mut().filter(|(run, _)| *run == id);
        let joined = before.and_then(|(_, before)| Some((before.join(batch).ok()?, before)));
        match joined {
            Some((joined, before)) => *before = joined,
            None => self.writes.history.push((id, batch.clone())),
        }
    }

    pub(crate) fn keep_snapshot(&mut self, id: RunId, snapshot: &Snapshot) {
        self.edits += 1;
        self.writes.snapshots.insert(id, snapshot.clone());
    }

    /// Puts a message into the inbox of a run that was found before.
    pub(crate) fn deliver(&mut self, to: RunId, message: &Message, at: Time) -> Number {
        let (number, alarm) = self.edit(to).head.receive(message, at);
        if let Some(alarm) = alarm {
            self.arm(to, alarm);
        }
        self.mail.entry(to).or_default().add(number, at, message);
        number
    }

    pub(crate) fn add_mark(&mut self, id: RunId, mark: Mark) {
        self.edit(id).marked += 1;
        self.writes.marks.push((id, mark.clone()));
        self.marks.entry(id).or_default().push(mark);
        self.hints.insert(Hint::Sweep);
    }

    pub(crate) fn end_mark(&mut self, id: RunId, number: u64) {
        self.edit(id).marked -= 1;
        self.writes.old_marks.push((id, number));
        if let Some(marks) = self.marks.get_mut(&id) {
            marks.retain(|mark| mark.number != number);
        }
    }

    pub(crate) fn add_missing(&mut self, id: RunId, missing: MissingRows) {
        self.edit(id).owing += 1;
        self.writes.missing_rows.push((id, missing.clone()));
        self.missing_rows.entry(id).or_default().push(missing);
        self.hints.insert(Hint::Sweep);
    }

    /// A missing is paid up to an activity, or altogether.
    pub(crate) fn pay(&mut self, id: RunId, first: EventId, next: Option<EventId>) {
        if next.is_none() {
            self.edit(id).owing -= 1;
        } else {
            self.edit(id);
        }
        self.writes.paid.push((id, first, next));
    }

    /// Sets an alarm of a run that was found before.
    pub(crate) fn arm(&mut self, id: RunId, alarm: Alarm) {
        self.edit(id);
        self.writes.alarms.insert((id, alarm), true);
        self.ring_at(alarm.due);
    }

    /// Unsets an alarm of a run that was found before.
    pub(crate) fn disarm(&mut self, id: RunId, alarm: Alarm) {
        self.edit(id);
        self.writes.alarms.insert((id, alarm), false);
    }

    /// Nothing of a run rings any more, but the limits of what workers still have.
    pub(crate) fn silence(&mut self, id: RunId) {
        self.edit(id);
        self.writes.alarms.retain(|(run, alarm), _| *run != id || alarm.what.message().is_none());
        self.writes.silenced.insert(id);
    }

    /// One hint for all alarms: the earliest.
    pub(crate) fn ring_at(&mut self, due: Time) {
        let known = self.hints.iter().find_map(|hint| match hint {
            Hint::Alarm(known) => Some(*known),
            _ => None,
        });
        match known {
            Some(known) if known <= due => {}
            known => {
                if let Some(known) = known {
                    self.hints.remove(&Hint::Alarm(known));
                }
                self.hints.insert(Hint::Alarm(due));
            }
        }
    }

    pub(crate) fn encode(message: &Message) -> Vec<u8> {
        codec::encode(message)
    }
}
