//! Whatever should not be there at all: work of closed runs that nobody has told to stop, and
//! children that outlived a parent which wanted them told.

use std::sync::Arc;

use bowline_core::{ActivityLive, Epoch, EventId, Message, ParentClose};
use bowline_store::{Leftovers, stored::MissingRows};

use super::{covered, line, marks, tree::Tree};
use crate::{
    connection::db::{Db, Outcome},
    limits,
    rows::{
        blob::{self, number},
        inbox,
        missing_rows::read_missing,
        run::{self, Run},
    },
};

pub(super) fn orphans(db: Db<'_>, alive: Option<Epoch>) -> Outcome<Leftovers> {
    let mut tree = Tree::new(db);
    let mut found = Leftovers::default();
    children(db, &mut tree, &mut found)?;
    activities(db, &mut tree, alive, &mut found)?;
    found.bound();
    Ok(found)
}

/// Open children of closed parents that nobody has told.
fn children(db: Db<'_>, tree: &mut Tree<'_>, found: &mut Leftovers) -> Outcome<()> {
    let sql = "SELECT key FROM labels INDEXED BY labels_open \
               WHERE closed_at IS NULL AND parent IS NOT NULL ORDER BY key";
    let keys: Vec<i64> = db.all(sql, [], |row| Ok(row.get(0)?))?;
    for key in keys {
        let Some(run) = read(db, key)? else { continue };
        if found.runs.len() > limits::LINES_MAX {
            break;
        }
        if run.head.cancel.is_none()
            && tree.parent_closed(&run)?
            && tree.policy(&run)? != ParentClose::Abandon
            && !told(db, &run)?
        {
            found.runs.push(tree.line(&run)?);
        }
    }
    Ok(())
}

fn told(db: Db<'_>, run: &Run) -> Outcome<bool> {
    let unread = inbox::unread(db, run.head.run, run.key(), usize::MAX)?;
    let stops = |message: &Message| matches!(message, Message::Cancel(_) | Message::Terminate(_));
    Ok(unread.iter().any(|received| stops(&received.message)))
}

/// Activities of closed runs that wait or run and are not cancelled.
fn activities(
    db: Db<'_>,
    tree: &mut Tree<'_>,
    alive: Option<Epoch>,
    found: &mut Leftovers,
) -> Outcome<()> {
    // From run to run, without looking at all the rows in between.
    let sql = "WITH RECURSIVE keys (run) AS (
                   SELECT min(run) FROM activities
                   UNION ALL
                   SELECT (SELECT min(run) FROM activities WHERE run > keys.run) FROM keys
                   WHERE keys.run IS NOT NULL
               )
               SELECT key FROM labels WHERE closed_at IS NOT NULL
               AND key IN (SELECT run FROM keys UNION SELECT run FROM owed)";
    let keys: Vec<i64> = db.all(sql, [], |row| Ok(row.get(0)?))?;
    for key in keys {
        let Some(run) = read(db, key)? else { continue };
        let id = run.head.run;
        let left = tree.left(id)?.cloned().unwrap_or_default();
        let marks = marks(db, &run)?;
        let told = |activity| covered(&marks, activity) || left.contains(activity);
        let missing_rows = read_missing(db, id, key)?;
        found.queued +=
            missing_rows.iter().flat_map(MissingRows::ids).filter(|id| !told(*id)).count() as u64;
        let sql = "SELECT number, place, name, live FROM activities WHERE run = ? AND place < 2";
        db.each(sql, [key], |row| {
            let activity = EventId(number(row, 0)?);
            if told(activity) {
                return Ok(true);
            }
            if number(row, 1)? == 0 {
                found.queued += 1;
                return Ok(true);
            }
            let (name, live): (String, ActivityLive) = (row.get(2)?, blob::open(id, row, 3)?);
            if live.cancel.is_none() {
                found.attempts.push(line(id, activity, name, &live, alive));
            }
            Ok(found.attempts.len() <= limits::LINES_MAX)
        })?;
    }
    Ok(())
}

fn read(db: Db<'_>, key: i64) -> Outcome<Option<Run>> {
    let Some(label) = run::label_at(db, key)? else { return Ok(None) };
    run::run(db, Arc::new(label)).map(Some)
}
