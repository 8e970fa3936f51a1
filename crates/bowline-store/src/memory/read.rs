//! One run is read.

use bowline_core::EventId;

use super::{Data, row::Run};
use crate::{ActivityRow, Read, RunRead};

impl Data {
    pub(super) fn read(&self, read: &Read) -> Option<RunRead> {
        let row = self.rows.key(&read.run)?;
        let wanted = read.events_from.unwrap_or_default();
        let newer = row.snapshot.as_ref().filter(|snapshot| snapshot.at > wanted);
        let snapshot = newer.filter(|_| read.snapshot).cloned();
        let from = snapshot.as_ref().map(|snapshot| snapshot.at.plus(1)).or(read.events_from);
        Some(RunRead {
            head: row.head.clone(),
            snapshot,
            batches: from.map(|from| batches(row, from, read.batches_max)).unwrap_or_default(),
            inbox: if read.inbox { row.unread(usize::MAX) } else { Vec::new() },
            activities: activities(row, read.activities_max),
        })
    }
}

fn batches(row: &Run, from: EventId, most: usize) -> Vec<bowline_core::Batch> {
    row.batches.iter().filter(|batch| batch.last >= from).take(most).cloned().collect()
}

fn activities(row: &Run, most: usize) -> Vec<ActivityRow> {
    let rows = row.activities.iter().take(most);
    rows.map(|(activity, own)| ActivityRow {
        run: row.head.run,
        activity: *activity,
        spec: (*own.spec).clone(),
        live: own.live.clone(),
    })
    .collect()
}
