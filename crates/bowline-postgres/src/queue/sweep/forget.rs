//! What has expired goes: receipts, and closed runs of whose subtree nothing is left.
//!
//! A run goes in one step, out of everybody's sight; the rest of its rows lie in a grave until
//! there is room to delete them.

use std::collections::{BTreeMap, BTreeSet};

use bowline_core::{Namespace, RunId, Time};
use bowline_store::{Error, Sweep};
use futures_util::future::BoxFuture;
use uuid::Uuid;

use super::RowBudget;
use crate::{
    connection::{
        db::{Db, Outcome, Value},
        row::Row,
    },
    fault::Fault,
    read::leftovers::{self, Living},
    rows::{
        blob::{self, count},
        damaged::Found,
        run,
    },
    shared::Shared,
    write::{tx::Tx, work},
};

/// How many runs are looked at in one sweep; most of them can go.
const LOOKS_MAX: usize = 256;

/// Where the next sweep goes on looking for runs that may go, so that those that may not yet do
/// not hide the others.
#[derive(Clone, Debug, Default)]
pub(crate) struct Cursor {
    deleted: Option<RunId>,
    closed: BTreeMap<Namespace, (i64, RunId)>,
}

pub(super) async fn receipts(shared: &Shared, now: Time, room: &mut RowBudget) -> Outcome<bool> {
    let lent = shared.lend().await?;
    let db = Db::slowly(&lent, shared).await?;
    let sql = "DELETE FROM @receipts WHERE id IN (\
                   SELECT id FROM @receipts WHERE keep_until <= $1 \
                   ORDER BY keep_until LIMIT $2) RETURNING 1";
    let gone = db.change(sql, &[&now.0, &count(room.0)]).await?.len();
    db.at_ease().await;
    room.spend(gone);
    if room.0 > 0 {
        return Ok(false);
    }
    let sql = "SELECT 1 FROM @receipts WHERE keep_until <= $1 LIMIT 1";
    Ok(db.first(sql, &[&now.0]).await?.is_some())
}

/// When the next receipt expires.
pub(super) async fn next(shared: &Shared) -> Outcome<Option<Time>> {
    let lent = shared.lend().await?;
    let row = Db::own(&lent, shared).first("SELECT min(keep_until) FROM @receipts", &[]).await?;
    let next: Option<i64> = row.map(|row| row.try_get(0)).transpose()?.flatten();
    Ok(next.map(Time))
}

/// Questions that nobody waits for.
pub(super) async fn asks(shared: &Shared, now: Time) -> Outcome<()> {
    let lent = shared.lend().await?;
    let sql = "DELETE FROM @asks WHERE deadline <= $1";
    Db::own(&lent, shared).change(sql, &[&now.0]).await?;
    Ok(())
}

/// True if there are more runs to look at.
pub(super) async fn runs(
    shared: &Shared,
    sweep: &Sweep,
    room: &mut RowBudget,
    found: &mut Found,
) -> Outcome<bool> {
    if room.0 == 0 {
        return Ok(true);
    }
    let looks = LOOKS_MAX.min(room.0);
    let (deleted, expired) = (deleted(shared, looks).await?, expired(shared, sweep, looks).await?);
    let full = |found: &[RunId]| found.len() == looks;
    let (more, before) = (full(&deleted) || full(&expired), room.0);
    let all: BTreeSet<RunId> = deleted.into_iter().chain(expired).collect();
    let mut look = ExpiryLook { sweep, chains: BTreeMap::new() };
    for run in all {
        match may_go(shared, &mut look, run).await {
            Ok(true) => {}
            Ok(false) => continue,
            Err(Fault::Said(Error::Corrupt { run, corrupt })) => {
                found.tell(run, corrupt.to_string());
                continue;
            }
            Err(fault) => return Err(fault),
        }
        if room.spend(1) {
            return Ok(true);
        }
        match work::attempt(shared, &run, bury).await {
            Err(Fault::Locked(_)) => {}
            buried => buried?,
        }
    }
    // Where all may not go yet, looking at the others can wait for the next time.
    Ok(more && room.0 < before)
}

