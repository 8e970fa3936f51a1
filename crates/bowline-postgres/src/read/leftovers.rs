//! What is left of a subtree: rows, told as lines. What follows from them is decided in
//! `bowline-store`, once for all stores.

mod orphan;
mod tree;

use bowline_core::{ActivityLive, Cause, EventId, ReceiptId, RunId, Time};
use bowline_store::{
    AttemptLine, Error, Leftovers, OUTLINE_FROM, ReceiptRow, RunLine, Subtree, ready::Mark,
    stored::MissingRows,
};
use uuid::Uuid;

use crate::{
    connection::db::{Db, Outcome, Value},
    queue::fate::Fates,
    rows::{
        blob::{self, number},
        missing_rows::read_missing,
        run::{self, Run},
    },
    shared::Shared,
    write::tx::marks,
};

pub(crate) use tree::{Living, settled};
use tree::{Tree, Walk};

/// Everything is read as of one moment.
pub(crate) const SNAPSHOT: &str = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";

pub(crate) async fn leftovers(shared: &Shared, subtree: &Subtree) -> Outcome<Leftovers> {
    let lent = shared.lend_to_read().await?;
    let db = Db::own(&lent, shared);
    db.begin_transaction(SNAPSHOT).await?;
    let found = look(db, subtree).await;
    db.roll_back().await;
    found
}

async fn look(db: Db<'_>, subtree: &Subtree) -> Outcome<Leftovers> {
    let fates = Fates::read(db).await?;
    match subtree {
        Subtree::Run(run) => {
            below(db, *run, &fates, u64::MAX).await?.ok_or(Error::Missing("run").into())
        }
        Subtree::Receipt(id) => of_receipt(db, *id, &fates, u64::MAX).await,
        Subtree::Outline(id) => of_receipt(db, *id, &fates, OUTLINE_FROM).await,
        Subtree::Orphans => orphan::orphans(db, &fates).await,
    }
}

async fn of_receipt(db: Db<'_>, id: ReceiptId, fates: &Fates, most: u64) -> Outcome<Leftovers> {
    let receipt = receipt(db, id).await?.ok_or(Error::Missing("receipt"))?;
    let left = below(db, receipt.run, fates, most).await?.unwrap_or_default();
    Ok(Leftovers { receipt: Some(receipt), ..left })
}

/// The target and everything below it; none if there is no such run. A run with more than `most`
/// events is not looked into while much may wait there.
async fn below(db: Db<'_>, target: RunId, fates: &Fates, most: u64) -> Outcome<Option<Leftovers>> {
    let mut left = Leftovers::default();
    let Some(first) = run::one(db, target).await?.map(|run| run.head.first_run) else {
        return Ok(None);
    };
    let top = bowline_store::tree::Top::Chain(first);
    let (mut tree, mut walk) = (Tree::new(db), Walk::from(target, top));
    while let Some((run, alone)) = Box::pin(tree.step(&mut walk)).await? {
        let line = tree.line(&run).await?;
        left.runs.push(RunLine { parent_closed: line.parent_closed && !top.is(&run.head), ..line });
        let is_brief = !alone && run.head.next_event.0 > most && outline(&run, &mut left);
        if !alone && !is_brief {
            add_rows(db, &run, fates, &mut left).await?;
        }
    }
    left.bound();
    left.unknown = walk.is_cut();
    left.truncated |= walk.is_cut() || walk.is_long();
    Ok(Some(left))
}

/// Says of a run that something waits there, if it is open or not yet swept.
fn outline(run: &Run, left: &mut Leftovers) -> bool {
    let is_busy = run.is_open() || run.marked > 0 || run.owing > 0;
    if is_busy {
        left.queued += 1;
        left.unswept += u64::from(run.marked > 0);
        left.never_started += run.never_started;
        left.truncated = true;
    }
    is_busy
}

