//! What has expired goes: receipts, and closed runs of whose subtree nothing is left.
//!
//! A run goes in one step, out of everybody's sight; the rest of its rows lie in a grave until
//! there is room to delete them.

use std::collections::{BTreeMap, BTreeSet};

use bowline_core::{Namespace, RunId, Time};
use bowline_store::{Error, Sweep};
use rusqlite::{Row, params};

use super::Room;
use crate::{
    connection::db::Outcome,
    fault::Fault,
    read::leftovers::{self, Living},
    rows::{
        damaged::Found,
        run::{self, Label, SERIAL_BITS},
    },
    write::tx::Tx,
};

/// How many runs are looked at in one sweep; most of them can go.
const LOOKS_MAX: i64 = 256;

/// Where the next sweep goes on looking for runs that may go, so that those that may not yet do
/// not hide the others.
#[derive(Clone, Debug)]
pub(crate) struct Cursor {
    deleted: i64,
    closed: BTreeMap<Namespace, (i64, i64)>,
}

impl Default for Cursor {
    fn default() -> Self {
        Self { deleted: i64::MIN, closed: BTreeMap::new() }
    }
}

pub(super) fn receipts(tx: &mut Tx<'_>, now: Time, room: &mut Room) -> Outcome<bool> {
    let sql = "SELECT id FROM receipts INDEXED BY receipts_keep WHERE keep_until <= ? \
               ORDER BY keep_until LIMIT ?";
    let expired: Vec<[u8; 16]> =
        tx.db.all(sql, params![now.0, room.look()], |row| Ok(row.get(0)?))?;
    for id in expired.iter().take(room.0) {
        tx.db.run("DELETE FROM receipts WHERE id = ?", [id])?;
    }
    Ok(room.spend(expired.len()))
}

/// When the next receipt expires.
pub(super) fn next(tx: &Tx<'_>) -> Outcome<Option<Time>> {
    let sql = "SELECT min(keep_until) FROM receipts INDEXED BY receipts_keep";
    let next: Option<i64> = tx.db.first(sql, [], |row| row.get(0))?.flatten();
    Ok(next.map(Time))
}

/// True if there are more runs to look at.
pub(super) fn runs(
    tx: &mut Tx<'_>,
    sweep: &Sweep,
    room: &mut Room,
    found: &mut Found,
) -> Outcome<bool> {
    if room.0 == 0 {
        return Ok(true);
    }
    tx.flush()?;
    let looks = LOOKS_MAX.min(i64::try_from(room.0).unwrap_or(i64::MAX));
    let deleted = deleted(tx, looks)?;
    let expired = expired(tx, sweep, looks)?;
    let full = |found: &[i64]| found.len() as i64 == looks;
    let (more, before) = (full(&deleted) || full(&expired), room.0);
    let mut look = ExpiryLook { sweep, chains: BTreeMap::new() };
    for key in deleted.into_iter().chain(expired) {
        match may_go(tx, &mut look, key) {
            Ok(None) => continue,
            Ok(Some(_)) if room.spend(1) => return Ok(true),
            Ok(Some(run)) => bury(tx, run)?,
            Err(Fault::Said(Error::Corrupt { run, corrupt })) => {
                found.tell(run, corrupt.to_string());
            }
            Err(fault) => return Err(fault),
        }
    }
    // Where all may not go yet, looking at the others can wait for the next time.
    Ok(more && room.0 < before)
}

/// One sweep's look at what has expired.
struct ExpiryLook<'a> {
    sweep: &'a Sweep,
    /// Whether a chain has a run that stays, for those that were asked about.
    chains: BTreeMap<RunId, bool>,
}

/// The run behind a key, if nothing keeps it.
fn may_go(tx: &mut Tx<'_>, look: &mut ExpiryLook<'_>, key: i64) -> Outcome<Option<RunId>> {
    let Some(label) = run::label_at(tx.db, key)? else { return Ok(None) };
    let run = label.run;
    if tx.find(run)?.is_none() || kept(tx, run)? {
        return Ok(None);
    }
    let may = match leftovers::settled(tx.db, run)? {
        None => false,
        Some(Living(lives)) => !lives || !is_watched(tx, look, &label)?,
    };
    Ok(Some(run).filter(|_| may))
}

