//! New activities: they wait, or are started by the commit that schedules them.

use bowline_core::{EventId, Ranges};
use bowline_store::{Commit, stored::MissingRows};

use crate::{connection::db::Outcome, limits, rows::activity::Activity, write::tx::Tx};

/// Writes the rows, and answers which were started as which attempt.
pub(super) async fn add_all(tx: &mut Tx<'_>, commit: &Commit) -> Outcome<Vec<(EventId, u32)>> {
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
        let activity = Activity::new(commit.run, new.activity, (*new.spec).clone(), live);
        tx.add(activity, commit.now);
    }
    if wide {
        // Looked up first, so that what is added here is added to what was there.
        tx.missing_rows(commit.run).await?;
        owe(tx, commit, &started);
    }
    Ok(started)
}

/// Remembers whose rows are missing: those of all that do not run already.
fn owe(tx: &mut Tx<'_>, commit: &Commit, started: &[(EventId, u32)]) {
    let begun: Vec<EventId> = started.iter().map(|(activity, _)| *activity).collect();
    let all: Ranges = commit.activities.iter().map(|new| new.activity).collect();
    if let Some(missing) = MissingRows::of(&all, &begun, commit.now) {
        tx.add_missing(commit.run, missing);
    }
}
