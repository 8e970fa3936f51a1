//! New activities: they wait, or are started by the commit that schedules them.

use bowline_core::{ActivityLive, EventId, Ranges, start};
use bowline_store::{Commit, NewActivity};

use crate::{activity::Activity, db::Outcome, limits, owed::Debt, tx::Tx};

/// Writes the rows, and answers which were started as which attempt.
pub(super) async fn add_all(tx: &mut Tx<'_>, commit: &Commit) -> Outcome<Vec<(EventId, u32)>> {
    let wide = commit.activities.len() > limits::ROWS_AT_ONCE && in_batch(commit);
    let mut started = Vec::new();
    for new in &commit.activities {
        let cancelled = super::covers(commit, new.activity);
        let begin = new.start.as_ref().filter(|_| !cancelled);
        if wide && begin.is_none() {
            continue;
        }
        let mut live = ActivityLive::queued(commit.now, commit.now);
        if let Some(begin) = begin {
            start(&mut live, begin.holder.clone(), begin.worker.clone(), commit.now);
            started.push((new.activity, live.attempt));
        }
        let activity = Activity::new(commit.run, new.activity, (*new.spec).clone(), live);
        tx.add(activity, commit.now);
    }
    if wide {
        // Looked up first, so that what is added here is added to what was there.
        tx.debts(commit.run).await?;
        owe(tx, commit, &started);
    }
    Ok(started)
}

/// Whether the rows can be made from the commit's own events, later.
fn in_batch(commit: &Commit) -> bool {
    let held = |new: &NewActivity| {
        commit
            .batch
            .as_ref()
            .is_some_and(|batch| (batch.first..=batch.last).contains(&new.activity))
    };
    commit.activities.iter().all(held)
}

/// Remembers whose rows are owed: those of all that do not run already.
fn owe(tx: &mut Tx<'_>, commit: &Commit, started: &[(EventId, u32)]) {
    let begun: Vec<EventId> = started.iter().map(|(activity, _)| *activity).collect();
    let all: Ranges = commit.activities.iter().map(|new| new.activity).collect();
    let ranges = all.minus(&begun);
    let Some(first) = ranges.ranges().first().map(|range| range.first) else { return };
    tx.add_debt(commit.run, Debt { first, next: first, at: commit.now, ranges });
}