async fn deleted(shared: &Shared, looks: usize) -> Outcome<Vec<RunId>> {
    let after = shared.cursor.lock().deleted;
    let (space, uuid) = after.map_or((-1, Uuid::nil()), |r| (blob::space(r), blob::uuid(r)));
    let sql = "SELECT l.namespace, l.run FROM @labels l \
               JOIN @runs r ON r.namespace = l.namespace AND r.run = l.run \
               WHERE l.deleted AND r.closed_at IS NOT NULL AND (l.namespace, l.run) > ($1, $2) \
               ORDER BY l.namespace, l.run LIMIT $3";
    let lent = shared.lend().await?;
    let values: [Value<'_>; 3] = [&space, &uuid, &count(looks)];
    let rows = Db::own(&lent, shared).rows(sql, &values).await?;
    let found = rows.iter().map(|row| blob::run_id(row, 0)).collect::<Outcome<Vec<_>>>()?;
    let last = found.last().copied().filter(|_| found.len() == looks);
    shared.cursor.lock().deleted = last;
    Ok(found)
}

async fn expired(shared: &Shared, sweep: &Sweep, looks: usize) -> Outcome<Vec<RunId>> {
    let lent = shared.lend().await?;
    let mut all = Vec::new();
    for (namespace, kept) in &sweep.retention {
        let kept = i64::try_from(kept.as_micros()).unwrap_or(i64::MAX);
        let until = sweep.now.0.saturating_sub(kept);
        let after = shared.cursor.lock().closed.remove(namespace);
        let (at, uuid) = after.map_or((i64::MIN, Uuid::nil()), |(at, r)| (at, blob::uuid(r)));
        let (space, left) = (i64::from(namespace.0), count(looks - all.len()));
        let values: [Value<'_>; 5] = [&space, &until, &at, &uuid, &left];
        let rows = Db::own(&lent, shared).rows(EXPIRED, &values).await?;
        let mut last = None;
        for row in &rows {
            let run = blob::run_id(row, 0)?;
            last = Some((row.try_get(2)?, run));
            all.push(run);
        }
        if let Some(last) = last.filter(|_| all.len() == looks) {
            shared.cursor.lock().closed.insert(*namespace, last);
            break;
        }
    }
    Ok(all)
}

pub(crate) const EXPIRED: &str = "SELECT namespace, run, closed_at FROM @runs \
    WHERE namespace = $1 AND closed_at IS NOT NULL AND closed_at <= $2 \
    AND (closed_at, run) > ($3, $4) ORDER BY closed_at, run LIMIT $5";

/// One sweep's look at what has expired.
struct ExpiryLook<'a> {
    sweep: &'a Sweep,
    /// Whether a chain has a run that stays, for those that were asked about.
    chains: BTreeMap<RunId, bool>,
}

async fn may_go(shared: &Shared, look: &mut ExpiryLook<'_>, run: RunId) -> Outcome<bool> {
    let lent = shared.lend_to_read().await?;
    let db = Db::own(&lent, shared);
    db.begin_transaction(leftovers::SNAPSHOT).await?;
    let may = nothing_keeps(db, look, run).await;
    db.roll_back().await;
    may
}

async fn nothing_keeps(db: Db<'_>, look: &mut ExpiryLook<'_>, run: RunId) -> Outcome<bool> {
    if kept(db, run).await? {
        return Ok(false);
    }
    match leftovers::settled(db, run).await? {
        None => Ok(false),
        Some(Living(false)) => Ok(true),
        Some(Living(true)) => Ok(!is_watched(db, look, run).await?),
    }
}

/// Whether somebody may ask for a receipt that has to name what lives below a run: its parent is
/// there, or another run of its chain, and is not about to go.
async fn is_watched(db: Db<'_>, look: &mut ExpiryLook<'_>, id: RunId) -> Outcome<bool> {
    let Some(own) = run::one(db, id).await? else { return Ok(false) };
    if let Some(above) = &own.origin.parent
        && run::one(db, above.run).await?.is_some()
    {
        return Ok(true);
    }
    let first = own.head.first_run;
    if let Some(stays) = look.chains.get(&first) {
        return Ok(*stays);
    }
    // The run itself is about to go, so that the answer is the same for all that ask.
    let stays = has_one_that_stays(db, look.sweep, first).await?;
    look.chains.insert(first, stays);
    Ok(stays)
}

/// Whether a chain has a run that does not go with this sweep.
async fn has_one_that_stays(db: Db<'_>, sweep: &Sweep, first: RunId) -> Outcome<bool> {
    let stays = |row: &Row| -> Outcome<bool> {
        let (closed, deleted): (Option<i64>, bool) = (row.try_get(2)?, row.try_get(3)?);
        Ok(!closed.is_some_and(|closed| deleted || sweep.is_past(first, Time(closed))))
    };
    // While a chain lives its newest run answers for all: there may be very many.
    if let Some(newest) = run::newest(db, first).await?
        && let Some(row) = db.first(LINK, &[&blob::space(newest), &blob::uuid(newest)]).await?
        && stays(&row)?
    {
        return Ok(true);
    }
    let mut links = Vec::new();
    for row in db.rows(LINKS, &[&blob::space(first), &blob::uuid(first)]).await? {
        if stays(&row)? {
            return Ok(true);
        }
        links.push(blob::run_id(&row, 0)?);
    }
    for link in links {
        if leftovers::settled(db, link).await?.is_none() {
            return Ok(true);
        }
    }
    Ok(false)
}

/// One run of a chain.
const LINK: &str = "SELECT r.namespace, r.run, r.closed_at, l.deleted FROM @labels l \
    JOIN @runs r ON r.namespace = l.namespace AND r.run = l.run \
    WHERE l.namespace = $1 AND l.run = $2";

/// The runs of a chain; its first one does not name it.
pub(crate) const LINKS: &str = "SELECT r.namespace, r.run, r.closed_at, l.deleted FROM @labels l \
    JOIN @runs r ON r.namespace = l.namespace AND r.run = l.run \
    WHERE l.namespace = $1 AND (l.chain = $2 OR l.run = $2)";

/// Whether a receipt tells about a run: one of its chain, or of a chain above.
async fn kept(db: Db<'_>, run: RunId) -> Outcome<bool> {
    let (mut next, mut seen) = (Some(run), BTreeSet::new());
    while let Some(id) = next.take() {
        let Some(run) = run::one(db, id).await? else { break };
        if has_receipt(db, run.head.first_run).await? {
            return Ok(true);
        }
        next = run.origin.parent.map(|above| above.run).filter(|parent| seen.insert(*parent));
    }
    Ok(false)
}

/// Whether there is a receipt of a chain.
async fn has_receipt(db: Db<'_>, first: RunId) -> Outcome<bool> {
    let sql = "SELECT 1 FROM @receipts WHERE namespace = $1 AND chain = $2 LIMIT 1";
    let values: [Value<'_>; 2] = [&blob::space(first), &blob::uuid(first)];
    Ok(db.first(sql, &values).await?.is_some())
}

fn bury<'t>(tx: &'t mut Tx<'_>, id: &'t RunId) -> BoxFuture<'t, Outcome<()>> {
    Box::pin(async move {
        let Some(run) = tx.find(*id).await? else { return Ok(()) };
        if run.is_open() {
            return Ok(());
        }
        // Somebody may have asked for a receipt since it was found that it may go.
        let first = run.head.first_run;
        if has_receipt(tx.db, first).await? {
            return Ok(());
        }
        tx.bury(*id);
        Ok(())
    })
}

