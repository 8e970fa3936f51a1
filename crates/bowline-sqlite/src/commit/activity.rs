//! New activities: they wait, or are started by the commit that schedules them.

use bowline_core::{ActivityLive, EventId, start};
use bowline_store::{Commit, NewActivity, ready::Change};
use rusqlite::params;

use crate::{activity::Activity, blob::int, db::Outcome, limits, tx::Tx};

/// Writes the rows, and answers which were started as which attempt.
pub(super) fn add_all(tx: &mut Tx<'_>, commit: &Commit) -> Outcome<Vec<(EventId, u32)>> {
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
        let activity = Activity {
            key: tx.run(commit.run).key(),
            run: commit.run,
            number: new.activity,
            spec: (*new.spec).clone(),
            live,
        };
        tx.add(&activity, commit.now)?;
    }
    if wide {
        owe(tx, commit, &started)?;
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

/// Remembers which events rows are owed for: all but those of activities that run already.
fn owe(tx: &mut Tx<'_>, commit: &Commit, started: &[(EventId, u32)]) -> Outcome<()> {
    let key = tx.run(commit.run).key();
    let (Some(first), Some(last)) = (commit.activities.first(), commit.activities.last()) else {
        return Ok(());
    };
    let mut from = first.activity;
    let ends = started.iter().map(|(activity, _)| *activity).chain([last.activity.plus(1)]);
    for end in ends {
        if from < end {
            let last = end.0 - 1;
            tx.db.run(
                "INSERT INTO owed (run, first, last, at) VALUES (?, ?, ?, ?)",
                params![key, int(from.0), int(last), commit.now.0],
            )?;
        }
        from = end.plus(1);
    }
    tx.change(Change::Owing(commit.run));
    Ok(())
}
