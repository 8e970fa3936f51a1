//! Marks are folded: the rows that they cover and that nobody had started go, and are counted.

use bowline_core::{Alarm, AlarmKind, EventId, Range, RunId, Time};
use bowline_store::ready::Mark;
use futures_util::future::BoxFuture;

use super::RowBudget;
use crate::{
    connection::db::{Db, Outcome, Value},
    fault::Fault,
    rows::{
        blob::{self, count, int, number},
        damaged::Found,
    },
    shared::Shared,
    write::{tx::Tx, work},
};

/// True if rows are left.
pub(super) async fn fold_all(
    shared: &Shared,
    room: &mut RowBudget,
    found: &mut Found,
) -> Outcome<bool> {
    let mut seen: Option<(RunId, u64)> = None;
    loop {
        let Some((run, number)) = next(shared, seen).await? else { return Ok(false) };
        if room.0 == 0 {
            return Ok(true);
        }
        let folding = Folding { run, number, room: room.0 };
        seen = Some((run, number));
        let folded = work::attempt(shared, &folding, fold_mark).await;
        if matches!(folded, Err(Fault::Locked(_))) {
            // The next sweep will do.
            continue;
        }
        let Ok(folded) = found.step(shared, folded).await? else { continue };
        room.spend(folded.rows);
        if !folded.whole {
            return Ok(true);
        }
    }
}

/// The next mark of a run that owes nothing: rows that do not exist yet must find theirs.
async fn next(shared: &Shared, after: Option<(RunId, u64)>) -> Outcome<Option<(RunId, u64)>> {
    let lent = shared.lend().await?;
    let sql = "SELECT m.namespace, m.run, m.number FROM @marks m \
               JOIN @runs r ON r.namespace = m.namespace AND r.run = m.run AND r.owing = 0 \
               WHERE (m.namespace, m.run, m.number) > ($1, $2, $3) \
               ORDER BY m.namespace, m.run, m.number LIMIT 1";
    let (space, uuid, last) = match after {
        Some((run, last)) => (blob::space(run), blob::uuid(run), int(last)),
        None => (-1, uuid::Uuid::nil(), 0),
    };
    let values: [Value<'_>; 3] = [&space, &uuid, &last];
    let row = Db::own(&lent, shared).first(sql, &values).await?;
    row.map(|row| Ok((blob::run_id(&row, 0)?, number(&row, 2)?))).transpose()
}

struct Folding {
    run: RunId,
    number: u64,
    room: usize,
}

struct Folded {
    rows: usize,
    whole: bool,
}

fn fold_mark<'t>(tx: &'t mut Tx<'_>, folding: &'t Folding) -> BoxFuture<'t, Outcome<Folded>> {
    Box::pin(async move {
        let Folding { run: id, number, room } = *folding;
        let mut room = RowBudget(room);
        let gone = Folded { rows: 0, whole: true };
        match tx.find(id).await? {
            Some(run) if run.owing == 0 => {}
            _ => return Ok(gone),
        }
        let marks = tx.marks(id).await?;
        let Some(mark) = marks.iter().find(|mark| mark.number == number).cloned() else {
            return Ok(gone);
        };
        let rows = |left: &RowBudget| folding.room - left.0;
        for range in mark.ranges.ranges() {
            if !fold(tx, id, &mark, range, &mut room).await? {
                return Ok(Folded { rows: rows(&room), whole: false });
            }
        }
        if room.spend(1) {
            return Ok(Folded { rows: rows(&room), whole: false });
        }
        tx.end_mark(id, number);
        Ok(Folded { rows: rows(&room), whole: true })
    })
}

/// The waiting rows of a range.
pub(crate) const COVERED: &str = "SELECT number, adrift OR tried, armed FROM @activities \
    WHERE namespace = $1 AND run = $2 AND number BETWEEN $3 AND $4 AND place = 0 \
    ORDER BY number LIMIT $5";

/// Deletes the waiting rows of a range, as far as there is room; true if none is left. Rows that
/// must be kept, because a worker had had them before, are ended one by one.
async fn fold(
    tx: &mut Tx<'_>,
    id: RunId,
    mark: &Mark,
    range: &Range,
    room: &mut RowBudget,
) -> Outcome<bool> {
    let values: [Value<'_>; 5] = [
        &blob::space(id),
        &blob::uuid(id),
        &int(range.first.0),
        &int(range.last.0),
        &count(room.look()),
    ];
    let covered = tx.db.rows(COVERED, &values).await?;
    let fits = covered.len() <= room.0;
    for row in covered.iter().take(room.0) {
        let activity = EventId(number(row, 0)?);
        room.spend(1);
        if row.try_get(1)? {
            if let Some(mut activity) = tx.activity(id, activity).await? {
                tx.fold_mark(&mut activity, mark, mark.at);
            }
            continue;
        }
        tx.edit(id).never_started += 1;
        tx.remove_unread(id, activity);
        let armed: Option<i64> = row.try_get(2)?;
        if let Some(due) = armed.map(Time) {
            tx.disarm(id, Alarm { due, what: AlarmKind::Activity(activity) });
        }
    }
    Ok(fits)
}