/// Whether somebody may ask for a receipt that has to name what lives below a run: its parent is
/// there, or another run of its chain, and is not about to go.
fn is_watched(tx: &mut Tx<'_>, look: &mut ExpiryLook<'_>, label: &Label) -> Outcome<bool> {
    if let Some(above) = &label.origin.parent
        && tx.label(above.run)?.is_some()
    {
        return Ok(true);
    }
    let first = label.origin.first_run;
    if let Some(stays) = look.chains.get(&first) {
        return Ok(*stays);
    }
    // The run itself is about to go, so that the answer is the same for all that ask.
    let stays = has_one_that_stays(tx, look.sweep, first)?;
    look.chains.insert(first, stays);
    Ok(stays)
}

/// Whether a chain has a run that does not go with this sweep.
fn has_one_that_stays(tx: &Tx<'_>, sweep: &Sweep, first: RunId) -> Outcome<bool> {
    let link = |row: &Row<'_>| -> rusqlite::Result<_> {
        let (closed, deleted): (Option<i64>, Option<i64>) = (row.get(1)?, row.get(2)?);
        Ok((row.get::<_, i64>(0)?, closed.map(Time), deleted.is_some()))
    };
    let stays = |(_, closed, deleted): &(i64, Option<Time>, bool)| {
        !closed.is_some_and(|closed| *deleted || sweep.is_past(first, closed))
    };
    // While a chain lives its newest run answers for all: there may be very many.
    let sql = "SELECT key, closed_at, deleted FROM labels WHERE key = ?";
    let newest = run::newest(tx.db, first)?;
    let newest = newest.map(|key| tx.db.first(sql, [key], link)).transpose()?.flatten();
    if newest.as_ref().is_some_and(stays) {
        return Ok(true);
    }
    // The first run of a chain does not name it.
    let sql = "SELECT key, closed_at, deleted FROM labels INDEXED BY labels_chain \
               WHERE chain = ?1 AND namespace = ?2 UNION ALL \
               SELECT key, closed_at, deleted FROM labels INDEXED BY labels_uuid \
               WHERE uuid = ?1 AND namespace = ?2";
    let values = params![first.uuid.to_be_bytes(), first.namespace.0];
    let links = tx.db.all(sql, values, |row| Ok(link(row)?))?;
    if links.iter().any(stays) {
        return Ok(true);
    }
    for (key, ..) in links {
        let Some(link) = run::label_at(tx.db, key)? else { continue };
        if leftovers::settled(tx.db, link.run)?.is_none() {
            return Ok(true);
        }
    }
    Ok(false)
}

fn deleted(tx: &mut Tx<'_>, looks: i64) -> Outcome<Vec<i64>> {
    let sql = "SELECT key FROM labels INDEXED BY labels_deleted \
               WHERE deleted = 1 AND closed_at IS NOT NULL AND key > ? ORDER BY key LIMIT ?";
    let cursor = &mut tx.memory.cursor;
    let found = tx.db.all(sql, params![cursor.deleted, looks], |row| Ok(row.get(0)?))?;
    let last: Option<i64> = found.last().copied().filter(|_| found.len() as i64 == looks);
    cursor.deleted = last.unwrap_or(i64::MIN);
    Ok(found)
}

