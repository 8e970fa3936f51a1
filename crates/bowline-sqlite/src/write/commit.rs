//! The transaction: one decision about one run, written whole or not at all.
//!
//! In:    a commit, and the rows of its run as they stand.
//! Out:   rows of the run, inbox rows of others, and what the decision met on the way.
//! Never: decides. What hangs on another row is answered by message, in the own inbox.

mod activity;
mod birth;
mod cancel;
mod post;

pub(crate) use birth::{check_birth, check_id};
use bowline_core::{Message, Number, Received, RunId};
use bowline_store::{Commit, Committed, Error, Hint, stored};
use rusqlite::params;

use crate::{
    connection::db::Outcome,
    limits,
    rows::{activity::Activity, blob::int},
    write::{settle, tx::Tx},
};

pub(crate) fn commit(tx: &mut Tx<'_>, commit: &Commit) -> Outcome<Committed> {
    let id = commit.run;
    let run = tx.find(id)?.ok_or(Error::Missing("run"))?;
    if run.head.last_commit == commit.id {
        return again(tx, commit);
    }
    commit.check_head(&run.head)?;
    if let Some(fence) = commit.fence {
        tx.alive(fence.epoch)?;
    }
    let has_newcomer = commit.minds_newcomers() && newcomer(tx, commit)?;
    commit.check_hold(&tx.run(id).head, has_newcomer)?;
    birth::check(tx, commit)?;
    let ended = commit.ended.iter().map(|offered| settle::offered(tx, id, offered));
    let ended = ended.collect::<Outcome<Option<Vec<_>>>>()?.ok_or(Error::Conflict)?;
    write(tx, commit, &ended)
}

fn write(tx: &mut Tx<'_>, commit: &Commit, ended: &[Activity]) -> Outcome<Committed> {
    let id = commit.run;
    tx.consume(id, commit.consumed, &commit.forgotten)?;
    for activity in ended {
        tx.put(activity, commit.now)?;
    }
    write_head(tx, commit)?;
    let key = tx.run(id).key();
    if let Some(batch) = &commit.batch {
        tx.append(key, batch)?;
    }
    if let Some(snapshot) = &commit.snapshot {
        tx.db.run(
            "INSERT OR REPLACE INTO snapshots (run, at, bytes) VALUES (?, ?, ?)",
            params![key, int(snapshot.at.0), snapshot.bytes.as_slice()],
        )?;
    }
    let started = activity::add_all(tx, commit)?;
    let (hits, skipped) = cancel::cancel_all(tx, commit)?;
    for alarm in &commit.disarm {
        tx.disarm(id, *alarm)?;
    }
    for alarm in &commit.arm {
        tx.arm(id, *alarm)?;
    }
    let mut answers = birth::begin_all(tx, commit)?;
    answers.extend(post::send_all(tx, commit)?);
    answers.extend(Some(skipped).filter(|s| !s.is_empty()).map(Message::SkipActivities));
    match commit.close.is_some() {
        true => {
            silence(tx, id)?;
            tx.may_rest(id);
        }
        false => {
            for answer in &answers {
                tx.deliver(id, answer, commit.now)?;
            }
        }
    }
    tx.hints.insert(Hint::Changed(id));
    if commit.frees_parked(&tx.run(id).head) {
        tx.hints.insert(Hint::Parked(id));
    }
    if commit.ends() {
        tx.hints.insert(Hint::Closed(id));
    }
    let unread = unread(tx, id)?;
    tx.stand(id);
    Ok(Committed { version: tx.run(id).head.version, unread, hits, started })
}

/// Nothing of a closed run rings, but the limits of what workers still have.
fn silence(tx: &mut Tx<'_>, id: RunId) -> Outcome<()> {
    for alarm in tx.alarms(id).into_iter().filter(|alarm| alarm.what.message().is_some()) {
        tx.disarm(id, alarm)?;
    }
    Ok(())
}

/// The commit was done before, and its answer was lost on the way.
fn again(tx: &mut Tx<'_>, commit: &Commit) -> Outcome<Committed> {
    let mut started = Vec::new();
    for new in &commit.activities {
        let Some(begin) = &new.start else { continue };
        let Some(row) = tx.activity(commit.run, new.activity)? else { continue };
        if row.live.started().is_some_and(|start| start.holder == begin.holder) {
            started.push((new.activity, row.live.attempt));
        }
    }
    let run = tx.run(commit.run);
    let (version, unread) = (run.head.version, run.head.inbox > run.head.consumed);
    let unread = match unread {
        true => tx.unread(commit.run, limits::UNREAD_MAX)?,
        false => Vec::new(),
    };
    Ok(Committed { version, unread, hits: Vec::new(), started })
}

/// Whether a message waits that the commit knows nothing of.
fn newcomer(tx: &mut Tx<'_>, commit: &Commit) -> Outcome<bool> {
    match tx.run(commit.run).head.inbox > commit.consumed {
        true => tx.is_unread_after(commit.run, commit.consumed, &commit.forgotten),
        false => Ok(false),
    }
}

fn write_head(tx: &mut Tx<'_>, commit: &Commit) -> Outcome<()> {
    let run = tx.edit(commit.run);
    let (key, head) = (run.key(), &mut run.head);
    head.take(commit);
    if let Some(close) = &commit.close {
        let deleted = close.delete.then_some(1);
        let values = params![commit.now.0, deleted, key];
        tx.db.run("UPDATE labels SET closed_at = ?, deleted = ? WHERE key = ?", values)?;
        if close.delete {
            tx.hints.insert(Hint::Sweep);
        }
    }
    if let Some(search) = &commit.search {
        let values = params![stored::search_bytes(search), key];
        tx.db.run("UPDATE labels SET search = ? WHERE key = ?", values)?;
    }
    if let Some(memo) = &commit.memo {
        let values = params![stored::memo_bytes(memo), key];
        tx.db.run("UPDATE labels SET memo = ? WHERE key = ?", values)?;
    }
    Ok(())
}

/// What waits now. Dropped messages count as consumed as soon as nothing before them is unread: or
/// the run would be ready for nothing, again and again.
fn unread(tx: &mut Tx<'_>, id: RunId) -> Outcome<Vec<Received>> {
    let run = tx.run(id);
    if run.head.inbox <= run.head.consumed {
        return Ok(Vec::new());
    }
    let unread = tx.unread(id, limits::UNREAD_MAX)?;
    let head = &mut tx.edit(id).head;
    head.consumed = unread.first().map_or(head.inbox, |first| Number(first.number.0 - 1));
    Ok(unread)
}