/// What a run leaves behind.
const TABLES: &[(&str, &str)] = &[
    ("history", "first"),
    ("inbox", "number"),
    ("activities", "number"),
    ("marks", "number"),
    ("owed", "first"),
    ("snapshots", "at"),
    ("alarms", "due"),
];

/// Deletes what is left of runs that are gone.
pub(super) async fn graves(shared: &Shared, room: &mut RowBudget) -> Outcome<bool> {
    let lent = shared.lend().await?;
    let db = Db::slowly(&lent, shared).await?;
    let more = dig(db, room).await?;
    db.at_ease().await;
    Ok(more)
}

async fn dig(db: Db<'_>, room: &mut RowBudget) -> Outcome<bool> {
    loop {
        let grave = "SELECT namespace, run FROM @graves ORDER BY namespace, run LIMIT 1";
        let Some(row) = db.first(grave, &[]).await? else { return Ok(false) };
        let run = blob::run_id(&row, 0)?;
        let (space, uuid) = (blob::space(run), blob::uuid(run));
        for (table, key) in TABLES {
            let sql = format!(
                "DELETE FROM @{table} WHERE namespace = $1 AND run = $2 AND {key} IN (\
                 SELECT {key} FROM @{table} WHERE namespace = $1 AND run = $2 LIMIT $3) \
                 RETURNING 1"
            );
            let values: [Value<'_>; 3] = [&space, &uuid, &count(room.0)];
            room.spend(db.change(&sql, &values).await?.len());
        }
        if room.0 == 0 {
            return Ok(true);
        }
        // Others may dig here too, and have had what was looked for: a grave is closed by whoever
        // sees that nothing is left in it.
        if db.change(&closing(), &[&space, &uuid]).await?.is_empty() {
            return Ok(true);
        }
        room.spend(1);
    }
}

/// Closes a grave in which nothing is left.
fn closing() -> String {
    let empty: String = TABLES
        .iter()
        .map(|(table, _)| {
            format!(" AND NOT EXISTS (SELECT 1 FROM @{table} WHERE namespace = $1 AND run = $2)")
        })
        .collect();
    format!("DELETE FROM @graves WHERE namespace = $1 AND run = $2{empty} RETURNING 1")
}
