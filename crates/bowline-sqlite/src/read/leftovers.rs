//! What is left of a subtree: rows, told as lines. What follows from them is decided in
//! `bowline-store`, once for all stores.

mod orphan;
mod tree;

use bowline_core::{ActivityLive, Cause, Epoch, EventId, Gone, Namespace, RunId, Time};
use bowline_store::{
    AttemptLine, Error, Leftovers, OUTLINE_FROM, ReceiptRow, RunLine, Subtree, ready::Mark,
    stored::MissingRows,
};
use rusqlite::params;

use crate::{
    connection::db::{Db, Outcome},
    limits,
    rows::{
        blob::{self, number, wide},
        missing_rows::read_missing,
        run::Run,
    },
};
use tree::{Tree, Walked};

pub(crate) use tree::{Living, is_over, settled};

/// `alive` is the epoch of the member: code dies with its process.
pub(crate) fn leftovers(db: Db<'_>, subtree: &Subtree, alive: Option<Epoch>) -> Outcome<Leftovers> {
    match subtree {
        Subtree::Run(run) => below(db, *run, alive, u64::MAX)?.ok_or(Error::Missing("run").into()),
        Subtree::Receipt(id) => of_receipt(db, id.0, alive, u64::MAX),
        Subtree::Outline(id) => of_receipt(db, id.0, alive, OUTLINE_FROM),
        Subtree::Orphans => orphan::orphans(db, alive),
    }
}

fn of_receipt(db: Db<'_>, id: u128, alive: Option<Epoch>, most: u64) -> Outcome<Leftovers> {
    let receipt = receipt(db, id)?.ok_or(Error::Missing("receipt"))?;
    let left = below(db, receipt.run, alive, most)?.unwrap_or_default();
    Ok(Leftovers { receipt: Some(receipt), ..left })
}

/// The target and everything below it; none if there is no such run. A run with more than `most`
/// events is not looked into while much may wait there.
fn below(db: Db<'_>, target: RunId, alive: Option<Epoch>, most: u64) -> Outcome<Option<Leftovers>> {
    let mut left = Leftovers::default();
    let mut tree = Tree::new(db);
    let Some(first) = tree.read(target)?.map(|run| run.head.first_run) else { return Ok(None) };
    let top = bowline_store::tree::Top::Chain(first);
    let walked = tree.walk(target, top, |tree, run, alone| {
        let line = tree.line(run)?;
        left.runs.push(RunLine { parent_closed: line.parent_closed && !top.is(&run.head), ..line });
        let is_brief = !alone && run.head.next_event.0 > most && outline(db, run, &mut left)?;
        if !alone && !is_brief {
            add_rows(db, run, alive, &mut left)?;
        }
        Ok(true)
    })?;
    left.bound();
    left.unknown = walked == Walked::Cut;
    left.truncated |= walked != Walked::Whole || left.runs.len() >= limits::WALK;
    Ok(Some(left))
}

/// Says of a run that something waits there, if it is open or not yet swept.
fn outline(db: Db<'_>, run: &Run, left: &mut Leftovers) -> Outcome<bool> {
    let count = |sql| db.first(sql, [run.key()], |row| number(row, 0));
    let marks = count("SELECT count(*) FROM marks WHERE run = ?")?.unwrap_or(0);
    let missing = count("SELECT count(*) FROM owed WHERE run = ?")?.unwrap_or(0);
    let is_busy = run.is_open() || marks + missing > 0;
    if is_busy {
        left.queued += 1;
        left.unswept += marks;
        left.never_started += run.never_started;
        left.truncated = true;
    }
    Ok(is_busy)
}

fn add_rows(db: Db<'_>, run: &Run, alive: Option<Epoch>, left: &mut Leftovers) -> Outcome<()> {
    let key = run.key();
    left.attempts.extend(attempts(db, run, alive)?);
    let (queued, marked) = queued(db, run)?;
    left.queued += queued;
    left.unswept += marked;
    left.never_started += run.never_started;
    let unread = "SELECT count(*) FROM inbox WHERE run = ?";
    left.unread += db.first(unread, [key], |row| number(row, 0))?.unwrap_or(0);
    Ok(())
}

