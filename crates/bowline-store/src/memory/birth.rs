//! Runs begin.

use std::collections::{BTreeMap, BTreeSet};

use bowline_core::{ActivityLive, Batch, Birth, Message, RunId, Status, Time};

use super::{
    Data,
    row::{Activity, Run},
};
use crate::{Error, Head, Result, commit::rule::taken_by};

impl Data {
    /// Whether a birth could be written at all, whoever has its workflow id.
    pub(super) fn check_birth(&self, birth: &Birth) -> Result<()> {
        Head::born(birth)?;
        match self.rows.runs.contains_key(&birth.run) {
            true => Err(Error::Invalid(format!("run {} exists already", birth.run))),
            false => Ok(()),
        }
    }

    /// The run because of which a workflow id cannot be taken, if there is one.
    pub(super) fn taken_by(&self, birth: &Birth) -> Result<Option<(RunId, Status)>> {
        let (_, started) = Head::born(birth)?;
        let current = self.rows.current(birth.run.namespace, &started.workflow_id);
        Ok(taken_by(birth, current.map(|run| (run.head.run, run.head.status))))
    }

    /// Writes a run that was checked. It is the newest of its workflow id from now on.
    pub(super) fn begin_run(&mut self, birth: Birth, now: Time) -> RunId {
        let (head, started) = Head::born(&birth).expect("a birth is checked before it is written");
        let (run, parent) = (birth.run, started.parent.as_ref());
        let row = Run {
            request_id: started.request_id.clone(),
            close: parent.map(|parent| parent.close).unwrap_or_default(),
            batches: Batch::of(&birth.events).into_iter().collect(),
            snapshot: None,
            inbox: BTreeMap::new(),
            activities: BTreeMap::new(),
            alarms: BTreeSet::new(),
            marks: Vec::new(),
            marks_made: 0,
            never_started: 0,
            head,
        };
        self.rows.current.insert((run.namespace, row.head.workflow_id.clone()), run);
        self.rows.chains.entry(row.head.first_run).or_default().push(run);
        if let Some((parent, _)) = row.head.parent {
            self.rows.children.entry(parent).or_default().insert(run);
        }
        self.rows.runs.insert(run, row);
        for (activity, spec) in birth.activities {
            let row = Activity { spec, live: ActivityLive::queued(now, now) };
            self.rows.known(run).activities.insert(activity, row);
            self.moved(run, activity, now);
        }
        birth.alarms.into_iter().for_each(|alarm| self.arm(run, alarm));
        if birth.wake {
            self.deliver(run, Message::Wake, now);
        }
        self.changed(run);
        run
    }
}
