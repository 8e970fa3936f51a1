//! Marks are folded: the rows that they cover and that nobody had started go, and are counted.

use bowline_core::{Alarm, AlarmKind, EventId, Range, RunId};
use bowline_store::ready::{Change, Mark};
use rusqlite::{Row, params};

use super::Room;
use crate::{
    connection::db::Outcome,
    rows::{
        blob::{int, number},
        damaged::Found,
    },
    stats::count,
    write::tx::Tx,
};

/// True if rows are left.
pub(super) fn fold_all(tx: &mut Tx<'_>, room: &mut Room, found: &mut Found) -> Outcome<bool> {
    let marks = tx.memory.index.marks().take(room.0.saturating_add(1));
    let marks: Vec<(RunId, Mark)> = marks.map(|(run, mark)| (run, mark.clone())).collect();
    for (id, mark) in marks {
        let folded = fold_mark(tx, id, &mark, room);
        if found.step(tx, id, folded)? == Some(false) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// True if nothing is left of it that could be done now.
fn fold_mark(tx: &mut Tx<'_>, id: RunId, mark: &Mark, room: &mut Room) -> Outcome<bool> {
    // Rows that do not exist yet must find their mark.
    if tx.find(id)?.is_none() || tx.owes(id) {
        return Ok(true);
    }
    for range in mark.ranges.ranges() {
        if !fold(tx, id, mark, range, room)? {
            return Ok(false);
        }
    }
    if room.spend(1) {
        return Ok(false);
    }
    let values = params![tx.run(id).key(), int(mark.number)];
    tx.db.run("DELETE FROM marks WHERE run = ? AND number = ?", values)?;
    tx.change(Change::Folded(id, mark.number));
    tx.may_rest(id);
    Ok(true)
}

/// Deletes the waiting rows of a range, as far as there is room; true if none is left. Rows that
/// must be kept, because a worker had had them before, are ended one by one. Nothing beyond that
/// room is looked at, so that a sweep costs the same however much is left.
fn fold(tx: &mut Tx<'_>, id: RunId, mark: &Mark, range: &Range, room: &mut Room) -> Outcome<bool> {
    let key = tx.run(id).key();
    let sql = "SELECT number, adrift IS NOT NULL FROM activities \
               WHERE run = ? AND number BETWEEN ? AND ? AND place = 0 ORDER BY number LIMIT ?";
    let values = params![key, int(range.first.0), int(range.last.0), room.look()];
    let read = |row: &Row<'_>| Ok((EventId(number(row, 0)?), row.get(1)?));
    let mut covered: Vec<(EventId, bool)> = tx.db.all(sql, values, read)?;
    let fits = covered.len() <= room.0;
    covered.truncate(room.0);
    let (Some(first), Some(last)) = (covered.first(), covered.last()) else { return Ok(fits) };
    let (first, last) = (first.0, last.0);
    room.spend(covered.len());
    let (adrift, waiting): (Vec<_>, Vec<_>) = covered.into_iter().partition(|(_, is)| *is);
    for (activity, _) in adrift {
        if let Some(mut activity) = tx.activity(id, activity)? {
            tx.fold_mark(&mut activity, mark, mark.at)?;
        }
    }
    let gone = tx.db.run(
        "DELETE FROM activities WHERE run = ? AND number BETWEEN ? AND ? AND place = 0",
        params![key, int(first.0), int(last.0)],
    )?;
    assert_eq!(gone, waiting.len(), "the rows between the first and the last were just read");
    count(&tx.db.counters.activity_rows, gone);
    tx.edit(id).never_started += gone as u64;
    for (activity, _) in waiting {
        tx.change(Change::Over { run: id, activity });
        if let Some(due) = tx.deadline(id, activity) {
            tx.disarm(id, Alarm { due, what: AlarmKind::Activity(activity) })?;
        }
    }
    Ok(fits)
}