/// Activities that a worker has, cancelled ones that one had, and those whose code runs on.
fn attempts(db: Db<'_>, run: &Run, alive: Option<Epoch>) -> Outcome<Vec<AttemptLine>> {
    let id = run.head.run;
    let sql = "SELECT number, name, live FROM activities \
               WHERE run = ? AND (place > 0 OR adrift = 1) ORDER BY number";
    let lines = db.all(sql, [run.key()], |row| {
        let (activity, name): (_, String) = (EventId(number(row, 0)?), row.get(1)?);
        let live: ActivityLive = blob::open(id, row, 2)?;
        let listed = live.started().is_some() || live.cancel.is_some() || !live.unseen.is_empty();
        Ok(listed.then(|| line(id, activity, name, &live, alive)))
    })?;
    Ok(lines.into_iter().flatten().collect())
}

fn line(
    run: RunId,
    activity: EventId,
    name: String,
    live: &ActivityLive,
    alive: Option<Epoch>,
) -> AttemptLine {
    AttemptLine::of(run, activity, name.into(), live, |epoch| gone(epoch, alive))
}

/// Code dies with its process: what ran in another one does not any more.
pub(crate) fn gone(epoch: Epoch, alive: Option<Epoch>) -> Option<Gone> {
    (alive != Some(epoch)).then_some(Gone::Seen)
}

/// How many activities wait, and how many of those that wait are under a mark. Those whose rows
/// are missing wait too.
fn queued(db: Db<'_>, run: &Run) -> Outcome<(u64, u64)> {
    let (id, key) = (run.head.run, run.key());
    let (marks, missing_rows) = (marks(db, run)?, read_missing(db, id, key)?);
    let (mut queued, mut marked) = (0, 0);
    let mut add = |activity| match covered(&marks, activity) {
        true => marked += 1,
        false => queued += 1,
    };
    missing_rows.iter().flat_map(MissingRows::ids).for_each(&mut add);
    if marks.is_empty() {
        let sql = "SELECT count(*) FROM activities WHERE run = ? AND place = 0";
        let rows = db.first(sql, [key], |row| number(row, 0))?.unwrap_or(0);
        return Ok((queued + rows, 0));
    }
    let sql = "SELECT number FROM activities WHERE run = ? AND place = 0";
    db.each(sql, [key], |row| {
        add(EventId(number(row, 0)?));
        Ok(true)
    })?;
    Ok((queued, marked))
}

fn marks(db: Db<'_>, run: &Run) -> Outcome<Vec<Mark>> {
    let sql = "SELECT number, bytes FROM marks WHERE run = ? ORDER BY number";
    db.all(sql, [run.key()], |row| blob::mark(run.head.run, number(row, 0)?, row, 1))
}

fn covered(marks: &[Mark], activity: EventId) -> bool {
    marks.iter().any(|mark| mark.ranges.contains(activity))
}

fn receipt(db: Db<'_>, id: u128) -> Outcome<Option<ReceiptRow>> {
    let sql = "SELECT run, namespace, cause, requested_at, keep_until, chain FROM receipts \
               WHERE id = ?";
    let found = db.first(sql, params![id.to_be_bytes()], |row| {
        let run = RunId { namespace: Namespace(row.get(1)?), uuid: wide(row, 0)? };
        let chain = RunId { uuid: wide(row, 5)?, ..run };
        let cause = blob::open::<Cause>(run, row, 2);
        Ok((run, chain, cause, Time(row.get(3)?), Time(row.get(4)?)))
    })?;
    let Some((run, chain, cause, requested_at, keep_until)) = found else { return Ok(None) };
    let id = bowline_core::ReceiptId(id);
    Ok(Some(ReceiptRow { id, run, chain, cause: cause?, requested_at, keep_until }))
}
