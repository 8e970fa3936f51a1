//! Whatever should not be there at all: work of closed runs that nobody has told to stop, and
//! children that outlived a parent which wanted them told.

use bowline_core::{ActivityLive, EventId, Message, Number, ParentClose, RunId};
use bowline_store::{Leftovers, stored::MissingRows};

use super::{covered, line, tree::Tree};
use crate::{
    connection::db::{Db, Outcome, Value},
    limits,
    queue::fate::Fates,
    rows::{
        blob::{self, number},
        inbox,
        missing_rows::read_missing,
        run::{self, Run},
    },
    write::tx::marks,
};

pub(super) async fn orphans(db: Db<'_>, fates: &Fates) -> Outcome<Leftovers> {
    let mut tree = Tree::new(db);
    let mut found = Leftovers::default();
    children(db, &mut tree, &mut found).await?;
    activities(db, &mut tree, fates, &mut found).await?;
    found.bound();
    Ok(found)
}

/// Open children of closed parents that nobody has told.
async fn children(db: Db<'_>, tree: &mut Tree<'_>, found: &mut Leftovers) -> Outcome<()> {
    let sql = "SELECT r.namespace, r.run FROM @runs r \
               JOIN @labels l ON l.namespace = r.namespace AND l.started_at = r.started_at \
               AND l.run = r.run \
               JOIN @runs p ON p.namespace = l.namespace AND p.run = l.parent \
               WHERE r.closed_at IS NULL AND p.closed_at IS NOT NULL \
               ORDER BY r.started_at, r.run";
    for row in db.rows(sql, &[]).await? {
        let Some(run) = run::one(db, blob::run_id(&row, 0)?).await? else { continue };
        if found.runs.len() > limits::LINES_MAX {
            break;
        }
        if run.head.cancel.is_none()
            && tree.parent_closed(&run).await?
            && tree.policy(&run).await? != ParentClose::Abandon
            && !told(db, &run).await?
        {
            found.runs.push(tree.line(&run).await?);
        }
    }
    Ok(())
}

async fn told(db: Db<'_>, run: &Run) -> Outcome<bool> {
    let unread = inbox::stored(db, run.head.run, Number(0), usize::MAX).await?;
    let stops = |message: &Message| matches!(message, Message::Cancel(_) | Message::Terminate(_));
    Ok(unread.iter().any(|received| stops(&received.message)))
}

/// Activities of closed runs that wait or run and are not cancelled.
async fn activities(
    db: Db<'_>,
    tree: &mut Tree<'_>,
    fates: &Fates,
    found: &mut Leftovers,
) -> Outcome<()> {
    let sql = "SELECT DISTINCT r.namespace, r.run FROM (\
                   SELECT namespace, run FROM @activities WHERE place < 2 \
                   UNION SELECT namespace, run FROM @owed) AS a \
               JOIN @runs r ON r.namespace = a.namespace AND r.run = a.run \
               WHERE r.closed_at IS NOT NULL";
    for row in db.rows(sql, &[]).await? {
        let id = blob::run_id(&row, 0)?;
        if run::one(db, id).await?.is_some() {
            of_run(db, tree, id, fates, found).await?;
        }
    }
    Ok(())
}

async fn of_run(
    db: Db<'_>,
    tree: &mut Tree<'_>,
    id: RunId,
    fates: &Fates,
    found: &mut Leftovers,
) -> Outcome<()> {
    let left = tree.left(id).await?.cloned().unwrap_or_default();
    let marks = marks(db, id).await?;
    let told = |activity| covered(&marks, activity) || left.contains(activity);
    let missing_rows = read_missing(db, id).await?;
    found.queued +=
        missing_rows.iter().flat_map(MissingRows::ids).filter(|id| !told(*id)).count() as u64;
    let sql = "SELECT number, place, name, live FROM @activities \
               WHERE namespace = $1 AND run = $2 AND place < 2 ORDER BY number";
    let values: [Value<'_>; 2] = [&blob::space(id), &blob::uuid(id)];
    for row in db.rows(sql, &values).await? {
        let activity = EventId(number(&row, 0)?);
        let place: i16 = row.try_get(1)?;
        if told(activity) {
            continue;
        }
        if place == 0 {
            found.queued += 1;
            continue;
        }
        let (name, live): (&str, ActivityLive) = (row.try_get(2)?, blob::open(id, &row, 3)?);
        if live.cancel.is_none() && found.attempts.len() <= limits::LINES_MAX {
            found.attempts.push(line(id, activity, name, &live, fates));
        }
    }
    Ok(())
}