fn expired(tx: &mut Tx<'_>, sweep: &Sweep, looks: i64) -> Outcome<Vec<i64>> {
    let sql = "SELECT closed_at, key FROM labels INDEXED BY labels_expired \
               WHERE namespace = ? AND closed_at IS NOT NULL AND closed_at <= ? \
               AND (closed_at, key) > (?, ?) ORDER BY closed_at, key LIMIT ?";
    let mut all = Vec::new();
    for (namespace, kept) in &sweep.retention {
        let kept = i64::try_from(kept.as_micros()).unwrap_or(i64::MAX);
        let until = sweep.now.0.saturating_sub(kept);
        let cursor = &mut tx.memory.cursor.closed;
        let (at, key) = cursor.remove(namespace).unwrap_or((i64::MIN, i64::MIN));
        let left = looks - all.len() as i64;
        let values = params![namespace.0, until, at, key, left];
        let found: Vec<(i64, i64)> =
            tx.db.all(sql, values, |row| Ok((row.get(0)?, row.get(1)?)))?;
        all.extend(found.iter().map(|(_, key)| *key));
        if let Some(last) = found.last().filter(|_| all.len() as i64 == looks) {
            cursor.insert(*namespace, *last);
            break;
        }
    }
    Ok(all)
}

/// Whether a receipt tells about a run: one of its chain, or of a chain above.
fn kept(tx: &mut Tx<'_>, run: RunId) -> Outcome<bool> {
    let (mut next, mut seen) = (Some(run), BTreeSet::new());
    while let Some(label) = next.take().map(|run| tx.label(run)).transpose()?.flatten() {
        let chain = label.origin.first_run;
        let sql = "SELECT 1 FROM receipts INDEXED BY receipts_chain \
                   WHERE chain = ? AND namespace = ?";
        let values = params![chain.uuid.to_be_bytes(), chain.namespace.0];
        if tx.db.first(sql, values, |_| Ok(()))?.is_some() {
            return Ok(true);
        }
        next = label.origin.parent.map(|above| above.run).filter(|parent| seen.insert(*parent));
    }
    Ok(false)
}

fn bury(tx: &mut Tx<'_>, id: RunId) -> Outcome<()> {
    let Some(run) = tx.find(id)? else { return Ok(()) };
    let key = run.key();
    for alarm in tx.alarms(id) {
        tx.disarm(id, alarm)?;
    }
    tx.db.run("DELETE FROM labels WHERE key = ?", [key])?;
    tx.db.run("DELETE FROM runs WHERE key = ?", [key])?;
    tx.db.run("INSERT OR IGNORE INTO graves (run) VALUES (?)", [key])?;
    // A key is never used again, even if it was the largest.
    tx.db.run(
        "INSERT INTO serials (namespace, used) VALUES (?, ?) \
         ON CONFLICT (namespace) DO UPDATE SET used = max(used, excluded.used)",
        params![key >> SERIAL_BITS, key],
    )?;
    tx.gone(id);
    Ok(())
}

/// Deletes what is left of runs that are gone.
pub(super) fn graves(tx: &mut Tx<'_>, room: &mut Room) -> Outcome<bool> {
    const ROWS: &[&str] = &[
        "DELETE FROM history WHERE rowid IN (SELECT rowid FROM history WHERE run = ?1 LIMIT ?2)",
        "DELETE FROM inbox WHERE run = ?1 \
         AND number IN (SELECT number FROM inbox WHERE run = ?1 LIMIT ?2)",
        "DELETE FROM activities WHERE run = ?1 \
         AND number IN (SELECT number FROM activities WHERE run = ?1 LIMIT ?2)",
        "DELETE FROM marks WHERE run = ?1 \
         AND number IN (SELECT number FROM marks WHERE run = ?1 LIMIT ?2)",
        "DELETE FROM owed WHERE run = ?1 \
         AND next IN (SELECT next FROM owed WHERE run = ?1 LIMIT ?2)",
        "DELETE FROM snapshots WHERE run = ?1 AND ?2 > 0",
    ];
    let sql = "SELECT run FROM graves ORDER BY run LIMIT ?";
    let graves: Vec<i64> = tx.db.all(sql, [room.look()], |row| Ok(row.get(0)?))?;
    for key in graves {
        for sql in ROWS {
            let fits = i64::try_from(room.0).unwrap_or(i64::MAX);
            let gone = tx.db.run(sql, params![key, fits])?;
            room.spend(gone);
        }
        if room.0 == 0 {
            return Ok(true);
        }
        tx.db.run("DELETE FROM graves WHERE run = ?", [key])?;
        room.spend(1);
    }
    Ok(false)
}
