//! Runs are read: head, snapshot, history, inbox, activities, all as of one moment.

use std::collections::HashMap;

use bowline_core::{Blob, EventId, Number, Received, RunId, Time, codec};
use bowline_store::{ActivityRow, Read, RunKey, RunRead, Snapshot};
use minicbor::{Decode, Decoder, decode::Error as DecodeError};

use crate::{
    connection::{
        db::{Db, Outcome, Value},
        row::Row,
    },
    fault::Fault,
    read::leftovers::SNAPSHOT,
    rows::{
        activity::{self, Activity},
        blob::{self, count, int, number},
        inbox, missing_rows,
        run::{self, Run},
    },
    shared::Shared,
};

pub(crate) async fn read(shared: &Shared, read: &Read) -> Outcome<Option<RunRead>> {
    let lent = shared.lend().await?;
    let db = Db::own(&lent, shared);
    db.begin_transaction(SNAPSHOT).await?;
    let found = one(db, read).await;
    db.roll_back().await;
    found
}

async fn one(db: Db<'_>, read: &Read) -> Outcome<Option<RunRead>> {
    let id = match &read.run {
        RunKey::Run(run) => *run,
        RunKey::Current(namespace, id) => match run::current(db, *namespace, id.as_str()).await? {
            Some(run) => run,
            None => return Ok(None),
        },
        RunKey::Chain(run) => match run::one(db, *run).await? {
            // An open run is the newest of its chain.
            Some(own) if own.is_open() => return rows(db, own, read).await.map(Some),
            own => {
                let first = own.map_or(*run, |own| own.head.first_run);
                run::newest(db, first).await?.unwrap_or(*run)
            }
        },
    };
    match run::one(db, id).await? {
        Some(run) => rows(db, run, read).await.map(Some),
        None => Ok(None),
    }
}

/// What is wanted of a run whose own row is at hand.
async fn rows(db: Db<'_>, run: Run, read: &Read) -> Outcome<RunRead> {
    let id = run.head.run;
    let snapshot = match read.snapshot {
        true => snapshot(db, id, read.events_from.unwrap_or_default()).await?,
        false => None,
    };
    let from = snapshot.as_ref().map(|snapshot| snapshot.at.plus(1)).or(read.events_from);
    let batches = match from {
        Some(from) => batches(db, id, from, read.batches_max).await?,
        None => Vec::new(),
    };
    let inbox = match read.inbox && run.head.inbox > run.head.consumed {
        true => inbox::stored(db, id, Number(0), usize::MAX).await?,
        false => Vec::new(),
    };
    let activities = match read.activities_max {
        0 => Vec::new(),
        most => activities(db, id, most).await?,
    };
    Ok(RunRead { head: run.head, snapshot, batches, inbox, activities })
}

