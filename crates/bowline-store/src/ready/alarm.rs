//! Alarms, by the moment at which they ring and by their run.

use std::collections::BTreeSet;

use bowline_core::{Alarm, AlarmKind, RunId, Time};

#[derive(Debug, Default)]
pub(super) struct Alarms {
    by_due: BTreeSet<(Time, RunId, AlarmKind)>,
    by_run: BTreeSet<(RunId, AlarmKind, Time)>,
}

/// The first of all alarms, in the order of their kinds.
const FIRST: AlarmKind = AlarmKind::Timer(bowline_core::EventId(0));

impl Alarms {
    pub(super) fn arm(&mut self, run: RunId, alarm: Alarm) {
        self.by_due.insert((alarm.due, run, alarm.what));
        self.by_run.insert((run, alarm.what, alarm.due));
    }

    pub(super) fn disarm(&mut self, run: RunId, alarm: Alarm) {
        self.by_due.remove(&(alarm.due, run, alarm.what));
        self.by_run.remove(&(run, alarm.what, alarm.due));
    }

    pub(super) fn forget(&mut self, run: RunId) {
        let own: Vec<Alarm> = self.of_run(run).collect();
        own.into_iter().for_each(|alarm| self.disarm(run, alarm));
    }

    pub(super) fn of_run(&self, run: RunId) -> impl Iterator<Item = Alarm> {
        self.by_run
            .range((run, FIRST, Time(i64::MIN))..)
            .take_while(move |(own, ..)| *own == run)
            .map(|(_, what, due)| Alarm { due: *due, what: *what })
    }

    pub(super) fn first(&self, run: RunId, what: AlarmKind) -> Option<Time> {
        let mut own = self.by_run.range((run, what, Time(i64::MIN))..=(run, what, Time::MAX));
        own.next().map(|(_, _, due)| *due)
    }

    pub(super) fn due(&self, now: Time) -> impl Iterator<Item = (RunId, Alarm)> {
        self.by_due
            .iter()
            .take_while(move |(due, ..)| *due <= now)
            .map(|(due, run, what)| (*run, Alarm { due: *due, what: *what }))
    }

    pub(super) fn next(&self) -> Option<Time> {
        self.by_due.first().map(|(due, ..)| *due)
    }
}
