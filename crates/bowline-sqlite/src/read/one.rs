//! One run is read: head, snapshot, history, inbox, activities.

use std::sync::Arc;

use bowline_core::{Batch, Blob, EventId, RunId, codec};
use bowline_store::{ActivityRow, Read, RunKey, RunRead, Snapshot};
use minicbor::{Decode, Decoder, decode::Error as DecodeError};
use rusqlite::params;

use crate::{
    connection::db::{Db, Outcome},
    fault::Fault,
    rows::{
        activity,
        blob::{int, number},
        inbox,
        run::{self, Run},
    },
    stats::count,
};

pub(crate) fn read(db: Db<'_>, read: &Read) -> Outcome<Option<RunRead>> {
    let label = match &read.run {
        RunKey::Run(run) => run::label(db, *run)?,
        RunKey::Current(namespace, id) => match run::current(db, *namespace, id.as_str())? {
            Some(key) => run::label_at(db, key)?,
            None => None,
        },
        RunKey::Chain(run) => return chain(db, *run, read),
    };
    let Some(label) = label else { return Ok(None) };
    let run = run::run(db, Arc::new(label))?;
    rows(db, run, read).map(Some)
}

/// The newest run of a chain. Only of one that is not open is another one looked for.
fn chain(db: Db<'_>, from: RunId, read: &Read) -> Outcome<Option<RunRead>> {
    let label = run::label(db, from)?;
    let first = label.as_ref().map_or(from, |label| label.origin.first_run);
    let own = label.map(|label| run::run(db, Arc::new(label))).transpose()?;
    let run = match own {
        Some(own) if own.is_open() => Some(own),
        own => match run::newest(db, first)? {
            Some(key) => {
                let label = run::label_at(db, key)?;
                label.map(|label| run::run(db, Arc::new(label))).transpose()?
            }
            None => own,
        },
    };
    run.map(|run| rows(db, run, read)).transpose()
}

/// What is wanted of a run whose own row is at hand.
pub(crate) fn rows(db: Db<'_>, mut run: Run, read: &Read) -> Outcome<RunRead> {
    run::complete(db, &mut run)?;
    let snapshot = match read.snapshot {
        true => snapshot(db, &run, read.events_from.unwrap_or_default())?,
        false => None,
    };
    let from = snapshot.as_ref().map(|snapshot| snapshot.at.plus(1)).or(read.events_from);
    let batches = match from {
        Some(from) => batches(db, &run, from, read.batches_max)?,
        None => Vec::new(),
    };
    let inbox = match read.inbox && run.head.inbox > run.head.consumed {
        true => inbox::unread(db, run.head.run, run.key(), usize::MAX)?,
        false => Vec::new(),
    };
    let activities = match read.activities_max {
        0 => Vec::new(),
        most => activities(db, &run, most)?,
    };
    Ok(RunRead { head: run.head, snapshot, batches, inbox, activities })
}

fn snapshot(db: Db<'_>, run: &Run, wanted: EventId) -> Outcome<Option<Snapshot>> {
    let sql = "SELECT at, bytes FROM snapshots WHERE run = ? AND at > ?";
    let found = db.first(sql, params![run.key(), int(wanted.0)], |row| {
        let bytes: Vec<u8> = row.get(1)?;
        Ok(Snapshot { at: EventId(number(row, 0)?), bytes: Blob::from(bytes) })
    })?;
    Ok(found)
}

/// Rows of history from the one on that holds an event. They are handed on as they are, but not
/// before their checksums were looked at.
fn batches(db: Db<'_>, run: &Run, from: EventId, most: usize) -> Outcome<Vec<Batch>> {
    let key = run.key();
    let sql = "SELECT max(first) FROM history WHERE run = ? AND first <= ?";
    let first: Option<i64> = db.first(sql, params![key, int(from.0)], |row| row.get(0))?.flatten();
    let sql = "SELECT first, last, bytes FROM history WHERE run = ? AND first >= ? ORDER BY first";
    let mut batches = Vec::new();
    db.each(sql, params![key, first.unwrap_or(0)], |row| {
        if batches.len() >= most {
            return Ok(false);
        }
        count(&db.counters.batches_read, 1);
        let (first, last) = (EventId(number(row, 0)?), EventId(number(row, 1)?));
        if last >= from {
            let bytes: Vec<u8> = row.get(2)?;
            let whole: Result<Whole, _> = codec::decode(&bytes);
            whole.map_err(|corrupt| Fault::corrupt(run.head.run, corrupt))?;
            batches.push(Batch { first, last, bytes: Blob::from(bytes) });
        }
        Ok(true)
    })?;
    Ok(batches)
}

fn activities(db: Db<'_>, run: &Run, most: usize) -> Outcome<Vec<ActivityRow>> {
    let (id, key) = (run.head.run, run.key());
    let columns = activity::COLUMNS;
    let sql = format!("SELECT {columns} FROM activities WHERE run = ? ORDER BY number LIMIT ?");
    let most = i64::try_from(most).unwrap_or(i64::MAX);
    db.all(&sql, params![key, most], |row| {
        count(&db.counters.activity_rows, 1);
        let activity::Activity { run, number, spec, live, .. } = activity::read(id, key, row)?;
        Ok(ActivityRow { run, activity: number, spec, live })
    })
}

/// Any value: stepped over, so that only the envelope around it is checked.
pub(crate) struct Whole;

impl<'b, C> Decode<'b, C> for Whole {
    fn decode(d: &mut Decoder<'b>, _: &mut C) -> Result<Self, DecodeError> {
        d.skip()?;
        Ok(Self)
    }
}