async fn snapshot(db: Db<'_>, id: RunId, wanted: EventId) -> Outcome<Option<Snapshot>> {
    let sql = "SELECT at, bytes FROM @snapshots WHERE namespace = $1 AND run = $2 AND at > $3";
    let values: [Value<'_>; 3] = [&blob::space(id), &blob::uuid(id), &int(wanted.0)];
    let Some(row) = db.first(sql, &values).await? else { return Ok(None) };
    let bytes: Vec<u8> = row.try_get(1)?;
    Ok(Some(Snapshot { at: EventId(number(&row, 0)?), bytes: Blob::from(bytes) }))
}

/// Rows of history from the one on that holds an event. They are handed on as they are, but not
/// before their checksums were looked at.
async fn batches(
    db: Db<'_>,
    id: RunId,
    from: EventId,
    most: usize,
) -> Outcome<Vec<bowline_core::Batch>> {
    let sql = "SELECT first, last, bytes FROM @history \
               WHERE namespace = $1 AND run = $2 AND last >= $3 AND first >= coalesce((\
                   SELECT max(first) FROM @history \
                   WHERE namespace = $1 AND run = $2 AND first <= $3), 0) \
               ORDER BY first LIMIT $4";
    let values: [Value<'_>; 4] = [&blob::space(id), &blob::uuid(id), &int(from.0), &count(most)];
    let rows = db.rows(sql, &values).await?;
    rows.iter().map(|row| whole(id, missing_rows::batch(row)?)).collect()
}

fn whole(id: RunId, batch: bowline_core::Batch) -> Outcome<bowline_core::Batch> {
    let whole: Result<Whole, _> = codec::decode(batch.bytes.as_slice());
    whole.map_err(|corrupt| Fault::corrupt(id, corrupt))?;
    Ok(batch)
}

async fn activities(db: Db<'_>, id: RunId, most: usize) -> Outcome<Vec<ActivityRow>> {
    let sql = format!(
        "SELECT {} FROM @activities a WHERE a.namespace = $1 AND a.run = $2 \
         ORDER BY a.number LIMIT $3",
        activity::COLUMNS
    );
    let values: [Value<'_>; 3] = [&blob::space(id), &blob::uuid(id), &count(most)];
    let rows = db.rows(&sql, &values).await?;
    rows.iter()
        .map(|row| {
            let Activity { run, number, spec, live, .. } = activity::read(row)?;
            Ok(ActivityRow { run, activity: number, spec, live })
        })
        .collect()
}

/// Many runs, whole, in the order asked for: for those who have just taken them.
pub(crate) async fn many(shared: &Shared, ids: &[RunId]) -> Outcome<Vec<Outcome<Option<RunRead>>>> {
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    let lent = shared.lend().await?;
    let db = Db::own(&lent, shared);
    db.begin_transaction(SNAPSHOT).await?;
    let found = all(db, ids).await;
    db.roll_back().await;
    found
}

async fn all(db: Db<'_>, ids: &[RunId]) -> Outcome<Vec<Outcome<Option<RunRead>>>> {
    let mut runs: HashMap<RunId, Outcome<Run>> = run::whole(db, ids).await?.into_iter().collect();
    let (spaces, uuids) = run::keys(ids);
    let wanted = "FROM unnest($1::int8[], $2::uuid[]) AS w (namespace, run) JOIN";
    let same = "ON t.namespace = w.namespace AND t.run = w.run ORDER BY t.namespace, t.run";
    let sql = format!(
        "SELECT t.first, t.last, t.bytes, t.namespace, t.run {wanted} @history t {same}, t.first"
    );
    let mut batches: HashMap<RunId, Vec<Row>> = HashMap::new();
    for row in db.rows(&sql, &[&spaces, &uuids]).await? {
        batches.entry(blob::run_id(&row, 3)?).or_default().push(row);
    }
    let sql = format!(
        "SELECT t.number, t.at, t.bytes, t.namespace, t.run {wanted} @inbox t {same}, t.number"
    );
    let mut letters: HashMap<RunId, Vec<Row>> = HashMap::new();
    for row in db.rows(&sql, &[&spaces, &uuids]).await? {
        letters.entry(blob::run_id(&row, 3)?).or_default().push(row);
    }
    let mut reads = Vec::new();
    for id in ids {
        let (batches, letters) = (batches.remove(id), letters.remove(id));
        reads.push(match runs.remove(id) {
            Some(Ok(run)) => put_together(run, batches, letters).map(Some),
            Some(Err(fault)) => Err(fault),
            None => Ok(None),
        });
    }
    Ok(reads)
}

fn put_together(
    run: Run,
    batches: Option<Vec<Row>>,
    letters: Option<Vec<Row>>,
) -> Outcome<RunRead> {
    let id = run.head.run;
    let batches = batches.unwrap_or_default();
    let batches = batches
        .iter()
        .map(|row| whole(id, missing_rows::batch(row)?))
        .collect::<Outcome<Vec<_>>>()?;
    let mut inbox = Vec::new();
    for row in letters.unwrap_or_default() {
        let (number, at) = (Number(number(&row, 0)?), Time(row.try_get(1)?));
        inbox.push(Received { number, at, message: blob::open(id, &row, 2)? });
    }
    Ok(RunRead { head: run.head, snapshot: None, batches, inbox, activities: Vec::new() })
}

/// Any value: stepped over, so that only the envelope around it is checked.
struct Whole;

impl<'b, C> Decode<'b, C> for Whole {
    fn decode(d: &mut Decoder<'b>, _: &mut C) -> Result<Self, DecodeError> {
        d.skip()?;
        Ok(Self)
    }
}
