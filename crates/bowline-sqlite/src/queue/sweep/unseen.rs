//! What has become known of attempts whose end nobody saw. There are hardly any.

use bowline_core::{ActivityLive, EventId, Namespace, RunId, Time};
use bowline_store::{Sweep, learn as step, silent_since as since};

use super::Room;
use crate::{
    connection::db::Outcome,
    read::leftovers::gone,
    rows::blob::{self, number, wide},
    write::tx::Tx,
};

/// Writes it on their rows; true if rows are left.
pub(super) fn learn(tx: &mut Tx<'_>, sweep: &Sweep, room: &mut Room) -> Outcome<bool> {
    let alive = tx.memory.index.epoch();
    let learns =
        |live: &mut ActivityLive| step(live, |epoch| gone(epoch, alive), sweep.presume, sweep.now);
    let mut news = Vec::new();
    for (run, activity, mut live) in rows(tx)? {
        news.extend(learns(&mut live).then_some((run, activity)));
    }
    for (run, activity) in news.iter().take(room.0) {
        if tx.find(*run)?.is_some()
            && let Some(mut own) = tx.activity(*run, *activity)?
            && learns(&mut own.live)
        {
            match own.live.ended().is_some() {
                true => tx.put(&own, sweep.now)?,
                false => tx.update(&own)?,
            }
        }
    }
    Ok(room.spend(news.len()))
}

/// Since when the oldest has been silent that is not presumed dead.
pub(super) fn silent_since(tx: &mut Tx<'_>) -> Outcome<Option<Time>> {
    Ok(rows(tx)?.iter().filter_map(|(_, _, live)| since(live)).min())
}

/// Rows that do not read are somebody else's business.
fn rows(tx: &mut Tx<'_>) -> Outcome<Vec<(RunId, EventId, ActivityLive)>> {
    let sql = "SELECT l.uuid, l.namespace, a.number, a.live FROM activities a \
               JOIN labels l ON l.key = a.run WHERE a.adrift = 1";
    let found = tx.db.all(sql, [], |row| {
        let run = RunId { namespace: Namespace(row.get(1)?), uuid: wide(row, 0)? };
        let live: Outcome<ActivityLive> = blob::open(run, row, 3);
        let activity = EventId(number(row, 2)?);
        Ok(live.ok().map(|live| (run, activity, live)))
    })?;
    Ok(found.into_iter().flatten().collect())
}
