//! Runs begin.

use std::collections::{BTreeMap, BTreeSet};

use bowline_core::{ActivityLive, Batch, Birth, Message, RunId, Time};

use super::{
    Data,
    row::{Activity, Run},
};
use crate::{Error, Head, Result, may_reuse};

impl Data {
    /// Whether a birth could be written at all, whoever has its workflow id.
    pub(super) fn check_birth(&self, birth: &Birth) -> Result<()> {
        Head::born(birth)?;
        match self.rows.runs.contains_key(&birth.run) {
            true => Err(Error::Invalid(format!("run {} exists already", birth.run))),
            false => Ok(()),
        }
    }

    /// Whether the workflow id of a birth is free, or may be used again.
    pub(super) fn check_id(&self, birth: &Birth) -> Result<()> {
        let (_, started) = Head::born(birth)?;
        let current = self.rows.current(birth.run.namespace, &started.workflow_id);
        let Some(head) = current.map(|run| &run.head) else { return Ok(()) };
        match !head.status.is_open() && may_reuse(birth.reuse, head.status) {
            true => Ok(()),
            false => Err(Error::IdTaken { run: head.run, status: head.status }),
        }
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
