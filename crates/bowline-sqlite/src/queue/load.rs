//! What waits, rings or runs, made again from the rows when the file opens.
//!
//! A row that does not read is stepped over: its run cannot go on, but all the others can. A
//! check of the file names it.

use std::{collections::HashMap, sync::Arc};

use bowline_core::{ActivityLive, Alarm, AlarmKind, EventId, Place, RunId, Time};
use bowline_store::{
    Error, Result,
    ready::{Change, Index, Queued, Standing},
};

use crate::{
    connection::db::{Db, Outcome},
    fault::Fault,
    rows::{
        activity::attempt,
        blob::{self, number},
        run,
    },
};

pub(crate) fn index(db: Db<'_>) -> Result<Index> {
    let mut loading = Loading { index: Index::default(), names: HashMap::new() };
    let mut load = || -> Outcome<()> {
        loading.runs(db)?;
        loading.marks(db)?;
        loading.missing_rows(db)?;
        loading.activities(db)?;
        loading.alarms(db)
    };
    load()?;
    // Nobody has listened yet.
    loading.index.take_hints();
    Ok(loading.index)
}

struct Loading {
    index: Index,
    /// From keys to runs; none for keys without a label.
    names: HashMap<i64, Option<RunId>>,
}

impl Loading {
    fn runs(&mut self, db: Db<'_>) -> Outcome<()> {
        let sql =
            "SELECT key FROM labels INDEXED BY labels_open WHERE closed_at IS NULL ORDER BY key";
        let keys: Vec<i64> = db.all(sql, [], |row| Ok(row.get(0)?))?;
        for key in keys {
            let standing = readable(standing(db, key))?.flatten();
            self.names.insert(key, standing.as_ref().map(|standing| standing.run));
            self.index.apply(standing.map(Change::Run));
        }
        Ok(())
    }

    fn marks(&mut self, db: Db<'_>) -> Outcome<()> {
        db.each("SELECT run, number, bytes FROM marks", [], |row| {
            let Some(run) = self.name(db, row.get(0)?)? else { return Ok(true) };
            let mark = readable(blob::mark(run, number(row, 1)?, row, 2))?;
            self.index.apply(mark.map(|mark| Change::Marked(run, mark)));
            Ok(true)
        })
    }

    fn missing_rows(&mut self, db: Db<'_>) -> Outcome<()> {
        db.each("SELECT DISTINCT run FROM owed", [], |row| {
            let run = self.name(db, row.get(0)?)?;
            self.index.apply(run.map(Change::Owing));
            Ok(true)
        })
    }

    fn activities(&mut self, db: Db<'_>) -> Outcome<()> {
        let sql = "SELECT run, number, place, due, queue, name, live FROM activities \
                   WHERE place < 2";
        db.each(sql, [], |row| {
            let Some(run) = self.name(db, row.get(0)?)? else { return Ok(true) };
            let (activity, place) = (EventId(number(row, 1)?), number(row, 2)?);
            let change = match place {
                0 => {
                    let (queue, name): (String, String) = (row.get(4)?, row.get(5)?);
                    let due = Time(row.get(3)?);
                    Some(Change::Queued(Queued {
                        run,
                        activity,
                        queue: queue.into(),
                        name: name.into(),
                        due,
                        now: Time(i64::MIN),
                    }))
                }
                _ => {
                    let live: Option<ActivityLive> = readable(blob::open(run, row, 6))?;
                    live.and_then(|live| match &live.place {
                        Place::Started(start) => {
                            let attempt = attempt(&live, start);
                            Some(Change::Started { run, activity, attempt })
                        }
                        _ => None,
                    })
                }
            };
            self.index.apply(change);
            Ok(true)
        })
    }

    fn alarms(&mut self, db: Db<'_>) -> Outcome<()> {
        db.each("SELECT due, run, what FROM alarms ORDER BY due", [], |row| {
            let Some(run) = self.name(db, row.get(1)?)? else { return Ok(true) };
            let due = Time(row.get(0)?);
            let what: Option<AlarmKind> = readable(blob::open(run, row, 2))?;
            self.index.apply(what.map(|what| Change::Armed(run, Alarm { due, what })));
            Ok(true)
        })
    }

    /// The run behind a key.
    fn name(&mut self, db: Db<'_>, key: i64) -> Outcome<Option<RunId>> {
        if let Some(known) = self.names.get(&key) {
            return Ok(*known);
        }
        let label = readable(run::label_at(db, key))?.flatten();
        let run = label.map(|label| label.run);
        self.names.insert(key, run);
        Ok(run)
    }
}

fn standing(db: Db<'_>, key: i64) -> Outcome<Option<Standing>> {
    let Some(label) = run::label_at(db, key)? else { return Ok(None) };
    let run = run::run(db, Arc::new(label))?;
    Ok(Some(Standing::of(&run.head)))
}

/// None for what does not read.
fn readable<T>(read: Outcome<T>) -> Outcome<Option<T>> {
    match read {
        Ok(read) => Ok(Some(read)),
        Err(Fault::Said(Error::Corrupt { .. })) => Ok(None),
        Err(fault) => Err(fault),
    }
}
