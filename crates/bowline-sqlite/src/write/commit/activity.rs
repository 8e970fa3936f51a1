//! New activities: they wait, or are started by the commit that schedules them.

use bowline_core::{EventId, Ranges, codec};
use bowline_store::{Commit, ready::Change, stored::MissingRows};
use rusqlite::params;

use crate::{
    connection::db::Outcome,
    limits,
    rows::{activity::Activity, blob::int},
    write::tx::Tx,
};

/// Writes the rows, and answers which were started as which attempt.
pub(super) fn add_all(tx: &mut Tx<'_>, commit: &Commit) -> Outcome<Vec<(EventId, u32)>> {
    let wide = commit.activities.len() > limits::ROWS_AT_ONCE && commit.tells_activities();
    let mut started = Vec::new();
    for new in &commit.activities {
        let live = commit.live(new, &tx.run(commit.run).head);
        let begun = live.started().is_some();
        if wide && !begun {
            continue;
        }
        if begun {
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

/// Remembers whose rows are missing: those of all that do not run already.
fn owe(tx: &mut Tx<'_>, commit: &Commit, started: &[(EventId, u32)]) -> Outcome<()> {
    let key = tx.run(commit.run).key();
    let begun: Vec<EventId> = started.iter().map(|(activity, _)| *activity).collect();
    let all: Ranges = commit.activities.iter().map(|new| new.activity).collect();
    let Some(missing) = MissingRows::of(&all, &begun, commit.now) else { return Ok(()) };
    tx.db.run(
        "INSERT INTO owed (run, next, at, bytes) VALUES (?, ?, ?, ?)",
        params![key, int(missing.next.0), missing.at.0, codec::encode(&missing.ranges)],
    )?;
    tx.change(Change::Owing(commit.run));
    Ok(())
}