async fn add_rows(db: Db<'_>, run: &Run, fates: &Fates, left: &mut Leftovers) -> Outcome<()> {
    let id = run.head.run;
    left.attempts.extend(attempts(db, id, fates).await?);
    let (queued, marked) = queued(db, run).await?;
    left.queued += queued;
    left.unswept += marked;
    left.never_started += run.never_started;
    if run.head.inbox > run.head.consumed {
        let sql = "SELECT count(*) FROM @inbox WHERE namespace = $1 AND run = $2";
        let row = db.first(sql, &[&blob::space(id), &blob::uuid(id)]).await?;
        left.unread += row.map(|row| number(&row, 0)).transpose()?.unwrap_or(0);
    }
    Ok(())
}

/// Activities that a worker has, cancelled ones that one had, and those whose code runs on.
async fn attempts(db: Db<'_>, id: RunId, fates: &Fates) -> Outcome<Vec<AttemptLine>> {
    let sql = "SELECT number, name, live FROM @activities \
               WHERE namespace = $1 AND run = $2 AND (place > 0 OR adrift) ORDER BY number";
    let rows = db.rows(sql, &[&blob::space(id), &blob::uuid(id)]).await?;
    let mut lines = Vec::new();
    for row in &rows {
        let (activity, name): (_, &str) = (EventId(number(row, 0)?), row.try_get(1)?);
        let live: ActivityLive = blob::open(id, row, 2)?;
        if live.started().is_some() || live.cancel.is_some() || !live.unseen.is_empty() {
            lines.push(line(id, activity, name, &live, fates));
        }
    }
    Ok(lines)
}

fn line(
    run: RunId,
    activity: EventId,
    name: &str,
    live: &ActivityLive,
    fates: &Fates,
) -> AttemptLine {
    AttemptLine::of(run, activity, name.into(), live, |epoch| fates.of(epoch))
}

/// How many activities wait, and how many of those that wait are under a mark. Those whose rows
/// are missing wait too.
async fn queued(db: Db<'_>, run: &Run) -> Outcome<(u64, u64)> {
    let id = run.head.run;
    let marks = match run.marked {
        0 => Vec::new(),
        _ => marks(db, id).await?,
    };
    let missing_rows = match run.owing {
        0 => Vec::new(),
        _ => read_missing(db, id).await?,
    };
    let (mut queued, mut marked) = (0, 0);
    let mut add = |activity| match covered(&marks, activity) {
        true => marked += 1,
        false => queued += 1,
    };
    missing_rows.iter().flat_map(MissingRows::ids).for_each(&mut add);
    let values: [Value<'_>; 2] = [&blob::space(id), &blob::uuid(id)];
    if marks.is_empty() {
        let sql = "SELECT count(*) FROM @activities \
                   WHERE namespace = $1 AND run = $2 AND place = 0";
        let row = db.first(sql, &values).await?;
        let rows = row.map(|row| number(&row, 0)).transpose()?.unwrap_or(0);
        return Ok((queued + rows, 0));
    }
    let sql = "SELECT number FROM @activities WHERE namespace = $1 AND run = $2 AND place = 0";
    for row in db.rows(sql, &values).await? {
        add(EventId(number(&row, 0)?));
    }
    Ok((queued, marked))
}

fn covered(marks: &[Mark], activity: EventId) -> bool {
    marks.iter().any(|mark| mark.ranges.contains(activity))
}

async fn receipt(db: Db<'_>, id: ReceiptId) -> Outcome<Option<ReceiptRow>> {
    let sql = "SELECT namespace, run, cause, requested_at, keep_until, chain FROM @receipts \
               WHERE id = $1";
    let Some(row) = db.first(sql, &[&Uuid::from_u128(id.0)]).await? else { return Ok(None) };
    let run = blob::run_id(&row, 0)?;
    let cause: Cause = blob::open(run, &row, 2)?;
    let (requested_at, keep_until) = (Time(row.try_get(3)?), Time(row.try_get(4)?));
    let chain: Uuid = row.try_get(5)?;
    let chain = RunId { uuid: chain.as_u128(), ..run };
    Ok(Some(ReceiptRow { id, run, chain, cause, requested_at, keep_until }))
}
